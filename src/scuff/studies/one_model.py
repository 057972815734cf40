"""What studies share that show clean images to one model, again and again under changing corruptions."""

from dataclasses import KW_ONLY
from typing import TYPE_CHECKING, Any, TypeVar

from scuff.studies.base import Study, study
from scuff.vocabulary import Crop, Limit, Mean, Resize, Seed, SkipUnreadable, Std

if TYPE_CHECKING:
    import torch

    from scuff.studies.calibration.bench import ClosedBench

R = TypeVar("R")
OF_IMAGES = ("limit", "skip_unreadable", "progress", "resize", "crop", "mean", "std")


@study
class OneModelStudy(Study[R]):
    """A study of one model: which images it sees, cut and normalised how. Subclasses add `model` and `data`."""

    _: KW_ONLY
    limit: Limit = None
    skip_unreadable: SkipUnreadable = False
    resize: Resize = None
    crop: Crop = None
    seed: Seed = 0
    mean: Mean = None
    std: Std = None

    def plan_bench(self, device: "torch.device") -> "ClosedBench":
        """The model and the images, which every worker opens for itself."""
        from scuff.studies.calibration.bench import plan_bench

        asked: Any = self
        options = {name: getattr(self, name) for name in OF_IMAGES}
        return plan_bench(asked.model, asked.data, **options, device=device)
