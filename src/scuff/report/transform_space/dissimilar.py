"""The report of a benchmark that is dissimilar to another: which corruptions it has, and how it was found."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

import numpy as np

from scuff.design import Dissimilar
from scuff.report import parts
from scuff.report.figure import ROW, Figure, labels, layout_of, lines_of, numbers, pattern
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Section
from scuff.report.separation.figures import LEGEND, titled
from scuff.report.transform_space.command import dissimilar_again
from scuff.report.transform_space.dissimilar_tables import level_table, member_table, shift_table
from scuff.report.transform_space.scores import near
from scuff.report.transform_space.settings import FEATURE, settings_section
from scuff.report.words import count, grouped, hundredths, listed, percent_sign, plain, short_names
from scuff.store import Store, read_settings

BINS = 60
DEFINITIONS = [
    (
        "distance",
        "Of a benchmark to the reference: how far its corruptions, at their severities, are from the nearest of the "
        "reference, in the mean.",
    ),
    (
        "shift",
        "Of a candidate: how much farther away than all drawn benchmarks are those with it, in standard deviations of "
        "all distances; mean over repetitions.",
    ),
    ("target", "The mean error on the reference. The benchmark is to be as hard, so that only its kind is new."),
    ("feature", FEATURE),
]


def page(directory: str) -> Page:
    """The page about the dissimilar benchmark in a folder."""
    from scuff.studies.transform_space.dissimilar import read_dissimilar

    settings = read_settings(Store(directory), "dissimilar.json")
    return dissimilar_page(read_dissimilar(directory), settings, directory=directory)


def dissimilar_page(
    found: Dissimilar,
    settings: Mapping[str, Any] | None = None,
    *,
    directory: str | None = None,
) -> Page:
    """The page, from what `design.find_dissimilar` has found."""
    settings = settings or {}
    again = None if directory is None or not settings else dissimilar_again(settings, directory)
    repetitions, drawn = found.candidate_distances.shape
    each = f" in each of {repetitions} repetitions" if repetitions > 1 else ""
    return Page(
        f"A benchmark dissimilar to {_suite_name(settings, 'reference', 'the reference')}",
        f"{len(found.members)} of {count(len(found.shifts), 'candidate')}; {count(drawn, 'benchmark')} drawn{each}.",
        dissimilar_verdicts(found),
        [
            members_section(found),
            shifts_section(found),
            candidates_section(found),
            settings_section(settings, again, DEFINITIONS),
        ],
    )


def dissimilar_verdicts(found: Dissimilar) -> Verdicts:
    """What the benchmark is, how far away and how hard."""
    shown = short_names(found.shifts["corruption"].tolist())
    drawn = found.candidate_distances[found.repetition]
    beyond = float(np.mean(drawn < found.distance))
    off = found.error - found.target
    return [
        ("Benchmark", f"{listed([shown[name] for name in found.members])}."),
        (
            "Distance to the reference",
            f"{near(found.distance)}, larger than that of {percent_sign(beyond)} of the drawn benchmarks, whose mean "
            f"is {near(drawn.mean())}.",
        ),
        (
            "Error",
            f"{percent_sign(found.error)}, where the reference has {percent_sign(found.target)}: {_points(off)}.",
        ),
    ]


def members_section(found: Dissimilar) -> Section:
    """The benchmark itself."""
    return parts.section(
        "benchmark",
        "The benchmark",
        parts.text(
            "The corruptions that were chosen, each at five of its own severities: errors differ from one to the next "
            "about as they do in the reference."
        ),
        parts.table(member_table(found)),
        parts.folded(level_table(found), "Error and distance at every severity"),
    )


def shifts_section(found: Dissimilar) -> Section:
    """What each candidate contributes."""
    shown = short_names(found.shifts["corruption"].tolist())
    never = [shown[name] for name in found.shifts.loc[found.shifts["shift"].isna(), "corruption"]]
    return parts.section(
        "shifts",
        "Shifts",
        parts.text(
            "How much farther from the reference benchmarks are that have a candidate in them, in standard deviations. "
            "The candidates with the largest shifts are the benchmark."
        ),
        parts.figures([shift_bars("shifts", found)], side_by_side=False),
        parts.note(f"In no benchmark of the right error: {listed(never)}.") if never else None,
        parts.folded(shift_table(found)),
    )


def candidates_section(found: Dissimilar) -> Section:
    """All benchmarks that were drawn."""
    repetition = f" (repetition {found.repetition + 1})" if len(found.candidate_distances) > 1 else ""
    tried = ""
    if found.sets:
        matched = listed([grouped(number) for number in found.matched_sets])
        how = "tried" if found.all_sets else "drawn, as there are too many to try all"
        tried = f" Halves with the right error: {matched} of {grouped(found.sets)} {how}."
    return parts.section(
        "candidates",
        "Drawn benchmarks",
        parts.text(
            "Distances of benchmarks that were drawn at random, all as hard as the reference, and of the one that was "
            f"chosen{repetition}. It is far to the right if its corruptions are dissimilar together, not only each for "
            f"itself.{tried}"
        ),
        parts.figures([candidate_histogram("candidates", found)], side_by_side=False),
    )


def shift_bars(key: str, found: Dissimilar) -> Figure:
    """The shift of every candidate with its deviation over repetitions; the chosen ones have a colour of their own."""
    table = found.shifts.reset_index(drop=True)
    shown = short_names(table["corruption"].tolist())
    traces = []
    for place, (name, is_chosen) in enumerate({"chosen": True, "not chosen": False}.items()):
        its = table[table["chosen"] == is_chosen]
        look = {"color": "@series0" if is_chosen else "@muted/0.5", "pattern": pattern(place)}
        deviations = {"type": "data", "array": numbers(its["sd"]), "color": "@ink", "thickness": 1.4, "width": 3}
        texts = [
            f"<b>{escape(shown[row.corruption])}</b><br>shift {hundredths(row.shift)}{_deviation(row.sd)}"
            for row in its.itertuples()
        ]
        traces.append(
            {
                "type": "bar",
                "orientation": "h",
                "name": name,
                "textposition": "none",
                "x": numbers(its["shift"]),
                "y": its.index.tolist(),
                "error_x": deviations,
                "marker": look,
                **labels(texts),
            }
        )
    x_axis = {"title": {"text": "shift, standard deviations"}, "zeroline": True, "zerolinecolor": "@ink"}
    layout = layout_of(x_axis, lines_of([shown[name] for name in table["corruption"]]))
    layout |= {"barmode": "overlay", "bargap": 0.3, "showlegend": True, "legend": LEGEND | {"traceorder": "normal"}}
    description = "Shift of every candidate, the largest on top; the table below has the numbers."
    note = "" if table["sd"].isna().all() else "Lines: standard deviation over repetitions."
    return Figure(key, "Shift of every candidate", description, 90 + (ROW + 7) * len(table), traces, layout, note)


def candidate_histogram(key: str, found: Dissimilar) -> Figure:
    """How many drawn benchmarks are at which distance, and where the chosen one is."""
    drawn = found.candidate_distances[found.repetition]
    counts, edges = np.histogram(drawn, BINS)
    texts = [
        f"{near(low)} to {near(high)}<br>{count(int(benchmarks), 'benchmark')}"
        for low, high, benchmarks in zip(edges[:-1], edges[1:], counts, strict=True)
    ]
    bars = {
        "type": "bar",
        "textposition": "none",
        "x": numbers((edges[1:] + edges[:-1]) / 2),
        "y": counts.tolist(),
        "width": float(edges[1] - edges[0]),
        "marker": {"color": "@muted/0.6"},
        **labels(texts),
    }
    line = {"type": "line", "x0": found.distance, "x1": found.distance, "yref": "paper", "y0": 0, "y1": 1}
    label = {"x": found.distance, "yref": "paper", "y": 1, "text": f"chosen: {near(found.distance)}"}
    label |= {"showarrow": False, "yanchor": "bottom", "font": {"color": "@series0", "size": 12}}
    layout = layout_of({"title": {"text": "distance to the reference"}}, {"title": titled("benchmarks")})
    layout |= {
        "shapes": [line | {"line": {"color": "@series0", "width": 2}}],
        "annotations": [label],
        "bargap": 0,
        "margin": layout["margin"] | {"t": 24, "r": 40},  # where the label stands
    }
    description = "Histogram of the distances of all drawn benchmarks, and a line at the chosen one."
    return Figure(key, "Distances of drawn benchmarks", description, 320, [bars], layout)


def _deviation(sd: float) -> str:
    return "" if math.isnan(sd) else f", deviation {hundredths(sd)} over repetitions"


def _points(difference: float) -> str:
    points = plain(100 * abs(difference))
    return "no difference" if points == "0.0" else f"{points} points {'more' if difference > 0 else 'less'}"


def _suite_name(settings: Mapping[str, Any], key: str, otherwise: str) -> str:
    suite = settings.get(key)
    return suite.get("suite", otherwise) if isinstance(suite, Mapping) else str(suite or otherwise)
