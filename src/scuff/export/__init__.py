"""Write corrupted copies of a dataset: the library behind `scuff corrupt`.

A folder of pictures becomes DST/<corruption>/<severity>/<the same tree>, as ImageNet-C was published; an array becomes
DST/<corruption>.npy, as CIFAR-10-C was, or DST/<corruption>/<severity>.npz; and both can become tar files for
WebDataset, DST/<corruption>/<severity>/shard-000000.tar. A corruption that has no levels, because every image draws its
own severity, leaves <severity> out: DST/<corruption>/<the same tree>, DST/<corruption>.npz. Every file is written by
rename, and one that exists is not made again: a run that was stopped, for whatever reason, goes on when it is repeated.
What a file holds does not depend on where it was made, on the number of workers, or on which other files there are.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scuff.export.cost import estimate
    from scuff.export.plan import Plan, plan_export
    from scuff.export.run import ExportResult, ExportStopped, export, run_plan

__all__ = ["ExportResult", "ExportStopped", "Plan", "estimate", "export", "plan_export", "run_plan"]


def __getattr__(name: str) -> Any:
    """Names are imported on first use: the command line reads the options, and its help must not wait for torch."""
    if name not in __all__:
        raise AttributeError(f"module 'scuff.export' has no attribute {name!r}")
    home = {"estimate": "cost", "Plan": "plan", "plan_export": "plan"}.get(name, "run")
    return getattr(importlib.import_module(f"scuff.export.{home}"), name)
