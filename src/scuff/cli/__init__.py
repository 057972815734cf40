"""The command line: one file per verb, each a thin shell over a function of the package.

Nothing here imports torch, numpy or Pillow before a command needs them, so that help and lists come at once.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import scuff
from scuff.cli.corrupt import corrupt_command
from scuff.cli.demo import demo_command
from scuff.cli.design import design_app
from scuff.cli.evaluate import evaluate_command
from scuff.cli.gallery import gallery_command
from scuff.cli.list import list_command
from scuff.cli.mscr import mscr_command
from scuff.cli.overlap import overlap_command
from scuff.cli.progress import progress_command
from scuff.cli.report import report_command
from scuff.cli.separation import separation_command
from scuff.cli.show import show_command
from scuff.cli.train import train_command
from scuff.cli.transform_space import distance_app
from scuff.cli.validity import validity_command


class Verbs(TyperGroup):
    """The verbs in the order in which a newcomer wants them, and one way for all of them to fail."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands]  # in this package, list is the module of a verb

    def invoke(self, ctx: Any) -> Any:
        """Show a mistake of the user's as one line; anything else is a mistake of ours and keeps its traceback."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise  # the reader of our output has gone: typer ends quietly
        except (ValueError, KeyError, OSError) as error:
            typer.echo(f"Error: {_explain(error)}", err=True)
            raise typer.Exit(2) from error
        except KeyboardInterrupt as error:
            typer.echo("Interrupted.", err=True)
            raise typer.Exit(130) from error


def _explain(error: Exception) -> str:
    """The message on one line, without the quotes that KeyError and the number that OSError put around it."""
    if isinstance(error, KeyError) and error.args:
        text = str(error.args[0])
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename is not None else error.strerror
    else:
        text = str(error)
    return " ".join(text.split())


app = typer.Typer(
    cls=Verbs, no_args_is_help=True, add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"scuff {scuff.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version and stop.")
    ] = False,
) -> None:
    """Corruption robustness of image classifiers.

    Corrupt images as ImageNet-C, CIFAR-10-C and other benchmarks do, measure how well models cope, and design better
    benchmarks.

    \b
    Start here:
      scuff demo                         train, evaluate and report, on embedded data
      scuff list                         see which suites there are
      scuff show imagenet-c/fog          read about one corruption, and see it
      scuff gallery gallery/             pages that show every corruption of every suite
      scuff corrupt photos/ out/         corrupt a folder of pictures
      scuff evaluate MODEL --suite imagenet-c --data folder:val --out runs/mine
      scuff train --data cifar10:data --recipe cifar-fast --out net.safetensors
      scuff overlap noc-candidates --data cifar10:data --recipe cifar-fast --out runs/noc
      scuff design nonoverlapping runs/noc --out my-benchmark.yaml
      scuff separation points.csv        how far apart classes are
      scuff mscr --model 1-nn --data points.csv --out runs/points
      scuff distance schemes cifar10-c --schemes augmix --data cifar10:data --recipe cifar-fast --out runs/near
      scuff validity table.csv --mapping mapping.yaml --out runs/valid
      scuff report runs/mine             one HTML page about whatever is in a folder of results
      scuff progress runs/noc --watch    how far a study is, from any machine that sees its folder

    Each command explains itself: scuff COMMAND --help.
    """


app.command("list")(list_command)
app.command("show")(show_command)
app.command("gallery")(gallery_command)
app.command("corrupt")(corrupt_command)
app.command("evaluate")(evaluate_command)
app.command("train")(train_command)
app.command("overlap")(overlap_command)
app.add_typer(design_app, name="design")
app.command("separation")(separation_command)
app.command("mscr")(mscr_command)
app.add_typer(distance_app, name="distance")
app.command("validity")(validity_command)
app.command("report")(report_command)
app.command("progress")(progress_command)
app.command("demo")(demo_command)
