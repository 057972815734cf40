"""The page about streams is made of tables: here, of a made-up run."""

import json
import shutil
from pathlib import Path

import numpy as np
import pandas as pd
from tool_modules import load_tool

from scuff.metrics import adaptation_scores, segment_errors, window_errors

TOOL = load_tool("adaptation_tables")
SEGMENTS, LENGTH = 15, 1000
REPOSITORY = Path(__file__).parents[2]


def made_rows(method, error):
    """A stream of 15 segments, in which errors are spread evenly."""
    count = SEGMENTS * LENGTH
    segment = np.repeat(np.arange(SEGMENTS), LENGTH)
    wrong = np.floor((np.arange(count) + 1) * error) > np.floor(np.arange(count) * error)
    columns = {"position": np.arange(count), "segment": segment, "corruption": "fog", "severity": 5, "label": 1}
    return pd.DataFrame(
        {**columns, "method": method, "image_id": np.arange(count), "prediction": np.where(wrong, 0, 1)}
    )


def made_folder(folder, methods, stream="continual"):
    rows = {method: made_rows(method, error) for method, error in methods.items()}
    (folder / "runs").mkdir(parents=True)
    for method in rows:
        (folder / "runs" / f"{method}.json").write_text(json.dumps({"method": method, "seconds": 12.4}))
    for name, measure in (("errors", segment_errors), ("windows", window_errors)):
        table = pd.concat([measure(its).assign(method=method) for method, its in rows.items()])
        table.to_csv(folder / f"{name}.csv", index=False)
    adaptation_scores(pd.concat(rows.values())).to_csv(folder / "scores.csv", index=False)
    settings = {"images": SEGMENTS * LENGTH, "options": {"stream": stream}, "batch_size": 200, "seed": 0}
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
        *("continual.json", "continual.csv", "continual-errors.csv", "long.json", "long.csv", "long-windows.csv"),
    }
    windows = pd.read_csv(tmp_path / "streams/long-windows.csv")
    assert windows[windows["method"] == "tent"][["position", "n", "error"]].to_numpy().tolist() == [
        [start, 1000, 0.5] for start in range(0, SEGMENTS * LENGTH, 1000)
    ]
    assert "| all: cotta against bn | -10.0 | -4.3 |" in page
    for numbers in TOOL.PUBLISHED.values():
        *cells, mean = map(float, numbers.split())
        assert abs(sum(cells) / 15 - mean) < 0.1  # as printed: rounded


def test_methods_and_parts_may_come_one_at_a_time(tmp_path):
    all_at_once = {"source": 0.4, "bn": 0.2, "cotta": 0.1}
    made_folder(tmp_path / "whole/adaptation/continual", all_at_once)
    made_folder(tmp_path / "whole/adaptation/ccc", {"source": 0.3, "tent": 0.5})
    TOOL.main(tmp_path / "whole", tmp_path / "whole.md")
    made_folder(tmp_path / "first/adaptation/continual", {"source": 0.4, "bn": 0.2})
    made_folder(tmp_path / "second/adaptation/ccc", {"source": 0.3, "tent": 0.5})
    made_folder(tmp_path / "third/adaptation/continual", {"source": 0.4, "cotta": 0.1})
    for visit in ("first", "second", "third"):
        TOOL.main(tmp_path / visit, tmp_path / "parts.md")
    assert (tmp_path / "parts.md").read_text() == (tmp_path / "whole.md").read_text()


def test_another_stream_begins_its_tables_anew(tmp_path):
    made_folder(tmp_path / "runs/adaptation/continual", {"source": 0.4, "bn": 0.2})
    TOOL.main(tmp_path / "runs", tmp_path / "streams.md")
    shutil.rmtree(tmp_path / "runs")
    made_folder(tmp_path / "runs/adaptation/continual", {"source": 0.4, "cotta": 0.1}, stream="continual:order=file")
    TOOL.main(tmp_path / "runs", tmp_path / "streams.md")
    assert "| bn |" not in (tmp_path / "streams.md").read_text()


def test_another_network_begins_its_tables_anew(tmp_path):
    for error in (0.4, 0.3):
        shutil.rmtree(tmp_path / "runs", ignore_errors=True)
        method = "bn" if error == 0.4 else "cotta"
        made_folder(tmp_path / "runs/adaptation/continual", {"source": error, method: 0.1})
        TOOL.main(tmp_path / "runs", tmp_path / "streams.md")
    assert "| bn |" not in (tmp_path / "streams.md").read_text()


def test_the_committed_page_is_made_of_the_committed_tables(tmp_path):
    page = REPOSITORY / "docs/results/streams-cifar10.md"
    tables = page.with_suffix("")
    sections = [
        (TOOL.continual if name == "continual" else TOOL.stream)(name, *TOOL.read(tables, name))
        for name in TOOL.PARTS
        if (tables / f"{name}.json").exists()
    ]
    assert len(sections) >= 3
    assert page.read_text(encoding="utf-8") == "\n".join([TOOL.HEAD, *sections])
