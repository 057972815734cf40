"""How long the explorer takes to answer at 224 pixels, as a page asks while its dial turns.

    python benchmarks/explore.py [--suite imagenet-c] [--model MODEL] [--size 224] [--rounds 3]

Times are of whole requests, from the question to the last byte of the answer, over HTTP on this machine: the corrupted
picture, difference, spectrum and words, and with --model what models say. The first answer of a corruption compiles
what it needs, and is not counted. Beside them, from the same run and in turn with them, stands the corruption alone.
Processor time is that of all threads together; it tells what the answer would take if nothing else ran.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import threading
import time
from collections.abc import Callable
from urllib.parse import urlencode, urlsplit

from scuff.explore.corruptions import Turn
from scuff.explore.open import open_explorer
from scuff.explore.server import Explorer, open_server

PLACES = [0.16, 0.2, 0.38, 0.47, 0.6, 0.74, 0.84, 1.0]  # of the dial, from its beginning
LIMIT = 100  # milliseconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", action="append")
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--size", type=int, default=224)
    parser.add_argument("--rounds", type=int, default=3)
    arguments = parser.parse_args()
    explorer = open_explorer(models=arguments.model)
    serving = open_server(explorer)
    thread = threading.Thread(target=serving.run)
    thread.start()
    try:
        for suite in arguments.suite or ["imagenet-c"]:
            measure(explorer, serving.address, suite, arguments.size, arguments.rounds)
    finally:
        serving.server.should_exit = True
        thread.join()


def measure(explorer: Explorer, address: str, suite: str, size: int, rounds: int) -> None:
    """Print a line per corruption of a suite, and one for all of them."""
    place = urlsplit(address)
    line = http.client.HTTPConnection(place.hostname or "", place.port)
    image = explorer.shelf.square("cat", size).image

    def ask(entry: str, severity: float | None) -> None:
        words = {"picture": "cat", "size": size, "suite": suite, "entry": entry, "draws": "shared"}
        words |= {} if severity is None else {"severity": severity}
        line.request("GET", f"{place.path}api/corrupt?{urlencode(words)}")
        answer = line.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(content.decode())

    print(
        f"\n{suite}, {size} pixels\n{'corruption':24} {'median ms':>10} {'longest':>8} {'processor':>10} {'alone':>6}"
    )
    every: list[tuple[float, float]] = []
    (catalogue,) = [each for each in explorer.start(None)["suites"] if each["name"] == suite]  # type: ignore[arg-type]
    for about in catalogue["entries"]:
        entry, severities = about["name"], severities_of(about["dial"])
        for severity in severities:
            ask(entry, severity)
        answers, alone = [], []
        for severity in severities * rounds:
            turn = Turn(explorer.suites[suite], entry, severity)
            answers.append(took(lambda e=entry, s=severity: ask(e, s)))  # type: ignore[misc]
            alone.append(took(lambda t=turn: t.apply(image))[0])  # type: ignore[misc]
        every += answers
        show(entry, answers, f"{statistics.median(alone):6.0f}")
    within = sum(wall <= LIMIT for wall, _ in every) / len(every)
    show("all", every, f"       {100 * within:.1f} % within {LIMIT} ms")


def severities_of(dial: dict[str, float] | None) -> list[float | None]:
    if dial is None:
        return [None]
    steps = (dial["high"] - dial["low"]) / dial["step"]
    return [min(dial["high"], dial["low"] + dial["step"] * round(place * steps)) for place in PLACES]


def took(job: Callable[[], object]) -> tuple[float, float]:
    """Milliseconds of the clock, and of processors."""
    wall, processor = time.perf_counter(), time.process_time()
    job()
    return 1000 * (time.perf_counter() - wall), 1000 * (time.process_time() - processor)


def show(name: str, times: list[tuple[float, float]], more: str) -> None:
    walls, processors = zip(*times, strict=True)
    print(f"{name:24} {statistics.median(walls):10.0f} {max(walls):8.0f} {statistics.median(processors):10.0f} {more}")


if __name__ == "__main__":
    main()
