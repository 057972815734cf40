"""The options of an export. Light on purpose: the command line reads them for its help."""

import os
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated

from scuff.files import check_out
from scuff.options import TEXT, WHOLE, Option
from scuff.vocabulary import Crop, EngineOption, Only, Resize, SeedOrLocks, Severities, SkipUnreadable, Validation

if TYPE_CHECKING:
    from scuff.suites import Suite

SOURCE = (
    "Folder of pictures of any sizes, at any depth, or a picture; or an array: an .npz with uint8 images (N, H, W, 3) "
    "or (N, H, W) under images, x or data, and perhaps labels under labels or y; or a .npy of images; or labelled "
    "images as evaluate takes them: cifar10:DIR, package.module:function; or annotated pictures, with annotations that "
    "move along: coco:DIR, voc:DIR, yolo:DIR, masks:DIR, cityscapes:DIR."
)
LAYOUT = (
    "Layout of the results. For a folder: folder (default). For an array: npy (default), one file per corruption, as "
    "in CIFAR-10-C; or npz, one file per corruption and severity. For both: webdataset, tar files."
)
SAVE = "File format: png is lossless; jpeg has quality 85, as ImageNet-C was published."
LOCK = (
    "Make what a lock file says (see scuff lock): suite, seed, size and all are its own, and results are read back and "
    "refused if a byte differs."
)


@dataclass(frozen=True, eq=False)
class ExportOptions:
    """Which images are corrupted how, and where and in which form the results are written."""

    source: Annotated[str | os.PathLike[str], Option(SOURCE, TEXT, "SRC", is_argument=True)]
    destination: Annotated[
        str | os.PathLike[str],
        Option(
            "Folder for the results, outside the source; any fsspec path, as s3://bucket/out.",
            TEXT,
            "DST",
            is_argument=True,
        ),
    ]
    suite: Annotated[
        "Suite | str | os.PathLike[str]", Option("Name of a suite (see scuff list), or a suite file.", TEXT)
    ] = "imagenet-c"
    _: KW_ONLY
    only: Only = None
    severities: Severities = None
    validation: Validation = False
    seed: SeedOrLocks = None
    resize: Resize = None
    crop: Crop = None
    save: Annotated[str, Option(SAVE, TEXT, "png|jpeg")] = "png"
    layout: Annotated[str | None, Option(LAYOUT, TEXT, "folder|npz|npy|webdataset")] = None
    lock: Annotated[str | os.PathLike[str] | None, Option(LOCK, TEXT, "FILE")] = None
    shard: Annotated[int | None, Option("Pictures per tar file of webdataset (default 500).", WHOLE, "N")] = None
    skip_unreadable: SkipUnreadable = False
    engine: EngineOption = None
    progress: Annotated[
        Callable[[int, int], None] | None, Option("Called with (outputs made, outputs to make) as they get ready.")
    ] = None

    def __post_init__(self) -> None:
        check_out(self.destination)
