"""Calibrate a severity: from where a corruption harms a model slightly to where it harms it badly.

Laugros, Caplier and Ospici give every corruption of ImageNet-NOC a range of severities, found with a standard model: at
its mild end the model keeps 0.95 of its clean accuracy, at its severe end 0.5. So no corruption is there only in name,
none is hopeless, and errors of different corruptions can be compared. Such ranges hold for one kind of images and one
kind of model. `calibrate` finds them for yours.

Every measurement is a pass of a model over all images, so the search makes few. It brackets a level of robustness and
closes in on it by interpolation; it never trusts the curve to be straight, nor to fall everywhere.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

from scuff.ranges import Range

UPPER, LOWER = 0.95, 0.5  # the robustness scores at the mild and at the severe end
TOLERANCE = 0.01  # in robustness: about the standard deviation of a score from 3000 images
DIGITS = 3  # of a severity that is no whole number
JUST_BELOW = 1 - 1e-9  # below 1 the next severity is 0.999, above 1 it is 1.01

Robustness = Callable[[float], float]  # of a severity; a Score will do


@dataclass(frozen=True)
class Calibration:
    """Between which severities robustness falls from `upper` to `lower`, and how well that could be found out.

    `range` is None if robustness does not even fall to `upper`. `robustness` holds its values at `mildest` and at
    `severest`, and `reached` whether these are what was wanted, or only the nearest that the limits allow. `measured`
    maps severities to robustness, in the order of the search. `note` is empty if there is nothing to say.
    """

    range: Range | None
    mildest: float
    severest: float
    robustness: tuple[float, float]
    reached: tuple[bool, bool]
    measured: dict[float, float]
    note: str = ""


def calibrate(
    robustness: Robustness,
    start: Range,
    limits: tuple[float, float],
    *,
    upper: float = UPPER,
    lower: float = LOWER,
    tolerance: float = TOLERANCE,
) -> Calibration:
    """Find the severities at which robustness is `upper` and `lower`.

    Parameters
    ----------
    robustness
        A number, 1 if unharmed, for a severity: accuracy at this severity / clean accuracy. It should see the same
        images and the same randomness every time, so that two severities differ by nothing else.
    start
        Where to look first: what the severities are for other images, say. A range of whole numbers gives whole ones.
    limits
        The smallest and the largest value that make sense. Which of them is the severe one is found out.
    tolerance
        Within this of the wanted robustness, a severity is good enough.

    Examples
    --------
    >>> result = calibrate(lambda severity: 1 - severity**2, Range(0.1, 0.4), limits=(0.0, 1.0))
    >>> print(result.range, [round(r, 2) for r in result.robustness], len(result.measured))
    0.218 .. 0.702 [0.95, 0.51] 6

    Fewer levels are worse:

    >>> calibrate(lambda levels: 1 - 1 / levels, Range(3, 8), limits=(1, 255)).range
    Range(low=2, high=20)
    """
    check_wanted(upper, lower, tolerance)
    if not 0 <= limits[0] < limits[1]:
        raise ValueError(f"limits of a severity are two numbers from 0 on, the smaller first, got {limits}")
    if start.low > limits[1] or start.high < limits[0]:
        raise ValueError(f"the range {start} to start from lies outside of the limits {limits[0]:g} .. {limits[1]:g}")
    curve = _Curve(robustness, start, limits, tolerance)
    mildest, is_mild = curve.find(upper)
    if not is_mild and curve.at(mildest) > upper:  # at the severe limit
        return _no_range(curve, mildest)
    severest, is_severe = curve.find(lower)
    ends = curve.at(mildest), curve.at(severest)
    notes = [] if is_mild else [f"not as mild as wanted: R = {ends[0]:.2f} already at {mildest:g}"]
    if not is_severe and ends[1] > lower:
        notes.append(f"not reached: R = {ends[1]:.2f} at {severest:g}")
    notes += [*curve.coarse_notes(upper, lower), *curve.rise_notes()]
    between = Range(*sorted((mildest, severest)))
    return Calibration(between, mildest, severest, ends, (is_mild, is_severe), curve.measured, "; ".join(notes))


def check_wanted(upper: float, lower: float, tolerance: float = TOLERANCE) -> None:
    """Refuse levels of robustness between which there is no range."""
    if not 0 < lower < upper:
        raise ValueError(f"expected 0 < lower < upper, as in 0.5 and 0.95, got lower {lower:g} and upper {upper:g}")
    if not 0 < 2 * tolerance < upper - lower:
        raise ValueError(f"the tolerance must be above 0 and below half of upper - lower, got {tolerance:g}")


def _no_range(curve: _Curve, severest: float) -> Calibration:
    if all(value == 1.0 for value in curve.measured.values()):
        note = f"no effect: R = 1 from {min(curve.measured):g} to {max(curve.measured):g}"
    else:
        note = f"too mild: R = {curve.at(severest):.2f} even at {severest:g}"
    ends = math.nan, curve.at(severest)
    return Calibration(None, math.nan, severest, ends, (False, False), curve.measured, note)


def _logit(robustness: float) -> float:
    """A scale on which robustness falls more evenly: by itself it is flat near 1 and steep in the middle."""
    share = min(max(robustness, 0.01), 0.99)
    return math.log(share / (1 - share))


def _last_decimal(severity: float) -> int:
    return DIGITS - 1 - math.floor(math.log10(severity))


class _Curve:
    """Robustness over severity, as far as it has been measured, and where to measure next."""

    def __init__(self, robustness: Robustness, start: Range, limits: tuple[float, float], tolerance: float) -> None:
        self.robustness, self.limits, self.tolerance = robustness, limits, tolerance
        self.is_whole = start.is_whole
        self.finest = _last_decimal(start.high or limits[1]) + 3  # or a jump at 0 would be sought for ever
        self.measured: dict[float, float] = {}
        low, high = (min(max(end, limits[0]), limits[1]) for end in (start.low, start.high))
        self.severe_is_high = self._falls(low, high)

    def _falls(self, low: float, high: float) -> bool:
        """Whether larger is worse: to be seen in the range to start from, or else between the limits."""
        for a, b in ((low, high), self.limits):
            if abs(self.at(a) - self.at(b)) > 2 * self.tolerance:
                return self.at(a) > self.at(b)
        return True

    def at(self, severity: float) -> float:
        """Robustness at a severity; measured once."""
        severity = self._tidy(severity)
        if severity not in self.measured:
            value = float(self.robustness(severity))
            if not math.isfinite(value):
                raise ValueError(f"robustness must be a number, got {value} at the severity {severity:g}")
            self.measured[severity] = value
        return self.measured[severity]

    def order(self) -> list[float]:
        """What has been measured, from mild to severe."""
        return sorted(self.measured, reverse=not self.severe_is_high)

    def find(self, target: float) -> tuple[float, bool]:
        """The mildest severity that has this robustness, and whether it has, but for the tolerance and coarse steps.

        All that is milder than the bracket keeps more than `target`, as far as is known. So, of a curve that rises
        again, this is the first time that it falls below, and a lower target is never found at a milder severity.
        """
        step, factor = 0, 1.0
        while True:
            order = self.order()
            below = next((place for place, severity in enumerate(order) if self.at(severity) < target), len(order))
            bracket = order[max(below - 1, 0) : below + 1]
            nearest = min(bracket, key=lambda severity: abs(self.at(severity) - target))
            if abs(self.at(nearest) - target) <= self.tolerance:
                return nearest, True
            if len(bracket) == 2:
                following = self._between(bracket[0], bracket[1], target, step)
                step += 1
            else:
                factor *= 2.0  # faster and faster
                following = self._outwards(nearest, factor, to_severe=below > 0)
            if following is None:
                return nearest, len(bracket) == 2
            self.at(following)

    def _outwards(self, severity: float, factor: float, to_severe: bool) -> float | None:
        """A severity `factor` times larger or smaller; None at the limit."""
        up = to_severe == self.severe_is_high
        limit = self._tidy(self.limits[up])
        beyond = self._tidy(min(severity * factor, limit) if up else max(severity / factor, limit))
        if beyond == severity:  # a part of the smallest severity, or a multiple of none
            beyond = limit
        return beyond if severity != limit else None

    def _between(self, mild: float, severe: float, target: float, step: int) -> float | None:
        """A severity between two; None if they are neighbours."""
        low, high = sorted((mild, severe))
        if step % 4 == 3:
            share = 0.5  # so that a step in the curve is closed in upon as fast as a slope
        else:
            a, b, wanted = map(_logit, (self.at(mild), self.at(severe), target))
            share = min(max((a - wanted) / ((a - b) or 1.0), 0.1), 0.9)
        inside = mild * (severe / mild) ** share if low > 0 else mild + share * (severe - mild)
        inside = self._tidy(min(max(inside, low + self._unit(low)), high - self._unit(high * JUST_BELOW)))
        return inside if low < inside < high else None

    def _decimals(self, severity: float) -> int:
        return 0 if self.is_whole else min(_last_decimal(severity), self.finest) if severity > 0 else self.finest

    def _tidy(self, severity: float) -> float:
        """Whole, or with as many digits as make sense: what is measured is what a suite will say."""
        return round(severity) if self.is_whole else round(float(severity), self._decimals(severity))

    def _unit(self, severity: float) -> float:
        """The step from a severity to the next larger one."""
        return 10.0 ** -self._decimals(severity)

    def coarse_notes(self, *targets: float) -> list[str]:
        """Where robustness jumps over a target, from one severity to the next that there is."""
        order = self.order()
        notes: list[str] = []
        for target in targets:
            for mild, severe in pairwise(order):
                a, b = self.at(mild), self.at(severe)
                misses = min(abs(a - target), abs(b - target)) > 2 * self.tolerance
                if a >= target > b and misses and abs(severe - mild) < 1.5 * self._unit(max(mild, severe) * JUST_BELOW):
                    notes.append(f"coarse: R falls from {a:.2f} at {mild:g} to {b:.2f} at {severe:g}")
        return list(dict.fromkeys(notes))

    def rise_notes(self) -> list[str]:
        """Where robustness rises with severity, by more than a trifle: then there may be other answers."""
        order = self.order()
        pairs = [(mild, severe) for place, mild in enumerate(order) for severe in order[place:]]
        a, b = max(pairs, key=lambda pair: self.at(pair[1]) - self.at(pair[0]))
        if self.at(b) - self.at(a) <= 2 * self.tolerance:
            return []
        return [f"not monotone: R rises from {self.at(a):.2f} at {a:g} to {self.at(b):.2f} at {b:g}"]
