"""How a model fares on a stream: errors by segment and over time, what adaptation breaks, and when it collapses.

Rows have a line per image of the stream: `position`, `segment`, `corruption`, `severity`, `image_id`, `label` and
`prediction`, and `method` where there are several. A prediction is the one made when the image came by.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np
import pandas as pd
from scipy.special import ndtri

from scuff.metrics.intervals import percent, wilson
from scuff.metrics.score import Score

COLUMNS = ("position", "segment", "corruption", "severity", "image_id", "label", "prediction")
WINDOW = 1000  # images
IN_A_ROW = 10  # windows that make a collapse
MIXED = "mixed"  # where a segment has several corruptions, or severities


def segment_errors(rows: pd.DataFrame, *, by: str = "segment", level: float = 0.95) -> pd.DataFrame:
    """The error in each segment, or of each corruption (`by`), with Wilson's interval; fractions 0..1."""
    rows = _checked(rows)
    groups = rows.assign(wrong=_wrong(rows)).groupby(by, sort=False, observed=True)
    about = groups[["position"]].first()
    for column in ("corruption", "severity") if by == "segment" else ():
        about[column] = groups[column].first().astype(object).where(groups[column].nunique() == 1, MIXED)
    return about.reset_index().join(_proportions(groups["wrong"].sum(), groups["wrong"].size(), level))


def stream_error(rows: pd.DataFrame, *, by: str = "segment", level: float = 0.95) -> Score:
    """The mean of the errors of all segments, or corruptions, each counting the same; a fraction.

    Its interval is for other images like these, each with all its appearances in the stream: a normal one, whose
    variance is the sum of squares of what every image adds.
    """
    rows = _checked(rows)
    return _mean_over_images(_wrong(rows), pd.factorize(rows[by])[0], rows["image_id"], level)


def window_errors(rows: pd.DataFrame, *, size: int = WINDOW, level: float = 0.95) -> pd.DataFrame:
    """The error in consecutive windows of `size` images, with Wilson's interval; `position` is where each begins."""
    rows = _checked(rows)
    if size < 1:
        raise ValueError(f"a window has at least 1 image, got {size}")
    window = rows["position"].to_numpy() // size
    n = np.bincount(window)
    table = _proportions(np.bincount(window, _wrong(rows)), n, level)
    return pd.DataFrame({"position": np.arange(len(n)) * size}).join(table)[n > 0].reset_index(drop=True)


def adaptation_gains(rows: pd.DataFrame, *, size: int = WINDOW) -> pd.DataFrame:
    """The errors on the `first` and the `last` so many images of each segment, and the `gain` between them."""
    rows = _checked(rows)
    groups = rows.assign(wrong=_wrong(rows)).groupby("segment", observed=True)["wrong"]
    first, last = (groups.apply(lambda wrong, cut=cut: float(wrong.to_numpy()[cut].mean())) for cut in _ends(size))
    return pd.DataFrame({"first": first, "last": last, "gain": first - last}).reset_index()


def negative_flips(rows: pd.DataFrame, source: pd.DataFrame, *, level: float = 0.95) -> Score:
    """The share of images about which the network was right as it came, and is wrong as it was adapted.

    Its interval is like that of `stream_error`.
    """
    rows, source = _aligned(rows, source)
    return _mean_over_images(~_wrong(source) & _wrong(rows), np.zeros(len(rows), int), rows["image_id"], level)


def collapse(rows: pd.DataFrame, source: pd.DataFrame, *, size: int = WINDOW, in_a_row: int = IN_A_ROW) -> int | None:
    """The position from which on an adapted network is worse than it was: the first of ten windows in a row.

    None if that never happens.
    """
    ours, theirs = (window_errors(its, size=size) for its in _aligned(rows, source))
    worse = ours["error"].to_numpy() > theirs["error"].to_numpy()
    runs = np.convolve(worse, np.ones(in_a_row, int), "valid") if len(worse) >= in_a_row else np.zeros(0)
    begins = np.flatnonzero(runs == in_a_row)
    return int(ours["position"].iloc[begins[0]]) if len(begins) else None


def adaptation_scores(
    rows: pd.DataFrame, *, size: int = WINDOW, in_a_row: int = IN_A_ROW, level: float = 0.95
) -> pd.DataFrame:
    """A line for each method, in the order of the rows.

    `error` is the mean over segments, `image_error` that over images, `last_error` that of the last `size` images;
    `negative_flips` and `collapse` need a method called "source" among them, and are NaN without one.
    """
    methods = by_method(rows)
    source = methods.get("source")
    lines = []
    for method, its in methods.items():
        error, last = stream_error(its, level=level), _wrong(_checked(its)[-size:]).mean()
        flips = Score(math.nan, math.nan, math.nan, 0, "")
        falls: float | None = math.nan
        if source is not None and method != "source":
            flips = negative_flips(its, source, level=level)
            falls = collapse(its, source, size=size, in_a_row=in_a_row)
        line = {"method": method, "n": len(its), "image_error": float(_wrong(its).mean())}
        line |= {"error": error.value, "error_low": error.low, "error_high": error.high, "last_error": float(last)}
        line |= {"negative_flips": flips.value, "negative_flips_low": flips.low, "negative_flips_high": flips.high}
        lines.append(line | {"collapse": math.nan if falls is None else float(falls)})
    return pd.DataFrame(lines)


def by_method(rows: pd.DataFrame) -> Mapping[str, pd.DataFrame]:
    """The rows of each method."""
    if "method" not in rows:
        raise ValueError("rows need a column method, with the name of whatever adapted the model")
    return {str(name): its for name, its in rows.groupby("method", sort=False, observed=True)}


def _ends(size: int) -> tuple[slice, slice]:
    if size < 1:
        raise ValueError(f"a window has at least 1 image, got {size}")
    return slice(None, size), slice(-size, None)


def _proportions(count: object, n: object, level: float) -> pd.DataFrame:
    wrong, all_ = np.asarray(count, float), np.asarray(n)
    low, high = wilson(wrong, np.maximum(all_, 1), level)
    return pd.DataFrame({"n": all_, "error": wrong / np.maximum(all_, 1), "low": low, "high": high})


def _mean_over_images(wrong: np.ndarray, group: np.ndarray, images: pd.Series, level: float) -> Score:
    """The mean of the means of groups, with an interval for other images, each with all its appearances."""
    sizes = np.bincount(group)
    means = np.bincount(group, wrong) / sizes
    added = np.bincount(pd.factorize(images)[0], (wrong - means[group]) / (sizes[group] * len(sizes)))
    half, mean = ndtri(0.5 + level / 2) * math.sqrt(float((added**2).sum())), float(means.mean())
    return Score(mean, max(mean - half, 0.0), min(mean + half, 1.0), len(wrong), f"normal over images {percent(level)}")


def _wrong(rows: pd.DataFrame) -> np.ndarray:
    return rows["label"].to_numpy() != rows["prediction"].to_numpy()


def _aligned(rows: pd.DataFrame, source: pd.DataFrame) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Both in the order of the stream, if it is the same one."""
    ours, theirs = _checked(rows), _checked(source)
    same = all(np.array_equal(ours[column], theirs[column]) for column in ("position", "image_id", "label"))
    if not same:
        raise ValueError("to be compared, both must have seen the same stream")
    return ours, theirs


def _checked(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows of one method in the order of the stream."""
    missing = [column for column in COLUMNS if column not in rows]
    if missing or not len(rows):
        raise ValueError(f"rows need the columns {', '.join(COLUMNS)}; missing: {', '.join(missing) or 'all rows'}")
    if not rows["position"].is_unique:
        raise ValueError("expected the rows of one method, one per position of the stream")
    return rows if rows["position"].is_monotonic_increasing else rows.sort_values("position")
