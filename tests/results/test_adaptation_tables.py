"""The page about streams is made of tables: here, of a made-up run."""

import json

import numpy as np
import pandas as pd
from tool_modules import load_tool

from scuff.metrics import adaptation_scores, segment_errors, window_errors

TOOL = load_tool("adaptation_tables")
SEGMENTS, LENGTH = 15, 1000


def made_rows(method, error):
    """A stream of 15 segments, in which errors are spread evenly."""
    count = SEGMENTS * LENGTH
    segment = np.repeat(np.arange(SEGMENTS), LENGTH)
    wrong = np.floor((np.arange(count) + 1) * error) > np.floor(np.arange(count) * error)
    columns = {"position": np.arange(count), "segment": segment, "corruption": "fog", "severity": 5, "label": 1}
    return pd.DataFrame(
        {**columns, "method": method, "image_id": np.arange(count), "prediction": np.where(wrong, 0, 1)}
    )


def made_folder(folder, methods):
    rows = {method: made_rows(method, error) for method, error in methods.items()}
    (folder / "runs").mkdir(parents=True)
    for method in rows:
        (folder / "runs" / f"{method}.json").write_text(json.dumps({"method": method, "seconds": 12.4}))
    for name, measure in (("errors", segment_errors), ("windows", window_errors)):
        table = pd.concat([measure(its).assign(method=method) for method, its in rows.items()])
        table.to_csv(folder / f"{name}.csv", index=False)
    adaptation_scores(pd.concat(rows.values())).to_csv(folder / "scores.csv", index=False)
    settings = {"images": SEGMENTS * LENGTH, "options": {"stream": "continual"}, "batch_size": 200, "seed": 0}
    settings |= {"device": "cuda", "environment": {"device": "a GPU"}}
    (folder / "adaptation.json").write_text(json.dumps(settings))


def test_the_page_has_our_numbers_beside_the_published_ones(tmp_path):
    made_folder(tmp_path / "runs/adaptation/continual", {"source": 0.4, "bn": 0.2, "cotta": 0.1})
    made_folder(tmp_path / "runs/adaptation/long", {"source": 0.3, "bn": 0.2, "tent": 0.5})
    TOOL.main(tmp_path / "runs", tmp_path / "streams.md")
    page = (tmp_path / "streams.md").read_text()
    assert "| bn | " + "20.0 | " * 15 + "20.0 |" in page
    assert "| bn, published | 28.1 | 26.1 |" in page
    assert "From the lowest to the highest error: cotta, bn, source." in page
    assert "in a row: tent from image 0 on." in page
    assert "| tent | 50.0 | 50.0 | 50.0 | 50.0 |" in page
    assert "Correlated" not in page
    assert {file.name for file in (tmp_path / "streams").iterdir()} == {
        *("continual.csv", "continual-errors.csv", "long.csv", "long-windows.csv"),
    }
    windows = pd.read_csv(tmp_path / "streams/long-windows.csv")
    assert windows[windows["method"] == "tent"][["position", "n", "error"]].to_numpy().tolist() == [
        [0, 10_000, 0.5],
        [10_000, 5_000, 0.5],
    ]
    for numbers in TOOL.PUBLISHED.values():
        *cells, mean = map(float, numbers.split())
        assert abs(sum(cells) / 15 - mean) < 0.1  # as printed: rounded
