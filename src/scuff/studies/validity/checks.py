"""Whether the tables in the folder of a study of validity are those that a study writes."""

from __future__ import annotations

import pandas as pd

from scuff.metrics.validity.shifts import BETWEEN, MEAN, Shifts
from scuff.store import Settings

TEXTS = ("what", "benchmark", "natural", "kind", "corruption", "group", "question", "smaller", "larger")
TEXTS += ("members", "warning", "note")
MAY_BE_EMPTY = ("warning", "note")
COUNTS = ("size", "models", "n", "k", "benchmarks", "categories")
COLUMNS = {
    "correlations": "what benchmark size natural kind value low high p_value models note",
    "contributions": "corruption natural alone alone_low alone_high alone_gain alone_gain_low alone_gain_high "
    "without gain gain_low gain_high note",
    "groups": "group kind n k std size benchmarks natural value low high spread p_value note",
    "trends": "question natural smaller larger categories difference low high other_sign_share note",
    "searches": "size members fitted chosen chosen_low chosen_high held_out held_out_low held_out_high random "
    "random_low random_high whole whole_low whole_high gain gain_low gain_high gain_over_whole gain_over_whole_low "
    "gain_over_whole_high drop drop_low drop_high stability exact warning",
}
SETTINGS = "source table models left_out suites categories search seed resamples notes same different"


def check_kept_settings(settings: Settings) -> None:
    """All that a report needs must have been written down."""
    missing = [name for name in SETTINGS.split() if name not in settings]
    if missing:
        raise ValueError(f"the settings lack {', '.join(missing)}")


def check_kept_table(name: str, table: pd.DataFrame, shifts: Shifts) -> None:
    """A table must have the columns of its kind, and in them what belongs there."""
    columns = COLUMNS[name].split()
    if list(table) != columns:
        odd = [column for column in columns if column not in table] or [c for c in table if c not in columns]
        raise ValueError(f"{name}.csv has other columns: {', '.join(odd) or 'in another order'}")
    for column in columns:
        if column in TEXTS:
            is_wrong = column not in MAY_BE_EMPTY and (table[column] == "").any()
        elif column in COUNTS:
            is_wrong = table[column].dtype.kind != "i"
        else:
            is_wrong = table[column].dtype.kind not in "fib"
        if is_wrong:
            raise ValueError(f"{name}.csv has wrong values in the column {column}")
    strange = set(table.get("natural", ())) - {*shifts.natural, MEAN}
    if strange:
        raise ValueError(f"{name}.csv knows a natural benchmark {strange.pop()}")
    if name == "searches" and (table["members"].str.count(BETWEEN) + 1 != table["size"]).any():
        raise ValueError(f"{name}.csv has fewer or more members than the size says")
