"""`scuff mscr`: how much accuracy models lose to noise that the separation of the classes would permit them to bear."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING, Annotated, Any

import typer

from scuff.cli.options import Address, Device, EngineName, whole_numbers, words

if TYPE_CHECKING:
    from scuff.metrics import RobustAccuracies
    from scuff.studies import MscrPlan


def mscr_command(
    data: Annotated[
        str,
        typer.Option(
            "--data", metavar="DATA", help="FILE.csv, FILE.npz, or a source: fashion, cifar10:DIR, folder:DIR."
        ),
    ],
    out: Annotated[str, typer.Option(metavar="DIR", help="A folder for the study; what is in it is not done again.")],
    model: Annotated[
        list[str] | None,
        typer.Option(
            "--model",
            metavar="MODEL",
            help="random-forest, 1-nn, recipe:NAME, sklearn.svm:SVC, or a trained model. Several: repeat it.",
        ),
    ] = None,
    protocol: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="paper-2d, paper-copies or paper-cifar10; other options override it."),
    ] = None,
    train_noise: Annotated[
        str | None,
        typer.Option(metavar="RADII", help="As in 0,0.01,1x, where 1x is epsilon_min. Default: 0,0.25x,...,2x."),
    ] = None,
    test_noise: Annotated[
        str | None, typer.Option(metavar="RADII", help="The same for tests; 0 and 1x are always there.")
    ] = None,
    copies: Annotated[
        str | None, typer.Option(metavar="K", help="Noisy points per point, 10; several, as in 1,5,10, to compare.")
    ] = None,
    runs: Annotated[
        int | None, typer.Option(metavar="N", help="Trainings of everything. Default: 10; trained models: 1.")
    ] = None,
    norm: Annotated[str, typer.Option(metavar="P", help="Of distances and balls: inf, 2, 1 or any p from 1.")] = "inf",
    epsilon_min: Annotated[
        float | None, typer.Option(metavar="RADIUS", help="Half the separation, if it is known already.")
    ] = None,
    quantile: Annotated[
        float, typer.Option(metavar="Q", help="Take this quantile of the distances instead of the smallest.")
    ] = 0.0,
    offsets: Annotated[
        str | None,
        typer.Option(metavar="independent|shared", help="Every point its own noise, or all of a run the same."),
    ] = None,
    bounds: Annotated[
        str | None,
        typer.Option(
            metavar="none|clip|truncate", help="At 0 and 1. Default: truncate (L-infinity) or clip; vectors: none."
        ),
    ] = None,
    keep_originals: Annotated[bool, typer.Option("--keep-originals", help="Train on clean points, too.")] = False,
    test_share: Annotated[
        float, typer.Option(metavar="SHARE", help="Of data without a test split, for models that are trained here.")
    ] = 0.2,
    label: Annotated[str | None, typer.Option(metavar="COLUMN", help="Where a table has its classes.")] = None,
    scale: Annotated[
        str | None, typer.Option(metavar="minmax|none", help="For features outside of 0..1: rescale, or leave them.")
    ] = None,
    resize: Annotated[
        int | None, typer.Option(metavar="PIXELS", help="First bring pictures' shorter side to this.")
    ] = None,
    crop: Annotated[int | None, typer.Option(metavar="PIXELS", help="Then cut a square out of their middle.")] = None,
    drop_duplicates: Annotated[
        bool, typer.Option("--drop-duplicates", help="Leave points with two labels out of the separation.")
    ] = False,
    as_paper: Annotated[
        bool,
        typer.Option("--as-paper", help="Print ratios of means and intervals as the paper's tables have them."),
    ] = False,
    processes: Annotated[int | None, typer.Option(metavar="N", help="Cells at once. Default: as many as fit.")] = None,
    engine: EngineName = "local",
    address: Address = None,
    device: Device = None,
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", help="Say what would be done and what it costs, and stop; the separation is computed."
        ),
    ] = False,
) -> None:
    """Measure minimal separation corruption robustness (MSCR).

    Noise of up to half the distance between the nearest points of different classes, epsilon_min, need not cost any
    accuracy. MSCR is what it costs: (accuracy with such noise - accuracy without) / accuracy without, in per cent.
    Below 0: avoidable loss. 0: as robust as the data permit. Above 0: noise even corrects mistakes.

    Models are trained on points with several levels of noise, and tested with several levels: the matrix shows what
    robustness costs in accuracy. A model that is trained already is tested as it is. No knowledge of corruptions is
    needed; tables work as well as images.

    \b
    Examples:
      scuff mscr --model random-forest --model 1-nn --data points.csv --out runs/points
      scuff mscr --model sklearn.svm:SVC --data table.csv --label species --scale minmax --out runs/svm
      scuff mscr --model recipe:fashion --data fashion --runs 3 --out runs/fashion
      scuff mscr --model recipe:cifar-fast --data cifar10:data --copies 1 --runs 3 --out runs/cifar
      scuff mscr --model net.safetensors --data cifar10:data --out runs/net
      scuff mscr --protocol paper-2d --data B_sep.npz --runs 100 --out runs/paper

    \b
    Exit codes:
        0  all done
        1  cells failed, the disk is full, or memory ran out
        2  the command makes no sense
      130  interrupted
    """
    from scuff.cli.jobs import chosen_engine, resumable_job
    from scuff.studies import plan_mscr, run_mscr
    from scuff.studies.separation.protocols import find_protocol

    asked: dict[str, Any] = {
        "models": model,
        "train_noise": words(train_noise),
        "test_noise": words(test_noise),
        "copies": whole_numbers(copies, "--copies"),
        "runs": runs,
        "offsets": offsets,
    }
    options = {} if protocol is None else find_protocol(protocol)
    options |= {key: value for key, value in asked.items() if value is not None}
    if "models" not in options:
        raise ValueError("no model is given; as in --model random-forest, or --protocol paper-2d")
    with resumable_job() as advance:
        plan = plan_mscr(
            options.pop("models"),
            data,
            out,
            **options,
            norm=norm,
            epsilon_min=epsilon_min,
            quantile=quantile,
            bounds=bounds,
            keep_originals=keep_originals,
            test_share=test_share,
            label=label,
            scale=scale,
            resize=resize,
            crop=crop,
            drop_duplicates=drop_duplicates,
            device=device,
            engine=chosen_engine(engine, address, processes),
            progress=advance,
        )
    _announce(plan)
    if dry_run:
        from scuff.cli.costs import print_costs
        from scuff.studies.separation.cost import estimate_mscr

        print_costs(estimate_mscr(plan), engine)
        return
    with resumable_job() as advance:
        accuracies = run_mscr(plan, progress=advance)
    _print_matrices(accuracies, as_paper)
    if len(accuracies.runs) < len(plan.settings["runs"]) or len(accuracies.models) < len(plan.settings["models"]):
        typer.echo(
            f"Shown: {len(accuracies.runs)} of {len(plan.settings['runs'])} runs of this folder, those that are "
            f"finished for all of {', '.join(accuracies.models)}"
        )
    typer.echo(f"Accuracies: {out}/accuracies.csv")
    typer.echo(f"Next: scuff report {shlex.quote(out)}")


def _announce(plan: MscrPlan) -> None:
    from scuff.metrics.norms import norm_name

    settings, points = plan.settings, plan.protocol.points
    missing = len(plan.missing())
    shape = " x ".join(map(str, points.x.shape[1:]))
    typer.echo(f"Data: {points.name}, {len(points)} points ({shape}), {len({*points.labels.tolist()})} classes")
    typer.echo(f"epsilon_min: {settings['epsilon_min']:.6g} ({norm_name(plan.protocol.norm)})")
    typer.echo(f"Models: {', '.join(plan.protocol.contenders)}")
    for key, what in (("train_noise", "Training noise"), ("test_noise", "Test noise")):
        typer.echo(f"{what}: {', '.join(f'{radius:.4g}' for radius in settings[key])}")
    k = ", ".join(map(str, settings["copies"]))
    typer.echo(f"Runs: {len(settings['runs'])}; copies of a point: {k}; offsets: {settings['offsets']}")
    typer.echo(
        f"Trainings with tests: {len(plan.cells)}, of which {len(plan.cells) - missing} are there; in {plan.store.root}"
    )


def _print_matrices(accuracies: RobustAccuracies, as_paper: bool) -> None:
    """Accuracies by test noise, down, and training noise, across; the last line is the MSCR."""
    from rich import box
    from rich.table import Table

    from scuff.cli.console import open_console
    from scuff.metrics import accuracy_table, mscr_scores

    console = open_console()
    interval = "paper" if as_paper else "student"
    scores = mscr_scores(accuracies, average="means" if as_paper else "ratios", interval=interval)
    for model in accuracies.models:
        for copies in accuracies.copies:
            heading = model if len(accuracies.copies) == 1 else f"{model}, {copies} copies"
            console.print(f"{heading}: accuracy % by test noise (down) and training noise (across); * best of its line")
            table = Table(box=box.SIMPLE_HEAD, pad_edge=False)
            table.add_column("", no_wrap=True)
            for radius in accuracies.train_noise:
                table.add_column(f"{radius:.4g}", justify="right")
            found = accuracy_table(accuracies, model, copies, interval=interval)
            for radius, line in found.groupby("test_noise"):
                cells = [_accuracy(row) + ("*" if row.best else " ") for row in line.itertuples()]
                table.add_row(f"{radius:.4g}", *cells)
            its = scores[(scores["model"] == model) & (scores["copies"] == copies)]
            table.add_row("MSCR %", *(_mscr(row) + " " for row in its.itertuples()))
            console.print(table)
    console.print(f"Intervals: {scores['interval'].iloc[0]}.")


def _accuracy(row: Any) -> str:
    half = "" if row.low != row.low else f" ±{100 * max(row.high - row.value, row.value - row.low):.2f}"  # ends at 1
    return f"{100 * row.value:.2f}{half}"


def _mscr(row: Any) -> str:
    half = "" if row.mscr_low != row.mscr_low else f" ±{50 * (row.mscr_high - row.mscr_low):.3f}"
    return f"{100 * row.mscr:.3f}{half}"
