r"""Images per second of every cell of suites on a GPU, with the batch resident on the device.

    python benchmarks/corruptions_gpu.py [--suite imagenet-c cifar10-c] [--batch 256] [--only fog snow] [--out FILE]

Prints one line per corruption: microseconds that the host takes to send a call of 8 images, and how many batches of
float32 the device holds at most beyond the batch itself, the result among them, both for the worst severity; then
thousand images per second at each severity. Then the time for 50 000 images through all benchmark cells, and for the
slowest cells how far they are from the memory floor: the time in which the device can read the batch once and write it
once. Batches have 256 images, and those of small images (up to 64 pixels) 4096.

    ncu --profile-from-start off --metrics dram__bytes_read.sum,dram__bytes_write.sum --csv \
        python benchmarks/corruptions_gpu.py --once defocus_blur/5

makes one call of one cell between the profiler's marks, so that its true memory traffic can be counted. With --kernels
every cell is followed by the kernels that take its time.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import statistics
import time
from functools import partial

import torch

import scuff


def pictures(batch: int, size: int) -> torch.Tensor:
    """Windows of smooth colour, edges and noise: 8-bit values in many different amounts, as in photographs."""
    i, j = torch.meshgrid(torch.arange(size) / size, torch.arange(size) / size, indexing="ij")
    n = torch.arange(batch)[:, None, None, None] / batch
    c = torch.arange(3)[:, None, None] / 3
    waves = 0.5 + 0.5 * torch.sin(6.3 * (2 * i + 3 * n * j + c))
    edges = (((i + n) * 9).floor() + ((j + c) * 7).floor()) % 2
    noise = torch.rand(batch, 3, size, size, generator=torch.Generator().manual_seed(0))
    return torch.round(255 * (0.6 * waves + 0.25 * edges + 0.15 * noise)) / 255


def milliseconds(call, repeats: int) -> list[float]:
    """Device time of each call, by events; the first calls compile, warm up and are recorded."""
    for _ in range(5):  # one after the other: the first result must not be held during the second call
        call()
    torch.cuda.synchronize()
    events = [(torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)) for _ in range(repeats)]
    for start, stop in events:
        start.record()
        call()
        stop.record()
    torch.cuda.synchronize()
    return [start.elapsed_time(stop) for start, stop in events]


def host_microseconds(calls: dict, passes: int = 5, repeats: int = 15) -> dict:
    """How long it takes to send each call to a device that has nothing else to do: the median of the quietest pass.

    Processors are shared, and what a neighbour does for a second or two would be taken for slow calls: a pass goes
    through all of them.
    """
    medians: dict = {cell: [] for cell in calls}
    for _ in range(passes):
        for cell, call in calls.items():
            call()
            times = []
            for _ in range(repeats):
                torch.cuda.synchronize()
                start = time.perf_counter()
                call()
                times.append(time.perf_counter() - start)
            medians[cell].append(statistics.median(times))
    return {cell: 1e6 * min(each) for cell, each in medians.items()}


def slowest_kernels(call, images: int, most: int = 8) -> str:
    """The kernels of one call, with the microseconds per image of all their launches."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        call()
        torch.cuda.synchronize()
    times = [(event.self_device_time_total, event.count, event.key) for event in profile.key_averages()]
    times = sorted((row for row in times if row[0] > 0), reverse=True)
    total, launches = sum(row[0] for row in times), sum(row[1] for row in times)
    lines = [f"    {time / images:8.3f} us  {count:4d} x  {name[:110]}" for time, count, name in times[:most]]
    return "\n".join([f"    {total / images:8.3f} us in {launches} launches", *lines])


def time_suite(suite: scuff.Suite, options: argparse.Namespace) -> dict[str, object]:
    """Print the table of a suite, and return what `--out` keeps of it."""
    x = pictures(options.batch or (256 if suite.size > 64 else 4096), suite.size).cuda()
    copy = statistics.median(milliseconds(partial(torch.empty_like(x).copy_, x), 20))
    print(f"\n{suite.name}: {torch.cuda.get_device_name()}, torch {torch.__version__}, batch {tuple(x.shape)}")
    print(f"memory floor: {1e3 * copy / len(x):.2f} us per image ({2 * x.nbytes / copy / 1e9:.2f} TB/s)\n")
    print(f"{'':>32}{'host us':>9}{'batches':>9}  thousand images/s")

    calls = {
        (entry, severity): partial(scuff.corrupt, name=entry, severity=severity, suite=suite, check=False)
        for entry in options.only or suite.entries
        for severity in options.severities or suite.levels(entry)
    }
    few = x[:8].clone()
    sent = host_microseconds({cell: partial(call, few) for cell, call in calls.items()})
    cells, hosts, peaks = {}, {}, {}
    for entry in dict.fromkeys(entry for entry, _ in calls):
        profiles = ""
        hosts[entry] = max(microseconds for (name, _), microseconds in sent.items() if name == entry)
        peaks[entry] = 0.0
        for (_, severity), call in ((cell, call) for cell, call in calls.items() if cell[0] == entry):
            times = milliseconds(partial(call, x), options.repeats)
            cells[entry, severity] = sorted(1e3 * len(x) / t for t in times)
            base = torch.cuda.memory_allocated()
            torch.cuda.reset_peak_memory_stats()
            call(x)
            peaks[entry] = max(peaks[entry], (torch.cuda.max_memory_allocated() - base) / x.nbytes)
            if options.kernels:
                profiles += f"\n  {entry} {severity}\n{slowest_kernels(partial(call, x), len(x))}"
        rates = [statistics.median(rates) for (name, _), rates in cells.items() if name == entry]
        numbers = "".join(f"{rate / 1e3:7,.0f}" for rate in rates)
        print(f"{entry:>32}{hosts[entry]:9.0f}{peaks[entry]:9.2f}  {numbers}{profiles}", flush=True)

    median = {cell: statistics.median(rates) for cell, rates in cells.items()}
    benchmark = {cell: rate for cell, rate in median.items() if cell[0] in suite.benchmark()} or median
    seconds = sum(50_000 / rate for rate in benchmark.values())
    mean = len(benchmark) / sum(1 / rate for rate in benchmark.values())
    print(f"\n{len(benchmark)} benchmark cells: {mean:,.0f} images/s over the whole suite (harmonic mean)")
    print(f"50 000 images x {len(benchmark)} cells: {seconds:.0f} s")
    print(f"at most {max(hosts.values()):.0f} us of the host for 8 images, {max(peaks.values()):.2f} batches of memory")
    torch.cuda.empty_cache()
    held = (torch.cuda.memory_reserved() - x.nbytes) / x.nbytes
    print(f"calls that are recorded hold {held:.2f} batches between calls")
    floor = len(x) / copy * 1e3
    for (entry, severity), rate in sorted(benchmark.items(), key=lambda item: item[1])[:3]:
        cell = f"{entry}/{severity or 'drawn'}"
        print(f"slowest: {cell}: {rate:,.0f} images/s, {1e6 / rate:.1f} us, {floor / rate:.0f} x the floor")
    table = {f"{entry}/{severity}": round(rate) for (entry, severity), rate in median.items()}
    return {"images_per_second": table, "host_microseconds": hosts, "batches": peaks}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--suite", nargs="+", default=["imagenet-c"])
    parser.add_argument("--batch", type=int)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--out")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="only these corruptions")
    parser.add_argument("--severities", nargs="+", type=int, metavar="S", help="only these severities")
    parser.add_argument("--kernels", action="store_true", help="after each corruption, the kernels that take its time")
    parser.add_argument("--once", metavar="NAME[/SEVERITY]", help="one profiled call of one cell, no table")
    options = parser.parse_args()

    suites = [scuff.load_suite(name) for name in options.suite]
    if options.once:
        name, _, severity = options.once.partition("/")
        x = pictures(options.batch or 256, suites[0].size).cuda()
        for profiled in (False, False, True):  # two calls to compile and fill caches
            with torch.cuda.profiler.profile() if profiled else contextlib.nullcontext():
                scuff.corrupt(x, name, int(severity) if severity else None, suite=suites[0], check=False)
                torch.cuda.synchronize()
        return
    tables = {suite.name: time_suite(suite, options) for suite in suites}
    if options.out:
        with open(options.out, "w") as file:
            json.dump({"device": torch.cuda.get_device_name(), **tables}, file)


if __name__ == "__main__":
    main()
