"""What a cell costs on a Ray cluster beyond what Ray itself takes for a task, and what the driver remembers of it.

Run: python benchmarks/cluster.py [cells]. Starts a cluster of two nodes on this machine.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time

import ray
from ray.cluster_utils import Cluster

from scuff.engine import RayEngine, Run
from scuff.store import Store

CELLS = 10_000


def nothing(cell: int, advance=None) -> int:
    return cell


def resident() -> float:
    """The memory of this process, in MiB."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def measure_tasks(cells: int) -> float:
    """Ray's own cost: as many tasks as cells, all given to it at once."""
    task = ray.remote(nothing)
    ray.get([task.remote(cell) for cell in range(100)])
    began = time.perf_counter()
    ray.get([task.remote(cell) for cell in range(cells)])
    return time.perf_counter() - began


def measure_cells(cells: int) -> tuple[float, list[float]]:
    """Ours: from the first result on, because workers must start first; and the memory at each tenth of the way."""
    memory, began, done = [], 0.0, 0
    with tempfile.TemporaryDirectory() as folder, Run(RayEngine(), Store(folder), title="benchmark") as run:
        for _ in run.cells("nothing", nothing, range(cells)):
            began = began or time.perf_counter()
            done += 1
            if done % (cells // 10) == 0:
                memory.append(resident())
    return time.perf_counter() - began, memory


def main() -> None:
    cells = int(sys.argv[1]) if len(sys.argv) > 1 else CELLS
    cluster = Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    cluster.add_node(num_cpus=1)
    ray.init(cluster.address, log_to_driver=False)
    try:
        theirs = measure_tasks(cells)
        ours, memory = measure_cells(cells)
    finally:
        ray.shutdown()
        cluster.shutdown()
    print(f"{cells} trivial cells, 2 workers on 2 nodes of one machine")
    print(f"Ray's own tasks     {1000 * theirs / cells:6.2f} ms each")
    print(f"cells of scuff      {1000 * ours / cells:6.2f} ms each")
    print(f"difference          {1000 * (ours - theirs) / cells:6.2f} ms each (bar: 5)")
    print(f"driver's memory     {memory[0]:.0f} MiB after a tenth, {memory[-1]:.0f} MiB at the end")


if __name__ == "__main__":
    main()
