"""The options of a training. Light on purpose: the command line reads them for its help."""

import os
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from scuff.options import NUMBER, TEXT, WHOLE, WORDS, Option
from scuff.vocabulary import TRAINING_IMAGES, Architecture, Device, Epochs, SkipUnreadable, Workers

if TYPE_CHECKING:
    from scuff.augment import Scheme
    from scuff.data import Source
    from scuff.suites import Suite
    from scuff.training.adversarial_noise import AdversarialTraining
    from scuff.training.recipes import Recipe
    from scuff.training.treatment import Augmented, Noise

RECIPE = "Training recipe: fashion, cifar-fast, cifar, imagenet-resnet50, ..., or FILE.yaml of your own."
OUT = "File for the weights; any fsspec path, as s3://bucket/net.safetensors. An interrupted training resumes, a "
OUT += "finished one is not repeated."
CORRUPTION = "Corrupt half of every batch by this, at random severities; of several, every image draws one."
SUITE = "Corrupt half of every batch by random corruptions of this suite."
NOISE = "Add uniform noise of up to this radius to every pixel (0..1), anew in every epoch."
AUGMENT = "Augment every image, anew in every epoch: augmix, augmix-jsd, autoaugment, patch-gaussian, ant, ..."
START = "Fine-tune these weights, at a lower learning rate, instead of starting anew."
SEED = "Determines initial weights, order of images and all random draws."
CLASSES = "Class subset: imagenet-100 is every tenth class of ImageNet."


@dataclass(frozen=True, eq=False)
class TrainingOptions:
    """Which network learns from which images, how they are treated, and where the weights go."""

    data: Annotated["str | Source", Option(TRAINING_IMAGES, TEXT, "DATA")]
    recipe: Annotated["str | Recipe", Option(RECIPE, TEXT, "NAME")]
    out: Annotated[str | os.PathLike[str], Option(OUT, TEXT, "FILE.safetensors")]
    _: KW_ONLY
    corruption: Annotated[str | Sequence[str] | None, Option(CORRUPTION, WORDS, "SUITE/NAME,...")] = None
    suite: Annotated["Suite | str | None", Option(SUITE, TEXT, "SUITE")] = None
    noise: Annotated["float | Noise | None", Option(NOISE, NUMBER, "RADIUS")] = None
    augment: Annotated["str | Scheme | Augmented | AdversarialTraining | None", Option(AUGMENT, TEXT, "SCHEME")] = None
    architecture: Architecture = None
    epochs: Epochs = None
    start: Annotated[str | os.PathLike[str] | None, Option(START, TEXT, "FILE")] = None
    seed: Annotated[int, Option(SEED, WHOLE, "N")] = 0
    classes: Annotated[str | None, Option(CLASSES, TEXT, "NAME")] = None
    skip_unreadable: SkipUnreadable = False
    device: Device = None
    workers: Workers = None
    progress: Annotated[Callable[[int, int], None] | None, Option("Called with (steps done, steps to do).")] = None
