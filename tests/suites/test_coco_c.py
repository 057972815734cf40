"""COCO-C: ImageNet-C's lengths, the same on images of any size, and an elastic transform of its own."""

import numpy as np
import pytest

import scuff
from scuff.suites import SuiteError
from scuff.suites.combine import combine_suites

PICTURE = np.random.default_rng(0).integers(0, 256, (96, 160, 3), dtype=np.uint8)


def test_it_is_imagenet_c_but_for_elastic() -> None:
    ours, theirs = scuff.load_suite("coco-c"), scuff.load_suite("imagenet-c")
    assert list(ours.entries) == list(theirs.entries)
    assert ours.validation == theirs.validation
    different = [entry for entry in ours.entries if ours.entries[entry] != theirs.entries[entry]]
    assert different == ["elastic_transform"]
    assert ours.corruption("elastic_transform") == "knead"


@pytest.mark.parametrize("entry", ["defocus_blur", "motion_blur"])
def test_lengths_stay_as_they_are(entry: str) -> None:
    plain = scuff.corrupt(PICTURE, f"coco-c/{entry}", 3, ids=[0])
    assert np.array_equal(plain, scuff.corrupt(PICTURE, f"coco-c/{entry}", 3, ids=[0], scale=False))
    if entry == "defocus_blur":  # which draws nothing
        assert np.array_equal(plain, scuff.corrupt(PICTURE, f"imagenet-c/{entry}", 3, scale=False))
        assert not np.array_equal(plain, scuff.corrupt(PICTURE, f"imagenet-c/{entry}", 3))


def test_a_file_says_so(tmp_path) -> None:
    suite = scuff.load_suite("coco-c")
    assert scuff.load_suite(suite.save(tmp_path / "copy.yaml")) == suite
    assert suite.size_of("fog") is None
    with pytest.raises(SuiteError, match="fixed_lengths must be true or false, got 1"):
        scuff.suites.Suite("mine", 1, 224, {"fog": {"strength": 1.0, "decay": 2.0}}, fixed_lengths=1)  # type: ignore[arg-type]


def test_fixed_lengths_do_not_mix_with_others() -> None:
    assert combine_suites("two", ["coco-c/fog", "coco-c/snow"]).fixed_lengths
    with pytest.raises(SuiteError, match="do not mix them"):
        combine_suites("both", ["coco-c/fog", "imagenet-c/snow"])
