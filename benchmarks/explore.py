"""How long the explorer takes to answer: every corruption of ImageNet-C at 224 pixels, as a page asks while dragging.

    python benchmarks/explore.py [--model MODEL] [--size 224]

Times are of whole requests, from the question to the last byte of the answer, over HTTP on this machine. The first
answer of a corruption compiles what it needs, and is not counted.
"""

from __future__ import annotations

import argparse
import http.client
import statistics
import threading
import time
from urllib.parse import urlencode, urlsplit

from scuff.explore.open import open_explorer
from scuff.explore.server import open_server
from scuff.suites import load_suite

SUITE = "imagenet-c"
SEVERITIES = [0.8, 1.0, 1.9, 2.35, 3.0, 3.7, 4.2, 5.0]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", action="append", default=[])
    parser.add_argument("--size", type=int, default=224)
    arguments = parser.parse_args()
    serving = open_server(open_explorer(models=arguments.model))
    thread = threading.Thread(target=serving.run)
    thread.start()
    place = urlsplit(serving.address)
    line = http.client.HTTPConnection(place.hostname, place.port)

    def milliseconds(entry: str, severity: float) -> float:
        words = {"picture": "cat", "size": arguments.size, "suite": SUITE, "entry": entry, "severity": severity}
        start = time.perf_counter()
        line.request("GET", f"{place.path}api/corrupt?{urlencode(words | {'draws': 'shared'})}")
        answer = line.getresponse()
        content = answer.read()
        if answer.status != 200:
            raise RuntimeError(content.decode())
        return 1000 * (time.perf_counter() - start)

    times: list[float] = []
    print(f"{'corruption':20} {'median ms':>10} {'longest ms':>11}")
    for entry in load_suite(SUITE).entries:
        milliseconds(entry, 2.5)
        its = [milliseconds(entry, severity) for severity in SEVERITIES]
        times += its
        print(f"{entry:20} {statistics.median(its):10.0f} {max(its):11.0f}")
    within = sum(t <= 100 for t in times) / len(times)
    print(f"{'all':20} {statistics.median(times):10.0f} {max(times):11.0f}   {100 * within:.0f} % within 100 ms")
    serving.server.should_exit = True
    thread.join()


if __name__ == "__main__":
    main()
