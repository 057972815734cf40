"""Options that several studies have, each declared once: a field of a study is a name, one of these, and a default."""

import os
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

from scuff.options import (
    NUMBERS,
    SCHEMES,
    SEEDS,
    SWITCH,
    TEXT,
    WHOLE,
    WHOLES,
    WORDS,
    Option,
)

if TYPE_CHECKING:
    import torch

    from scuff.augment import Scheme
    from scuff.engine import Engine, Progress
    from scuff.suites import Suite
    from scuff.training.recipes import Recipe

TRAINING_IMAGES = "Training images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR, package.module:object."
RECIPES = "Training recipe: fashion, cifar-fast, imagenet-100, ... (see scuff train --help)."
PLACE = "Folder for the results; existing results are reused."

# --- how to run -------------------------------------------------------------------------------------------------------
Device = Annotated[
    "str | torch.device | None", Option("cpu, cuda or cuda:1. Default: the GPU if there is one.", TEXT, resume="noted")
]
Workers = Annotated[
    int | None,
    Option("Number of processes that decode pictures; 0 for none but this one.", WHOLE, "N", resume="noted"),
]
EngineOption = Annotated[
    "Engine | None", Option("Where cells run, see scuff.engine. Default: this machine.", resume="noted")
]
ProgressOption = Annotated["Progress | None", Option("Called with (what is being done, done, to do).", resume="noted")]

# --- where ------------------------------------------------------------------------------------------------------------
Data = Annotated[Any, Option(TRAINING_IMAGES, TEXT, "DATA", resume="noted")]
Out = Annotated[str | os.PathLike[str], Option(PLACE, TEXT, "DIR", resume="noted")]
MaybeOut = Annotated[str | os.PathLike[str] | None, Option(PLACE, TEXT, "DIR", resume="noted")]
Test = Annotated[Any, Option("Test images. Default: the test split of the data.", TEXT, "DATA", resume="noted")]
Limit = Annotated[int | None, Option("Number of test images, evenly spread.", WHOLE, "N")]
Resize = Annotated[int | None, Option("Resize each picture's shorter side to this first.", WHOLE, "PIXELS")]
Crop = Annotated[int | None, Option("Then crop the central square of this size.", WHOLE, "PIXELS")]
SkipUnreadable = Annotated[
    bool,
    Option("Go on without pictures that cannot be read, instead of listing them.", SWITCH, resume="noted"),
]

# --- corruptions and augmentations ------------------------------------------------------------------------------------
SuiteName = Annotated[
    "str | Suite", Option("Corruptions: cifar10-c, imagenet-c, FILE.yaml, ...", TEXT, "SUITE", is_argument=True)
]
Only = Annotated[
    Sequence[str] | None,
    Option("Use only these corruptions, as in fog,snow. Default: all of the benchmark.", WORDS, "NAMES"),
]
Severities = Annotated[
    Sequence[int] | None,
    Option("Use only these severities, as in 1,3. Default: all.", WHOLES, "LEVELS", flag="--severity"),
]
Validation = Annotated[bool, Option("Include unscored entries.", SWITCH, flag="--validation/--no-validation")]
Schemes = Annotated[
    "str | Sequence[str] | Mapping[str, Scheme | str]",
    Option(
        "Augmentation schemes: augmix, autoaugment, powerset-64, ... (see scuff train --help).",
        SCHEMES,
        "SCHEMES",
        resume="joins",
    ),
]

# --- networks ---------------------------------------------------------------------------------------------------------
RecipeName = Annotated["str | Recipe", Option(RECIPES, TEXT, "NAME")]
MaybeRecipe = Annotated["str | Recipe | None", Option(RECIPES, TEXT, "NAME")]
Architecture = Annotated[str | None, Option("Network to train instead of the recipe's.", TEXT)]
Epochs = Annotated[int | None, Option("Number of epochs instead of the recipe's.", WHOLE, "N")]
Seeds = Annotated[
    int | Sequence[int],
    Option(
        "Number of trainings of everything, or their seeds, as in 3,7; at least 3 for intervals over trainings.",
        SEEDS,
        "N",
        resume="joins",
    ),
]
Extractor = Annotated[
    Any, Option("Network whose features are used. Default: one is trained without augmentation.", TEXT, "MODEL")
]
Mean = Annotated[
    Sequence[float] | None, Option("Normalisation: (pixel - mean) / std, pixels in 0..1.", NUMBERS, "NUMBERS")
]
Std = Annotated[Sequence[float] | None, Option("As in 0.229,0.224,0.225.", NUMBERS, "NUMBERS")]

# --- numbers ----------------------------------------------------------------------------------------------------------
Seed = Annotated[int, Option("Seed of everything random.", WHOLE, "N")]
SeedOrLocks = Annotated[int | None, Option("Seed of everything random (default 0, or that of the lock).", WHOLE, "N")]
Precision = Annotated[
    str | None,
    Option("float32, bfloat16 or float16. Default: bfloat16 on a GPU, float32 on a CPU.", TEXT, "NAME"),
]
