"""An evaluation as a dataset of Hugging Face: Parquet files and a card, in a folder that can be pushed as it is."""

from __future__ import annotations

import io
import os
from pathlib import PurePosixPath

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import yaml

from scuff.evaluation import Evaluation
from scuff.metrics import by_model, cell_errors
from scuff.publish.evaluations import describe, measure_classifiers, write_text
from scuff.publish.tables import markdown, result_tables
from scuff.report.evaluation.evaluation import evaluation_title

SIZES = {1_000: "n<1K", 10_000: "1K<n<10K", 100_000: "10K<n<100K", 1_000_000: "100K<n<1M", 10_000_000: "1M<n<10M"}
PARTS = {
    "scores": "a line per model, each score with the ends of its 95 % interval (`_low`, `_high`)",
    "cells": "a line per model, corruption and severity: the error (`value`), its interval, and the number of images",
    "predictions": "a line per model, corruption, severity and image: its label, what was predicted, and how surely",
    "classes": "the name of every class",
}


def write_dataset(directory: str, out: str | None, baseline: str | None) -> list[str]:
    """README.md and Parquet files: `scores`, `cells`, `predictions` and `classes` are configurations to load."""
    evaluation, scores = measure_classifiers(directory, baseline, "huggingface")
    folder = os.path.join(directory, "huggingface") if out is None else out
    rows = by_model(evaluation.rows)
    cells = pd.concat([cell_errors(of).assign(model=model) for model, of in rows.items()], ignore_index=True)
    names = evaluation.settings["class_names"]
    tables = {
        "scores/all.parquet": scores.summary,
        "cells/all.parquet": cells[["model", *(name for name in cells if name != "model")]],
        **{f"predictions/{model}.parquet": of for model, of in rows.items()},
        "classes/all.parquet": pd.DataFrame({"label": range(len(names)), "name": names}),
    }
    written = [write_text(os.path.join(folder, name), _parquet(table)) for name, table in tables.items()]
    title = evaluation_title(evaluation, scores.models)
    card = _card(title, evaluation, [markdown(table) for table in result_tables(directory, baseline)[1]])
    return [write_text(os.path.join(folder, "README.md"), card), *written]


def _parquet(table: pd.DataFrame) -> bytes:
    """Words as words, which every reader knows, and not as numbers in a dictionary."""
    arrow = pa.Table.from_pandas(table, preserve_index=False).replace_schema_metadata()
    words = (pa.types.is_dictionary, pa.types.is_large_string)
    kinds = [pa.string() if any(check(field.type) for check in words) else field.type for field in arrow.schema]
    file = io.BytesIO()
    pq.write_table(arrow.cast(pa.schema(list(zip(arrow.column_names, kinds, strict=True)))), file, compression="zstd")
    return file.getvalue()


def _card(title: str, evaluation: Evaluation, tables: list[str]) -> str:
    count = len(evaluation.rows)
    configs = [
        {
            "config_name": name,
            "data_files": str(PurePosixPath(name, "*.parquet")),
            **({"default": True} if not k else {}),
        }
        for k, name in enumerate(PARTS)
    ]
    front = {
        "pretty_name": title,
        "task_categories": ["image-classification"],
        "tags": ["robustness", "image corruptions", evaluation.suite.name, "scuff"],
        "size_categories": [next((word for most, word in SIZES.items() if count < most), "n>10M")],
        "configs": configs,
    }
    contents = "\n".join(f"- `{name}`: {text}" for name, text in PARTS.items())
    loading = 'datasets.load_dataset("OWNER/NAME", "predictions", split="train")'
    return (
        "\n\n".join(
            [
                f"---\n{yaml.safe_dump(front, sort_keys=False, allow_unicode=True)}---",
                f"# {title}",
                describe(evaluation),
                *tables,
                f"## What there is\n\n{contents}",
                f"```python\nimport datasets\n\nrows = {loading}\n```",
                "Severity 0 stands for clean images, and for corruptions without levels.",
            ]
        )
        + "\n"
    )
