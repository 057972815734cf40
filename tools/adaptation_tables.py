"""The page docs/results/streams-cifar10.md from the folders of `tools/experiments.sh adaptation`.

    python tools/adaptation_tables.py runs docs/results/streams-cifar10.md

First, tables go into a folder of the page's name: scores of each part, and errors by segment or over windows. Then the
page is made of these tables alone. So parts, and methods of a part, may be run one at a time, on different days: what
has not run again stays as it was.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
from page_parts import table

CODES = ("gn", "sn", "in", "db", "gb", "mb", "zb", "sw", "fr", "fg", "br", "co", "el", "px", "jp")  # of CIFAR-10-C
# Wang et al., Continual test-time domain adaptation (CVPR 2022), table 2: WideResNet-28-10 of RobustBench, batches of
# 200 images.
PUBLISHED = {
    "source": "72.3 65.7 72.9 46.9 54.3 34.8 42.0 25.1 41.3 26.0 9.3 46.7 26.6 58.5 30.3 43.5",
    "bn": "28.1 26.1 36.3 12.8 35.3 14.2 12.1 17.3 17.4 15.3 8.4 12.6 23.8 19.7 27.3 20.4",
    "tent": "24.8 20.6 28.6 14.4 31.1 16.5 14.1 19.1 18.6 18.6 12.2 20.3 25.7 20.8 24.9 20.7",
    "cotta": "24.3 21.3 26.6 11.6 27.6 12.2 10.3 14.8 14.1 12.4 7.5 10.6 18.3 13.4 17.3 16.2",
}
PUBLISHED_GRADUAL = {"source": 24.8, "bn": 13.7, "tent": 30.7, "cotta": 10.4}  # the same paper, mean of ten orders
EFFECTS = (
    ("all", "bn", "source", slice(None)),
    ("all", "tent", "bn", slice(None)),
    ("first three", "tent", "bn", slice(3)),
    ("last five", "tent", "bn", slice(-5, None)),
    ("all", "cotta", "bn", slice(None)),
    ("last five", "cotta", "bn", slice(-5, None)),
)
PARTS = ("continual", "ccc", "long", "correlated")
QUARTERS = 4
WINDOWS = 100  # of a stream in its table, about
KIND = {name: "-errors" if name == "continual" else "-windows" for name in PARTS}

HEAD = """# Streams of CIFAR-10-C: does adaptation help, and for how long?

A WideResNet-40-2 trained here on CIFAR-10 for 20 epochs, without augmentation beyond flips and shifts (92.35 % accuracy
on clean images), on streams of corrupted test images ([streams](../streams.md), [methods](../adaptation.md)). Images
are made by `cifar10-c`, not read from the published files, and the network is not that of the papers, so levels differ;
what should agree is the order of methods and the size of effects. Errors are percentages, online: of the prediction
that was made when the batch came by. One network and one order of images. Times are a rough guide: other programs ran
beside. This page and its [tables](streams-cifar10) are made by `tools/adaptation_tables.py` from what
`tools/experiments.sh adaptation` leaves.
"""


def main(runs: str, page: str) -> None:
    """Write the tables and the page."""
    out, tables = Path(page), Path(page).with_suffix("")
    folders = {name: Path(runs, "adaptation", name) for name in PARTS}
    there = {name: folder for name, folder in folders.items() if (folder / "scores.csv").exists()}
    if not there:
        raise SystemExit(f"there are no results in {runs}")
    tables.mkdir(parents=True, exist_ok=True)
    for name, folder in there.items():
        collect(folder, tables, name)
    known = [name for name in PARTS if (tables / f"{name}.json").exists()]
    sections = [(continual if name == "continual" else stream)(name, *read(tables, name)) for name in known]
    out.write_text("\n".join([HEAD, *sections]), encoding="utf-8")


def collect(folder: Path, tables: Path, name: str) -> None:
    """Bring what one part has left to its tables."""
    settings = json.loads((folder / "adaptation.json").read_text(encoding="utf-8"))
    device = settings["environment"].get("device", settings["device"])
    kept = {"stream": settings["options"]["stream"], "device": device}
    kept |= {key: settings[key] for key in ("images", "batch_size", "seed")}
    scores = pd.read_csv(folder / "scores.csv")
    known = (tables / f"{name}.json").exists() and same_run(*read(tables, name)[:2], kept, scores)
    (tables / f"{name}.json").write_text(json.dumps(kept, indent=2) + "\n", encoding="utf-8")
    runs = [json.loads(file.read_text(encoding="utf-8")) for file in (folder / "runs").glob("*.json")]
    seconds = {run["method"]: round(run["seconds"], 1) for run in runs}
    found = {"": scores.assign(seconds=scores["method"].map(seconds)), KIND[name]: detail(folder, name, kept["images"])}
    for kind, new in found.items():
        file = tables / f"{name}{kind}.csv"
        (merged(pd.read_csv(file), new) if known else new).to_csv(file, index=False)


def same_run(settings: dict, scores: pd.DataFrame, new_settings: dict, new_scores: pd.DataFrame) -> bool:
    """Whether both are of one stream and one network: then the network without a method errs alike."""
    error, new_error = (table.set_index("method")["error"]["source"] for table in (scores, new_scores))
    return settings == new_settings and error == new_error


def detail(folder: Path, name: str, images: int) -> pd.DataFrame:
    """Errors by segment where there are few of these, and over windows of thousands of images otherwise."""
    if KIND[name] == "-errors":
        return pd.read_csv(folder / "errors.csv")
    windows = pd.read_csv(folder / "windows.csv")
    wide = max(1, images // WINDOWS // 1000) * 1000
    wrong = windows.assign(position=windows["position"] // wide * wide, wrong=windows["error"] * windows["n"])
    sums = wrong.groupby(["method", "position"], sort=False)[["n", "wrong"]].sum()
    return sums.assign(error=(sums["wrong"] / sums["n"]).round(4)).drop(columns="wrong").reset_index()


def merged(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """Both tables; methods that are in both as the new one has them."""
    return pd.concat([old[~old["method"].isin(new["method"])], new]).sort_values(
        "method", key=lambda names: names != "source", kind="stable"
    )


def read(tables: Path, name: str) -> tuple[dict, pd.DataFrame, pd.DataFrame]:
    """The settings of a part, its scores, and its errors by segment or window."""
    settings = json.loads((tables / f"{name}.json").read_text(encoding="utf-8"))
    return settings, pd.read_csv(tables / f"{name}.csv"), pd.read_csv(tables / f"{name}{KIND[name]}.csv")


def continual(name: str, settings: dict, scores: pd.DataFrame, errors: pd.DataFrame) -> str:
    """Severity 5, one corruption after the other, beside the published table."""
    lines = []
    for method, its in errors.groupby("method", sort=False):
        numbers = [*(100 * its.sort_values("segment")["error"]), 100 * its["error"].mean()]
        lines.append([method, *(f"{number:.1f}" for number in numbers)])
        if method in PUBLISHED:
            lines.append([f"{method}, published", *PUBLISHED[method].split()])
    ours = errors.pivot(index="method", columns="segment", values="error") * 100
    theirs = pd.DataFrame({method: map(float, line.split()[:-1]) for method, line in PUBLISHED.items()}).T
    effects = [
        [f"{what}: {first} against {second}", *(f"{gain(table, first, second, part):+.1f}" for table in (ours, theirs))]
        for what, first, second, part in EFFECTS
        if {first, second} <= set(ours.index)
    ]
    return f"""
## Severity 5, one corruption after the other

{about(settings)} Published: CoTTA's paper, table 2, WideResNet-28-10 of RobustBench.

{table(["", *CODES, "mean"], lines)}

{ranking(scores)} Differences of errors, in points, negative where the first method is better:

{table(["", "here", "published"], effects)}

{score_lines(scores)}
"""


def gain(table: pd.DataFrame, first: str, second: str, part: slice) -> float:
    """By how much the error of one method is above that of another, over some corruptions."""
    return float((table.loc[first] - table.loc[second]).iloc[part].mean())


def stream(name: str, settings: dict, scores: pd.DataFrame, windows: pd.DataFrame) -> str:
    """A long stream: errors by quarter, and what collapses."""
    titles = {
        "long": "1.31 million images: severities that rise and fall",
        "ccc": "A million images: a walk of CCC",
        "correlated": "Correlated labels",
    }
    end, lines = settings["images"], []
    for method, its in windows.groupby("method", sort=False):
        quarter = its.assign(quarter=its["position"] * QUARTERS // end).groupby("quarter")
        means = [(part["error"] * part["n"]).sum() / part["n"].sum() for _, part in quarter]
        lines.append([method, *(f"{100 * mean:.1f}" for mean in means)])
    published = ""
    if name == "long":
        listed = ", ".join(f"{method} {error}" for method, error in PUBLISHED_GRADUAL.items())
        published = f" Published for streams of this form (CoTTA's paper, ten orders, WideResNet-28-10): {listed}."
    return f"""
## {titles[name]}

{about(settings)}{published}

{score_lines(scores)}

Error by quarters of the stream:

{table(["", *(f"{k + 1}." for k in range(QUARTERS))], lines)}

{ranking(scores)} {collapses(scores)}
"""


def about(settings: dict) -> str:
    """What ran."""
    images = f"{settings['images']:,}".replace(",", " ")
    return (
        f"{images} images, stream `{settings['stream']}`, batches of {settings['batch_size']}, seed "
        f"{settings['seed']}; {settings['device']}. In brackets: 95 % intervals over images."
    )


def score_lines(scores: pd.DataFrame) -> str:
    """A line per method: error with its interval, the last window, negative flips, collapse, time."""
    lines = []
    for line in scores.itertuples():
        ends = f"[{100 * line.error_low:.1f}, {100 * line.error_high:.1f}]"
        flips = "" if pd.isna(line.negative_flips) else f"{100 * line.negative_flips:.1f}"
        falls = "" if line.method == "source" else "never" if pd.isna(line.collapse) else f"{line.collapse:.0f}"
        last, took = f"{100 * line.last_error:.1f}", f"{line.seconds:.0f} s"
        lines.append([line.method, f"{100 * line.error:.1f} {ends}", last, flips, falls, took])
    return table(["", "error", "last 1000", "negative flips", "collapse at image", "time"], lines)


def ranking(scores: pd.DataFrame) -> str:
    """The methods from the best to the worst."""
    ordered = scores.sort_values("error")
    return f"From the lowest to the highest error: {', '.join(ordered['method'])}."


def collapses(scores: pd.DataFrame) -> str:
    """Who becomes worse than no method."""
    falls = scores.dropna(subset="collapse")
    if not len(falls):
        return "No method collapses."
    each = ", ".join(f"{line.method} from image {line.collapse:.0f} on" for line in falls.itertuples())
    return f"Worse than no adaptation for ten windows of 1000 images in a row: {each}."


if __name__ == "__main__":
    main(*sys.argv[1:])
