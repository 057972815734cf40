"""The command line: one file per verb, each a thin shell over a function of the package.

Nothing here imports torch, numpy or Pillow before a command needs them, so that help and lists come at once.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

import scuff
from scuff.cli.plugins import SETTINGS, accept_plugins, own_command
from scuff.cli.verbs import Commands


class Verbs(TyperGroup):
    """The verbs in their order, and one way for all of them to fail."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        accept_plugins(self)
        self.commands = Commands()  # type: ignore[assignment]

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self.commands]  # in their order

    def resolve_command(self, ctx: Any, args: Any) -> Any:
        """A verb of ours, or else that of a plug-in."""
        own = own_command(args[0], args) if args and args[0] not in self.commands else None
        return super().resolve_command(ctx, args) if own is None else (args[0], own, args[1:])

    def invoke(self, ctx: Any) -> Any:
        """Show a user's mistake as one line; anything else is a bug and keeps its traceback."""
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
    """The message on one line, without the quotes that KeyError and the number that OSError put around it.

    A list of failures keeps its lines.
    """
    if hasattr(error, "failures"):
        return str(error)
    if isinstance(error, KeyError) and error.args:
        text = str(error.args[0])
    elif isinstance(error, OSError) and error.strerror:
        text = f"{error.strerror}: {error.filename}" if error.filename is not None else error.strerror
    else:
        text = str(error)
    return " ".join(text.split())


app = typer.Typer(cls=Verbs, no_args_is_help=True, **SETTINGS)


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
      scuff demo                         evaluate and report on embedded data
      scuff list                         list the suites
      scuff show imagenet-c/fog          explain one corruption, and draw it
      scuff gallery gallery/             pages that show every corruption of every suite
      scuff corrupt photos/ out/         corrupt a folder of pictures
      scuff lock cifar10-c --data cifar10:data --out L.yaml     a corrupted dataset as a recipe of 10 kB
      scuff verify L.yaml --data cifar10:data                   is it the same here, byte for byte?
      scuff evaluate MODEL --suite imagenet-c --data folder:val --out runs/mine
      scuff compare runs/a runs/b        which of two models is more robust, and where
      scuff survival MODEL --suite imagenet-c --data folder:val --out runs/fails
      scuff check claims.yaml MODEL --data folder:val --out runs/gate
      scuff adapt MODEL --stream continual --data cifar10:data --methods tent,cotta --out runs/adapt
      scuff train --data cifar10:data --recipe cifar-fast --out net.safetensors
      scuff overlap noc-candidates --data cifar10:data --recipe cifar-fast --out runs/noc
      scuff design nonoverlapping runs/noc --out my-benchmark.yaml
      scuff separation points.csv        measure how far apart classes are
      scuff mscr --model 1-nn --data points.csv --out runs/points
      scuff distance schemes cifar10-c --schemes augmix --data cifar10:data --recipe cifar-fast --out runs/near
      scuff validity table.csv --mapping mapping.yaml --out runs/valid
      scuff stream preview gradual --data fashion    corruptions that change over time, drawn
      scuff report runs/mine             write one HTML page about any folder of results
      scuff export runs/mine --as latex  tables for a paper; also figures, timm's CSV, Hugging Face, MLflow
      scuff explore                      play with corruptions, or walk through a folder of results, in a browser
      scuff doctor                       versions, devices, caches and what is missing, for an issue report
      scuff progress runs/noc --watch    watch a study, from any machine that sees its folder

    Own corruptions, suites, data, models, metrics and studies: scuff COMMAND --plugin FILE.py, [tool.scuff] plugins =
    ["FILE.py"] in pyproject.toml, or an installed package; see docs/plugins.md.

    Each command explains itself: scuff COMMAND --help. Long ones can be interrupted and run again to resume.

    \b
    Exit codes:
        0  all done
        1  some work failed, some files could not be read, the disk is full, or memory ran out
        2  the command, or the data, make no sense
      130  interrupted
    """
