"""Evidence about a mean: error rates under optional stopping, finite populations, files of claims, and trials."""

import numpy as np
import pytest

from scuff.metrics.claims.evidence import anytime_interval, expected_values, gather
from scuff.metrics.claims.file import Key, read_claims
from scuff.metrics.claims.trial import judge, plan_trials, together

ALPHA = 0.05


def coins(truth, runs, count, seed=0):
    return np.random.default_rng([seed, int(1000 * truth)]).random((runs, count)) < truth


def verdicts(truth, bound=0.8, runs=400, count=400, population=None):
    return [gather(x, bound, population).decide(ALPHA) for x in coins(truth, runs, count).astype(float)]


def test_at_the_bound_few_are_decided_wrongly_whenever_one_stops():
    # Each side errs with probability alpha at most: 0.05 and three standard errors of 400 runs.
    most = ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 400)
    at_bound = [verdict for verdict, _ in verdicts(0.8)]
    assert at_bound.count("holds") / 400 <= most
    assert at_bound.count("fails") / 400 <= most


def test_what_is_clear_is_decided_soon():
    # Spec: 1.3 ln(1/alpha) / KL images on average, measured factors 1.25 to 1.45; 400 runs tell the mean to about 5 %.
    found = verdicts(0.9)
    assert {verdict for verdict, _ in found} == {"holds"}
    assert np.mean([images for _, images in found]) == pytest.approx(expected_values(0.9, 0.8, ALPHA), rel=0.2)
    assert {verdict for verdict, _ in verdicts(0.6)} == {"fails"}


def test_looking_at_every_image_with_a_plain_test_would_err_often():
    x = coins(0.8, 400, 400).astype(float)
    n = np.arange(1, 401)
    z = (np.cumsum(x, 1) / n - 0.8) / np.sqrt(0.16 / n)
    assert (z[:, 20:] > 1.645).any(axis=1).mean() > 0.15  # three times what it says: the reason for all this


def test_the_last_image_of_a_population_decides_by_counting():
    x = np.array([1.0] * 83 + [0.0] * 17)
    orders = [np.random.default_rng(k).permutation(x) for k in range(30)]
    assert {gather(x, 0.83, population=100).decide(0.01)[0] for x in orders} == {"holds"}
    assert {gather(x, 0.84, population=100).decide(0.01)[0] for x in orders} == {"fails"}


def test_a_finite_population_errs_no_more_often():
    population = np.array([1.0] * 1599 + [0.0] * 401)  # just below 0.8
    rng = np.random.default_rng(1)
    found = [gather(rng.permutation(population)[:1000], 0.8, 2000).decide(ALPHA)[0] for _ in range(300)]
    assert found.count("holds") / 300 <= ALPHA + 3 * np.sqrt(ALPHA * (1 - ALPHA) / 300)


def test_the_interval_covers_the_truth_at_all_times_at_once():
    missed = 0
    for x in coins(0.7, 100, 300).astype(float):
        ends = [anytime_interval(x[:n], ALPHA) for n in (20, 60, 150, 300)]
        missed += any(not low <= 0.7 <= high for low, high in ends)
    assert missed / 100 <= 2 * ALPHA + 3 * np.sqrt(0.1 * 0.9 / 100)


@pytest.mark.parametrize(
    ("values", "bound", "population"), [([0, 2], 0.5, None), ([1], 0.0, None), ([1, 1], 0.5, 1), ([[1]], 0.5, None)]
)
def test_values_that_say_nothing_about_a_mean_are_refused(values, bound, population):
    with pytest.raises(ValueError, match=r"0\.\.1|between 0 and 1|without replacement"):
        gather(values, bound, population)


# --- files ------------------------------------------------------------------------------------------------------------

FILE = """
claims: 1
suite: imagenet-c
confidence: 0.95
baseline: runs/released
list:
  claim: {%s}
"""


def claim_of(text):
    return read_claims(FILE % text, "claims.yaml").claims[0]


def test_names_become_cells():
    assert claim_of("of: fog, severity: {to: 3}, at_least: 0.8").cells == (
        Key("fog", 1),
        Key("fog", 2),
        Key("fog", 3),
    )
    assert len(claim_of("at_least: 0.8").cells) == 75
    weather = claim_of("of: 'family:weather', severity: [2, 4], at_least: 0.8").cells
    assert {key.entry for key in weather} >= {"fog", "snow", "frost"}
    assert {key.severity for key in weather} == {2, 4}


def test_severities_between_levels_and_the_way_to_them():
    assert claim_of("of: fog, severity: [2, 2.5], at_least: 0.8").cells == (Key("fog", dial=2.0), Key("fog", dial=2.5))
    claim = claim_of("metric: survival, of: fog, severity: 2.5, at_least: 0.8")
    (key,) = claim.cells
    assert key.leads_up_to() == (Key("clean"), Key("fog", dial=1.0), Key("fog", dial=2.0), Key("fog", dial=2.5))
    assert str(claim) == "survival over fog 2.5 is at least 0.8"
    assert len(claim_of("metric: survival, of: fog, severity: 3, at_least: 0.8").cells[0].leads_up_to()) == 4


def test_weights_of_mce_are_those_of_the_full_score():
    claim = claim_of("metric: mce, at_most: 70")
    # All wrong, mCE is the mean of 100 / AlexNet's error of each corruption: 15 of them, 5 levels each.
    from scuff.metrics import load_reference

    alexnet = load_reference("alexnet", "imagenet-c")
    errors = {entry: alexnet.error(entry, [1, 2, 3, 4, 5]) for entry, *_ in claim.cells}
    assert claim.scale == pytest.approx(np.mean([100 / error for error in errors.values()]))
    shares = [100 / errors[entry] / 75 / claim.scale for entry, *_ in claim.cells]
    np.testing.assert_allclose(claim.weights, shares)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("of: fogg, at_least: 0.8", "did you mean fog"),
        ("of: fog", "one of at_least, at_most, against"),
        ("of: fog, at_least: 0.8, at_most: 0.9", "at_least and at_most"),
        ("of: fog, at_least: 1.2", "between 0 and 1"),
        ("of: fog, at_leest: 0.8", "unknown key 'at_leest'"),
        ("metric: ece, at_most: 0.1", "no mean over images"),
        ("metric: speed, at_most: 0.1", "metric must be one of"),
        ("of: fog, severity: 5.5, at_least: 0.8", "above 0 and at most 5"),
        ("of: fog, severity: 2.5, metric: mean_error, at_most: 0.8", "about levels"),
        ("metric: survival, of: fog, at_least: 0.8", "up to which severity"),
        ("of: fog, severity: 9, at_least: 0.8", "no level 9"),
        ("of: 'family:whether', at_least: 0.8", "no family 'whether'"),
        ("of: fog, at_least: many", "expected a number"),
        ("of: fog, at_least: 0.8, confidence: 99", "confidence must be"),
        ("of: fog, at_least: 0.8, budget: some", "budget must be"),
        ("of: fog, at_least: 0.8, by: colour", "by must be class"),
        ("of: fog, margin: 0.1, at_least: 0.8", "margin goes with"),
        ("metric: mce, against: baseline", "not mce"),
        ("metric: mce, over: each, at_most: 70", "a mean over cells"),
        ("metric: mean_error, of: saturate, at_most: 0.7", "leave validation entries out"),
        ("of: [], at_least: 0.8", "no cell"),
        ("of: fog, severity: [2, 7], at_least: 0.8", "no level"),
        ("of: fog, severity: .inf, at_least: 0.8", "above 0 and at most 5"),
        ("of: fog, severity: {to: 2.5}, at_least: 0.8", "from and to are levels"),
        ("metric: survival, of: fog, severity: [], at_least: 0.8", "above 0 and at most 5"),
    ],
)
def test_wrong_claims_get_a_sentence_that_names_them(text, said):
    with pytest.raises(ValueError, match=said) as error:
        claim_of(text)
    assert "claims.yaml: claim claim" in str(error.value)


def test_a_file_without_what_it_needs_is_refused():
    for text, said in [
        ("list: {}\nsuite: imagenet-c", "empty"),
        ("list: {a: {at_least: 0.5}}", "which suite"),
        ("suite: imagenet-c", "list is missing"),
        ("claims: 2\nsuite: imagenet-c\nlist: {a: {at_least: 0.5}}", "format 2"),
        ("suite: imagenet-c\nlist: {a: {against: baseline}}", "needs one"),
    ]:
        with pytest.raises(ValueError, match=said):
            read_claims(text, "claims.yaml")


# --- trials -----------------------------------------------------------------------------------------------------------


class Model:
    """Right with a probability that each cell has; the baseline is right where the model is, and sometimes besides."""

    def __init__(self, images, accuracy, gain=0.0):
        self.images, self.accuracy, self.gain, self.known = images, accuracy, gain, {}

    def __call__(self, who, key, places):
        if (who, key) not in self.known:
            ability = np.random.default_rng(5).random(self.images)
            right = ability < self.accuracy.get(key[0], 0.9) + (self.gain if who == "baseline" else 0.0)
            self.known[who, key] = right
        return self.known[who, key][places]


def outcomes(text, model, images=4000, groups=None):
    trials = plan_trials(claim_of(text), images, 0, groups)
    return [judge(trial, model, trial.most_images) for trial in trials]


def test_a_mean_over_cells_is_that_of_the_cells():
    model = Model(4000, {"fog": 0.9, "snow": 0.5})
    (outcome,) = outcomes("of: [fog, snow], severity: 1, at_least: 0.2", model)
    exact = outcomes("of: [fog, snow], severity: 1, at_least: 0.699, population: these", model)[0]
    assert outcome.verdict == exact.verdict == "holds"
    assert outcome.low <= 0.7 <= outcome.high
    assert exact.passes == 2 * exact.images  # these images: each in all cells


@pytest.mark.parametrize(
    ("text", "verdict", "value"),
    [
        ("metric: accuracy, of: fog, severity: 1, at_least: 0.7", "holds", 0.8),
        ("metric: accuracy, of: fog, severity: 1, at_most: 0.7", "fails", 0.8),
        ("metric: error, of: fog, severity: 1, at_most: 0.3", "holds", 0.2),
        ("metric: error, of: fog, severity: 1, at_least: 0.3", "fails", 0.2),
        ("metric: drop, of: fog, severity: 1, at_most: 0.2", "holds", 0.1),
        ("metric: drop, of: fog, severity: 1, at_most: 0.02", "fails", 0.1),
        ("metric: robustness_score, of: fog, severity: 1, at_least: 0.8", "holds", 0.8 / 0.9),
        ("metric: robustness_score, of: fog, severity: 1, at_least: 0.98", "fails", 0.8 / 0.9),
        ("against: baseline, margin: 0.1, of: fog, severity: 1", "holds", -0.03),
        ("metric: survival, of: fog, severity: 2.5, at_least: 0.7", "holds", 0.8),
        ("metric: survival, of: fog, severity: 2.5, at_least: 0.9", "fails", 0.8),
        ("metric: survival, against: baseline, margin: 0.1, of: fog, severity: 2.5", "holds", -0.03),
    ],
)
def test_every_metric_is_decided_and_its_interval_holds_the_truth(text, verdict, value):
    (outcome,) = outcomes(text, Model(4000, {"fog": 0.8, "clean": 0.9}, gain=0.03))
    assert outcome.verdict == verdict
    assert outcome.low <= value <= outcome.high


def test_a_claim_about_each_cell_fails_with_one_of_them():
    model = Model(4000, {"fog": 0.9, "snow": 0.5})
    found = outcomes("of: [fog, snow], severity: 1, over: each, at_least: 0.7", model)
    assert [outcome.verdict for outcome in found] == ["holds", "fails"]
    assert together(found) == "fails"
    assert together(found[:1]) == "holds"


def test_a_budget_ends_a_trial_undecided():
    (outcome,) = outcomes("of: fog, severity: 1, at_least: 0.79, budget: 50", Model(4000, {"fog": 0.8}))
    assert (outcome.verdict, outcome.images) == ("undecided", 50)
    assert together([outcome]) == "undecided"
    both = outcomes("of: [fog, snow], severity: 1, over: each, at_least: 0.79, budget: 50", Model(4000, {"fog": 0.8}))
    assert [outcome.images for outcome in both] == [25, 25]
