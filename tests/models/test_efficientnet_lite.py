"""The example of a model of one's own. Collected only where the packages with its code and weights are installed."""

from pathlib import Path

import numpy as np
import torch

from scuff.models import open_model
from scuff.pictures import bundled_picture

CATS = range(281, 286)  # tabby, tiger cat, Persian, Siamese, Egyptian


def test_a_trained_model_sees_the_cat(monkeypatch):
    monkeypatch.chdir(Path(__file__).parents[2])
    classifier = open_model("examples.efficientnet_lite:lite0")
    assert classifier.parameter_count() == 4_652_008
    picture = torch.from_numpy(np.array(bundled_picture())).permute(2, 0, 1)[None]
    probabilities = classifier(picture).softmax(1)[0]
    assert probabilities[CATS].sum() > 0.5
