"""`scuff export`: results for papers and for other programs."""

from __future__ import annotations

import typer


def export_command(
    directory: str = typer.Argument(..., metavar="DIR", help="Folder of an evaluation or a study; any fsspec path."),
    form: str = typer.Option(
        ..., "--as", metavar="FORM", help="latex, markdown, timm-csv, huggingface, mlflow, svg, png or pdf."
    ),
    out: str | None = typer.Option(
        None, metavar="PLACE", help="File or folder to write; of mlflow, its tracking URI or folder. Default: in DIR."
    ),
    baseline: str | None = typer.Option(
        None, metavar="alexnet|MODEL|none", help="Reference of corruption errors, as for scuff report."
    ),
) -> None:
    """Export results for papers and for other programs.

    \b
    Forms, and what is written by default:
      latex           tables with intervals, for booktabs: scores.tex
      markdown        the same tables: scores.md
      timm-csv        a line per model, with timm's columns: results-SUITE.csv, and results-SUITE-clean.csv
      huggingface     scores, cells and predictions as Parquet with a card, ready to be pushed: huggingface/
      mlflow          a run per model, logged where MLflow is set to log, or to --out
      svg, png, pdf   the figures of the report: figures/

    Of an evaluation, tables are its scores and the errors by corruption; of a study, all tables of its report. The
    forms timm-csv, huggingface and mlflow are for evaluations of classifiers. Figures need Chromium and the package
    playwright, MLflow needs mlflow-skinny or mlflow: pip install "scuff[figures,mlflow]".

    \b
    Examples:
      scuff export runs/three --as latex
      scuff export runs/three --as markdown --baseline resnet20 --out table.md
      scuff export runs/three --as huggingface --out my-dataset
      scuff export runs/three --as mlflow --out mlruns
      scuff export runs/noc --as pdf
    """
    from scuff.publish import export_results

    for place in export_results(directory, form, out, baseline=baseline):
        typer.echo(f"Written: {place}" if form != "mlflow" else f"Logged: {place}")
