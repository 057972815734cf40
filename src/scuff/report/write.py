"""The one way to a report: find out what a folder holds, build its page, and save it.

A kind of results is known by its settings file. Its page is built by the function `page(directory, **options) -> Page`
of one module: `scuff.report.QUESTION.NAME` for a study (`scuff.report.QUESTION` if its question is a single file),
`scuff.report.evaluation.evaluation` for an evaluation. Such a function reads the folder and returns a `Page`. What all
pages share is done here: options that a page does not take, results that are not there yet, the section on progress,
the title, and saving. A folder may hold two kinds, as that of MSCR also holds a separation: the study that is defined
first has the page.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from scuff.engine import read_statuses
from scuff.plugins import import_object, load_installed
from scuff.report.page import Page, need_drawing_packages, render_page, save_page
from scuff.report.progress.progress import page_of_runs, progress_section
from scuff.store import Store
from scuff.studies.base import Study, again_from

EVALUATION = "evaluation.json"
TABLE = ".csv"  # accuracies as `metrics.read_accuracies` takes them


def write_report(
    directory: str | os.PathLike[str],
    out: str | os.PathLike[str] | None = None,
    *,
    title: str | None = None,
    **options: Any,
) -> str:
    """Write one HTML page about an evaluation or a study, atomically, and return its path.

    Parameters
    ----------
    directory
        The folder of an evaluation or of any study, on this machine or anywhere that fsspec reaches. One that is still
        running is reported as far as it is; one that has no results yet gets a page about its progress. Or a CSV table
        of accuracies, for the page of an overlap study.
    out
        The file, or a folder for report.html; by default the folder of the results, or beside the table.
    title
        The heading, in place of one that says what was measured.
    options
        Of an evaluation: `baseline`, `data`, `overlap`, `threshold` (see `scuff.report.evaluation.evaluation.page`). Of
        an overlap study: `threshold`, `use`, `baseline`, `as_paper` (see `scuff.report.overlap.overlap.page`).
    """
    where = os.fspath(directory)
    return write_page(read_page(where, **options), where, out, title=title)


def write_page(
    page: Page, directory: str, out: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> str:
    """Save a page, under a title of your own if you like, and return its path."""
    if out is None and directory.endswith(TABLE):
        out = f"{directory.removesuffix(TABLE)}.html"
    return save_page(render_page(replace(page, title=title or page.title)), directory, out)


def read_page(directory: str, **options: Any) -> Page:
    """The page about whatever a folder holds; about its progress, if there are no results yet."""
    need_drawing_packages()
    if directory.endswith(TABLE):
        build = importlib.import_module("scuff.report.overlap.overlap").page
        _check_options(build, directory, options)
        return build(directory, **options)
    kind, statuses = kind_of(directory), read_statuses(Store(directory))
    if kind is None:
        _check_options(page_of_runs, f"{directory} (progress only)", options)
        return page_of_runs(statuses, command_again(directory, statuses[-1].title))
    build = import_object(page_builders()[kind])
    _check_options(build, f"{directory} ({kind})", options)
    try:
        page = build(directory, **options)
    except ValueError as error:
        if not statuses or statuses[-1].state == "finished" or _are_options_wrong(build, directory, options):
            raise
        runs = page_of_runs(statuses, command_again(directory, statuses[-1].title))
        return replace(runs, note=f"There are no results yet ({error})")
    is_over = kind == EVALUATION and bool(statuses) and statuses[-1].state == "finished"
    return page.with_sections([progress_section(statuses)] if statuses and not is_over else [])


def kind_of(directory: str) -> str | None:
    """The settings file that says what a folder holds; None if it is a table, or has nothing but runs in it."""
    if directory.endswith(TABLE):
        return None
    store, pages = Store(directory), page_builders()
    kind = next((file for file in pages if store.exists(file)), None)
    if kind is None and not read_statuses(store):
        _, *studies, last = pages
        raise ValueError(
            f"{directory} is the folder of neither an evaluation nor a study: there is no {EVALUATION} in it, and no "
            f"{', '.join(studies)} or {last}"
        )
    return kind


def page_builders() -> dict[str, str]:
    """The address of what builds the page of every kind of results, by the name of its settings file."""
    has_page = {study.file: page for study in known_studies() if (page := study.page or _page_of(study))}
    return {EVALUATION: "scuff.report.evaluation.evaluation:page", **has_page}


def known_studies() -> list[type[Study[Any]]]:
    """All classes of studies, those of whoever has imported their own too."""
    from scuff.studies import STUDIES

    load_installed()
    return [*STUDIES, *(study for study in _subclasses(Study) if hasattr(study, "name") and study not in STUDIES)]


def command_again(directory: str, name: str) -> str | None:
    """The command that resumes the study of that name in a folder; None where its settings do not tell it."""
    store = Store(directory)
    study = next((study for study in known_studies() if study.name == name and store.exists(study.file)), None)
    again = None if study is None else again_from(study, study.read_settings(directory), directory)
    return None if again is None else again.words


def _subclasses(cls: type) -> list[type]:
    return [each for direct in cls.__subclasses__() for each in (direct, *_subclasses(direct))]  # type: ignore[var-annotated]


def _page_of(study: type[Study[Any]]) -> str | None:
    """`page` of `report/QUESTION/NAME.py`, or of `report/QUESTION.py` where a question has no folder."""
    module = f"scuff.report.{study.question}"
    question = importlib.util.find_spec(module)
    if question is not None and question.submodule_search_locations is not None:
        module = f"{module}.{study.name}"
    return f"{module}:page" if question is not None and importlib.util.find_spec(module) is not None else None


def _check_options(build: Callable[..., Page], what: str, options: dict[str, Any]) -> None:
    taken = [p.name for p in inspect.signature(build).parameters.values() if p.kind is p.KEYWORD_ONLY]
    wrong = [name for name in options if name not in taken]
    if wrong:
        raise ValueError(
            f"the report of {what} takes no option {', '.join(wrong)}"
            + (f"; it takes {', '.join(taken)}" if taken else "")
        )


def _are_options_wrong(build: Callable[..., Page], directory: str, options: dict[str, Any]) -> bool:
    """Whether the page can be built without the options: then they are the mistake, not missing results."""
    if not options:
        return False
    try:
        build(directory)
    except ValueError:
        return False
    return True
