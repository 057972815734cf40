"""Put a report together: one HTML file that needs neither a network nor a server."""

from __future__ import annotations

import os
from importlib import resources
from typing import Any

import scuff
from scuff.data import CorruptedSource, Source
from scuff.evaluation import Evaluation, read_evaluation
from scuff.report import sections as parts
from scuff.report.colours import DASHES, colour_rules, mark, themes
from scuff.report.figures import Figure
from scuff.report.scores import measure, measure_sequences
from scuff.report.settings import suite_words
from scuff.report.summary import sequence_verdict, verdict
from scuff.report.words import count
from scuff.store import Store

NAME = "report.html"

Data = str | Source | CorruptedSource


def write_report(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    baseline: str | None = "alexnet",
    data: Data | None = None,
    title: str | None = None,
) -> str:
    """Write the report of an evaluation, by rename, and return its path.

    Parameters
    ----------
    directory
        The folder of an evaluation, on this machine or anywhere that fsspec reaches. One that is still running is
        reported as far as it is.
    out
        The file, or a folder for report.html; by default the evaluation's own.
    baseline
        What corruption errors are relative to: "alexnet" (published errors), a model of the evaluation, or None.
    data
        Where the images are now, if not where they were when they were evaluated.
    title
        The heading, in place of one that names the models and the suite.
    """
    where = os.fspath(directory)
    file = os.path.join(where, NAME) if out is None else os.fspath(out)
    folder, name = (file, NAME) if os.path.isdir(file) else os.path.split(file)
    content = render(read_evaluation(where), where, baseline=baseline, data=data, title=title)
    Store(folder or ".").write(name, content.encode())
    return os.path.join(folder, name)


def render(
    evaluation: Evaluation,
    directory: str,
    *,
    baseline: str | None = "alexnet",
    data: Data | None = None,
    title: str | None = None,
) -> str:
    """The text of the report; the arguments are those of `write_report`."""
    environment, plotly = _drawing_packages()
    make = _sequence_page if "frame" in evaluation.rows else _still_page
    page = make(evaluation, directory, baseline, data)
    models, sections = page["models"], page["sections"]
    style, script = (_read(name) for name in ("style.css", "script.js"))
    return environment.from_string(_read("template.html")).render(
        **page,
        title=title or f"{_subject(models)} on {_benchmark(evaluation)}",
        lead=suite_words(evaluation),
        marks=[{"model": m} | mark(p) | {"dashes": DASHES[mark(p)["dash"]]} for p, m in enumerate(models)],
        data={"figures": {f.key: f.to_plotly() for s in sections for f in _figures(s)}, "colours": themes()},
        version=scuff.__version__,
        style=_inside("style", f"{colour_rules()}\n{style}"),
        script=_inside("script", script),
        plotly=_inside("script", plotly),
    )


def _still_page(evaluation: Evaluation, directory: str, baseline: str | None, data: Data | None) -> dict[str, Any]:
    scores = measure(evaluation, baseline)
    models = scores.models
    sections = [
        parts.summary_section(scores),
        parts.cells_section(scores, evaluation),
        parts.severity_section(scores, evaluation),
        parts.comparison_section(scores),
        None if scores.errors.empty else parts.images_section(evaluation, models, data, directory),
        parts.calibration_section(scores),
        parts.settings_section(evaluation, parts.definitions_of(scores), directory),
    ]
    verdicts = [
        {"model": line["model"], "text": verdict(line, scores, baseline)} for _, line in scores.summary.iterrows()
    ]
    return {"models": models, "verdicts": verdicts, "sections": [s for s in sections if s is not None]}


def _sequence_page(evaluation: Evaluation, directory: str, baseline: str | None, data: Data | None) -> dict[str, Any]:
    found = measure_sequences(evaluation, baseline)
    first = found[0]
    sections = [
        parts.sequence_summary_section(first),
        *(parts.sequences_section(scores, len(found) > 1) for scores in found),
        parts.settings_section(evaluation, parts.SEQUENCE_DEFINITIONS, directory),
    ]
    verdicts = [{"model": model, "text": sequence_verdict(model, first, baseline)} for model in first.models]
    return {"models": first.models, "verdicts": verdicts, "sections": sections}


def _benchmark(evaluation: Evaluation) -> str:
    """The suite, or the source where images were evaluated as they are."""
    return evaluation.suite.name if evaluation.suite.entries else evaluation.settings["source"]


def _subject(models: list[str]) -> str:
    return models[0] if len(models) == 1 else count(len(models), "model")


def _figures(section: parts.Section) -> list[Figure]:
    return [*section.get("figures", ()), *([section["figure"]] if "figure" in section else [])]


def _drawing_packages() -> tuple[Any, str]:
    """A template environment that escapes everything, and the text of plotly.js."""
    try:
        from jinja2 import Environment, StrictUndefined
        from plotly.offline import get_plotlyjs
    except ImportError as error:
        raise ValueError(f"a report needs {error.name}: pip install 'scuff[report]'") from error
    return Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True), get_plotlyjs()


def _read(name: str) -> str:
    return (resources.files(__package__) / name).read_text(encoding="utf-8")


def _inside(element: str, text: str) -> Any:
    """Text of our own, or of Plotly, that goes into a script or style element of the page as it is."""
    from markupsafe import Markup

    if f"</{element}" in text.lower():
        raise ValueError(f"a {element} that would end its own element cannot be put into the page")
    return Markup(text)
