"""Plan a check: read the claims, open the model and the images, and try what the claims need."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from scuff.engine import Run
from scuff.engine.cost import Estimate, StudyCost
from scuff.environment import environment
from scuff.evaluation.cost import Tests
from scuff.evaluation.plan import Cell
from scuff.metrics.claims.evidence import expected_values
from scuff.metrics.claims.file import Claim, Claims, Key, metric_range, read_claims
from scuff.metrics.claims.trial import Outcome, Trial, judge, plan_trials, together
from scuff.metrics.evaluation.comparison import holm
from scuff.store import Store, save_settings
from scuff.studies.base import Plan, complete_settings, open_engine_of
from scuff.studies.claims.answers import Answers
from scuff.studies.claims.results import FILE, Checked, ClaimResult
from scuff.studies.claims.study import ClaimsStudy
from scuff.studies.claims.tried import check_reference, find_groups, open_model_and_images, open_rows

BLOCK = 256  # images that a trial goes on by: decisions are as if one came after the other
FOR_A_MODEL = ("data", "limit", "skip_unreadable", "resize", "crop", "precision", "mean", "std", "batch_size")
AWAY = (0.02, 0.05, 0.10)  # for the cost: how far the truth may lie from the bound, as shares of the metric's range


def plan_claims(study: ClaimsStudy) -> Plan[Checked]:
    """Check everything that a check needs before the first pass."""
    path = Path(study.claims)
    claims = read_claims(path.read_text(), path.name)
    if (study.rows is None) == (study.model is None):
        raise ValueError("give a model with --data, or the rows of a finished evaluation (--rows DIR)")
    store = Store(study.out)
    if study.rows is not None:
        needless = [name for name in study.options() if name in FOR_A_MODEL]
        if needless:
            raise ValueError(f"rows have their images and predictions already; leave out {', '.join(needless)}")
        about, answers, labels = open_rows(study, claims)
        device = None
    else:
        if study.data is None:
            raise ValueError("say on which images the model is tried, with --data")
        _, device = open_engine_of(study)
        about, answers, labels = open_model_and_images(study, claims, device)
    check_reference(claims, about)
    groups = {claim.name: find_groups(claim, about, labels, answers.ids) for claim in claims.claims}
    settings = {"claims_file": path.read_text(), "suite": claims.suite.fingerprint(), "seed": study.seed, **about}
    settings = complete_settings(study, settings, device)
    work = ClaimsWork(study, claims, answers, groups, settings, store)
    for claim in claims.claims:
        work.check_budget(claim)
    return Plan(study, settings, work, store)


@dataclass(eq=False)
class ClaimsWork:
    """The trials of all claims, and their answers so far."""

    study: ClaimsStudy
    claims: Claims
    answers: Answers
    groups: dict[str, dict[str, np.ndarray] | None]
    settings: dict[str, Any]
    store: Store
    checked: Checked | None = None

    def run(self, run: Run) -> None:
        """Try claim after claim; what one has asked serves for the others too."""
        if self.answers.plan is not None:
            self.answers.plan.save(environment(self.answers.runner.device))  # type: ignore[union-attr]
            self.answers.resume()
        results = []
        for claim in self.claims.claims:
            results.append(
                self._decide(claim, lambda done, total, c=claim: run.progress(f"claim {c.name}", done, total))
            )
        if self.claims.has_holm:
            results = _with_holm(results, [claim.alpha for claim in self.claims.claims])
        self.checked = Checked(self._model_name(), tuple(results), self.settings)

    def collect(self) -> Checked:
        """Write claims.json."""
        assert self.checked is not None
        save_settings(self.store, FILE, self.checked.to_dict())
        return self.checked

    def cost(self) -> StudyCost:
        """The whole budget of all claims, which is the most that they can take."""
        plan = self.answers.plan
        if plan is None:
            return StudyCost((), "")
        device = self.answers.runner.device  # type: ignore[union-attr]
        tests, estimate = Tests(plan, Estimate(device)), Estimate(device)
        images = plan.settings["images"]
        for claim in self.claims.claims:
            trials = self._trials(claim)
            passes = sum(trial.most_images * trial.passes_per_image for trial in trials)
            cells = {key.entry: Cell(key.entry, key.severity or None, key.dial) for key in claim.cells}
            each = [partial(tests.seconds, cell, list(plan.classifiers)[:1]) for cell in cells.values()]
            estimate.add(
                "claim",
                lambda each=each, passes=passes: sum(seconds() for seconds in each) / len(each) / images * passes,  # type: ignore[misc]
                20 * passes,
                claim.name,
            )
        return estimate.total()

    def describe(self) -> Iterator[str]:
        """The claims, and how many passes to expect."""
        yield f"Claims: {len(self.claims.claims)} about {self._model_name()}, on {len(self.answers.ids)} images"
        for claim in self.claims.claims:
            trials = self._trials(claim)
            most = sum(trial.most_images * trial.passes_per_image for trial in trials)
            yield f"  {claim.name}: {claim}, at {1 - claim.alpha:g}; at most {most} passes"
            yield f"    about {'; '.join(_expectations(claim, trials))}"

    def _model_name(self) -> str:
        return self.settings["model_name"]

    def check_budget(self, claim: Claim) -> None:
        """Refuse one that is spent before the first image."""
        trials = self._trials(claim)
        if not all(trial.most_images for trial in trials):
            least = len(trials) * max(trial.passes_per_image for trial in trials)
            raise ValueError(f"claim {claim.name}: budget must be at least {least} passes, got {claim.budget}")

    def _trials(self, claim: Claim) -> list[Trial]:
        groups = self.groups[claim.name]
        enough = groups and {name: places for name, places in groups.items() if len(places) >= claim.least_images}
        return plan_trials(claim, len(self.answers.ids), self.study.seed, enough)

    def _decide(self, claim: Claim, progress: Any) -> ClaimResult:
        started, groups = time.perf_counter(), self.groups[claim.name]
        small = [name for name, places in (groups or {}).items() if len(places) < claim.least_images]
        trials = self._trials(claim)
        outcomes = self._try(claim, trials, progress)
        verdict = together(outcomes)
        notes = []
        if small:
            notes.append(f"not judged, with fewer than {claim.least_images} images: {', '.join(small)}")
            verdict = "undecided" if verdict == "holds" else verdict
        if any(outcome.estimate is None for outcome in outcomes):
            notes.append("the model is right about none of the clean images that were tried, so there is no score")
        if claim.population == "like" and len(claim.cells) > 1 and claim.over == "mean":
            notes.append("each image is tried in one of the cells, which it draws")
        return ClaimResult(
            claim.name,
            str(claim),
            dict(claim.written),
            {**asdict(claim), "written": None, "trials": len(trials), "images": len(self.answers.ids)},
            verdict,
            None,
            claim.is_undecided_allowed,
            sum(outcome.passes for outcome in outcomes),
            round(time.perf_counter() - started, 3),
            tuple(outcomes),
            tuple(notes),
        )

    def _try(self, claim: Claim, trials: list[Trial], progress: Any) -> list[Outcome]:
        """All trials side by side, block by block, until each is decided, one fails, or the budget is spent."""
        who = ("model", "baseline") if claim.is_paired else ("model",)
        outcomes: dict[int, Outcome] = {}
        most = max(trial.most_images for trial in trials)
        for stop in range(BLOCK, most + BLOCK, BLOCK):
            going = [place for place in range(len(trials)) if place not in outcomes]
            for each in who:
                wanted = [pair for place in going for pair in trials[place].pairs(stop - BLOCK, stop)]
                self.answers.ask(each, _joined(wanted))
            for place in going:
                count = min(stop, trials[place].most_images)
                evidence = trials[place].evidence(self.answers.right, count)
                is_settled = evidence.is_settled(claim.alpha, len(trials), claim.family)
                if is_settled or count < stop or count == trials[place].most_images:
                    outcomes[place] = judge(trials[place], self.answers.right, count)
            progress(min(stop, most), most)
            if len(outcomes) == len(trials) or any(outcome.verdict == "fails" for outcome in outcomes.values()):
                break
        for place in range(len(trials)):  # those that another one's failure has cut short
            if place not in outcomes:
                outcomes[place] = judge(trials[place], self.answers.right, min(stop, trials[place].most_images))
        return [outcomes[place] for place in range(len(trials))]


def _joined(wanted: Iterable[tuple[Key, np.ndarray]]) -> list[tuple[Key, np.ndarray]]:
    """Places by cell, each cell once."""
    places: dict[Key, list[np.ndarray]] = {}
    for key, some in wanted:
        places.setdefault(key, []).append(some)
    return [(key, np.unique(np.concatenate(parts))) for key, parts in places.items()]


def _with_holm(results: list[ClaimResult], alphas: list[float]) -> list[ClaimResult]:
    """The verdicts that hold for all claims together: Holm's steps on the p-values, whatever their dependence."""
    adjusted = holm([max(outcome.p_value for outcome in result.outcomes) for result in results])
    unproved = [
        result.verdict == "holds" and p > alpha for result, p, alpha in zip(results, adjusted, alphas, strict=True)
    ]
    return [
        replace(result, holm="undecided" if is_unproved else result.verdict)
        for result, is_unproved in zip(results, unproved, strict=True)
    ]


def _expectations(claim: Claim, trials: list[Trial]) -> list[str]:
    """Passes to expect if the truth lies some way off the bound."""
    low, high = metric_range(claim)
    points = (high - low) / (2 if claim.is_paired or claim.metric == "drop" else 1) * (1 if claim.is_lower else -1)
    texts = []
    for truth in dict.fromkeys(min(max(claim.bound + away * points, low), high) for away in AWAY):
        at, true = ((value - low) / (high - low) for value in (claim.bound, truth))
        needed = expected_values(true, at, claim.alpha / claim.family)
        passes = sum(min(needed, trial.most_images) * trial.passes_per_image for trial in trials)
        texts.append(f"{passes:.0f} passes if it is {truth:.3g}")
    return texts
