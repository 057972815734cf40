"""The contract on small pictures only, for corruptions whose whole check is left to `make test-slow`."""

from contextlib import nullcontext

import pytest
import torch
from torch import Tensor

import scuff
from scuff.corruptions import registry
from scuff.corruptions.motion import cover, shifted

DRAWN = scuff.list_corruptions("noc-candidates") + scuff.list_corruptions("syn2nat-candidates")
CLASSIC = scuff.list_corruptions("cifar10-c")
LEVELLED = ["caustic_refraction", "circular_motion_blur", "fish_eye", "plasma_noise"]


@pytest.mark.parametrize("address", [*DRAWN, *CLASSIC, *(f"c-bar-candidates-32/{name}" for name in LEVELLED)])
def test_the_contract_on_small_pictures(address: str) -> None:
    scuff.check_corruption(address, sizes=[(1, 1), (20, 31)], images=2)


def _pushed(x: Tensor) -> Tensor:
    return torch.nn.functional.pad(x, (3, -3))


@pytest.mark.parametrize("down", [0.0, 3.0])
def test_a_motion_that_is_wrong_is_noticed(monkeypatch: pytest.MonkeyPatch, down: float) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    registry.register(family="test", motion=lambda shape: shifted(shape, torch.tensor([[down, 3.0 - down]])))(_pushed)
    with nullcontext() if down == 0.0 else pytest.raises(AssertionError, match="pixels from its motion's"):
        scuff.check_corruption("_pushed", parameters={}, sizes=[(24, 30)])


def test_a_missing_motion_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    registry.register(family="test")(_pushed)
    with pytest.warns(UserWarning, match=r"a spot moves by 3.0 pixels; say where with register\(motion="):
        scuff.check_corruption("_pushed", parameters={}, sizes=[(24, 30)])


def test_a_cover_that_hides_nothing_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_registry", dict(registry._registry))
    registry.register(family="test", motion=cover(lambda shape: torch.ones(1, *shape[1:])))(_pushed)
    with pytest.raises(AssertionError, match="should be covered show the picture"):
        scuff.check_corruption("_pushed", parameters={}, sizes=[(24, 30)])
