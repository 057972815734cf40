"""Dissimilar benchmarks: every step of appendix D.1 against a plain version of it, and all of them together."""

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scuff.design import (
    Scan,
    average_spread,
    contribution,
    find_dissimilar,
    matched_sets,
    severity_groups,
)
from scuff.design.transform_space import sets as dissimilar_sets
from scuff.design.transform_space.dissimilar import _halves
from scuff.design.transform_space.groups import group_candidates
from scuff.design.transform_space.sets import Sets, choose_sets, disjoint_pairs, draw_pairs, keyed_draws
from scuff.suites import Suite, load_suite

SEVERITIES = {"reference": 5, "candidate": 10}


def made_scan(seed: int = 0, references: int = 4, candidates: int = 9, dimension: int = 6, **severities) -> Scan:
    """Errors that grow with the severity, mostly, in steps of 1/1000, and centres that have nothing to do with them."""
    draw = np.random.default_rng(seed)
    lines = []
    for role, count in (("reference", references), ("candidate", candidates)):
        levels = severities.get(role, SEVERITIES[role])
        for number in range(count):
            low, high = draw.uniform(0.03, 0.2), draw.uniform(0.3, 0.8)
            errors = np.linspace(low, high, levels) + draw.normal(0, 0.02, levels)
            errors = np.clip(errors, 0.005, 1).round(3)
            lines += [(role, f"{role}/{number:02}", k + 1, error) for k, error in enumerate(errors)]
    order = draw.permutation(len(lines))  # the order of lines says nothing
    table = pd.DataFrame([lines[k] for k in order], columns=["role", "corruption", "severity", "error"])
    return Scan(table, draw.normal(size=(len(lines), dimension)))


# --- the plain version: appendix D.1 as the notes on the authors' code tell it, step by step --------------------------


def plain_groups(errors: list[float], spread: float) -> list[tuple[int, ...]]:
    """Step 4; ties are broken towards the larger place by going through places in order with <=."""

    def best(places, wanted, i):
        least, found = math.inf, None
        for j in places:
            off = abs(errors[j] / errors[i] - 1 - wanted)
            if off <= least:
                least, found = off, j
        return found

    groups = []
    for i in range(2, len(errors) - 2):
        s1 = best(range(i - 1), -spread, i)
        s2 = best(range(s1 + 1, i), -spread / 2, i)
        s5 = best(range(i + 2, len(errors)), spread, i)
        s4 = best(range(i + 1, s5), spread / 2, i)
        groups.append((s1, s2, i, s4, s5))
    return groups


def plain_scan(scan: Scan):
    """{role: {corruption: [(severity, error, centre), ...]}} in the order of severities."""
    found = {"reference": {}, "candidate": {}}
    for (_, line), centre in zip(scan.table.iterrows(), scan.centres, strict=True):
        found[line["role"]].setdefault(line["corruption"], []).append((line["severity"], line["error"], centre))
    for own in found.values():
        for lines in own.values():
            lines.sort(key=lambda one: one[0])
    return found


def plain_spread(reference) -> float:
    """Step 3."""
    parts = []
    for lines in reference.values():
        e1, e3, e5 = lines[0][1], lines[2][1], lines[4][1]
        parts.append((abs(e1 / e3 - 1) + abs(e5 / e3 - 1)) / 2)
    return sum(parts) / len(parts)


def plain_tables(scan: Scan, spread: float):
    """Steps 4 and 5: {corruption: [(error, distance, places), ...]}, sorted by error."""
    known = plain_scan(scan)
    bench = [centre for lines in known["reference"].values() for _, _, centre in lines]
    tables = {}
    for name, lines in sorted(known["candidate"].items()):
        near = [min(math.dist(centre, other) for other in bench) for _, _, centre in lines]
        groups = []
        for places in plain_groups([error for _, error, _ in lines], spread):
            error = sum(lines[j][1] for j in places) / 5
            groups.append((error, sum(near[j] for j in places) / 5, places))
        tables[name] = sorted(groups, key=lambda one: one[0])
    return tables


def plain_assignments(tables, members, target, tolerance):
    """Step 6: all assignments of groups to some corruptions with the right mean error."""
    kept = []
    for assignment in itertools.product(*(range(len(tables[name])) for name in members)):
        mean = sum(tables[name][group][0] for name, group in zip(members, assignment, strict=True)) / len(members)
        if abs(target - mean) / target < tolerance:
            kept.append(assignment)
    return kept


def plain_dissimilar(scans, size, tolerance, candidates, seed):
    """All steps. What is drawn is drawn by the numbers that the package draws by: the rest is its own."""
    half, known = size // 2, [plain_scan(scan) for scan in scans]
    targets = [[e for lines in one["reference"].values() for _, e, _ in lines] for one in known]
    target = sum(sum(errors) / len(errors) for errors in targets) / len(targets)
    tables, matched, shifts = [], [], []
    for repetition, scan in enumerate(scans):
        table = plain_tables(scan, plain_spread(known[repetition]["reference"]))
        names = sorted(table)
        sets = []
        for members in itertools.combinations(names, half):
            kept = plain_assignments(table, members, target, tolerance)
            if kept:
                places = np.array([[names.index(name) for name in members]])
                u = keyed_draws(names, places, seed, repetition)[0]
                sets.append((members, kept[int(u * len(kept))]))
        rng = np.random.default_rng([seed, repetition])
        pairs = [(a, b) for a in range(len(sets)) for b in range(len(sets)) if not {*sets[a][0]} & {*sets[b][0]}]
        drawn = [pairs[k] for k in rng.integers(0, len(pairs), candidates)]
        of = [sum(table[name][group][1] for name, group in zip(*one, strict=True)) / half for one in sets]
        distances = [(of[a] + of[b]) / 2 for a, b in drawn]
        mean = sum(distances) / len(distances)
        deviation = math.sqrt(sum((d - mean) ** 2 for d in distances) / len(distances))
        own = {}
        for name in names:
            having = [d for d, (a, b) in zip(distances, drawn, strict=True) if name in sets[a][0] + sets[b][0]]
            if having:  # else it is averaged over the other repetitions
                own[name] = (sum(having) / len(having) - mean) / deviation
        tables.append(table)
        matched.append(sets)
        shifts.append(own)
    known = {name: [own[name] for own in shifts if name in own] for name in tables[0]}
    mean_shift = {name: sum(own) / len(own) for name, own in known.items() if own}
    top = set(sorted(mean_shift, key=mean_shift.get, reverse=True)[:size])
    best = None
    for repetition, (table, sets) in enumerate(zip(tables, matched, strict=True)):
        inside = [one for one in sets if set(one[0]) <= top]
        for a, b in itertools.combinations(inside, 2):
            if not {*a[0]} & {*b[0]}:
                groups = dict(zip(a[0] + b[0], a[1] + b[1], strict=True))
                error = sum(table[name][group][0] for name, group in groups.items()) / size
                if best is None or abs(error - target) < abs(best[1] - target) - 1e-12:
                    best = (repetition, error, {name: table[name][group] for name, group in groups.items()})
    return target, mean_shift, top, best


# --- the steps ------------------------------------------------------------------------------------------------------


def test_groups_are_those_of_the_plain_version():
    chance = random.Random(0)
    for _ in range(300):
        levels = chance.randint(5, 12)
        steps = chance.choice([4, 50, 10000])  # few different errors make ties
        errors = sorted(chance.randint(1, steps) / steps for _ in range(levels))
        if chance.random() < 0.3:
            chance.shuffle(errors)
        spread = chance.choice([0.25, 0.5, chance.uniform(0.05, 3)])
        found = severity_groups(errors, spread)
        assert found == plain_groups(errors, spread)
        assert len(found) == levels - 4  # six of ten severities
        assert all(list(group) == sorted(set(group)) for group in found)


def test_of_severities_that_fit_equally_well_the_more_severe_is_taken():
    assert severity_groups([0.5] * 7, 0.4) == [(0, 1, 2, 5, 6), (1, 2, 3, 5, 6), (2, 3, 4, 5, 6)]


def test_a_middle_without_errors_is_passed_over():
    assert severity_groups([0, 0, 0, 0.1, 0.2, 0.3], 0.5) == [(1, 2, 3, 4, 5)]
    assert severity_groups([0.0] * 10, 0.5) == []
    assert severity_groups([0.1] * 4, 0.5) == []


def test_spread_and_tables_are_those_of_the_plain_version():
    scan = made_scan(3)
    spread = average_spread(scan)
    assert spread == pytest.approx(plain_spread(plain_scan(scan)["reference"]), rel=1e-14)
    groups, plain = group_candidates(scan, spread), plain_tables(scan, spread)
    assert groups.names == tuple(plain)
    for line, own in enumerate(plain.values()):
        np.testing.assert_allclose(groups.errors[line], [one[0] for one in own], rtol=1e-14)
        np.testing.assert_allclose(groups.distances[line], [one[1] for one in own], rtol=1e-13)
        assert groups.places[line].tolist() == [list(one[2]) for one in own]


def test_the_spread_takes_the_middle_of_any_number_of_severities():
    """Of three it is the second, of four and of ten the lower of the two in the middle."""
    for levels, middle in ((3, 1), (4, 1), (5, 2), (10, 4)):
        scan = made_scan(1, references=1, reference=levels)
        errors = scan.errors("reference")["reference/00"].tolist()
        wanted = (abs(errors[0] / errors[middle] - 1) + abs(errors[-1] / errors[middle] - 1)) / 2
        assert average_spread(scan) == pytest.approx(wanted, rel=1e-14)


@pytest.mark.parametrize(("half", "groups"), [(1, 6), (2, 4), (3, 6), (5, 3), (2, 1)])
def test_matched_sets_are_those_of_the_plain_version(half, groups):
    draw = np.random.default_rng(half)
    errors = np.sort(draw.uniform(0.1, 0.5, (7, groups)), axis=1)
    if groups > 1:
        errors[2, groups - 1 :] = np.nan  # a candidate that has one group less
    tables = {k: [(e,) for e in line if np.isfinite(e)] for k, line in enumerate(errors)}
    sets, are_all = choose_sets(7, half, groups, draw)
    assert are_all
    assert sets.tolist() == [list(one) for one in itertools.combinations(range(7), half)]
    draws = draw.random(len(sets))
    found, kept = matched_sets(errors, sets, 0.3, 0.05, draws)
    wanted = []
    for members, u, count in zip(sets.tolist(), draws, kept, strict=True):
        every = plain_assignments(tables, members, 0.3, 0.05)
        assert count == len(every)
        if every:
            wanted.append((members, list(every[int(u * len(every))])))
    assert 0 < len(wanted) < len(sets) or half > 1
    assert list(zip(found.members.tolist(), found.picks.tolist(), strict=True)) == wanted


def test_every_kept_assignment_is_picked_equally_often():
    errors = np.array([[0.1, 0.2, 0.3], [0.1, 0.2, 0.3], [0.2, 0.2, 0.2]])
    sets = np.tile([[0, 1, 2]], (30_000, 1))
    found, kept = matched_sets(errors, sets, 0.2, 0.01, np.random.default_rng(0).random(len(sets)))
    assert (kept == 9).all()  # (0.1, 0.3), (0.2, 0.2) and (0.3, 0.1), three times each
    counts = np.unique(found.picks, axis=0, return_counts=True)[1]
    assert len(counts) == 9
    assert abs(counts - 30_000 / 9).max() < 5 * math.sqrt(30_000 / 9)


def test_the_tolerance_is_relative_and_exclusive():
    for errors, wanted in (([0.2019], 1), ([0.2021], 0), ([0.1981], 1), ([0.1979], 0), ([0.25], 0)):
        assert matched_sets(np.array([errors]), np.array([[0]]), 0.2, 0.01, np.zeros(1))[1].tolist() == [wanted]
    assert matched_sets(np.array([[0.25]]), np.array([[0]]), 0.2, 0.25, np.zeros(1))[1].tolist() == [0]


def test_draws_depend_on_the_names_of_a_set_alone():
    names = [f"a/{k}" for k in range(30)]
    sets = choose_sets(30, 3, 6, np.random.default_rng(0))[0]
    draws = keyed_draws(names, sets, 0, 0)
    assert len(np.unique(draws)) == len(sets) == 4060
    counts = np.histogram(draws, 20, (0, 1))[0]
    assert ((counts - 203) ** 2 / 203).sum() < 44  # chi square with 19 degrees of freedom: beyond this once in 1000
    backwards = keyed_draws(names[::-1], 29 - sets, 0, 0)
    assert np.array_equal(backwards, draws)
    for seed, repetition in ((1, 0), (0, 1)):
        other = keyed_draws(names, sets, seed, repetition)
        assert not (other == draws).any()
        assert abs(np.corrcoef(other, draws)[0, 1]) < 0.06  # four deviations


def test_pairs_are_disjoint_and_drawn_evenly_whether_listed_or_not(monkeypatch):
    members = choose_sets(6, 2, 1, np.random.default_rng(0))[0]
    sets = Sets(members, np.zeros_like(members))
    every = {(a, b) for a in range(15) for b in range(15) if not {*members[a]} & {*members[b]}}
    assert set(map(tuple, disjoint_pairs(members).tolist())) == every
    assert len(every) == 15 * 6
    for listed in (2048, 3):
        monkeypatch.setattr(dissimilar_sets, "ALL_PAIRS", listed)
        pairs = draw_pairs(sets, 45_000, np.random.default_rng(1))
        found, counts = np.unique(pairs, axis=0, return_counts=True)
        assert set(map(tuple, found.tolist())) == every
        assert abs(counts - 500).max() < 5 * math.sqrt(500)


def test_pairs_that_are_not_there_are_no_endless_search(monkeypatch):
    members = np.array([[0, 1], [0, 2], [0, 3], [0, 4]])
    for listed in (2048, 3):
        monkeypatch.setattr(dissimilar_sets, "ALL_PAIRS", listed)
        monkeypatch.setattr(dissimilar_sets, "MOST_TRIES", 20)
        with pytest.raises(
            ValueError, match="match the error of the reference: 4, but no two of them without a common"
        ):
            draw_pairs(Sets(members, members), 10, np.random.default_rng(0))


def test_too_many_sets_are_drawn(monkeypatch):
    monkeypatch.setattr(dissimilar_sets, "MOST_SETS", 500)
    sets, are_all = choose_sets(20, 4, 6, np.random.default_rng(0))
    assert not are_all
    assert 400 < len(sets) <= 500
    assert all(len(set(one)) == 4 and one == sorted(one) for one in sets.tolist())
    counts = np.bincount(sets.ravel(), minlength=20)
    assert abs(counts - len(sets) / 5).max() < 5 * math.sqrt(len(sets) / 5)
    with pytest.raises(ValueError, match="10 corruptions with 6 groups of severities each have 60466176 combinations"):
        choose_sets(20, 10, 6, np.random.default_rng(0))


def test_shifts_are_standardised_differences_of_means():
    draw = np.random.default_rng(0)
    members = np.array([draw.permutation(12)[:4] for _ in range(3000)])
    distances = draw.normal(size=3000) + (members == 5).any(axis=1)
    found = contribution(members, distances, 13)
    for candidate in range(12):
        having = distances[(members == candidate).any(axis=1)]
        wanted = (having.mean() - distances.mean()) / distances.std()
        assert found[candidate] == pytest.approx(wanted, rel=1e-11)
    assert np.nanargmax(found) == 5
    assert np.isnan(found[12])
    assert contribution(np.array([[0, 1], [2, 3]]), np.ones(2), 4).tolist() == [0, 0, 0, 0]


# --- all of it ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("size", "tolerance", "seed"), [(4, 0.01, 0), (6, 0.01, 1), (2, 0.1, 2)])
def test_all_steps_together_are_the_plain_version(size, tolerance, seed):
    scans = [made_scan(10 * seed + k) for k in range(3)]
    target, shifts, top, (repetition, error, groups) = plain_dissimilar(scans, size, tolerance, 2000, seed)
    found = find_dissimilar(scans, size=size, tolerance=tolerance, candidates=2000, seed=seed)
    assert found.target == pytest.approx(target, rel=1e-14)
    for _, line in found.shifts.iterrows():
        assert line["shift"] == pytest.approx(shifts.get(line["corruption"], math.nan), abs=1e-11, nan_ok=True)
        assert line["chosen"] == (line["corruption"] in top)
    assert set(found.members) == top
    assert len(found.members) == size
    assert found.shifts["shift"].dropna().is_monotonic_decreasing
    assert (found.repetition, found.error) == (repetition, pytest.approx(error, rel=1e-13))
    assert found.levels == {name: tuple(place + 1 for place in groups[name][2]) for name in sorted(groups)}
    assert found.distance == pytest.approx(sum(one[1] for one in groups.values()) / size, rel=1e-13)
    assert found.picks["error"].mean() == pytest.approx(error, rel=1e-13)
    assert found.picks["distance"].mean() == pytest.approx(found.distance, rel=1e-13)
    assert found.candidate_errors.shape == found.candidate_distances.shape == (3, 2000)
    assert (abs(found.candidate_errors - target) < tolerance * target).all()
    assert found.all_sets
    assert found.sets == math.comb(9, size // 2)


def test_nothing_depends_on_the_order_of_lines():
    scans = [made_scan(k) for k in range(2)]
    order = np.random.default_rng(0).permutation(len(scans[0].table))
    other = [Scan(scan.table.iloc[order].reset_index(drop=True), scan.centres[order]) for scan in scans]
    one, two = (find_dissimilar(each, size=4, candidates=500) for each in (scans, other))
    pd.testing.assert_frame_equal(one.shifts, two.shifts)
    pd.testing.assert_frame_equal(one.picks, two.picks)
    assert np.array_equal(one.candidate_distances, two.candidate_distances)


def tied_scan() -> Scan:
    """Round errors, of which many sets have the same mean, and some are off by the tolerance exactly."""
    lines = [("reference", f"reference/{i}", s, 0.1 * s) for i in range(3) for s in range(1, 6)]
    lines += [("candidate", f"candidate/{i}", s, 0.02 * s * (1 + i / 5)) for i in range(10) for s in range(1, 11)]
    table = pd.DataFrame(lines, columns=["role", "corruption", "severity", "error"])
    return Scan(table, np.random.default_rng(1).normal(size=(len(table), 5)))


@pytest.mark.parametrize("tolerance", [0.05, 0.2])
def test_ties_do_not_depend_on_the_order_of_lines_either(tolerance):
    scan, draw = tied_scan(), np.random.default_rng(2)
    options = {"size": 4, "tolerance": tolerance, "candidates": 300}
    first, seen = find_dissimilar([scan], **options), set()
    for _ in range(12):
        order = draw.permutation(len(scan.table))
        other = Scan(scan.table.iloc[order], scan.centres[order])
        seen.add(other.table.loc[other.table["role"] == "reference", "error"].mean())
        found = find_dissimilar([other], **options)
        assert (found.target, found.error, found.matched_sets) == (first.target, first.error, first.matched_sets)
        pd.testing.assert_frame_equal(found.shifts, first.shifts, check_exact=True)
        pd.testing.assert_frame_equal(found.picks, first.picks, check_exact=True)
    assert len(seen) > 1  # a plain mean has another last bit in another order


def test_a_candidate_far_away_comes_first_and_one_on_top_of_the_reference_last():
    scan = made_scan(5)
    own = (scan.table["corruption"] == "candidate/03").to_numpy()
    reference = scan.centres[(scan.table["role"] == "reference").to_numpy()]
    for centres, place in ((scan.centres[own] + 30, 0), (reference[: own.sum()], -1)):
        moved = scan.centres.copy()
        moved[own] = centres
        found = find_dissimilar([Scan(scan.table, moved)], size=4, candidates=5000)
        assert found.shifts["corruption"].iloc[place] == "candidate/03"
        assert ("candidate/03" in found.members) == (place == 0)
        assert found.shifts["sd"].isna().all()  # of one repetition


def test_drawn_sets_lead_to_about_the_same(monkeypatch):
    """Half of all sets tell shifts nearly as well, and severities are still looked for among all of them."""
    scan = made_scan(7, candidates=12)
    whole = find_dissimilar([scan], size=6, candidates=20_000)
    monkeypatch.setattr(dissimilar_sets, "MOST_SETS", 150)
    some = find_dissimilar([scan], size=6, candidates=20_000)
    assert whole.all_sets
    assert not some.all_sets
    assert some.sets < 150 < whole.sets == 220
    both = pd.concat([one.shifts.set_index("corruption")["shift"] for one in (whole, some)], axis=1)
    assert both.corr().iloc[0, 1] > 0.9
    assert abs(some.error / some.target - 1) < 0.01


@pytest.mark.parametrize("size", [2, 4, 6, 10])
def test_all_ways_to_halve_a_benchmark_are_there(size):
    """126 for ten corruptions."""
    found = {frozenset(map(frozenset, way)) for way in _halves(size, 6).tolist()}
    halves = map(frozenset, itertools.combinations(range(size), size // 2))
    wanted = {frozenset((half, frozenset(range(size)) - half)) for half in halves}
    assert found == wanted
    assert len(found) == math.comb(size, size // 2) // 2


def test_the_spread_may_be_given():
    scan = made_scan(2)
    given = find_dissimilar([scan], size=4, candidates=200, spread=0.3)
    assert given.spreads == (0.3,)
    own = find_dissimilar([scan], size=4, candidates=200)
    assert own.spreads == (average_spread(scan),)


@pytest.mark.parametrize("levels", [1, 2])
def test_a_reference_of_few_severities_needs_the_spread(levels):
    scan = made_scan(2, reference=levels)
    with pytest.raises(
        ValueError, match=rf"at least 3 severities; reference/00 has {levels}\. Give the spread yourself"
    ):
        find_dissimilar([scan], size=4, candidates=200)
    found = find_dissimilar([scan], size=4, candidates=200, spread=0.4, tolerance=0.9)
    assert found.target == pytest.approx(scan.table.loc[scan.table["role"] == "reference", "error"].mean(), rel=1e-14)
    assert abs(found.error / found.target - 1) < 0.9
    assert found.spreads == (0.4,)


def bundled_scan(seed: int = 0) -> Scan:
    """Made up errors of the 30 candidates of C-bar and the corruptions of CIFAR-10-C."""
    draw = np.random.default_rng(seed)
    lines = []
    for role, name in (("reference", "cifar10-c"), ("candidate", "c-bar-candidates-32")):
        suite = load_suite(name)
        for entry in suite.benchmark():
            errors = np.linspace(draw.uniform(0.05, 0.15), draw.uniform(0.3, 0.7), suite.severities).round(4)
            lines += [(role, f"{name}/{entry}", level, e) for level, e in zip(suite.levels(entry), errors, strict=True)]
    table = pd.DataFrame(lines, columns=["role", "corruption", "severity", "error"])
    return Scan(table, draw.normal(size=(len(table), 16)))


def test_the_size_of_the_paper_and_its_suite():
    """142 506 sets with 7776 assignments each; the suite holds five of the ten amounts of each of ten."""
    told = []
    found = find_dissimilar([bundled_scan()], progress=lambda *at: told.append(at))
    assert found.sets == 142_506
    assert 1000 < found.matched_sets[0] <= found.sets
    assert told == [("drawing benchmarks", 0, 1), ("drawing benchmarks", 1, 1)]
    suite, pool = found.to_suite("far"), load_suite("c-bar-candidates-32")
    assert (suite.size, suite.severities, len(suite.entries)) == (32, 5, 10)
    for address, levels in found.levels.items():
        entry = address.partition("/")[2]
        every = pool.entries[entry]["amount"]
        assert suite.entries[entry] == {"amount": [every[level - 1] for level in levels]}
        assert suite.parameters(entry, 2) == {"amount": every[levels[1] - 1]}


def test_a_suite_of_several_keeps_what_entries_say_of_themselves():
    one = Suite(
        "one", 1, 32, {"fog": {"strength": [1, 2, 3, 4, 5, 6.0], "decay": 2.0}}, severities=6, validation=("fog",)
    )
    two = Suite(
        "two", 1, 64, {"haze": {"corruption": "fog", "strength": [1, 2, 3, 4, 5, 6, 7], "decay": 1}}, severities=7
    )
    found = find_dissimilar([bundled_scan()], size=2, candidates=10)
    levels = [
        (name, k + 1, s)
        for name, own in (("one/fog", (1, 2, 4, 5, 6)), ("two/haze", (1, 3, 4, 6, 7)))
        for k, s in enumerate(own)
    ]
    picks = pd.DataFrame(levels, columns=["corruption", "level", "severity"])
    suite = replace(found, members=("one/fog", "two/haze"), picks=picks).to_suite("far", [one, two])
    assert suite.entries["fog"] == {"strength": [1, 2, 4, 5, 6.0], "decay": 2.0}
    assert suite.entries["haze"] == {"corruption": "fog", "image_size": 64, "strength": [1, 3, 4, 6, 7], "decay": 1}
    assert (suite.size, suite.severities, suite.validation) == (32, 5, ())


# --- mistakes -------------------------------------------------------------------------------------------------------


def changed(scan: Scan, **columns) -> Scan:
    return Scan(scan.table.assign(**columns), scan.centres)


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"size": 5}, "an even number, because it has two halves; got 5"),
        ({"size": 0}, "an even number"),
        ({"size": 10}, "a benchmark of 10 corruptions needs as many candidates, better more; there are 9"),
        ({"tolerance": 0.0}, "expected a tolerance and a spread above 0"),
        ({"candidates": 0}, "at least 1 benchmark to draw"),
        ({"spread": -1.0}, "a spread above 0"),
        ({"tolerance": 1e-9}, r"no 2 candidates have a mean error within 1e-07 % of .* with more levels"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(options, what):
    with pytest.raises(ValueError, match=what):
        find_dissimilar([made_scan()], **{"size": 4, "candidates": 10, **options})


def test_errors_far_from_the_target_say_how_far():
    scan = made_scan()
    is_reference = scan.table["role"] == "reference"
    for factor, what in ((0.02, "with milder levels"), (1.6, "with more severe levels")):
        errors = np.where(is_reference, (scan.table["error"] * factor).clip(0, 1), scan.table["error"])
        errors = np.where(is_reference | (factor < 1), errors, scan.table["error"] / 4)
        with pytest.raises(ValueError, match=rf"theirs are from 0\.\d+ to 0\.\d+\. .*{what}"):
            find_dissimilar([changed(scan, error=errors)], size=4)


def test_scans_that_make_no_sense_are_refused():
    scan = made_scan()
    table = scan.table
    with pytest.raises(ValueError, match="no scan is given"):
        find_dissimilar([])
    with pytest.raises(ValueError, match="missing: error"):
        Scan(table.drop(columns="error"), scan.centres)
    with pytest.raises(ValueError, match="expected finite centres"):
        Scan(table, scan.centres[1:])
    with pytest.raises(ValueError, match="role of a corruption is reference or candidate, got 'other'"):
        changed(scan, role="other")
    with pytest.raises(ValueError, match=r"errors are shares from 0 to 1, got 26\.9"):
        changed(scan, error=26.9)
    with pytest.raises(ValueError, match="occurs twice"):
        changed(scan, severity=1)
    with pytest.raises(ValueError, match="the scan has no candidate"):
        Scan(table[table["role"] == "reference"], scan.centres[table["role"] == "reference"])
    with pytest.raises(ValueError, match=r"every candidate needs at least 5 severities; candidate/.. has 4"):
        made_scan(candidate=4)
    with pytest.raises(ValueError, match=r"expected a list of scans, one per repetition; of a single one write .scan."):
        find_dissimilar(scan)
    with pytest.raises(ValueError, match="only one of the scans 0 and 1 has the candidate candidate/08 1"):
        find_dissimilar([scan, made_scan(candidates=8)], size=4)
    with pytest.raises(ValueError, match="make no errors on the reference"):
        find_dissimilar([changed(scan, error=0.0)], size=4)
    with pytest.raises(ValueError, match=r"the error on reference/0. at its middle severity is 0"):
        average_spread(changed(scan, error=0.0))
    with pytest.raises(ValueError, match="candidate/00 causes no errors"):
        group_candidates(changed(scan, error=0.0), 0.5)
