"""Classifiers: any model, opened from an address or an object, with its own preprocessing.

>>> list_architectures()[:3]
['small_cnn', 'resnet18', 'resnet50']
"""

from scuff.models.architectures import build, list_architectures
from scuff.models.checkpoint import read_origin, save_model
from scuff.models.classifier import Classifier
from scuff.models.open import close_model, open_model, register

__all__ = [
    "Classifier",
    "build",
    "close_model",
    "list_architectures",
    "open_model",
    "read_origin",
    "register",
    "save_model",
]
