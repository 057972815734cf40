"""Results for papers and for other programs: tables, figures, timm's CSV, a Hugging Face dataset, runs of MLflow."""

from __future__ import annotations

import importlib
import os

from scuff.files import check_out
from scuff.words import near_names

FORMS = {  # what each is called, and the function that writes it: (folder, where to, baseline) -> what was written
    "latex": "tables:write_latex",
    "markdown": "tables:write_markdown",
    "timm-csv": "timm:write_csv",
    "huggingface": "huggingface:write_dataset",
    "mlflow": "tracking:log_runs",
    "svg": "figures:write_svg",
    "png": "figures:write_png",
    "pdf": "figures:write_pdf",
}

__all__ = ["FORMS", "export_results"]


def export_results(
    directory: str | os.PathLike[str],
    form: str,
    out: str | os.PathLike[str] | None = None,
    *,
    baseline: str | None = None,
) -> list[str]:
    """Write the results of a folder in a form that papers and other programs use, and return what was written.

    Parameters
    ----------
    directory
        The folder of an evaluation. Tables and figures are also made of the folder of any study.
    form
        "latex", "markdown", "timm-csv", "huggingface", "mlflow", or "svg", "png", "pdf" for the figures of the report.
    out
        A file or folder; by default one in `directory`, named after the form. For MLflow, where its server or its
        folder is; by default what MLflow itself is set to.
    baseline
        What corruption errors are relative to, as for `scuff.write_report`.
    """
    if form not in FORMS:
        raise ValueError(f"results cannot be exported as {form!r}; {near_names(form, FORMS, most=len(FORMS))}")
    module, _, function = FORMS[form].partition(":")
    write = getattr(importlib.import_module(f"scuff.publish.{module}"), function)
    if form != "mlflow":  # which has addresses of its own
        check_out(out)
    return write(os.fspath(directory), None if out is None else os.path.expanduser(os.fspath(out)), baseline)
