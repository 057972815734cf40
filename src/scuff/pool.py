"""Processes that can all be stopped promptly and cleanly.

Python's process pool has four habits that a long export cannot live with. Ctrl-C in a terminal reaches the workers
too, which then print tracebacks: here they ignore it, and hear from the main process when to stop. A cancelled pool
still finishes the tasks that have begun: here they ask `raise_if_stopping` between files, and a worker that does not
get there in time ends anyway. As soon as one worker has ended, the pool tells all others to terminate, which leaves
them no time to save what they have: here they do not listen. And workers outlive a main process that was killed.

The means is a lifeline: a pipe whose other end only the main process holds. When it is let go, on purpose or by death,
every worker notices. (A multiprocessing.Event would do as well, until a worker dies while waiting for it: then setting
it blocks for ever.) Torch is imported late, so that a worker can be stopped while it is still starting.

A process that Python spawns begins by importing the script that its parent runs, and a script without a `__main__`
guard would start everything again. Workers here do without the script, unless they need a class of it.
"""

from __future__ import annotations

import ast
import contextlib
import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import types
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor
from multiprocessing.connection import Connection
from multiprocessing.queues import SimpleQueue
from typing import Any

from scuff.plugins import import_modules, own_modules

GRACE = 1.0  # seconds that a task has to reach the end of its file

_stopping = threading.Event()  # in a worker: set when the main process wants to end, or has ended
_savings: list[Callable[[], object]] = []  # what is to be done before a worker ends in the middle of a task


class Stopping(Exception):
    """Raised inside a task whose result nobody waits for any more."""


def raise_if_stopping() -> None:
    """Leave the task if the run is to end. Tasks call this between files; it costs next to nothing."""
    if _stopping.is_set():
        raise Stopping


@contextlib.contextmanager
def if_cut_short(save: Callable[[], object]) -> Iterator[None]:
    """Call `save` if the block does not come to its end: it raises, or does not leave in time and ends with its worker.

    In the latter case another thread calls it, while the block still runs.
    """
    _savings.append(save)
    try:
        yield
    except BaseException:
        save()
        raise
    finally:
        _savings.remove(save)


class Pool:
    """Processes that hold one `work`, which came to them once, and call it with whatever is submitted.

    Each computes on one thread, for two reasons: there are as many processes as processors, and sums that are split
    over threads may round differently. With `gpus`, every process sees one of them, in turn.
    """

    def __init__(self, work: Callable[[Any, Callable], Any], processes: int, gpus: int = 0) -> None:
        context = multiprocessing.get_context("spawn")  # a forked child inherits torch's threads in an unknown state
        self._lifeline, self._our_end = context.Pipe(duplex=False)
        numbers = context.SimpleQueue() if gpus else None
        for number in range(processes if gpus else 0):
            assert numbers is not None
            numbers.put(_visible_gpus(gpus)[number % gpus])
        # As bytes, which a worker reads when it is ready to be stopped: what they hold may take its time to import.
        pickled = pickle.dumps(work)
        self._script_is_needed = b"__main__" in pickled or "__main__" in own_modules()
        if self._script_is_needed:
            _need_main_guard()
        initial = (self._lifeline, own_modules(), pickled, numbers)
        self._executor = ProcessPoolExecutor(processes, context, initializer=_start_worker, initargs=initial)

    def submit(self, task: Any) -> Future:
        """Begin a task; the future's result is that of the work, and the seconds that it took."""
        script = contextlib.nullcontext() if self._script_is_needed else _script_hidden()
        with interrupts_held(), script:  # where processes may start
            return self._executor.submit(_do, task)

    def close(self) -> None:
        """End all processes within a second or two, whatever they are doing."""
        self._our_end.close()
        self._executor.shutdown(wait=True, cancel_futures=True)
        self._lifeline.close()


@contextlib.contextmanager
def _script_hidden() -> Iterator[None]:
    """Let processes that start inside know nothing of the script that runs, and so not import it."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = types.ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _need_main_guard() -> None:
    """Refuse to hand a script's own classes to processes if importing the script would run all of it again."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    if path is None or not os.path.isfile(path):
        return
    with open(path, encoding="utf-8") as file:
        tree = ast.parse(file.read())
    guards = [node for node in tree.body if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)]
    if not guards:
        raise RuntimeError(
            f"worker processes need a class or function of {path}, and would run the whole script to get it: put what "
            'it does under `if __name__ == "__main__":`, or move the class into a module of its own'
        )


def _visible_gpus(gpus: int) -> list[str]:
    """What processes must set to see one GPU each, of those that we may see ourselves."""
    ours = os.environ.get("CUDA_VISIBLE_DEVICES")
    return ours.split(",") if ours else [str(number) for number in range(gpus)]


_work: Callable[[Any, Callable], Any]  # in a worker: what it is there for


def _do(task: Any) -> tuple[Any, float]:
    began = time.perf_counter()
    result = _work(task, lambda done, total: None)
    return result, time.perf_counter() - began


def _start_worker(lifeline: Connection, modules: list[str], work: bytes, gpus: SimpleQueue | None) -> None:
    global _work
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _do_not_listen_to_terminate()
    threading.Thread(target=_follow, args=(lifeline,), daemon=True).start()
    sys.path.append(os.getcwd())  # a model may be of a module there
    if gpus is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpus.get()

    import torch

    torch.set_num_threads(1)
    import_modules(modules)
    _work = pickle.loads(work)


def _do_not_listen_to_terminate() -> None:
    """Processes that a worker starts do listen: a program does not inherit a function of ours, and a fork resets it."""
    signal.signal(signal.SIGTERM, lambda *_: None)
    if hasattr(os, "register_at_fork"):
        os.register_at_fork(after_in_child=lambda: signal.signal(signal.SIGTERM, signal.SIG_DFL))


def _follow(lifeline: Connection) -> None:
    """End this worker soon after the main process has let go."""
    lifeline.poll(None)
    _stopping.set()
    time.sleep(GRACE)
    for save in _savings:
        with contextlib.suppress(Exception):
            save()
    os._exit(1)  # nothing else to tidy: a file without its final name does not count


@contextlib.contextmanager
def threads_limited(count: int | None) -> Iterator[None]:
    """Let torch compute on that many threads in the block; None: on as many as before."""
    import torch

    before = torch.get_num_threads()
    torch.set_num_threads(count or before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextlib.contextmanager
def interrupts_held() -> Iterator[None]:
    """Hold Ctrl-C back until the block ends. Processes started inside inherit this, and are never bothered by it."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
