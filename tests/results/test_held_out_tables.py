"""The page of augmentations on CIFAR-10-C-bar: on made-up errors of two schemes, three seeds and one."""

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from tool_modules import load_tool

TOOL = load_tool("held_out_tables")
TEN = list(TOOL.PUBLISHED)[2:]


def save(runs, scheme: str, seed: int, fog: float, bar: float) -> None:
    """Errors that grow by a point with the severity, and from one corruption of C-bar to the next."""
    folder = runs / f"augmentation-{scheme}-{seed}"
    folder.mkdir()
    for suite, errors in {"cifar10-c": {"fog": fog}, "cifar10-c-bar": {n: bar + i for i, n in enumerate(TEN)}}.items():
        rows = [("clean", 0, 5 + seed), *((name, s, e + s - 2) for name, e in errors.items() for s in (1, 2, 3))]
        table = pd.DataFrame(rows, columns=["corruption", "severity", "error"])
        table.assign(error=table["error"] / 100).to_csv(folder / f"{suite}.csv", index=False)
    (folder / "seconds.txt").write_text("100\n23\n")


@pytest.fixture(scope="module")
def page(tmp_path_factory) -> str:
    runs = tmp_path_factory.mktemp("held-out")
    (runs / "augmentation-ant-0").mkdir()  # cut before its tests
    for seed, (fog, bar) in enumerate([(27, 22), (28, 24), (30, 23)]):
        save(runs, "none", seed, fog, bar)
    TOOL.main(str(runs), str(runs / "page.md"))
    other = tmp_path_factory.mktemp("another-day")
    save(other, "augmix-jsd", 1, 20, 21)
    TOOL.main(str(other), str(runs / "page.md"))
    return (runs / "page.md").read_text(encoding="utf-8")


def cells(page: str, first: str) -> list[str]:
    (line,) = [line for line in page.splitlines() if line.startswith(f"| {first} |")]
    return [cell.strip() for cell in line.strip("|").split("|")][1:]


def test_errors_are_means_over_severities_beside_the_papers(page):
    assert cells(page, "CIFAR-10-C")[1] == "20.0 (11.1 ± 0.2)"
    assert cells(page, "CIFAR-10-C-bar")[1] == "25.5 (16.0 ± 0.3)"
    assert cells(page, "brownish noise")[1] == "22.0 (27.8 ± 1.3)"
    seeds = np.array([27, 28, 30.0])
    half = stats.t.ppf(0.975, 2) * stats.sem(seeds)
    ours = f"{seeds.mean():.1f} [{seeds.mean() - half:.1f}, {seeds.mean() + half:.1f}]"
    assert cells(page, "CIFAR-10-C")[0] == f"{ours} (27.0 ± 0.6)"
    assert cells(page, "clean")[0].startswith("6.0 [")


def test_schemes_are_compared_with_the_baseline_of_their_seeds(page):
    change, paper, on_c, on_bar = cells(page, "AugMix")
    assert (change, paper) == ("+5.5", "+4.9")
    assert (on_c, on_bar) == ("-8.0", "-3.0")
    assert cells(page, "baseline")[1:] == ["+0.1", "", ""]


def test_what_ran_is_said(page):
    text = " ".join(page.split())
    assert "Seeds: 3 of baseline, 1 of AugMix." in text
    assert "baseline 123, AugMix 123; in all 492." in text
    assert "ANT" not in page.split("| --- |")[0].splitlines()[-2]
