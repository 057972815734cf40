"""Scores of rows of a stream, each against a count by hand."""

import numpy as np
import pandas as pd
import pytest

from scuff.metrics import (
    adaptation_gains,
    adaptation_scores,
    collapse,
    negative_flips,
    segment_errors,
    stream_error,
    window_errors,
)
from scuff.metrics.intervals import wilson


def rows(right, lengths=None, method="tent", images=None):
    """Rows of a stream in which some predictions are right."""
    right, lengths = np.asarray(right, bool), lengths or [len(right)]
    segment = np.repeat(np.arange(len(lengths)), lengths)
    return pd.DataFrame(
        {
            "method": method,
            "position": np.arange(len(right)),
            "segment": segment,
            "corruption": np.array(["fog", "snow"])[segment % 2],
            "severity": 5,
            "image_id": np.arange(len(right)) if images is None else images,
            "label": 1,
            "prediction": np.where(right, 1, 0),
            "confidence": 0.5,
        }
    )


def test_errors_of_segments_and_of_corruptions():
    some = rows([1, 1, 0, 0, 0, 1, 1, 1], [2, 3, 3])
    errors = segment_errors(some)
    assert errors["error"].tolist() == [0, 1, 0]
    assert errors["corruption"].tolist() == ["fog", "snow", "fog"]
    assert errors["high"].tolist() == pytest.approx(wilson([0, 3, 0], [2, 3, 3])[1])
    assert segment_errors(some, by="corruption")["error"].tolist() == [0, 1]
    assert stream_error(some).value == pytest.approx(1 / 3)
    assert stream_error(some, by="corruption").value == pytest.approx(0.5)


def test_a_segment_of_several_corruptions_is_called_mixed():
    some = rows([1, 0, 1, 0], [2, 2])
    some["corruption"] = pd.Categorical(["fog", "snow", "fog", "fog"])
    some["severity"] = [5, 5, 5, 3]
    for given in (some, some[::-1]):
        errors = segment_errors(given)
        assert errors["position"].tolist() == [0, 2]
        assert errors["corruption"].tolist() == ["mixed", "fog"]
        assert errors["severity"].tolist() == [5, "mixed"]


def test_the_interval_of_the_error_is_that_of_images_with_all_their_appearances():
    drawn = np.random.default_rng(0)
    right = drawn.random((3, 400)) < drawn.random(400)  # images differ, so that their appearances are alike
    score = stream_error(rows(right.ravel(), [400] * 3, images=np.tile(np.arange(400), 3)))
    resampled = [(~right[:, drawn.integers(0, 400, 400)]).mean() for _ in range(2000)]
    assert score.value == pytest.approx((~right).mean())
    assert (score.high - score.low) / 2 == pytest.approx(1.96 * np.std(resampled), rel=0.05)
    apart = stream_error(rows(right.ravel(), [400] * 3))
    assert apart.high - apart.low < score.high - score.low


def test_windows_and_what_a_segment_has_taught():
    some = rows([0, 0, 0, 1, 1, 1, 1], [5, 2])
    windows = window_errors(some, size=3)
    assert windows[["position", "n", "error"]].values.tolist() == [[0, 3, 1], [3, 3, 0], [6, 1, 0]]
    gains = adaptation_gains(some, size=2)
    assert gains[["first", "last", "gain"]].values.tolist() == [[1, 0, 1], [0, 0, 0]]


def test_negative_flips_are_images_that_the_source_gets_right():
    source, adapted = rows([1, 1, 0, 0], method="source"), rows([1, 0, 1, 0])
    score = negative_flips(adapted, source)
    assert (score.value, score.n) == (0.25, 4)
    shuffled = negative_flips(adapted, source.sample(frac=1, random_state=0))
    assert shuffled == score
    with pytest.raises(ValueError, match="the same stream"):
        negative_flips(adapted, source[:3])
    once, thrice = (
        negative_flips(
            *(rows(right * 3, images=images, method=m) for m, right in (("tent", [1, 0] * 50), ("source", [1] * 100)))
        )
        for images in (None, np.tile(np.arange(100), 3))
    )
    assert (thrice.high - thrice.low) / (once.high - once.low) == pytest.approx(3**0.5)  # of 100 images, not of 300


def test_a_collapse_is_the_first_of_ten_windows_in_a_row():
    source = rows([1, 0] * 100, method="source")  # windows of ten are half wrong
    right = np.ones(200, bool)
    right[20:110] = False  # nine windows
    assert collapse(rows(right), source, size=10) is None
    right[50:] = False
    right[150:160] = True
    assert collapse(rows(right), source, size=10) == 20
    assert collapse(rows(right), source, size=10, in_a_row=5) == 20
    right[20:40] = True
    assert collapse(rows(right), source, size=10) == 40
    assert collapse(source, source, size=10) is None  # as bad is no worse
    assert collapse(rows(right[:50]), source[:50], size=10) is None


def test_a_line_for_each_method():
    both = pd.concat([rows([1, 1, 0, 0], [2, 2], "source"), rows([1, 0, 1, 1], [2, 2])])
    scores = adaptation_scores(both, size=2)
    assert scores["method"].tolist() == ["source", "tent"]
    assert scores["error"].tolist() == [0.5, 0.25]
    assert scores["last_error"].tolist() == [1, 0]
    assert adaptation_scores(both, size=3)["last_error"].tolist() == [2 / 3, 1 / 3]  # and not of one image alone
    assert np.isnan(scores["negative_flips"][0])
    assert scores["negative_flips"][1] == 0.25
    assert scores["collapse"].isna().all()


def test_mistakes_are_explained():
    some = rows([1, 0])
    for wrong, message in (
        (some.drop(columns="segment"), "missing: segment"),
        (some[:0], "missing: all rows"),
        (pd.concat([some, some]), "one per position"),
    ):
        with pytest.raises(ValueError, match=message):
            stream_error(wrong)
    with pytest.raises(ValueError, match="column method"):
        adaptation_scores(some.drop(columns="method"))
    with pytest.raises(ValueError, match="at least 1 image"):
        window_errors(some, size=0)
