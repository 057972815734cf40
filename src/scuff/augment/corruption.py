"""Corruptions as augmentation: every image draws one of many entries, and its severity."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar

import torch
from torch import Tensor

from scuff.augment.scheme import Scheme
from scuff.door import corrupt, each_its_way, find_entry, resolve_still
from scuff.random import bernoulli, integers, uniform
from scuff.ranges import is_number
from scuff.suites import Levels, Suite, list_suites, load_suite


@dataclass(frozen=True)
class RandomCorruption(Scheme):
    """One of the entries for each image, at one of its severities: all are equally likely.

    Parameters
    ----------
    entries
        Addresses of entries, `("imagenet-c/fog", "imagenet-c-bar/sparkles")`, or of suites, which stand for their
        benchmarks. With `suite`, names of its entries.
    severities
        The levels to draw from; by default all of them. An entry whose severity is a range draws from that.
    probability
        How often an image is corrupted at all.

    Examples
    --------
    >>> import torch
    >>> scheme = RandomCorruption(("cifar10-c/fog", "cifar10-c/contrast"), severities=(1, 2), probability=0.5)
    >>> scheme(torch.zeros(4, 3, 32, 32, dtype=torch.uint8), torch.arange(4)).shape
    torch.Size([4, 3, 32, 32])
    """

    entries: tuple[str, ...]
    severities: tuple[int, ...] = ()
    probability: float = 1.0
    suite: Suite | None = None

    kind: ClassVar[str] = "corruption"

    def __post_init__(self) -> None:
        for name, single in (("entries", str), ("severities", int)):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, single) else tuple(value))
        if not self.entries:
            raise ValueError("expected at least one entry of a suite to corrupt by, as in 'imagenet-c/fog'")
        if not is_number(self.probability) or not 0 <= self.probability <= 1:
            raise ValueError(f"the probability of a corruption must be from 0 to 1, got {self.probability!r}")
        for suite, entry, levels in self.cells():  # what is wrong fails here, not in a worker
            resolve_still(entry, levels[0], suite=suite)

    def cells(self) -> list[tuple[Suite, str, Levels]]:
        """The entries that images draw from, with their levels."""
        cells = []
        for name in self.entries:
            if self.suite is None and (name in list_suites() or name.endswith(".yaml")):
                suite, only = load_suite(name), None
            else:
                suite, only = find_entry(name, self.suite)
            cells += [(suite, entry, levels) for entry, levels in suite.choose(only, self.severities or None).items()]
        return cells

    def __call__(self, images: Tensor, ids: Tensor, seed: int = 0) -> Tensor:
        keys, cells = self.keys(ids, seed), self.cells()
        entries = integers(keys, "entry", low=0, high=len(cells) - 1).long()
        counts = torch.tensor([len(levels) for _, _, levels in cells], device=images.device)
        levels = (uniform(keys, "level") * counts[entries]).long().clamp(max=counts[entries] - 1)
        ways: list[Callable[..., Tensor]] = [
            partial(corrupt, name=entry, severity=level, suite=suite, seed=seed, check=False)
            for suite, entry, levels in cells
            for level in levels
        ]
        way = (counts.cumsum(0) - counts)[entries] + levels
        if self.probability < 1:
            ways.append(lambda images, ids: images)
            spared = ~bernoulli(keys, "corrupted", probability=self.probability)
            way = way.masked_fill(spared, len(ways) - 1)
        return each_its_way(images, ids, way, ways)

    def settings(self) -> dict[str, Any]:
        """Everything that determines pixels: the parameters of the entries among it."""
        entries = {
            f"{suite.name}/{entry}": {
                "size": suite.size_of(entry),
                "levels": list(levels),
                **suite.to_dict()["entries"][entry],
            }
            for suite, entry, levels in self.cells()
        }
        return {"scheme": self.kind, "probability": self.probability, "entries": entries}
