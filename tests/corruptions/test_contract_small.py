"""The contract on small pictures only, for corruptions whose whole check is left to `make test-slow`."""

import pytest

import scuff

DRAWN = scuff.list_corruptions("noc-candidates") + scuff.list_corruptions("syn2nat-candidates")
LEVELLED = ["caustic_refraction", "circular_motion_blur", "fish_eye", "plasma_noise"]


@pytest.mark.parametrize("address", [*DRAWN, *(f"c-bar-candidates-32/{name}" for name in LEVELLED)])
def test_the_contract_on_small_pictures(address: str) -> None:
    scuff.check_corruption(address, sizes=[(1, 1), (20, 31)], images=2)
