"""The files beside docs/results/validity-imagenet.md are what the ImageNet testbed's table gives (make test-real)."""

import os
from pathlib import Path

import pandas as pd
from test_results_validity import tables


def test_the_results_are_computed_from_the_table():
    computed = tables.compute(Path(os.environ["SCUFF_DATA"]) / "imagenet-testbed.csv")
    kept = tables.read_results()
    for name, table in computed.items():
        texts = table.select_dtypes(["object", "string"]).columns
        table[texts] = table[texts].astype(object)
        # Files have six decimals; machines add in different orders.
        expected = kept[name].astype(dict.fromkeys(texts, object))
        pd.testing.assert_frame_equal(table.fillna({"note": ""}), expected, rtol=0, atol=2e-6, check_dtype=False)
