"""Train classifiers: recipes, and the loop that carries them out on images that stay on the device."""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scuff.training.adversarial_noise import AdversarialTraining
    from scuff.training.recipes import RECIPES, Recipe, find_recipe
    from scuff.training.run import train
    from scuff.training.treatment import Augmented, Noise

__all__ = ["RECIPES", "AdversarialTraining", "Augmented", "Noise", "Recipe", "find_recipe", "train"]

HOMES = {"AdversarialTraining": "adversarial_noise", "train": "run", "Augmented": "treatment", "Noise": "treatment"}


def __getattr__(name: str) -> Any:
    """Names are imported on first use: the command line reads the options, and its help must not wait for torch."""
    if name not in __all__:
        raise AttributeError(f"module 'scuff.training' has no attribute {name!r}")
    return getattr(importlib.import_module(f"scuff.training.{HOMES.get(name, 'recipes')}"), name)
