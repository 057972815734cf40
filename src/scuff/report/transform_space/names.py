"""What augmentation schemes are called on a page: in full, and short for the rows of a matrix."""

from __future__ import annotations

from scuff.words import entry_name

SUBSET = "powerset:"  # how the names of subsets of the nine operations begin
SHORT = {
    "shear_x": "shX",
    "shear_y": "shY",
    "translate_x": "trX",
    "translate_y": "trY",
    "rotate": "rot",
    "solarize": "sol",
    "equalize": "equ",
    "autocontrast": "aut",
    "posterize": "pos",
}
MOST_LISTED = 5  # operations of a name; of a larger subset, those are named that it lacks
ABBREVIATIONS = f"In short names, {', '.join(f'{short} is {entry_name(name)}' for name, short in SHORT.items())}."


def is_subset(scheme: str) -> bool:
    """Whether a scheme is AugMix with some of its nine operations: one of many, and not known by a name of its own."""
    return scheme.startswith(SUBSET)


def full_name(scheme: str) -> str:
    """A scheme for labels, tables and sentences: a subset by its operations, or by those that it lacks.

    >>> full_name("powerset:rotate+shear_x"), full_name("powerset:none"), full_name("autoaugment")
    ('AugMix of rotate + shear x', 'AugMix of no operation', 'autoaugment')
    >>> full_name("powerset:" + "+".join(name for name in SHORT if name != "rotate"))
    'AugMix without rotate'
    """
    if not is_subset(scheme):
        return scheme
    operations, missing = _split(scheme)
    if len(operations) <= MOST_LISTED:
        return f"AugMix of {' + '.join(map(entry_name, operations)) or 'no operation'}"
    return f"AugMix without {' + '.join(map(entry_name, missing))}" if missing else "AugMix of all nine operations"


def short_name(scheme: str) -> str:
    """A scheme for the rows of a matrix: operations by three letters.

    >>> short_name("powerset:rotate+shear_x"), short_name("powerset:none"), short_name("autoaugment")
    ('rot shX', 'no operation', 'autoaugment')
    >>> short_name("powerset:" + "+".join(name for name in SHORT if name != "rotate"))
    'all but rot'
    """
    if not is_subset(scheme):
        return scheme
    operations, missing = _split(scheme)
    if len(operations) <= MOST_LISTED:
        return " ".join(SHORT.get(name, name) for name in operations) or "no operation"
    return f"all but {' '.join(SHORT[name] for name in missing)}" if missing else "all nine"


def _split(scheme: str) -> tuple[list[str], list[str]]:
    """The operations of a subset, and those of the nine that it lacks."""
    operations = [name for name in scheme.removeprefix(SUBSET).split("+") if name != "none"]
    return operations, [name for name in SHORT if name not in operations]
