"""Train classifiers: recipes, and the loop that carries them out on images that stay on the device."""

from scuff.training.adversarial_noise import AdversarialTraining
from scuff.training.recipes import RECIPES, Recipe, find_recipe
from scuff.training.run import train
from scuff.training.treatment import Augmented, Noise

__all__ = ["RECIPES", "AdversarialTraining", "Augmented", "Noise", "Recipe", "find_recipe", "train"]
