"""The compiled loop over all ways to give a set of corruptions their groups of severities."""

from __future__ import annotations

import numpy as np

from scuff.metrics.separation.neighbours.compiling import compiled


@compiled
def match_sets(errors, sets, draws, tolerance, picks, kept):
    """For every set (S, h) count the assignments of groups whose errors add up to 1, and pick one of them.

    `errors` (candidates, groups) are shares of what they should add up to, NaN where there is no group; an assignment
    is kept if its sum is off by less than `tolerance`. `draws` (S,) in [0, 1) say which of those kept, in lexicographic
    order, is picked. Writes `kept` (S,), and the groups into `picks` (S, h) where there is any.
    """
    count, half = sets.shape
    groups = errors.shape[1]
    sums = np.empty(groups ** (half - 1))
    fitting = np.empty(len(sums), np.int64)
    for number in range(count):
        sums[0] = 0.0
        length = 1
        for k in range(half - 1):
            for first in range(length - 1, -1, -1):  # from the back: nothing is overwritten before it is read
                before = sums[first]
                for group in range(groups):
                    sums[first * groups + group] = before + errors[sets[number, k], group]
            length *= groups
        fitting[:] = 0
        for group in range(groups):  # outside, so that the long loop is the inner one
            last = errors[sets[number, half - 1], group]
            for first in range(length):
                fitting[first] += abs(1.0 - (sums[first] + last)) < tolerance
        total = fitting.sum()
        kept[number] = total
        if total == 0:
            continue
        left = min(int(draws[number] * total), total - 1)
        first = 0
        while left >= fitting[first]:
            left -= fitting[first]
            first += 1
        for group in range(groups):
            if abs(1.0 - (sums[first] + errors[sets[number, half - 1], group])) < tolerance:
                if left == 0:
                    picks[number, half - 1] = group
                    break
                left -= 1
        for k in range(half - 2, -1, -1):
            picks[number, k] = first % groups
            first //= groups
