"""What training images are changed with: AugMix, AutoAugment, RandAugment, noise, and what they are made of."""

from scuff.augment.augmix import NINE, AugMix
from scuff.augment.autoaugment import AutoAugment
from scuff.augment.corruption import RandomCorruption
from scuff.augment.losses import consistency_loss, jensen_shannon
from scuff.augment.module import Augment
from scuff.augment.noise import GaussianNoise, PatchGaussian, UniformNoise
from scuff.augment.randaugment import RandAugment
from scuff.augment.scheme import NoAugmentation, Scheme
from scuff.augment.schemes import expand_schemes, open_scheme, powerset

__all__ = [
    "NINE",
    "AugMix",
    "Augment",
    "AutoAugment",
    "GaussianNoise",
    "NoAugmentation",
    "PatchGaussian",
    "RandAugment",
    "RandomCorruption",
    "Scheme",
    "UniformNoise",
    "consistency_loss",
    "expand_schemes",
    "jensen_shannon",
    "open_scheme",
    "powerset",
]
