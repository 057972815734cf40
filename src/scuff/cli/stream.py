"""`scuff stream`: corrupted images in an order; which recipes there are, what they do, and how they look."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.options import Seed
from scuff.cli.study import study_command
from scuff.studies.walks import WalkStudy

if TYPE_CHECKING:
    from scuff.streams import Stream

ROWS = 1_000_000  # that are written at a time
LISTED = 20  # segments that are printed

Name = Annotated[
    str, typer.Argument(metavar="RECIPE", help="Name, as gradual or gradual:order=chunks,limit=1000, or FILE.yaml.")
]
Data = Annotated[
    str, typer.Option(metavar="SOURCE", help="Images: fashion, cifar10:DIR, folder:DIR, cifar10-c:DIR, ...")
]
MaybeData = Annotated[str | None, typer.Option(metavar="SOURCE", help="Images, to see the segments that come of them.")]
SuiteName = Annotated[str | None, typer.Option(metavar="SUITE", help="Suite in place of the recipe's.")]

stream_app = typer.Typer(no_args_is_help=True, rich_markup_mode=None)


@stream_app.callback()
def _stream() -> None:
    """Streams of corrupted images, for test-time adaptation and drift detectors.

    A stream is a small recipe: which corruption comes when, how severe, and how labels cluster. What is at a position
    depends on nothing but recipe, source and seed. From Python: scuff.stream(source, recipe). See docs/streams.md.

    \b
    Examples:
      scuff stream list
      scuff stream show gradual --data cifar10:data
      scuff stream preview recurring:visits=2 --data fashion --out recurring.png
    """


@stream_app.command("list")
def list_command() -> None:
    """List the recipes that come with the package."""
    from scuff.cli.console import print_table
    from scuff.streams import list_recipes, load_recipe
    from scuff.tables import Column, Table

    recipes = [load_recipe(name) for name in list_recipes()]
    print_table(Table.of("", recipes, [Column("stream", "name"), Column("about", "about")]))


@stream_app.command("show")
def show_command(recipe: Name, data: MaybeData = None, suite: SuiteName = None, seed: Seed = 0) -> None:
    """Print a recipe as YAML, to be changed and kept; with data also the segments that come of it.

    \b
    Examples:
      scuff stream show recurring > mine.yaml
      scuff stream show gradual:corruptions=cotta-3 --data fashion
    """
    from scuff.streams import load_recipe, stream

    loaded = load_recipe(recipe)
    typer.echo(loaded.to_yaml(), nl=False)
    if data is None:
        return
    from scuff.cli.console import print_table
    from scuff.tables import Column, Table
    from scuff.words import count

    opened = stream(data, loaded, seed=seed, device="cpu", suite=suite)
    columns = [Column(name, name, str) for name in ("number", "start", "length", "corruption", "severity", "reset")]
    if opened.segments[0].expected is not None:
        columns.append(Column("expected %", "expected", "{:.1f}".format))
    print_table(Table.of("", opened.segments[:LISTED], columns))
    left = len(opened.segments) - LISTED
    more = f" ({left} more than these)" if left > 0 else ""
    batches = len(opened.grid())
    typer.echo(
        f"{count(len(opened), 'image')} in {count(len(opened.segments), 'segment')}{more}, of {opened.suite.name}"
    )
    typer.echo(f"{count(batches, 'batch', 'batches')} of {opened.grid().size}; fingerprint {opened.fingerprint}")


@stream_app.command("preview")
def preview_command(
    recipe: Name,
    data: Data,
    out: Path = typer.Option(Path("stream.png"), metavar="FILE.png", help="File to write."),
    pictures: int = typer.Option(12, metavar="N", help="Number of images along the way."),
    suite: SuiteName = None,
    seed: Seed = 0,
) -> None:
    """Draw a stream: images along the way, and below them corruption, severity and expected accuracy.

    \b
    Examples:
      scuff stream preview gradual --data fashion
      scuff stream preview ccc-hard:matrix=runs/ccc/matrix.csv --data cifar10:data --pictures 16 --out hard.png
    """
    if out.suffix.lower() != ".png":
        raise ValueError(f"--out must end in .png, got {out}")
    from scuff.files import write_by_rename
    from scuff.streams import stream
    from scuff.streams.preview import preview

    sheet = preview(stream(data, recipe, seed=seed, device="cpu", suite=suite), pictures)
    with write_by_rename(out) as file:
        sheet.save(file, "PNG")
    typer.echo(f"Picture: {out}")


@stream_app.command("export")
def export_command(
    recipe: Name,
    data: Data,
    out: Path = typer.Option(..., metavar="FILE", help="File to write: .csv or .parquet."),
    segments: bool = typer.Option(False, "--segments", help="A row for each segment, not for each image."),
    suite: SuiteName = None,
    seed: Seed = 0,
) -> None:
    """Write the truth about a stream, for drift detectors and other tools: a row for each position.

    Its columns are position, segment, corruption, severity, image_id and label; no image is made.

    \b
    Examples:
      scuff stream export recurring --data cifar10:data --out truth.parquet
      scuff stream export gradual --data cifar10:data --segments --out segments.csv
    """
    if out.suffix.lower() not in (".csv", ".parquet"):
        raise ValueError(f"--out must end in .csv or .parquet, got {out}")
    from scuff.streams import stream

    opened = stream(data, recipe, seed=seed, device="cpu", suite=suite)
    written = _write(opened, out, segments)
    typer.echo(f"{written} rows: {out}")


def _write(stream: Stream, out: Path, segments: bool) -> int:
    """Rows, part after part, so that a long stream takes no more memory than a short one."""
    from scuff.files import write_by_rename

    parts = [stream.segment_table()] if segments else None
    tables: Any = parts or (
        stream.table(start, min(start + ROWS, len(stream))) for start in range(0, len(stream), ROWS)
    )
    written = 0
    with write_by_rename(out) as file:
        if out.suffix.lower() == ".csv":
            for table in tables:
                file.write(table.to_csv(index=False, header=not written).encode())
                written += len(table)
            return written
        import pyarrow as pa
        from pyarrow import parquet

        writer = None
        for table in tables:
            arrow = pa.Table.from_pandas(table, preserve_index=False)
            writer = writer or parquet.ParquetWriter(file, arrow.schema)
            writer.write_table(arrow)
            written += len(table)
        if writer is not None:
            writer.close()
    return written


@study_command(WalkStudy)
def calibrate_command(plan: Any, table: Any) -> None:
    """Measure how hard all pairs of corruptions are for a model, for the walks of CCC.

    CCC leads from one corruption to the next on a path along which a baseline has a chosen mean accuracy. The paths are
    found in a matrix: the accuracy under every ordered pair of corruptions, at severities from 0 to 5 of both. Take the
    baseline that the stream is to be about, and clean images of its kind.

    With the default step of half a severity, and the 14 corruptions of CCC, these are 18 341 accuracies. Interrupt it
    whenever you like: the same command goes on where it was. Its last line is the setting of a recipe.

    \b
    Examples:
      scuff stream calibrate net.safetensors --data cifar10:data --out runs/ccc
      scuff stream calibrate torchvision:resnet50 --data folder:val --images 1000 --out runs/ccc --dry-run
      scuff stream preview ccc-easy:matrix=runs/ccc/matrix.csv --data cifar10:data
    """
    from scuff.studies.walks import MATRIX

    values = table.drop(columns=["first", "second", "severity"]).to_numpy()
    typer.echo(f"Accuracies from {values.min():.1f} to {values.max():.1f} %")
    typer.echo(f"Matrix: {plan.store.root}/{MATRIX}; use it by ccc-easy:matrix={plan.store.root}/{MATRIX}")


stream_app.command("calibrate")(calibrate_command)
