"""Made tables of validity and the page about them, which several files of tests share."""

import pytest
from made_validity import make_contributions, make_correlations, make_shifts
from pages import Page
from validity_pages import render_all


@pytest.fixture(scope="session")
def shifts():
    return make_shifts()


@pytest.fixture(scope="session")
def correlations(shifts):
    return make_correlations(shifts)


@pytest.fixture(scope="session")
def contributions(shifts):
    return make_contributions(shifts)


@pytest.fixture(scope="session")
def page(shifts, correlations, contributions):
    return Page(render_all(shifts, correlations, contributions))
