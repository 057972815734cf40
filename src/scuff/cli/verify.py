"""`scuff verify`: is it, byte for byte, what a lock says? If not, why?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from scuff.cli.options import Device

Data = Annotated[
    str | None, typer.Option(metavar="SOURCE", help="Clean images, from which the cells are made: cifar10:DIR, ...")
]
Sample = Annotated[
    int | None, typer.Option(metavar="N", help="Only N images of each cell, at most 64; fewer in locks of many cells.")
]


def verify_command(
    lock: Path = typer.Argument(..., metavar="LOCK", help="Lock file that scuff lock has written."),
    folder: Path | None = typer.Argument(
        None, metavar="[FOLDER]", help="Corrupted images that somebody wrote: .npy or .npz files, pictures, tar files."
    ),
    data: Data = None,
    sample: Sample = None,
    device: Device = None,
) -> None:
    """Check that corrupted images are those of a lock, byte for byte, and say why if they are not.

    With --data alone, the cells are made again here: do these clean images and this machine give the dataset of the
    lock? With FOLDER, its files are read, whoever wrote them: CORRUPTION.npy, CORRUPTION/SEVERITY.npz, or
    CORRUPTION/SEVERITY/ with pictures or tar files in it.

    Where images differ, the usual faults are tried: channels in the order BGR, another resize filter, a crop before the
    resize, another severity or seed, an additional JPEG, the rounding of floats, images in another order, missing or
    twice, shifted labels, another decoder. For some of them FOLDER needs --data, too. The exit code is then 1.

    \b
    Examples:
      scuff verify cifar10-c.lock.yaml --data cifar10:data
      scuff verify imagenet-c.lock.yaml --data folder:val --sample 20
      scuff verify cifar10-c.lock.yaml CIFAR-10-C/ --data cifar10:data
    """
    from scuff.cli.jobs import resumable_job
    from scuff.locks import verify

    with resumable_job(goes_on=False) as advance:
        verdict = verify(lock, folder, data=data, sample=sample, device=device, progress=advance)
    typer.echo(str(verdict))
    if not verdict.is_equal:
        raise typer.Exit(1)
