"""Whatever a table of numbers holds, it is read, or refused with a ValueError."""

from __future__ import annotations

import contextlib
import io
import os
import tempfile

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scuff import metrics

COLUMNS = {
    "read_accuracies": ["trained_on", "tested_on", "accuracy", "seed"],
    "read_overlaps": ["", "a/fog", "a/snow", "trained_on", "tested_on", "accuracy"],
    "read_shifts": ["model", "clean", "synthetic:a/fog", "natural:v2", "clean:v2", "score:p", "family", "standard"],
    "read_distances": ["scheme", "corruption", "severity", "resampling", "mmd", "msd"],
}
CELLS = st.one_of(
    st.none(), st.booleans(), st.integers(-2, 3), st.floats(), st.text(max_size=4),
    st.sampled_from(["standard", "clean", "a/fog", "a/snow", "nan", "0.5", "1e400", "-"]),
)  # fmt: skip


@st.composite
def tables(draw, columns):
    names = draw(st.lists(st.one_of(st.sampled_from(columns), st.text(max_size=3)), min_size=1, max_size=7))
    lines = draw(st.lists(st.lists(CELLS, min_size=len(names), max_size=len(names)), max_size=5))
    return pd.DataFrame(lines, columns=pd.Index(names, dtype=object))


@pytest.mark.parametrize("reader", COLUMNS)
@given(st.data())
def test_any_file(reader, data):
    text = io.StringIO()
    data.draw(tables(COLUMNS[reader])).to_csv(text, index=False)
    check(reader, text.getvalue().encode("utf-8", "surrogatepass"))


@pytest.mark.parametrize("reader", COLUMNS)
@given(st.binary(max_size=60))
def test_any_bytes(reader, content):
    check(reader, content)


@pytest.mark.parametrize("reader", COLUMNS)
@given(st.data())
def test_any_frame(reader, data):
    with contextlib.suppress(ValueError):
        getattr(metrics, reader)(data.draw(tables(COLUMNS[reader])))


def check(reader, content):
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "table.csv")
        with open(path, "wb") as file:
            file.write(content)
        with contextlib.suppress(ValueError):
            getattr(metrics, reader)(path)
