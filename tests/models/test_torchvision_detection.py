"""Detectors and segmenters of torchvision, with random weights."""

import pytest
import torch

from scuff.models.detectors import open_task_model

IMAGES = torch.randint(0, 256, (2, 3, 64, 80), dtype=torch.uint8, generator=torch.Generator().manual_seed(0))


def test_a_detector() -> None:
    detector = open_task_model("torchvision:fasterrcnn_mobilenet_v3_large_320_fpn@random", "detection")
    assert detector.name == "fasterrcnn_mobilenet_v3_large_320_fpn"
    assert "person" in detector.class_names
    found = detector.on("cpu")(IMAGES)
    assert len(found) == 2
    assert found[0].boxes.shape[1] == 4
    again = open_task_model("torchvision:fasterrcnn_mobilenet_v3_large_320_fpn@random", "detection")
    assert again.fingerprint() == detector.fingerprint()


def test_a_segmenter() -> None:
    segmenter = open_task_model("small=torchvision:lraspp_mobilenet_v3_large@random", "segmentation")
    assert segmenter.name == "small"
    assert segmenter.mean is not None
    assert segmenter.on("cpu")(IMAGES).shape == (2, 64, 80)


def test_wrong_names_are_answered() -> None:
    with pytest.raises(ValueError, match="torchvision has no detector called 'fasterrcnn_resnet50'; did you mean"):
        open_task_model("torchvision:fasterrcnn_resnet50", "detection")
