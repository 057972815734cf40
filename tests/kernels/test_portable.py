"""Mathematics with the same bits everywhere: right values, and nothing that machines compute each in its own way."""

from __future__ import annotations

import ast
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

import scuff
from scuff import kernels
from scuff.kernels import portable
from scuff.kernels.reference.functions import exponential, logarithm

SOURCE = Path(kernels.__file__).parents[1]
FLOATS = (torch.float32, torch.float64)

# Each of these differs between processors, devices or libraries: in last bits, or in the order of a sum.
UNEQUAL = {
    "acos", "addcdiv", "addcmul", "asin", "atan", "atan2", "avg_pool2d", "baddbmm", "conv2d", "cos", "cosh", "cumprod",
    "deviation", "einsum", "erf", "exp", "exp2", "expm1", "fft", "grid_sample", "hypot", "interpolate", "inv", "lerp",
    "linalg", "log", "log10", "log2", "logsumexp", "norm", "polar", "pow", "prod", "rsqrt", "sigmoid", "sin", "sinh",
    "softmax", "sqrt", "std", "tan", "tanh", "var",
}  # fmt: skip
ALLOWED = {  # module and function: why it cannot show
    ("kernels/portable.py", "torch.sqrt"),  # on a GPU, which rounds it correctly
    ("kernels/portable.py", "np.sqrt"),  # of numpy: an instruction of the processor
    ("ops/warp.py", "math.sqrt"),  # of Python: rounded correctly
    ("ops/filters.py", "math.sqrt"),
    ("corruptions/sequences.py", "math.sqrt"),
    ("kernels/reference/spectra.py", "math.log2"),  # its next whole number
    ("corruptions/sky.py", "math.prod"),  # of Python: from left to right
    ("corruptions/screens.py", "math.hypot"),  # how much memory, or how many cells, there must be at least
    ("corruptions/grids.py", "math.hypot"),
}


def _random(*shape: int, dtype: torch.dtype = torch.float64, seed: int = 0) -> Tensor:
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)).to(dtype)


def _both(call):
    with kernels.use_backend("reference"):
        return call(), _with_default(call)


def _with_default(call):
    with kernels.use_backend("numba_cpu"):
        return call()


def _called(tree: ast.AST):
    """Functions and methods as they are written: torch.sin, np.exp, x.sqrt."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
            yield node.attr, ast.unparse(node), node.lineno


@pytest.mark.parametrize("folder", ["corruptions", "ops", "kernels/reference", "kernels"])
def test_nothing_that_machines_compute_each_in_its_own_way(folder: str) -> None:
    found = []
    for path in sorted((SOURCE / folder).glob("*.py")):
        place = path.relative_to(SOURCE).as_posix()
        for name, text, line in _called(ast.parse(path.read_text())):
            ours = text.startswith(("portable.", "self.", "Decimal."))
            if name in UNEQUAL and not ours and (place, text) not in ALLOWED:
                found.append(f"{place}:{line}: {text}")
    assert not found


class NoQuotientByANumber(TorchDispatchMode):
    """Refuses x / 3.0 of a float tensor: CUDA multiplies by the inverse instead. `portable.divide` is right."""

    def __torch_dispatch__(self, function, types, arguments=(), options=None):
        if function.overloadpacket in (torch.ops.aten.div, torch.ops.aten.div_) and not isinstance(
            arguments[1], Tensor
        ):
            exact = math.frexp(arguments[1])[0] == 0.5  # the inverse of a power of two is exact
            rounded = (options or {}).get("rounding_mode") is not None and not arguments[0].dtype.is_floating_point
            assert exact or rounded, f"divides by {arguments[1]}"
        return function(*arguments, **(options or {}))


SUITES = ("imagenet-c", "c-bar-candidates-32", "noc-candidates", "syn2nat-candidates", "cifar10-p")
ADDRESSES = [address for suite in SUITES for address in scuff.list_corruptions(suite)]


@pytest.mark.parametrize("address", ADDRESSES)
def test_bytes_are_equal_in_every_back_end(address: str) -> None:
    suite, entry = address.split("/")
    level = scuff.load_suite(suite).levels(entry)[-1]
    x = torch.randint(0, 256, (2, 3, 17, 22), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))
    with NoQuotientByANumber():
        if suite == "cifar10-p":
            reference, fast = _both(lambda: scuff.sequence(x, address, level or 1))
        else:
            reference, fast = _both(lambda: scuff.corrupt(x, address, level))
    assert torch.equal(reference, fast)


def test_a_fused_multiply_add_is_rounded_once() -> None:
    a, b = _random(3000, dtype=torch.float32), _random(3000, dtype=torch.float32, seed=1)
    c = torch.cat((-(a * b)[:2000] * (1 + 1e-6 * _random(2000, dtype=torch.float32)), _random(1000).float()))
    for x, y, z, found in zip(*(t.tolist() for t in (a, b, c, portable.fused(a, b, c))), strict=True):
        exact = Fraction(x) * Fraction(y) + Fraction(z)
        nearest = np.float32(float(exact))
        around = [np.nextafter(nearest, np.float32(s)) for s in (-np.inf, np.inf)]
        error = abs(Fraction(found) - exact)
        assert all(error <= abs(Fraction(float(other)) - exact) for other in (nearest, *around))


def test_square_roots_are_rounded_correctly() -> None:
    for dtype in FLOATS:
        x = _random(100_000, dtype=dtype).abs()
        assert torch.equal(portable.square_root(x), torch.from_numpy(np.sqrt(x.numpy())))


@pytest.mark.parametrize("dtype", FLOATS)
def test_functions_are_right_and_equal_in_every_back_end(dtype: torch.dtype) -> None:
    x, y = 300 * _random(5000, dtype=dtype), _random(5000, dtype=dtype, seed=1)
    x[:3], y[:2] = 0.0, 0.0
    exponent = torch.tensor([1.4], dtype=dtype)
    bits = 2.0**-24 if dtype == torch.float32 else 2.0**-51
    for call, exact in (
        (lambda: kernels.sine_and_cosine(x)[0], torch.sin(x.double())),
        (lambda: kernels.sine_and_cosine(x)[1], torch.cos(x.double())),
        (lambda: kernels.arctangent(y, x), torch.atan2(y.double(), x.double())),
        (lambda: kernels.power(y.abs(), exponent), y.double().abs() ** exponent.double()),
        (lambda: kernels.power(y.abs().clamp(min=0.1), y), y.double().abs().clamp(min=0.1) ** y.double()),
    ):
        reference, fast = _both(call)
        assert torch.equal(reference, fast)
        assert float(((reference.double() - exact).abs() / exact.abs().clamp(min=1.0)).max()) < 4 * bits


def test_exponentials_and_logarithms() -> None:
    x = _random(5000).abs() * 100 + 1e-9
    assert float((logarithm(x) - torch.log(x)).abs().max()) < 1e-14
    assert float((exponential(-x) / torch.exp(-x) - 1).abs().max()) < 1e-13


def test_numbers_on_the_host() -> None:
    for x in (-3.0, -0.1, 0.0, 0.7, 2.5, 6.0):
        assert portable.exp(x) == pytest.approx(math.exp(x), rel=3e-16)
        assert portable.sin(x) == pytest.approx(math.sin(x), rel=3e-16)
        assert portable.cos(x) == pytest.approx(math.cos(x), rel=3e-16)
    assert portable.cos(math.radians(60.0)) == 0.5000000000000001  # decides where taps of motion blur fall


def test_angles_of_many_turns_on_the_host() -> None:
    for x in (7.0, -90.0, 103.67, 2500.0, -174_532.9):
        assert portable.sin(x) == pytest.approx(math.sin(x), rel=1e-15)
        assert portable.cos(x) == pytest.approx(math.cos(x), rel=1e-15)


def test_a_mean_does_not_depend_on_order() -> None:
    x = torch.rand(2, 3, 31, 57, generator=torch.Generator().manual_seed(0))
    shuffled = x.flatten(2)[..., torch.randperm(31 * 57)].unflatten(2, (31, 57))
    assert torch.equal(kernels.plane_means(x), kernels.plane_means(shuffled))
    assert float((kernels.plane_means(x) - x.double().mean((-2, -1))).abs().max()) < 1e-7


@pytest.mark.parametrize("top", [0.0, 3.0, 60.0, 800.0])
def test_draws_are_equal_in_every_back_end(top: float) -> None:
    keys = torch.arange(5) * 10**15
    reference, fast = _both(lambda: kernels.normal(keys, 7, 2001))
    assert torch.equal(reference, fast)
    u, rate = kernels.uniform(keys, 9, 2000), kernels.uniform(keys, 10, 2000) * top
    rate[:, ::3] = torch.round(rate[:, ::3])
    reference, fast = _both(lambda: kernels.poisson_quantile(u, rate))
    assert torch.equal(reference, fast)
    reference, fast = _both(lambda: kernels.photon_noise(u, rate, 0.7))
    assert torch.equal(reference, fast)
