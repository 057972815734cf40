"""The page about a benchmark that is dissimilar to another: which corruptions it has, and how it was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from scuff.design import Dissimilar
from scuff.report import parts
from scuff.report.figure import ROW, Figure, bar_trace, bars, label, layout_of, lines_of, numbers, pattern, titled
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Section
from scuff.report.settings import meanings, read_study
from scuff.report.transform_space.scores import last_section, near
from scuff.studies import DissimilarStudy
from scuff.tables import Cell, Column, Table
from scuff.words import count, grouped, hundredths, listed, percent, percent_sign, plain, short_names

BINS = 60


def page(directory: str) -> Page:
    """The page about the benchmark in a folder."""
    return dissimilar_page(*read_study(DissimilarStudy, directory), directory=directory)


def dissimilar_page(
    chosen: Dissimilar, settings: Mapping[str, Any] | None = None, *, directory: str | None = None
) -> Page:
    """The page, from the result of `design.find_dissimilar`."""
    settings = settings or {}
    repetitions, drawn = chosen.candidate_distances.shape
    each = f" in each of {repetitions} repetitions" if repetitions > 1 else ""
    return Page(
        f"A benchmark dissimilar to {settings.get('reference', {}).get('suite', 'the reference')}",
        f"{len(chosen.members)} of {count(len(chosen.shifts), 'candidate')}; {count(drawn, 'benchmark')} drawn{each}.",
        dissimilar_verdicts(chosen),
        [
            members_section(chosen),
            shifts_section(chosen),
            candidates_section(chosen),
            last_section(DissimilarStudy, settings, directory, meanings("dissimilar")),
        ],
    )


def dissimilar_verdicts(chosen: Dissimilar) -> Verdicts:
    """What the benchmark is, how far away and how hard."""
    shown = _shown(chosen)
    drawn = chosen.candidate_distances[chosen.repetition]
    beyond = float(np.mean(drawn < chosen.distance))
    off, points = chosen.error - chosen.target, plain(100 * abs(chosen.error - chosen.target))
    difference = "no difference" if points == "0.0" else f"{points} points {'more' if off > 0 else 'less'}"
    return [
        ("Benchmark", f"{listed([shown[name] for name in chosen.members])}."),
        (
            "Distance to the reference",
            f"{near(chosen.distance)}, larger than that of {percent_sign(beyond)} of the drawn benchmarks, whose mean "
            f"is {near(drawn.mean())}.",
        ),
        (
            "Error",
            f"{percent_sign(chosen.error)}, where the reference has {percent_sign(chosen.target)}: {difference}.",
        ),
    ]


def members_section(chosen: Dissimilar) -> Section:
    """The benchmark itself."""
    return parts.section(
        "benchmark",
        "The benchmark",
        "The chosen corruptions, each at five of its own severities: errors differ from one to the next about as "
        "they do in the reference.",
        parts.table(member_table(chosen)),
        parts.folded(level_table(chosen), "Error and distance at every severity"),
    )


def shifts_section(chosen: Dissimilar) -> Section:
    """What each candidate contributes."""
    shown = _shown(chosen)
    never = [shown[name] for name in chosen.shifts.loc[chosen.shifts["shift"].isna(), "corruption"]]
    columns = [
        Column("candidate", lambda line: shown[line["corruption"]]),
        Column("shift", "shift", hundredths),
        Column("deviation over repetitions", "sd", hundredths),
        Column("chosen", lambda line: "yes" if line["chosen"] else "no"),
    ]
    return parts.section(
        "shifts",
        "Shifts",
        "How much farther from the reference benchmarks are that contain a candidate, in standard deviations. The "
        "candidates with the largest shifts are the benchmark.",
        parts.figures([shift_bars("shifts", chosen)], side_by_side=False),
        parts.note(f"In no benchmark of the right error: {listed(never)}.") if never else None,
        parts.folded(Table.of("Shifts of all candidates", chosen.shifts, columns)),
    )


def candidates_section(chosen: Dissimilar) -> Section:
    """All benchmarks that were drawn."""
    repetition = f" (repetition {chosen.repetition + 1})" if len(chosen.candidate_distances) > 1 else ""
    tried = ""
    if chosen.sets:
        matched = listed([grouped(number) for number in chosen.matched_sets])
        how = "tried" if chosen.all_sets else "drawn, as there are too many to try all"
        tried = f" Halves with the right error: {matched} of {grouped(chosen.sets)} {how}."
    return parts.section(
        "candidates",
        "Drawn benchmarks",
        "Distances of benchmarks that were drawn at random, all as hard as the reference, and of the one that was "
        f"chosen{repetition}. It is far to the right if its corruptions are dissimilar together, and not only one "
        f"by one.{tried}",
        parts.figures([candidate_histogram("candidates", chosen)], side_by_side=False),
    )


# --- tables -----------------------------------------------------------------------------------------------------------


def member_table(chosen: Dissimilar) -> Table:
    """The corruptions of the benchmark: severities, error, distance, shift."""
    lines = chosen.picks.groupby("corruption", sort=False).agg(
        severities=("severity", lambda severities: ", ".join(map("{:g}".format, severities))),
        error=("error", "mean"),
        ends=("error", lambda errors: f"{percent(errors.iloc[0])} to {percent(errors.iloc[-1])}"),
        distance=("distance", "mean"),
    )
    lines = lines.join(chosen.shifts.set_index("corruption")[["shift", "sd"]])
    columns = [
        Column("corruption", "name"),
        Column("severities", "severities"),
        Column("error %", "error", percent),
        Column("from first to last", "ends"),
        Column("distance", "distance", near),
        Column("shift", _shift, hundredths),
    ]
    return Table.of("The chosen corruptions", lines.assign(name=lines.index.map(_shown(chosen))), columns)


def _shift(line: Mapping[str, Any]) -> Cell:
    deviation = "" if math.isnan(line["sd"]) else f"± {hundredths(line['sd'])}"
    return Cell(hundredths(line["shift"]), line["shift"], deviation)


def level_table(chosen: Dissimilar) -> Table:
    """Every corruption of the benchmark at every severity."""
    shown = _shown(chosen)
    columns = [
        Column("corruption", lambda line: shown[line["corruption"]]),
        Column("severity here", "level", str),
        Column("severity of the candidate", "severity", "{:g}".format),
        Column("error %", "error", percent),
        Column("distance", "distance", near),
    ]
    return Table.of("Severities of the chosen corruptions", chosen.picks, columns)


def _shown(chosen: Dissimilar) -> dict[str, str]:
    return short_names(chosen.shifts["corruption"].tolist())


# --- figures ----------------------------------------------------------------------------------------------------------


def shift_bars(key: str, chosen: Dissimilar) -> Figure:
    """The shift of every candidate with its deviation over repetitions; the chosen ones have a colour of their own."""
    table = chosen.shifts.reset_index(drop=True)
    table = table.assign(value=table["shift"], low=table["shift"] - table["sd"], high=table["shift"] + table["sd"])
    shown, traces = _shown(chosen), []
    for place, (name, is_chosen) in enumerate({"chosen": True, "not chosen": False}.items()):
        lines = table[table["chosen"] == is_chosen]
        texts = []
        for row in lines.itertuples():
            spread = "" if math.isnan(row.sd) else f", deviation {hundredths(row.sd)} over repetitions"
            texts.append(label(shown[row.corruption], f"shift {hundredths(row.shift)}{spread}"))
        marker = {"color": "@series0" if is_chosen else "@muted/0.5", "pattern": pattern(place)}
        trace = bar_trace(place, numbers(lines["shift"]), lines.index, lines, texts, numbers)
        traces.append(trace | {"name": name, "marker": marker})
    x_axis = {"title": {"text": "shift, standard deviations"}, "zeroline": True, "zerolinecolor": "@ink"}
    layout = layout_of(x_axis, lines_of([shown[name] for name in table["corruption"]]), legend=True)
    layout |= {"barmode": "overlay", "bargap": 0.3}
    description = "Shift of every candidate, the largest on top; the table below has the numbers."
    note = "" if table["sd"].isna().all() else "Lines: standard deviation over repetitions."
    return Figure(key, "Shift of every candidate", description, 90 + (ROW + 7) * len(table), traces, layout, note)


def candidate_histogram(key: str, chosen: Dissimilar) -> Figure:
    """How many drawn benchmarks are at which distance, and where the chosen one is."""
    counts, edges = np.histogram(chosen.candidate_distances[chosen.repetition], BINS)
    texts = [
        f"{near(low)} to {near(high)}<br>{count(int(benchmarks), 'benchmark')}"
        for low, high, benchmarks in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    width = float(edges[1] - edges[0])
    drawn = bars(numbers((edges[1:] + edges[:-1]) / 2), counts.tolist(), {"color": "@muted/0.6"}, texts, width=width)
    line = {"type": "line", "x0": chosen.distance, "x1": chosen.distance, "yref": "paper", "y0": 0, "y1": 1}
    words = {"x": chosen.distance, "yref": "paper", "y": 1, "text": f"chosen: {near(chosen.distance)}"}
    words |= {"showarrow": False, "yanchor": "bottom", "font": {"color": "@series0", "size": 12}}
    layout = layout_of({"title": {"text": "distance to the reference"}}, {"title": titled("benchmarks")})
    layout |= {
        "shapes": [line | {"line": {"color": "@series0", "width": 2}}],
        "annotations": [words],
        "bargap": 0,
        "margin": layout["margin"] | {"t": 24, "r": 40},  # where the label stands
    }
    description = "Histogram of the distances of all drawn benchmarks, and a line at the chosen one."
    return Figure(key, "Distances of drawn benchmarks", description, 320, [drawn], layout)
