"""The page about the study."""

from scuff.report import parts
from scuff.report.page import Page
from scuff.report.settings import read_study, study_section
from scuff.tables import Column, Table
from scuff.words import percent
from scuff_stripes.classes import ClassesStudy


def page(directory: str) -> Page:
    """The page about a study in a folder."""
    table, settings = read_study(ClassesStudy, directory)
    worst, error = table["corrupted"].idxmax(), percent(table["corrupted"].max())
    errors = [Column(f"{kind} %", kind, percent, best="lowest") for kind in ("clean", "corrupted")]
    shown = Table.of("Error by class", table.reset_index(), [Column("class", "label"), *errors])
    return Page(
        "Errors by class",
        f"A model on {settings['data']} under {settings['suite']}.",
        [("Worst class", f"{worst}: {error} % of its corrupted images are misclassified.")],
        [
            parts.section("classes", "Classes", parts.table(shown)),
            study_section(ClassesStudy, settings, directory, {"Error": "share of images that are misclassified"}),
        ],
    )
