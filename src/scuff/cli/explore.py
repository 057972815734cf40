"""`scuff explore`: a page on this machine to play with corruptions and to walk through results."""

from __future__ import annotations

from typing import Annotated

import typer

from scuff.cli.options import Device

Folder = Annotated[
    str | None, typer.Argument(metavar="[FOLDER]", help="Folder of an evaluation or of any study; any fsspec path.")
]
Models = Annotated[
    list[str] | None,
    typer.Option("--model", metavar="MODEL", help="Model that looks on: as for scuff evaluate. May be repeated."),
]
Data = Annotated[
    str | None,
    typer.Option(
        metavar="SOURCE", help="Pictures to choose from, as for scuff evaluate; of an evaluation, its images."
    ),
]
Suites = Annotated[
    list[str] | None,
    typer.Option("--suite", metavar="FILE.yaml", help="Suite of your own to pick from. May be repeated."),
]
Port = Annotated[int, typer.Option(metavar="N", min=0, max=65535, help="Port on this machine. Default: any free one.")]
Browser = Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")]


def explore_command(
    folder: Folder = None,
    model: Models = None,
    data: Data = None,
    suite: Suites = None,
    device: Device = None,
    port: Port = 0,
    browser: Browser = True,
) -> None:
    """Play with corruptions, and walk through results, in a page on this machine.

    Pick a suite and a corruption, drag the severity, change seed and size, drop a picture of your own: the page shows
    it clean and corrupted, the difference and its spectrum, the parameters, and the line of Python that does the same.
    With --model it also shows what models see meanwhile, how sure they are, and the severity at which each fails.

    With the FOLDER of an evaluation: its heat map; a click on a cell shows the pictures behind it with prediction and
    confidence, by class, by what went wrong, or where two models disagree; and one picture through all cells. With that
    of an overlap study: the matrix, and pictures of both corruptions of a pair. With any, also of a study that is still
    running: the page that scuff report makes of it.

    Only this machine can open the page, at the address that is printed, which holds a secret. Nothing comes from the
    network. Ctrl-C ends it.

    \b
    Examples:
      scuff explore
      scuff explore --model torchvision:resnet50 --data folder:val
      scuff explore runs/r50
      scuff explore runs/noc --no-browser --port 8000
    """
    from scuff.packages import need

    need("scuff explore", "starlette", "uvicorn")
    from scuff.explore.open import open_explorer
    from scuff.explore.server import open_server

    serving = open_server(open_explorer(folder, model or [], data, device, suite or []), port)
    typer.echo(f"Explorer: {serving.address}\nCtrl-C ends it.")
    if browser:
        import webbrowser

        webbrowser.open(serving.address)
    serving.run()
    typer.echo("The explorer has ended.")
