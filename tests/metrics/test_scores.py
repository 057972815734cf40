"""Scores: how they read, and that they need no torch."""

import subprocess
import sys

import pytest
from made_rows import MINE, random_rows

from scuff import metrics
from scuff.metrics import Score


@pytest.mark.parametrize(
    ("score", "text"),
    [
        (Score(23.9, 23.54, 24.26, 50000, "x, y"), "23.9 [23.5, 24.3] (n = 50000; x)"),
        (Score(0.2391, 0.2354, 0.2428, 50000, "x"), "0.239 [0.235, 0.243] (n = 50000; x)"),
        (Score(104.0, 80.0, 130.0, 9, "x"), "104 [80, 130] (n = 9; x)"),
        (Score(100.0, 100.0, 100.0, 9, "x", "note"), "100 [100, 100] (n = 9; x; note)"),
    ],
)
def test_scores_print_as_many_digits_as_they_know(score, text):
    assert str(score) == text


def test_to_frame():
    rows = random_rows(MINE)
    scores = metrics.ce(rows, baseline=None)
    table = metrics.to_frame(scores)
    assert table.corruption.tolist() == ["fog", "snow"]
    assert table.value.tolist() == [float(s) for s in scores.values()]


def test_metrics_are_pure():
    code = "import sys, scuff.metrics\nprint('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout.strip()) == (0, "False"), done.stderr
