"""Tables for papers: LaTeX and Markdown of what the report shows."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import replace

from scuff.publish.evaluations import ALEXNET, describe, place_for, read_classifiers, write_text
from scuff.report.evaluation.scores import ce_table, measure
from scuff.report.evaluation.sections import summary_section
from scuff.report.parts import tables_of
from scuff.report.write import read_page
from scuff.tables import Cell, Column, Table, mark_best
from scuff.words import entry_name, percent

LATEX = {
    **{letter: f"\\{letter}" for letter in "&%$#_{}"},
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": "$<$",
    ">": "$>$",
    "\u2212": "$-$",
    "\u2013": "--",
    "\u00a0": "~",
    "\u00d7": r"$\times$",
    "\u00b1": r"$\pm$",
    "\u03b5": r"$\varepsilon$",
}
MOST_ROWS = 40  # on a page of LaTeX
MARKDOWN = re.compile(r"([\\|*<>`\[\]]|\b_|_\b)")  # what would be more than itself; an underscore inside a word is not


def write_latex(directory: str, out: str | None, baseline: str | None) -> list[str]:
    """All tables in one file, for \\input; each is a `table` that can be cut out."""
    title, tables = result_tables(directory, baseline)
    head = f"% {title}\n% Needs \\usepackage{{booktabs, longtable}} and \\usepackage[T1]{{fontenc}}.\n"
    floats = [latex(table, f"tab:scuff-{number}") for number, table in enumerate(tables, 1)]
    return [write_text(place_for(directory, out, "scores.tex"), "\n".join([head, *floats]))]


def write_markdown(directory: str, out: str | None, baseline: str | None) -> list[str]:
    """All tables in one file."""
    title, tables = result_tables(directory, baseline)
    blocks = [title, *map(markdown, tables)]
    return [write_text(place_for(directory, out, "scores.md"), "\n\n".join(blocks) + "\n")]


def result_tables(directory: str, baseline: str | None) -> tuple[str, list[Table]]:
    """What was measured, and tables of it: scores and errors by corruption, or all tables on the page of a study."""
    evaluation = read_classifiers(directory)
    if evaluation is None:
        page = read_page(directory, **({} if baseline is None else {"baseline": baseline}))
        tables = [table for section in page.sections if section is not None for table in tables_of(section)]
        if not tables:
            raise ValueError(f"there is no table to export in {directory} yet")
        return f"{page.title}. {page.lead}", tables
    scores = measure(evaluation, baseline or ALEXNET)
    (summary,) = tables_of(summary_section(scores))
    tables = [replace(summary, caption="Scores, with 95 % intervals")]
    if len(scores.means):
        error = Column("corruption", "value", percent, interval=True)
        caption = "Errors in per cent by corruption, over all severities, with 95 % intervals"
        means = Table.pivot(caption, scores.means, "corruption", "model", error, heads=scores.models, name=entry_name)
        tables.append(_mark_models(means))
    if len(scores.ces):
        tables.append(_mark_models(ce_table(scores.ces, scores.models, baseline or ALEXNET)))
    return describe(evaluation), tables


def _mark_models(table: Table) -> Table:
    """Mark the lowest value of each row, where there are several models."""
    marked = [
        [row[0], *(cell for (cell,) in mark_best([[cell] for cell in row[1:]], ["lowest"]))] for row in table.rows
    ]
    return replace(table, rows=marked)


def latex(table: Table, label: str) -> str:
    """A table as a float of booktabs, or over several pages; intervals in brackets, the best in bold.

    >>> from scuff.words import plain
    >>> lines = [{"model": "a_1", "mce": 76.7, "low": 76.3, "high": 77.1}]
    >>> columns = [Column("model", "model"), Column("mCE %", "mce", plain, interval=True)]
    >>> print(latex(Table.of("Scores", lines, columns), "tab:1").splitlines()[7])
    a\\_1 & 76.7 {\\scriptsize [76.3, 77.1]} \\\\
    """
    sides = "".join("r" if head.is_number else "l" for head in table.columns)
    caption = rf"\caption{{{escape_latex(table.caption)}}}\label{{{label}}}"
    if len(table.rows) > MOST_ROWS:
        before, after = [rf"\begin{{longtable}}{{{sides}}}", rf"{caption}\\"], [r"\end{longtable}"]
    else:
        before = [r"\begin{table}", r"\centering", caption, rf"\begin{{tabular}}{{{sides}}}"]
        after = [r"\end{tabular}", r"\end{table}"]
    lines = [
        *before,
        r"\toprule",
        _row((escape_latex(head.name) for head in table.columns), " & ", "", r" \\"),
        r"\midrule" + (r"\endhead" if len(table.rows) > MOST_ROWS else ""),
        *(_row((_cell(cell, escape_latex, LATEX_LOOK) for cell in row), " & ", "", r" \\") for row in table.rows),
        r"\bottomrule",
        *after,
    ]
    return "\n".join(lines) + "\n"


def markdown(table: Table) -> str:
    """A table as GitHub and Hugging Face show it, below its caption; intervals in brackets, the best in bold."""
    rule = ["---:" if head.is_number else "---" for head in table.columns]
    rows = [[escape_markdown(head.name) for head in table.columns], rule]
    rows += [[_cell(cell, escape_markdown, MARKDOWN_LOOK) for cell in row] for row in table.rows]
    caption = [f"{escape_markdown(table.caption)}:", ""] if table.caption else []
    return "\n".join([*caption, *(_row(row, " | ", "| ", " |") for row in rows)])


def escape_latex(text: str) -> str:
    """Words as LaTeX prints them.

    >>> escape_latex("50 % of a_b, p < 0.001")
    '50 \\\\% of a\\\\_b, p $<$ 0.001'
    """
    return "".join(LATEX.get(letter, letter) for letter in text)


def escape_markdown(text: str) -> str:
    """Words as they are.

    >>> escape_markdown("a|b, wide_resnet50_2, p < 0.001")
    'a\\\\|b, wide_resnet50_2, p \\\\< 0.001'
    """
    return MARKDOWN.sub(r"\\\1", text)


Look = tuple[str, str]  # of the best, and of an interval
LATEX_LOOK: Look = (r"\textbf{%s}", r" {\scriptsize [%s]}")
MARKDOWN_LOOK: Look = ("**%s**", r" \[%s\]")


def _cell(cell: Cell, escape: Callable[[str], str], look: Look) -> str:
    best, interval = look
    text = escape(cell.text.strip())
    return (best % text if cell.best else text) + (
        interval % escape(cell.interval.replace(" to ", ", ")) if cell.interval else ""
    )


def _row(cells: Iterable[str], between: str, before: str, after: str) -> str:
    return f"{before}{between.join(cells)}{after}"
