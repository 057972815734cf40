"""The page about a study that is not finished, and the section for the pages of those that are."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence

from scuff.engine import Status, read_statuses
from scuff.report import parts
from scuff.report.page import Verdicts, render_page, save_page
from scuff.report.parts import Section
from scuff.report.progress.again import command_again
from scuff.report.progress.sections import missing_words, progress_section, state_words
from scuff.store import Store

AGAIN = "The same command goes on from here: what is done is not done again."


class Unfinished(ValueError):
    """There is nothing to report yet but progress."""


def write_progress_report(
    directory: str | os.PathLike[str], out: str | os.PathLike[str] | None = None, *, title: str | None = None
) -> str:
    """Write a page about the progress of a study, by rename, and return its path.

    Parameters
    ----------
    directory
        The folder of any study, evaluation or export, on this machine or anywhere that fsspec reaches: that a run is
        on its way elsewhere does not matter.
    out
        The file, or a folder for report.html; by default the study's own.
    title
        The heading, in place of one that names the study.
    """
    where = os.fspath(directory)
    statuses = read_statuses(Store(where))
    if not statuses:
        raise ValueError(f"nothing has been run in {where}: there is no file in {where}/progress")
    return save_page(render_progress(statuses, command_again(where, statuses[-1].title), title=title), where, out)


def render_progress(statuses: Sequence[Status], command: str | None = None, *, title: str | None = None) -> str:
    """The text of the page, from the runs of a study, and the command that goes on with it, if that is known."""
    last = statuses[-1]
    verdicts: Verdicts = [("State", state_words(last))]
    if last.state != "finished":
        verdicts.append(("What is missing", missing_words(last)))
    sections = [progress_section(statuses, is_alone=True)]
    if last.state not in ("finished", "running"):
        sections.append(
            parts.section("again", "How to go on", parts.text(AGAIN), parts.command(command) if command else None)
        )
    name = last.title or "a study"
    lead = "This page has no results yet." if last.state != "finished" else "This page has no results."
    return render_page(
        title or f"Progress of {name}", f"{lead} Make it again to see how far it is.", verdicts, sections
    )


def progress_sections(directory: str) -> list[Section]:
    """The section about progress of a study in a folder; none if no run of it has been noted."""
    statuses = read_statuses(Store(directory))
    return [progress_section(statuses)] if statuses else []


@contextlib.contextmanager
def reading_results(directory: str) -> Iterator[None]:
    """If results cannot be read in the block, and the last run was not finished, then that is why."""
    try:
        yield
    except Unfinished:
        raise
    except ValueError as error:
        statuses = read_statuses(Store(directory))
        if statuses and statuses[-1].state != "finished":
            raise Unfinished(str(error)) from error
        raise
