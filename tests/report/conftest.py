"""Made results that several files of tests share: tables of validity with their page, and a study of MSCR."""

import pytest
from made_mscr import make_robust_accuracies, make_separation
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


@pytest.fixture(scope="session")
def accuracies():
    """Two models, eight levels of noise, two numbers of copies, six runs."""
    return make_robust_accuracies(copies=(1, 10))


@pytest.fixture(scope="session")
def separation():
    return make_separation()
