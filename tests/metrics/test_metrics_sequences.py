"""Flips and top-5 distances of sequences, against plain loops that follow the definitions word by word."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from scuff import metrics
from scuff.metrics import Resampling
from scuff.suites import Suite, load_suite

QUICK = Resampling(count=50)
IMAGENET_P = load_suite("imagenet-p")
NOISE = ("gaussian_noise", "shot_noise", "speckle_noise")
RANKS = ["prediction", "rank2", "rank3", "rank4", "rank5"]


def film_rows(suite="imagenet-p", model="m", n=6, frames=7, classes=8, seed=0, source="val", entries=None):
    """Rows of all sequences in random order; the classes of neighbouring frames are mostly in the same order."""
    draw = np.random.default_rng(seed)
    known = load_suite(suite)
    parts = []
    for entry in entries or known.entries:
        for severity in known.levels(entry):
            scores = draw.normal(size=(n, 1, classes)) + draw.normal(0, 0.3, (n, frames, classes))
            order = np.argsort(-scores, axis=-1)[..., :5].reshape(n * frames, -1)
            order = np.pad(order, ((0, 0), (0, 5 - order.shape[1])), constant_values=-1)
            image, frame = (index.ravel() for index in np.indices((n, frames)))
            cell = {"corruption": entry, "severity": severity or 0, "image_id": image * 3, "frame": frame}
            parts.append(pd.DataFrame({**cell, **dict(zip(RANKS, order.T, strict=True))}))
    rows = pd.concat(parts).assign(model=model, source=source, suite=suite, label=0, confidence=np.float32(0.5))
    rows = rows.astype(dict.fromkeys(("model", "source", "suite", "corruption"), "category"))
    return rows.sample(frac=1, random_state=seed).reset_index(drop=True)


def films_of(rows, entry, difficulty):
    """One list of rankings per image, frame after frame."""
    severity = difficulty if entry in NOISE else 0
    part = rows[(rows.corruption == entry) & (rows.severity == severity)].sort_values(["image_id", "frame"])
    return [film[RANKS].to_numpy().tolist() for _, film in part.groupby("image_id")]


def loop(rows, entry, difficulty, score) -> float:
    """Mean within a sequence, then over sequences; noise against frame 0, others against the frame d before."""
    means = []
    for film in films_of(rows, entry, difficulty):
        if entry in NOISE:
            pairs = [(film[0], film[j]) for j in range(1, len(film))]
        else:
            pairs = [(film[j - difficulty], film[j]) for j in range(difficulty, len(film))]
        means.append(sum(score(*pair) for pair in pairs) / len(pairs))
    return sum(means) / len(means)


def flipped(earlier, later) -> bool:
    return earlier[0] != later[0]


def top5(earlier, later) -> int:
    total = 0
    for i, ranked in enumerate(earlier, start=1):
        if ranked == -1:
            continue
        sigma = later.index(ranked) + 1 if ranked in later else 1000
        total += abs((i - 1) - min(sigma - 1, 5))
    return total


@pytest.mark.parametrize("difficulty", [1, 2, 3])
@pytest.mark.parametrize("suite", ["imagenet-p", "cifar10-p"])
def test_flip_probability(suite, difficulty):
    rows = film_rows(suite)
    scores = metrics.flip_probability(rows, difficulty=difficulty, resampling=QUICK)
    assert list(scores) == load_suite(suite).benchmark()
    for entry, score in scores.items():
        assert score.value == pytest.approx(loop(rows, entry, difficulty, flipped), abs=1e-12), entry
        assert (score.low <= score.value <= score.high, score.n) == (True, 6)


@pytest.mark.parametrize("difficulty", [1, 3])
@pytest.mark.parametrize("classes", [3, 8, 40])
def test_top5_distance(classes, difficulty):
    rows = film_rows(classes=classes)
    for entry, score in metrics.top5_distance(rows, difficulty=difficulty, resampling=QUICK).items():
        assert score.value == pytest.approx(loop(rows, entry, difficulty, top5), abs=1e-12), entry


@pytest.mark.parametrize(
    ("later", "distance"),
    [
        ([0, 1, 2, 3, 4], 0),
        ([1, 0, 2, 3, 4], 2),
        ([5, 0, 1, 2, 3], 5),  # all one down, the last one out
        ([5, 6, 7, 8, 9], 15),  # all out: the largest there is
        ([4, 3, 2, 1, 0], 12),
    ],
)
def test_top5_distances_by_hand(later, distance):
    rows = film_rows(entries=["tilt"], n=1, frames=2).sort_values("frame")
    rows[RANKS] = [[0, 1, 2, 3, 4], later]
    assert float(metrics.mt5d(rows, partial=True)) == distance


def test_mfr_against_published_flips():
    rows = film_rows()
    reference = metrics.load_reference("alexnet", "imagenet-p").flips
    expected = np.mean([100 * loop(rows, e, 1, flipped) / reference[e] for e in IMAGENET_P.benchmark()])
    score = metrics.mfr(rows)
    assert (score.value, score.note) == (pytest.approx(expected, abs=1e-9), "")


@pytest.mark.parametrize("same_images", [True, False])
@pytest.mark.parametrize(("score", "pair"), [(metrics.mfr, flipped), (metrics.mt5d, top5)])
def test_a_model_as_baseline(score, pair, same_images):
    rows = film_rows()
    base = film_rows(model="b", seed=1, n=6 if same_images else 4, classes=6)
    expected = np.mean([100 * loop(rows, e, 1, pair) / loop(base, e, 1, pair) for e in IMAGENET_P.benchmark()])
    assert float(score(rows, baseline=base, resampling=QUICK)) == pytest.approx(expected, abs=1e-9)
    itself = score(rows, baseline=rows, resampling=QUICK)
    assert (itself.value, itself.low, itself.high) == pytest.approx((100, 100, 100), abs=1e-9)


@pytest.mark.parametrize(
    ("suite", "difficulty", "baseline", "note"),
    [
        ("imagenet-p", 1, None, "mean flip probability in percent, not normalised"),
        ("imagenet-p", 2, "alexnet", "there is no alexnet reference for imagenet-p at difficulty 2"),
        ("cifar10-p", 1, "alexnet", "there is no alexnet reference for cifar10-p at difficulty 1"),
    ],
)
def test_without_a_reference_the_mean_is_returned_and_says_so(suite, difficulty, baseline, note):
    rows = film_rows(suite)
    score = metrics.mfr(rows, difficulty=difficulty, baseline=baseline, resampling=QUICK)
    expected = np.mean([100 * loop(rows, e, difficulty, flipped) for e in load_suite(suite).benchmark()])
    assert score.value == pytest.approx(expected, abs=1e-9)
    assert "not normalised" in score.note
    assert score.note.endswith(note)


def test_a_mapping_as_baseline():
    rows = film_rows(entries=["tilt", "snow"])
    expected = (100 * loop(rows, "tilt", 1, top5) / 3 + 100 * loop(rows, "snow", 1, top5) / 4) / 2
    score = metrics.mt5d(rows, baseline={"tilt": 3, "snow": 4}, partial=True)
    assert (score.value, score.note) == (pytest.approx(expected, abs=1e-9), "partial: 2 of 10 sequences")


def test_differences_of_sequences():
    a, b = film_rows(model="a"), film_rows(model="b", seed=1)
    for name in ("mfr", "mt5d"):
        found = metrics.difference(a, b, name, resampling=QUICK)
        of = getattr(metrics, name)
        assert found.value == pytest.approx(float(of(a, resampling=QUICK)) - float(of(b, resampling=QUICK)), abs=1e-9)
    table = metrics.compare(pd.concat([a, b]), "mfr", resampling=QUICK)
    assert table.value[0] == pytest.approx(float(metrics.difference(a, b, "mfr", resampling=QUICK)), abs=1e-9)


def test_a_suite_of_your_own_says_what_is_compared_with_frame_0():
    rows = film_rows(entries=["tilt"]).assign(suite="mine")
    with pytest.raises(ValueError, match="pass 'mine' as suite="):
        metrics.flip_probability(rows)
    entry = {"tilt": IMAGENET_P.entries["tilt"]}
    before = metrics.flip_probability(rows, suite=Suite("mine", 1, 224, entry))
    first = metrics.flip_probability(rows, suite=Suite("mine", 1, 224, entry, compare_to_first=("tilt",)))
    assert float(before["tilt"]) == pytest.approx(loop(rows, "tilt", 1, flipped), abs=1e-12)
    by_hand = np.mean([np.mean([f[0] != film[0][0] for f in film[1:]]) for film in films_of(rows, "tilt", 1)])
    assert float(first["tilt"]) == pytest.approx(by_hand, abs=1e-12)


@pytest.mark.parametrize(
    ("change", "options", "words"),
    [
        (lambda r: r.drop(columns="frame"), {}, "have a column frame"),
        (
            lambda r: r[r.corruption != "tilt"],
            {},
            "lack 1 of the 10 sequences .*: tilt; evaluate them, or pass partial",
        ),
        (lambda r: r[(r.corruption != "tilt") | (r.frame != 3)], {}, "tilt of m: every image must have each of"),
        (lambda r: r[(r.corruption != "tilt") | (r.image_id != 3)], {}, "tilt has others than gaussian_noise"),
        (lambda r: r, {"difficulty": 0}, "difficulty must be at least 1, got 0"),
        (lambda r: r[~r.corruption.isin(NOISE)], {"difficulty": 7, "partial": True}, "7 frames, too few"),
        (lambda r: r[r.severity == 0], {"difficulty": 4}, "at difficulty 4: gaussian_noise, shot_noise"),
        (lambda r: r[:0], {}, "no rows"),
    ],
)
def test_broken_rows_are_refused(change, options, words):
    with pytest.raises(ValueError, match=words):
        metrics.flip_probability(change(film_rows()), **options)


def test_ranks_are_needed_for_distances_alone():
    rows = film_rows().drop(columns="rank4")
    assert len(metrics.flip_probability(rows, resampling=QUICK)) == 10
    with pytest.raises(ValueError, match="lack the columns rank4"):
        metrics.top5_distance(rows)
    with pytest.raises(ValueError, match="no published top-5 distances of alexnet"):
        metrics.mt5d(film_rows(), baseline="alexnet")
