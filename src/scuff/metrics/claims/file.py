"""A file of claims (`scuff check --help` shows one): what is said of a model, as cells, bounds and error rates."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, NamedTuple, Required, TypedDict

from scuff.metrics.evaluation.corruption_error import mce
from scuff.metrics.evaluation.errors import entry_families, mean_error
from scuff.metrics.evaluation.references import is_relative
from scuff.metrics.evaluation.tables import CLEAN, Cells
from scuff.metrics.sampling.scores import each_cell_alone, linear_weights
from scuff.readers import check_form, read_yaml
from scuff.suites import Suite, load_suite

Severity = int | float | list[int | float] | dict[str, int | float]

FORMAT = 1
METRICS = ("accuracy", "error", "mean_error", "mce", "robustness_score", "drop", "survival")
COMPARATORS = ("at_least", "at_most", "against")
CLAIMED_AGAINST = ("accuracy", "error", "mean_error", "survival")
NOT_A_MEAN = "is no mean over images, so no number of them decides it; claim an accuracy or an error instead"


class Key(NamedTuple):
    """A cell: an entry at a level (0 where it has none), or at any severity by draws that all severities share."""

    entry: str
    severity: int = 0
    dial: float | None = None

    def __str__(self) -> str:
        severity = self.severity if self.dial is None else self.dial
        return f"{self.entry} {severity:g}" if severity else self.entry

    def leads_up_to(self) -> tuple[Key, ...]:
        """What an image goes through until it is here: itself unharmed, every level below, and this severity."""
        assert self.dial is not None
        below = [Key(self.entry, dial=float(level)) for level in range(1, math.ceil(self.dial))]
        return (Key(CLEAN), *below, self)


class Common(TypedDict, total=False):
    """What may stand at the top of the file, for all claims, or in one of them."""

    confidence: float
    budget: int | str
    population: str
    undecided: str


class Written(Common, total=False):
    """A claim as it stands in the file."""

    metric: str
    of: str | list[str]
    severity: Severity
    over: str
    at_least: float
    at_most: float
    against: str
    margin: float
    by: str | dict[str, str]
    least_images: int


class Content(Common, total=False):
    """The whole file."""

    claims: int
    suite: str
    family: str
    baseline: str
    list: Required[dict[str, dict[str, Any]]]


@dataclass(frozen=True)
class Claim:
    """A sentence about a model that data can decide: "`metric` over `cells` is at least (or at most) `bound`".

    With `is_paired` the metric is the accuracy minus that of a baseline. `weights` are the shares of the cells in the
    metric, and `scale` is the metric if every prediction is wrong: 1, or for mCE what that comes to. `family` is the
    number of claims that it is to hold together with.
    """

    name: str
    written: Mapping[str, Any]
    metric: str
    cells: tuple[Key, ...]
    weights: tuple[float, ...]
    bound: float
    is_lower: bool
    alpha: float
    scale: float = 1.0
    is_paired: bool = False
    over: Literal["mean", "each"] = "mean"
    by: str | Mapping[str, str] | None = None
    least_images: int = 1
    budget: int | None = None
    population: Literal["like", "these"] = "like"
    is_undecided_allowed: bool = False
    family: int = 1

    def __str__(self) -> str:
        where = f"{len(self.cells)} cells" if len(self.cells) > 1 else str(self.cells[0])
        over = f" in each of {where}" if self.over == "each" else f" over {where}"
        by = "" if self.by is None else ", by class" if self.by == "class" else f", by {self.by['column']}"  # type: ignore[index]
        if self.is_paired:
            metric = "survival" if self.metric == "survival" else "accuracy"
            far = f"at least {self.bound:g} above" if self.bound > 0 else f"at most {-self.bound:g} below"
            return f"{metric}{over}{by} is {far} the baseline's"
        return f"{self.metric}{over}{by} is at {'least' if self.is_lower else 'most'} {self.bound:g}"


@dataclass(frozen=True)
class Claims:
    """All claims of a file, the suite that they speak of, and what goes for them together."""

    suite: Suite
    claims: tuple[Claim, ...]
    has_holm: bool = False
    baseline: str | None = None


def read_claims(text: str, where: str, suite: Suite | str | None = None) -> Claims:
    """Check a file of claims and resolve its names; errors say which claim is wrong, and how."""
    content = read_yaml(text, where, Content)
    _only_known(content, Content, where)
    if content.get("claims", FORMAT) != FORMAT:
        raise ValueError(f"{where} has format {content['claims']}; this version reads format {FORMAT}")
    if not content["list"]:
        raise ValueError(f"{where}: the list of claims is empty")
    named = suite or content.get("suite")
    if named is None:
        raise ValueError(f"{where}: say which suite the claims speak of, as in suite: imagenet-c")
    suite = named if isinstance(named, Suite) else load_suite(named)
    common = {key: content[key] for key in Common.__annotations__ if key in content}  # type: ignore[literal-required]
    claims = []
    for name, written in content["list"].items():
        try:
            claims.append(_resolve(name, {**common, **written}, written, suite))
        except ValueError as error:
            raise ValueError(f"{where}: claim {name}: {error}") from error
    if any(claim.is_paired for claim in claims) and "baseline" not in content:
        raise ValueError(f"{where}: a claim against a baseline needs one, as in baseline: runs/released")
    has_holm = _one_of(content.get("family", "none"), "family", ("none", "holm")) == "holm"
    family = len(claims) if has_holm else 1
    return Claims(suite, tuple(replace(claim, family=family) for claim in claims), has_holm, content.get("baseline"))


def _resolve(name: str, given: Mapping[str, Any], written: Mapping[str, Any], suite: Suite) -> Claim:
    _only_known(given, Written, "it")
    check_form(dict(given), Written)
    comparators = [word for word in COMPARATORS if word in given]
    if len(comparators) != 1:
        raise ValueError(f"it needs one of {', '.join(COMPARATORS)}, and has {' and '.join(comparators) or 'none'}")
    is_paired = comparators[0] == "against"
    metric = given.get("metric", "accuracy")
    if metric in ("ece", "rank", "ranks", "relative_mce"):
        raise ValueError(f"{metric} {NOT_A_MEAN}")
    _one_of(metric, "metric", METRICS)
    cells = _cells(suite, given.get("of", "all"), given.get("severity"), metric)
    over = _one_of(given.get("over", "mean"), "over", ("mean", "each"))
    if metric == "mce" and over == "each":
        raise ValueError("mce is a mean over cells; for each of them, claim an error")
    weights, scale = _weights(metric, suite, cells)
    if is_paired:
        if given["against"] != "baseline":
            raise ValueError(f"against must be baseline, which the top of the file names; got {given['against']!r}")
        if metric not in CLAIMED_AGAINST:
            raise ValueError(f"against a baseline {', '.join(CLAIMED_AGAINST)} are compared, not {metric}")
        bound, is_lower = -float(given.get("margin", 0.0)), True
    else:
        if "margin" in given:
            raise ValueError("margin goes with against: baseline")
        bound, is_lower = float(given[comparators[0]]), comparators[0] == "at_least"
    confidence, budget, by = given.get("confidence", 0.95), given.get("budget", "all"), given.get("by")
    if not 0.5 <= confidence < 1:
        raise ValueError(f"confidence must be from 0.5 to below 1, got {confidence:g}")
    if budget != "all" and (isinstance(budget, str) or budget < 1):
        raise ValueError(f"budget must be a number of passes or all, got {budget!r}")
    if by not in (None, "class") and not (isinstance(by, dict) and set(by) == {"table", "column"}):
        raise ValueError(f"by must be class, or {{table: FILE, column: NAME}}; got {by!r}")
    claim = Claim(
        name,
        dict(written),
        metric,
        cells,
        weights,
        bound,
        is_lower,
        alpha=round(1 - confidence, 12),
        scale=scale,
        is_paired=is_paired,
        over=over,
        by=by,
        least_images=given.get("least_images", 1),
        budget=None if budget == "all" else budget,
        population=_one_of(given.get("population", "like"), "population", ("like", "these")),
        is_undecided_allowed=_one_of(given.get("undecided", "fail"), "undecided", ("fail", "allow")) == "allow",
    )
    _check_bound(claim)
    return claim


def _check_bound(claim: Claim) -> None:
    """Refuse what is true or false of every model."""
    low, high = metric_range(claim)
    if not low < claim.bound < high:
        raise ValueError(
            f"the bound must lie between {low:g} and {high:g}, the ends of {claim.metric}; got {claim.bound:g}"
        )


def metric_range(claim: Claim) -> tuple[float, float]:
    """The least and the largest value that a claim can speak of; for robustness scores, 2 is far enough."""
    if claim.is_paired or claim.metric == "drop":
        return -1.0, 1.0
    return 0.0, 2.0 if claim.metric == "robustness_score" else claim.scale


def _weights(metric: str, suite: Suite, cells: tuple[Key, ...]) -> tuple[tuple[float, ...], float]:
    """The share of each cell, and the metric if everything is wrong."""
    if metric not in ("mean_error", "mce"):
        return (1 / len(cells),) * len(cells), 1.0
    if any(cell.dial is not None for cell in cells):
        raise ValueError(f"{metric} is about levels; between them, claim an accuracy")
    if not {cell.entry for cell in cells} <= set(suite.benchmark()):
        raise ValueError(f"{metric} counts the benchmark's own cells alone; leave validation entries out")
    about = Cells("", "", suite.name, *each_cell_alone([(cell.entry, cell.severity) for cell in cells]))
    if metric == "mean_error":
        estimate = mean_error.estimate(about, suite=suite, partial=True)
    elif is_relative(suite.name):
        raise ValueError(f"the mCE of {suite.name} is relative to clean errors, so it {NOT_A_MEAN}")
    else:
        estimate = mce.estimate(about, suite=suite, partial=True)
        if "not normalised" in estimate.note:
            raise ValueError(f"there is no AlexNet reference for {suite.name}; claim a mean_error")
    weights = linear_weights(estimate)
    return tuple((weights / weights.sum()).tolist()), float(weights.sum())


def _cells(suite: Suite, of: str | Sequence[str], severity: Severity | None, metric: str) -> tuple[Key, ...]:
    """The cells that a claim speaks of."""
    names = [of] if isinstance(of, str) else list(of)
    entries: list[str] = []
    for name in names:
        if name == "all":
            entries += suite.benchmark()
        elif name.startswith("family:"):
            family, families = name.removeprefix("family:"), entry_families(suite, suite.entries)
            if family not in families.values():
                raise ValueError(f"{suite.name} has no family {family!r}; it has {', '.join(set(families.values()))}")
            entries += [entry for entry in suite.benchmark() if families.get(entry) == family]
        else:
            entries.append(suite.find(name))
    cells = []
    for entry in dict.fromkeys(entries):
        if metric == "survival" or _is_between(severity):
            cells += _dials(suite, entry, severity)
            continue
        levels = [level or 0 for level in suite.levels(entry)]
        chosen = _levels(levels, severity)
        if not chosen:
            raise ValueError(f"{entry} has no level {severity!r}; it has {', '.join(map(str, levels))}")
        cells += [Key(entry, level) for level in chosen]
    if not cells:
        raise ValueError("it speaks of no cell: of is empty")
    return tuple(cells)


def _levels(levels: list[int], severity: Severity | None) -> list[int]:
    """Those that are meant; none of them if one that is meant does not exist."""
    if severity is None:
        return levels
    if isinstance(severity, dict):
        unknown = set(severity) - {"from", "to"}
        if unknown:
            raise ValueError(f"severity takes from and to, not {', '.join(sorted(unknown))}")
        if _is_between(list(severity.values())):
            raise ValueError("from and to are levels; write severities between them as a list")
        return [level for level in levels if severity.get("from", level) <= level <= severity.get("to", level)]
    wanted = set(severity if isinstance(severity, list) else [severity])
    return [level for level in levels if level in wanted] if wanted <= set(levels) else []


def _is_between(severity: Severity | None) -> bool:
    """Whether a severity lies between levels."""
    wanted = severity if isinstance(severity, list) else [severity] if isinstance(severity, int | float) else []
    return not all(float(value).is_integer() for value in wanted)


def _dials(suite: Suite, entry: str, severity: Severity | None) -> list[Key]:
    """Severities that need not be levels, which an entry with levels has up to the highest of them."""
    highest = max(suite.listed_levels(entry), default=0)
    if not highest:
        raise ValueError(f"{entry} has no levels, so no severities between them")
    if severity is None or isinstance(severity, dict):
        raise ValueError(f"say up to which severity, as in severity: 2.5; the highest of {entry} is {highest}")
    wanted = severity if isinstance(severity, list) else [severity]
    if not wanted or not all(0 < value <= highest for value in wanted):
        raise ValueError(f"a severity of {entry} is above 0 and at most {highest}, got {severity!r}")
    return [Key(entry, dial=float(value)) for value in dict.fromkeys(wanted)]


def _only_known(given: Mapping[str, Any], form: Any, where: str) -> None:
    known = list(form.__annotations__) + list(Common.__annotations__)
    for key in given:
        if key not in known:
            raise ValueError(f"{where} has an unknown key {key!r}; keys are {', '.join(known)}")


def _one_of(value: str, what: str, known: Sequence[str]) -> Any:
    if value not in known:
        raise ValueError(f"{what} must be one of {', '.join(known)}; got {value!r}")
    return value
