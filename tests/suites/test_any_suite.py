"""Whatever a suite's file holds, it is read, or refused with a SuiteError."""

from __future__ import annotations

import contextlib

import yaml
from hypothesis import given
from hypothesis import strategies as st

from scuff.suites import SuiteError, list_suites, load_suite
from scuff.suites.suite import parse_suite, suite_from_dict

KEYS = ("suite", "version", "size", "severities", "about", "reference", "validation", "aliases", "categories",
        "compare_to_first", "entries", "fog", "strength", "decay", "corruption", "from", "to")  # fmt: skip
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(-3, 300), st.floats(), st.text(max_size=6), st.sampled_from(KEYS), st.dates()
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.one_of(
        st.lists(inner, max_size=4), st.dictionaries(st.one_of(st.sampled_from(KEYS), SCALARS), inner, max_size=4)
    ),
    max_leaves=12,
)
ALMOST = {
    "suite": "mine",
    "version": 1,
    "size": 32,
    "severities": 2,
    "entries": {"fog": {"strength": [1, 2], "decay": 2}},
}


@given(st.text())
def test_any_text(text):
    with contextlib.suppress(SuiteError):
        parse_suite(text, "the file")


@given(VALUES)
def test_any_values(values):
    with contextlib.suppress(SuiteError):
        suite_from_dict(values, "the file")


@given(st.sampled_from([*ALMOST, "validation", "aliases", "categories", "compare_to_first", "about"]), VALUES)
def test_a_suite_with_one_wrong_part(key, value):
    with contextlib.suppress(SuiteError):
        parse_suite(yaml.safe_dump(ALMOST | {key: value}), "the file")


@given(st.dictionaries(st.sampled_from(["strength", "decay", "corruption", "width"]), VALUES, max_size=4))
def test_a_suite_with_any_parameters(parameters):
    with contextlib.suppress(SuiteError):
        parse_suite(yaml.safe_dump(ALMOST | {"entries": {"fog": parameters}}), "the file")


@given(st.text(max_size=20))
def test_any_name(name):
    if name not in list_suites():
        with contextlib.suppress(SuiteError):
            load_suite(name)
