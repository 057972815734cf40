"""Muon: momentum whose matrices are made orthogonal before every step. It needs half the epochs of plain SGD.

Jordan et al., "Muon: an optimizer for hidden layers in neural networks", 2024. The kernels of a convolution are taken
for one matrix, (outputs, inputs x height x width), which torch.optim.Muon does not do. Since batch normalisation
follows them, their scale means nothing, and is brought back to a fixed one before every step; it needs no weight decay.
All other parameters are moved by SGD with Nesterov's momentum.
"""

from __future__ import annotations

from collections.abc import Iterable

import torch
from torch import Tensor, nn

QUINTIC = (3.4445, -4.7750, 2.0315)  # of the iteration that brings singular values near 1, fast rather than exactly
ITERATIONS = 3


class Muon(torch.optim.Optimizer):
    """Moves convolutions by orthogonal matrices times `lr`, and everything else by SGD with `other_lr`.

    Every step is a fixed sequence of kernels, so that it can be recorded as a CUDA graph; rates are tensors.
    """

    def __init__(
        self, network: nn.Module, lr: Tensor, other_lr: Tensor, momentum: float, other_momentum: float, decay: float
    ) -> None:
        kernels = [p for p in network.parameters() if p.ndim == 4]
        others = [p for p in network.parameters() if p.ndim != 4]
        groups = [
            {"params": kernels, "lr": lr, "momentum": momentum, "weight_decay": 0.0},
            {"params": others, "lr": other_lr, "momentum": other_momentum, "weight_decay": decay},
        ]
        super().__init__(groups, {})
        self._alike = _group_alike(kernels)

    @torch.no_grad()
    def step(self) -> None:  # type: ignore[override]  # no closures here
        """Move all parameters once."""
        kernels, others = self.param_groups
        directions = dict(zip(kernels["params"], self._directions(kernels), strict=True))
        moves: dict[Tensor, Tensor] = {}
        for alike in self._alike:
            orthogonal = orthogonalise(torch.stack([_as_matrix(directions[p]) for p in alike]))
            moves |= zip(alike, orthogonal.to(alike[0].dtype), strict=True)
        ordered = [_as_kernels(moves[p], p) for p in kernels["params"]]
        norms = torch._foreach_norm(kernels["params"])
        torch._foreach_div_(norms, [len(p) ** 0.5 for p in kernels["params"]])
        torch._foreach_div_(kernels["params"], norms)
        torch._foreach_sub_(kernels["params"], torch._foreach_mul(ordered, kernels["lr"]))
        torch._foreach_sub_(others["params"], torch._foreach_mul(self._directions(others), others["lr"]))

    def _directions(self, group: dict) -> list[Tensor]:
        """Gradients with Nesterov's momentum."""
        parameters, momentum = group["params"], group["momentum"]
        for parameter in parameters:
            if not self.state[parameter]:
                self.state[parameter]["momentum_buffer"] = torch.zeros_like(parameter)
        buffers = [self.state[parameter]["momentum_buffer"] for parameter in parameters]
        gradients = [parameter.grad for parameter in parameters]
        if group["weight_decay"]:
            gradients = list(torch._foreach_add(gradients, parameters, alpha=group["weight_decay"]))
        torch._foreach_mul_(buffers, momentum)
        torch._foreach_add_(buffers, gradients)
        return list(torch._foreach_add(gradients, buffers, alpha=momentum))


def orthogonalise(matrices: Tensor) -> Tensor:
    """Bring the singular values of matrices (N, rows, columns) near 1, by Newton's iteration; on a GPU in bfloat16.

    >>> x = torch.randn(1, 8, 32, generator=torch.Generator().manual_seed(0))
    >>> values = torch.linalg.svdvals(orthogonalise(x).float())
    >>> bool((values > 0.3).all() and (values < 1.4).all())
    True
    """
    a, b, c = QUINTIC
    x = matrices.bfloat16() if matrices.is_cuda else matrices
    is_tall = x.shape[1] > x.shape[2]
    x = x.mT if is_tall else x
    x = x / (x.norm(dim=(1, 2), keepdim=True) + 1e-7)
    for _ in range(ITERATIONS):
        square = x @ x.mT
        x = torch.baddbmm(x, torch.baddbmm(square, square, square, beta=b, alpha=c), x, beta=a)
    return x.mT if is_tall else x


def _as_matrix(kernels: Tensor) -> Tensor:
    """Kernels (O, I, H, W) as (O, H W I): with channels last, as they lie in memory. The order means nothing here."""
    return kernels.permute(0, 2, 3, 1).flatten(1)


def _as_kernels(matrix: Tensor, like: Tensor) -> Tensor:
    outputs, inputs, height, width = like.shape
    return matrix.view(outputs, height, width, inputs).permute(0, 3, 1, 2)


def _group_alike(parameters: Iterable[Tensor]) -> list[list[Tensor]]:
    """Parameters of one shape together: a few large products are faster than many small ones."""
    alike: dict[torch.Size, list[Tensor]] = {}
    for parameter in parameters:
        alike.setdefault(_as_matrix(parameter).shape, []).append(parameter)
    return list(alike.values())
