"""The options of a lock. Light on purpose: the command line reads them for its help."""

import os
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any

from scuff.options import SWITCH, TEXT, Option
from scuff.vocabulary import Crop, Device, Only, ProgressOption, Resize, Seed, Severities, Validation

if TYPE_CHECKING:
    from scuff.suites import Suite


@dataclass(frozen=True, eq=False)
class LockOptions:
    """Which dataset is locked: a suite, the clean images, and how these are corrupted."""

    suite: Annotated[
        "Suite | str | os.PathLike[str]",
        Option("Name of a suite (see scuff list), or a suite file.", TEXT, "SUITE", is_argument=True),
    ]
    data: Annotated[
        Any, Option("Clean images: fashion, cifar10:DIR, folder:DIR, npz:FILE, hf:DIR, ...", TEXT, "SOURCE")
    ]
    _: KW_ONLY
    only: Only = None
    severities: Severities = None
    validation: Validation = False
    seed: Seed = 0
    resize: Resize = None
    crop: Crop = None
    as_published: Annotated[bool, Option("Compress as the published ImageNet-C did (JPEG).", SWITCH)] = False
    beside: Annotated[
        str | os.PathLike[str],
        Option("Folder of the file that the lock will be saved to: a suite of one's own is found relative to it."),
    ] = "."
    device: Device = None
    progress: ProgressOption = None
