"""Options that several commands share."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

Picture = Annotated[Path | None, typer.Option(metavar="FILE", help="Picture to corrupt instead of the bundled cat.")]
Seed = Annotated[int, typer.Option(help="Seed of everything random.")]
Device = Annotated[str | None, typer.Option(help="cpu, cuda, cuda:1. Default: the GPU if there is one.")]
EngineName = Annotated[str, typer.Option("--engine", metavar="local|ray", help="Run here, or on a Ray cluster.")]
Address = Annotated[
    str | None, typer.Option("--address", metavar="HOST:PORT|auto", help="Ray cluster to use. Default: a new one here.")
]
Share = Annotated[int, typer.Option("--share", metavar="N", help="Number of trainings that share a GPU.")]
Repair = Annotated[bool, typer.Option("--repair", help="Make finished cells again whose files are damaged.")]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Say what would be done and what it costs, and stop.")]
