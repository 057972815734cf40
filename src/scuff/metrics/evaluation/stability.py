"""Stability over sequences of frames: how often a prediction flips although the picture hardly changes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import pandas as pd

from scuff.metrics.estimate import Estimate, Group, join_groups, score_together, scored
from scuff.metrics.evaluation.references import load_reference
from scuff.metrics.evaluation.tables import CELL_COLUMNS, check_columns, find_suite, number_images, only, suite_name
from scuff.metrics.intervals import DEFAULT, Resampling
from scuff.metrics.score import Score
from scuff.suites import Suite

TOP = 5
RANKS = ("prediction", *(f"rank{k}" for k in range(2, TOP + 1)))
SEQUENCE_COLUMNS = tuple(name for name in CELL_COLUMNS if name != "label")  # flips need no truth

# What pairs of frames score: takes the earlier and the later frames, (images, pairs, ranks), returns (images, pairs).
Pair = Callable[[np.ndarray, np.ndarray], np.ndarray]


def _flips(earlier: np.ndarray, later: np.ndarray) -> np.ndarray:
    return earlier[..., 0] != later[..., 0]


def _moves(earlier: np.ndarray, later: np.ndarray) -> np.ndarray:
    """The top-5 distance. A rank that holds no class, -1, does not move."""
    total = np.zeros(later.shape[:2], np.int64)
    for i in range(TOP):
        ranked = earlier[..., i, None]
        same = later == ranked
        rank = np.where(same.any(axis=-1), same.argmax(axis=-1), TOP)
        total += np.where(ranked[..., 0] < 0, 0, np.abs(i - rank))
    return total


FLIPS: tuple[Pair, tuple[str, ...]] = (_flips, RANKS[:1])  # what pairs score, and the columns that it takes
MOVES: tuple[Pair, tuple[str, ...]] = (_moves, RANKS)


def flip_probability(
    rows: pd.DataFrame,
    *,
    suite: Suite | str | None = None,
    difficulty: int = 1,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> dict[str, Score]:
    """The probability that the prediction flips from frame to frame, for every sequence that counts; fractions.

    A frame is compared with the one `difficulty` frames before it. In the suite's `compare_to_first`, which are noises
    without any order in time, it is compared with frame 0, and the difficulty is the strength of the noise: the rows of
    that severity count. First the mean over the pairs of an image, then over images, which are what is resampled.

    >>> from scuff.metrics import example_films
    >>> films = example_films()
    >>> print(flip_probability(films, partial=True)["tilt"])
    0.192 [0.162, 0.224] (n = 100; bootstrap over images 95 %)
    """
    return _scores_of_columns(_read_films(rows, FLIPS, suite, difficulty, partial), resampling)


def top5_distance(
    rows: pd.DataFrame,
    *,
    suite: Suite | str | None = None,
    difficulty: int = 1,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> dict[str, Score]:
    """How far the five best classes move between frames, for every sequence that counts; 0 (not at all) to 15.

    With σ(i) the rank in the later frame of the class that is ranked i in the earlier one, a pair of frames scores
    Σ_i=1..5 |(i - 1) - min(σ(i) - 1, 5)|. Pairs and means as in `flip_probability`.

    >>> from scuff.metrics import example_films
    >>> round(float(top5_distance(example_films(), partial=True)["tilt"]), 2)
    0.38
    """
    return _scores_of_columns(_read_films(rows, MOVES, suite, difficulty, partial), resampling)


@scored
def mfr(
    rows: pd.DataFrame,
    *,
    baseline: str | Mapping[str, float] | pd.DataFrame | None = "alexnet",
    suite: Suite | str | None = None,
    difficulty: int = 1,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> Estimate:
    """The mean flip rate, in percent: the mean over the sequences that count of 100 · FP / FP*; AlexNet is 100.

    `baseline` is "alexnet", {sequence: flip probability}, the rows of another model, or None. With None, and where
    there is no reference (any suite but ImageNet-P, any difficulty but 1), the result is the mean flip probability in
    percent, as is usual for CIFAR-10-P, and its note says so. The flip probabilities of AlexNet are quoted from memory
    of later literature and have not been measured again: check them before you publish a number that rests on them.

    >>> from scuff.metrics import example_films
    >>> films = example_films()
    >>> print(mfr(films, baseline=films, partial=True))
    100 [100, 100] (n = 100; bootstrap over images 95 %; partial: 2 of 10 sequences)
    """
    films = _read_films(rows, FLIPS, suite, difficulty, partial)
    why = ""
    if isinstance(baseline, str):
        reference = load_reference(baseline, films.suite)
        flips = reference.flips if reference is not None else {}
        if difficulty != 1 or any(entry not in flips for entry in films.entries):
            why = f"there is no {baseline} reference for {films.suite} at difficulty {difficulty}"
            baseline = None
        else:
            baseline = flips
    if isinstance(baseline, pd.DataFrame):
        baseline = _read_films(baseline, FLIPS, suite, difficulty, partial)
    return _mean_rate(films, baseline, 100.0, ("mean flip probability in percent, not normalised", why))


@scored
def mt5d(
    rows: pd.DataFrame,
    *,
    baseline: Mapping[str, float] | pd.DataFrame | None = None,
    suite: Suite | str | None = None,
    difficulty: int = 1,
    partial: bool = False,
    resampling: Resampling = DEFAULT,
) -> Estimate:
    """The mean top-5 distance: in percent of a baseline's, 100 · T5D / T5D* per sequence, or as it is (0..15).

    AlexNet's distances have not been published, so `baseline` is {sequence: distance}, the rows of another model, or
    None.

    >>> from scuff.metrics import example_films
    >>> print(mt5d(example_films(), partial=True))  # doctest: +ELLIPSIS
    0.40 [0.35, 0.45] (n = 100; ...; partial: 2 of 10 sequences; mean distance, not normalised)
    """
    if isinstance(baseline, str):
        raise ValueError(f"there are no published top-5 distances of {baseline}; pass the rows of a model, or None")
    films = _read_films(rows, MOVES, suite, difficulty, partial)
    if isinstance(baseline, pd.DataFrame):
        baseline = _read_films(baseline, MOVES, suite, difficulty, partial)
    return _mean_rate(films, baseline, 1.0, ("mean distance, not normalised",))


# --- from rows to a number per image and sequence -------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Films:
    """A column per sequence that counts: what each image scores, the mean over its pairs of frames."""

    suite: str
    entries: list[str]
    group: Group
    note: str


def _read_films(
    rows: pd.DataFrame,
    scored_by: tuple[Pair, tuple[str, ...]],
    suite: Suite | str | None,
    difficulty: int,
    partial: bool,
) -> _Films:
    pair, ranks = scored_by
    check_columns(rows, (*SEQUENCE_COLUMNS, *(rank for rank in ranks if rank not in SEQUENCE_COLUMNS)))
    if "frame" not in rows:
        raise ValueError("flips are counted in rows of sequences, which have a column frame; these have none")
    if difficulty < 1:
        raise ValueError(f"difficulty must be at least 1, got {difficulty}")
    model, source, name = only(rows, "model"), only(rows, "source"), suite_name(rows)
    known = find_suite(name, suite)
    if known is None:
        raise ValueError(f"which sequences compare with frame 0 is said by their suite; pass {name!r} as suite=")
    severities = {entry: _severity(known, entry, difficulty) for entry in known.benchmark()}
    wanted = list(severities)
    chosen = {e: ((rows["corruption"] == e) & (rows["severity"] == s)).to_numpy() for e, s in severities.items()}
    entries = [entry for entry, mask in chosen.items() if mask.any()]
    missing = [entry for entry in wanted if entry not in entries]
    if missing and (not partial or not entries):
        raise ValueError(
            f"the rows of {model} lack {len(missing)} of the {len(wanted)} sequences that count in {known.name} at "
            f"difficulty {difficulty}: {', '.join(missing)}; evaluate them"
            + (", or pass partial=True to score those that are there" if entries else "")
        )
    columns, images = [], None
    for entry in entries:
        ids, film = _film(rows[chosen[entry]], ranks, f"{entry} of {model}")
        if images is not None and not np.array_equal(ids, images):
            raise ValueError(
                f"all sequences of {model} must hold the same images; {entry} has others than {entries[0]}"
            )
        images = ids
        step = difficulty if known.levels(entry) == (None,) else 1
        columns.append(_mean_over_pairs(film, pair, step, entry in known.compare_to_first, entry))
    note = f"partial: {len(entries)} of {len(wanted)} sequences" if missing else ""
    return _Films(name, entries, Group(np.column_stack(columns), images, source), note)  # type: ignore[arg-type]


def _severity(suite: Suite, entry: str, difficulty: int) -> int:
    """The severity of the rows that a difficulty stands for: an entry without levels has the same frames at all."""
    return 0 if suite.levels(entry) == (None,) else difficulty


def _film(rows: pd.DataFrame, ranks: tuple[str, ...], name: str) -> tuple[np.ndarray, np.ndarray]:
    """The image ids, and the classes of the first ranks in all frames: (images, frames, ranks)."""
    images, image = number_images(rows["image_id"])
    frame = rows["frame"].to_numpy(np.int64)
    frames = int(frame.max()) + 1
    slot = image * frames + frame
    if frame.min() < 0 or len(images) * frames != len(rows) or (np.bincount(slot, minlength=len(rows)) != 1).any():
        raise ValueError(f"{name}: every image must have each of the frames 0 to {frames - 1} once")
    film = np.empty((len(rows), len(ranks)), np.int32)
    for k, rank in enumerate(ranks):
        film[slot, k] = rows[rank].to_numpy()
    return images, film.reshape(len(images), frames, len(ranks))


def _mean_over_pairs(film: np.ndarray, pair: Pair, step: int, to_first: bool, entry: str) -> np.ndarray:
    if film.shape[1] <= (1 if to_first else step):
        raise ValueError(f"{entry} has {film.shape[1]} frames, too few to compare frames that are {step} apart")
    if to_first:
        return pair(film[:, :1], film[:, 1:]).mean(axis=1)
    return pair(film[:, :-step], film[:, step:]).mean(axis=1)


# --- scores ---------------------------------------------------------------------------------------------------------


def _scores_of_columns(films: _Films, resampling: Resampling) -> dict[str, Score]:
    columns = enumerate(films.entries)
    return score_together({e: Estimate((films.group,), lambda m, k=k: m[..., k]) for k, e in columns}, resampling)


def _mean_rate(
    films: _Films, baseline: Mapping[str, float] | _Films | None, unit: float, plain: tuple[str, ...]
) -> Estimate:
    """The mean over sequences of 100 · rate / reference; without a reference, of unit · rate, with a note."""
    if baseline is None:
        note = "; ".join(filter(None, (films.note, *plain)))
        return Estimate((films.group,), lambda m: unit * m.mean(axis=-1), note)
    if not isinstance(baseline, _Films):
        lacking = [entry for entry in films.entries if entry not in baseline]
        if lacking:
            raise ValueError(f"the baseline lacks the sequences {', '.join(lacking)}; it names {', '.join(baseline)}")
        reference = np.array([baseline[entry] for entry in films.entries], float)
        return Estimate((films.group,), lambda m: (100 * m / reference).mean(axis=-1), films.note)
    if baseline.entries != films.entries:
        raise ValueError(f"the baseline has the sequences {baseline.entries}, the model {films.entries}")
    groups, rate = join_groups(films.group, baseline.group, lambda own, other: (100 * own / other).mean(axis=-1))
    return Estimate(groups, rate, films.note)
