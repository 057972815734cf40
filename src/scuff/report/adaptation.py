"""The page about a model on a stream: error over time, methods side by side, and when they collapse."""

from __future__ import annotations

import math
from collections.abc import Mapping

import pandas as pd

from scuff.metrics import adaptation_gains, adaptation_scores, segment_errors, window_errors
from scuff.metrics.adaptation import IN_A_ROW, WINDOW, by_method
from scuff.report import parts
from scuff.report.figure import SILENT, Figure, label, labels, layout_of, line_trace, percents, titled, upright_line
from scuff.report.page import Page, Verdicts
from scuff.report.parts import Part
from scuff.report.settings import meanings, study_section
from scuff.studies.adaptation import AdaptationStudy, read_adaptation, read_segments
from scuff.tables import Column, Table
from scuff.words import count, entry_name, grouped, interval, percent

FEWEST_WINDOWS = 30  # short streams have smaller windows
MOST_SEGMENTS = 40  # that have a row of the table each; of more, corruptions have
MOST_MARKED = 200  # windows whose points are marked


def page(directory: str) -> Page:
    """The page about a study in a folder."""
    rows, segments = read_adaptation(directory), read_segments(directory)
    settings = AdaptationStudy.read_settings(directory)
    methods, scores = by_method(rows), adaptation_scores(rows)
    stream, images = settings["stream"]["stream"], int(scores["n"].max())
    length = min(WINDOW, max(1, images // FEWEST_WINDOWS))
    return Page(
        f"{settings['model_name']} on the stream {entry_name(stream)}",
        f"{grouped(images)} images of {settings['data']} in {count(len(segments), 'segment')}, in batches of "
        f"{settings['batch_size']}.",
        _verdicts(scores, images),
        [
            parts.section("scores", "Scores", parts.table(score_table(scores))),
            parts.section(
                "time",
                "Error over time",
                parts.figures([time_figure(methods, segments, length, scores)], side_by_side=False, legend=True),
            ),
            parts.section("segments", "Error by segment", *_segment_parts(methods, segments)),
            study_section(
                AdaptationStudy,
                settings,
                directory,
                meanings("adaptation", window=grouped(WINDOW), run=grouped(WINDOW * IN_A_ROW)),
                hidden=["options", "suite"],
            ),
        ],
        models=list(methods),
        choice="Method",
    )


def score_table(scores: pd.DataFrame) -> Table:
    """Errors, negative flips and collapse of every method, for the page and the terminal."""
    columns = [
        Column("method", "method"),
        Column("error %", "error", percent, interval=True, best="lowest"),
        Column("of images %", "image_error", percent),
        Column("at the end %", "last_error", percent),
        Column("negative flips %", "negative_flips", percent, interval=True),
        Column("collapse", lambda row: None if row["method"] == "source" else row["collapse"], _position),
    ]
    return Table.of("Methods", scores, columns)


def segment_errors_table(methods: Mapping[str, pd.DataFrame], by: str) -> Table:
    """The error of every method in each segment, or of each corruption, and their mean."""
    records = []
    for method, its in methods.items():
        errors = segment_errors(its, by=by)
        names = errors["corruption"].astype(str)
        if by == "segment":
            names = (errors["segment"] + 1).astype(str) + ". " + names + ", " + errors["severity"].astype(str)
        records += [{"method": method, "where": n, "error": e} for n, e in zip(names, errors["error"], strict=True)]
        records.append({"method": method, "where": "mean", "error": float(errors["error"].mean())})
    column = Column(by, "error", percent)
    return Table.pivot("Error %", records, "where", "method", column, name=entry_name)


def gains_table(methods: Mapping[str, pd.DataFrame], size: int) -> Table:
    """The error at the beginning and at the end of segments, averaged over them."""
    gains = {method: adaptation_gains(its, size=size) for method, its in methods.items()}
    means = [{"method": method, **its[["first", "last", "gain"]].mean()} for method, its in gains.items()]
    columns = [Column("method", "method"), *(Column(f"{key} %", key, percent) for key in ("first", "last", "gain"))]
    return Table.of(f"The first and the last {grouped(size)} images of a segment", means, columns)


def time_figure(methods: Mapping[str, pd.DataFrame], segments: pd.DataFrame, size: int, scores: pd.DataFrame) -> Figure:
    """The error in windows, a line per method, above the severities of the stream; dotted where one collapses."""
    traces = []
    for place, (method, its) in enumerate(methods.items()):
        windows = window_errors(its, size=size)
        middle = windows["position"] + windows["n"] / 2
        texts = [
            label(method, f"from image {grouped(w.position)}: {percent(w.error)} %", interval(w.low, w.high))
            for w in windows.itertuples()
        ]
        trace = line_trace(place, middle, percents(windows["error"]), texts, name=method)
        traces.append(trace | ({"mode": "lines"} if len(windows) > MOST_MARKED else {}))
    traces += _severity_traces(segments)
    end = int(segments["stop"].iloc[-1])
    layout = layout_of({"title": {"text": "images"}, "range": [0, end], "anchor": "y2"}, {"domain": [0.3, 1.0]})
    layout["yaxis"] |= {"title": titled("error, %"), "rangemode": "tozero"}
    layout["yaxis2"] = {**layout["yaxis"], "domain": [0.0, 0.2], "title": titled("severity")}
    layout["shapes"] = [upright_line(at) for at in scores["collapse"].dropna()]
    described = f"The error of every method in windows of {grouped(size)} images, and the severities of the stream."
    note = "Dotted: where a method becomes worse than none." if layout["shapes"] else ""
    return Figure("adaptation-time", f"Windows of {grouped(size)} images", described, 460, traces, layout, note)


def _severity_traces(segments: pd.DataFrame) -> list[dict]:
    """The severity of the first corruption of each segment, and of the second where there are two, as steps."""
    levels = [[_number(word) for word in str(text).split("+")] for text in segments["severity"]]
    texts = [
        label(entry_name(s.corruption), f"severity {s.severity}", f"from image {grouped(s.start)}")
        for s in segments.itertuples()
    ]
    traces = []
    for step in range(max(map(len, levels))):
        heights = [its[step] if step < len(its) else None for its in levels]
        line = {"color": "@muted", "width": 1.5, "shape": "hv", "dash": ("solid", "dot")[step % 2]}
        x = [*segments["start"].tolist(), int(segments["stop"].iloc[-1])]
        trace = {"x": x, "y": [*heights, heights[-1]], "yaxis": "y2", "mode": "lines", "line": line}
        traces.append(trace | SILENT | labels([*texts, texts[-1]]) | {"hoverinfo": "text"})
    return traces


def _segment_parts(methods: Mapping[str, pd.DataFrame], segments: pd.DataFrame) -> list[Part]:
    by = "segment" if 1 < len(segments) <= MOST_SEGMENTS else "corruption"
    half = int((segments["stop"] - segments["start"]).min()) // 2
    gains = gains_table(methods, max(1, min(WINDOW, half)))
    return [parts.table(segment_errors_table(methods, by), sortable=False), parts.table(gains)]


def _verdicts(scores: pd.DataFrame, images: int) -> Verdicts:
    best = scores.loc[scores["error"].idxmin()]
    ends = interval(best["error_low"], best["error_high"])
    verdicts = [("Lowest error", f"{best['method']}, with {percent(best['error'])} % ({ends})")]
    source = scores[scores["method"] == "source"]
    if len(source) and best["method"] != "source":
        verdicts[0] = (
            verdicts[0][0],
            f"{verdicts[0][1]}, where the model as it came has {percent(source['error'].iloc[0])} %.",
        )
    for line in scores.itertuples():
        if not math.isnan(line.collapse):
            start, length = grouped(int(line.collapse)), grouped(WINDOW * IN_A_ROW)
            after = f"from image {start} of {grouped(images)} on for {length} images"
            verdicts.append(("Collapse", f"{line.method} is worse than no adaptation, {after}."))
    return verdicts


def _number(word: str) -> float | None:
    try:
        return float(word)
    except ValueError:  # mixed, or without levels
        return None


def _position(value: float) -> str:
    return "never" if math.isnan(value) else f"at {grouped(int(value))}"
