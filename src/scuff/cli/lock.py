"""`scuff lock`: a corrupted dataset as a recipe of 10 kB."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from scuff.cli.study import options_command
from scuff.locks.options import LockOptions

Out = Annotated[Path, typer.Option(metavar="FILE", help="Lock file to write, as in imagenet-c.lock.yaml.")]


@options_command(LockOptions)
def lock_command(options: dict[str, Any], *, out: Out = ...) -> None:  # type: ignore[assignment]
    """Write a lock: what every image of a corrupted dataset must be, byte for byte, in at most 10 kB.

    Send it instead of the dataset. Whoever has the clean images makes the same dataset with scuff corrupt --lock, or
    evaluates on it with scuff evaluate --lock, and both refuse anything that differs in a single byte. scuff verify
    holds data or files against it, and says why they differ.

    A lock holds the suite and a fingerprint of its parameters, the seed, how pictures are decoded and cut, digests of
    the clean images (of the files, and of decoded pixels), and a digest of every corruption at every severity. The seal
    in its first line names the dataset: the same seal, the same pixels. All images are corrupted once for that.

    \b
    Examples:
      scuff lock cifar10-c --data cifar10:data --out cifar10-c.lock.yaml
      scuff lock imagenet-c --data folder:val --resize 256 --crop 224 --out imagenet-c.lock.yaml
      scuff lock mine.yaml --data npz:test.npz --seed 7 --only fog,rain --out mine.lock.yaml
    """
    from scuff.cli.files import check_files
    from scuff.cli.jobs import resumable_job
    from scuff.locks import make_lock

    check_files(out)
    with resumable_job(goes_on=False) as advance:
        made = make_lock(**options, beside=out.absolute().parent, progress=advance)
    made.save(out)
    size = out.stat().st_size
    typer.echo(f"{out}: {made.images} images x {len(made.cells)} cells of {made.suite.name} in {size} bytes.")
    typer.echo(f"Seal: {made.seal}; for quick checks it knows {len(made.sample)} images one by one.")
    typer.echo(f"Check it anywhere: scuff verify {out} --data {options['data']}")
