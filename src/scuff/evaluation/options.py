"""The options of an evaluation. Light on purpose: the command line reads them for its help."""

import os
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from scuff.files import check_out
from scuff.options import EITHER, NUMBER, REPEATED, REQUIRED, SWITCH, TEXT, WHOLE, Option
from scuff.vocabulary import (
    Device,
    EngineOption,
    Mean,
    Only,
    ProgressOption,
    Resize,
    SeedOrLocks,
    Severities,
    SkipUnreadable,
    Std,
    Validation,
)

if TYPE_CHECKING:
    from scuff.suites import Suite

MODELS = (
    "torchvision:NAME, timm:NAME, onnx:FILE, FILE.safetensors, FILE.pt, FILE.pt2, package.module:object or "
    "package.module:Class@FILE.pt; OTHER=MODEL gives it another name. In Python also a torch module, a callable or a "
    "Classifier, a list of these, or a mapping from names."
)
DATA = (
    "Images: fashion, cifar10:DIR, folder:DIR, npz:FILE, wds:TARS, hf:NAME, imagenet-a:DIR, ..., "
    "package.module:object; or published corrupted images: cifar10-c:DIR, imagenet-c:DIR. In Python also a Source, a "
    "torch Dataset or DataLoader, or a pair (images, labels)."
)


@dataclass(frozen=True, eq=False)
class EvaluationOptions:
    """Which models see which images, corrupted how; and how to run that. All models see the same corrupted batch."""

    command: ClassVar = "evaluate"

    models: Annotated[Any, Option(MODELS, REPEATED, "MODEL...", is_argument=True)]
    suite: Annotated[
        "Suite | str | os.PathLike[str] | None",
        Option(
            "Name of a suite (see scuff list), or a suite file. Without one, images are evaluated as they are.",
            TEXT,
            command_default=None,
        ),
    ]
    data: Annotated[Any, Option(DATA, TEXT, "SOURCE")]
    out: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "Folder for the results; any fsspec path, as s3://... Existing cells are reused.",
            TEXT,
            "DIR",
            command_default=REQUIRED,
        ),
    ] = None
    _: KW_ONLY
    task: Annotated[
        str,
        Option(
            "What the models do. Detection and segmentation need annotated pictures: coco:DIR, voc:DIR, yolo:DIR; "
            "cityscapes:DIR, voc-masks:DIR, masks:DIR.",
            TEXT,
            "classification|detection|segmentation",
        ),
    ] = "classification"
    targets: Annotated[
        str,
        Option(
            "Whether boxes and masks move with the pictures, or stay where they were, as COCO-C was published.",
            TEXT,
            "moved|still",
        ),
    ] = "moved"
    only: Only = None
    severities: Severities = None
    validation: Validation = False
    limit: Annotated[int | None, Option("Number of images, evenly spread over the data.", WHOLE, "N")] = None
    passes: Annotated[
        int | None,
        Option("Try only so many pairs of an image and a cell for each model, and estimate the scores.", WHOLE, "N"),
    ] = None
    half_width: Annotated[
        float | None,
        Option(
            "The same, until the 95 % interval of mCE (else of the mean error) is this many points to either side.",
            NUMBER,
            "POINTS",
        ),
    ] = None
    control: Annotated[
        str | None,
        Option(
            "Narrow the intervals of such a sample by what is known of all images: clean (all clean images are then "
            "tried), or the finished evaluation of another model.",
            TEXT,
            "clean|DIR[:MODEL]",
        ),
    ] = None
    clean: Annotated[Any, Option("Clean counterpart of published corrupted images.", TEXT, "SOURCE")] = None
    classes: Annotated[
        str | None, Option("Class subset: imagenet-a, imagenet-r or objectnet; others do not count.", TEXT, "NAME")
    ] = None
    skip_unreadable: SkipUnreadable = False
    resize: Resize = None
    crop: Annotated[
        int | None, Option("Then crop the middle square. Default: as the models expect.", WHOLE, "PIXELS")
    ] = None
    seed: SeedOrLocks = None
    as_published: Annotated[
        bool, Option("Compress corrupted images as the published ImageNet-C did (JPEG).", SWITCH)
    ] = False
    lock: Annotated[
        str | os.PathLike[str] | None,
        Option(
            "Evaluate what a lock file says (see scuff lock): suite, seed, size and all are its own, and a cell whose "
            "images differ in a byte is refused.",
            TEXT,
            "FILE",
        ),
    ] = None
    precision: Annotated[str, Option("Precision of the models.", TEXT, "float32|bfloat16|float16")] = "float32"
    mean: Mean = None
    std: Std = None
    device: Device = None
    batch_size: Annotated[int | None, Option("Batch size; halved when memory runs out.", WHOLE, "N")] = None
    compile: Annotated[
        bool | None,
        Option(
            "Compile the models with torch.compile. Default: on a GPU, where it pays.",
            EITHER,
            flag="--compile/--no-compile",
        ),
    ] = None
    workers: Annotated[
        int | None, Option("Number of processes that decode pictures; 0 for none but this one.", WHOLE, "N")
    ] = None
    cache: Annotated[
        str | os.PathLike[str] | None,
        Option("Folder for decoded pictures: the next run maps them instead of decoding.", TEXT, "DIR"),
    ] = None
    decoder: Annotated[
        str,
        Option("Who decodes pictures; nvjpeg is faster, needs a GPU, and gives other pixels.", TEXT, "pillow|nvjpeg"),
    ] = "pillow"
    engine: EngineOption = None
    progress: ProgressOption = None

    def __post_init__(self) -> None:
        check_out(self.out)
