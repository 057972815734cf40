"""Share the rows of a compiled loop among the threads of torch.

torch brings a team of threads, those of OpenMP, which is at work within microseconds and needs no turn with the GIL.
Threads of Python take a tenth of a millisecond to share out a loop, and wait for each other before and after it.

OpenMP calls a function of C on every thread, with one address as its argument. So a compiled loop can also write what
it is given to memory (`_write`), and name a function that does its work there: on each thread, that reads what was
written, takes a few rows at a time until none is left, and calls the loop for them.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from types import FunctionType
from typing import Any

import numpy as np
import torch
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.core.errors import TypingError
from numba.extending import intrinsic

from scuff.kernels.numba_cpu.compiling import compiled, inlined

LEAST_VALUES = 1 << 15  # in all arrays: with fewer, one thread is done before others have begun; torch counts alike
TURNS = 4  # of a thread, so that none has much left to do when others are done
NEXT, END, TOGETHER, JOINED, SETS, FAILED, HEAD = range(7)  # words in memory, before the sets of arguments
SET = 4096  # bytes for the arguments of a loop, of which an array takes some hundred
WORD = ir.IntType(64)
CALLED = ctypes.CFUNCTYPE(None, ctypes.c_void_p)

_was_forked = False


def share(loop: Any, count: int, *arguments: Any, least: int = 1, scratch: Callable[[], tuple] | None = None) -> None:
    """Call `loop(start, stop, *arguments, *scratch())`, compiled, for ranges that cover range(count).

    A thread takes `least` rows at a time, or some times as many, and has scratch of its own.
    """
    call_on_threads(_over_ranges(loop), count, arguments, least, scratch)


def call_on_threads(
    loop: Callable, count: int, arguments: tuple, least: int = 1, scratch: Callable[[], tuple] | None = None
) -> None:
    """`share`, for what `shareable` has made of a loop."""
    values = sum(x.size for x in arguments if isinstance(x, np.ndarray))
    threads = torch.get_num_threads() if values >= LEAST_VALUES and count > least else 1
    own = scratch or tuple
    if threads == 1:
        loop(0, 0, count, *arguments, *own())
        return
    sets = [(*arguments, *own()) for _ in range(threads if scratch else 1)]
    room = np.empty((len(sets) + 1, SET // 8), np.int64)
    room[0, :HEAD] = 0, count, least * max(1, count // (TURNS * threads * least)), 0, len(sets), 0
    place = room.ctypes.data
    for k, each in enumerate(sets):
        function = loop(place + SET * (k + 1), 0, 0, *each)
    _run(function, place, threads)
    if room[0, FAILED]:
        loop(0, 0, count, *sets[0])  # on this thread, where errors have words
        raise MemoryError("a compiled loop failed on a thread, and not again: there was too little memory for a moment")


def _run(function: int, place: int, threads: int) -> None:
    """Call the function at an address on several threads, and wait for all of them."""
    run = team(os.getpid())
    if run is not None:
        run(function, place, threads, 0)
        return
    for task in [_pool(os.getpid(), threads).submit(CALLED(function), place) for _ in range(threads)]:
        task.result()


@cache
def team(process: int) -> Callable | None:
    """OpenMP's function that calls one of ours on torch's team of threads; None without OpenMP, or with a broken one.

    It is looked for where torch itself finds it. Other packages bring an OpenMP of their own, scikit-learn for one: two
    teams of as many threads as there are processors would take these from each other.

    After a fork, threads that the parent has used are missing, and OpenMP would wait for them forever.
    """
    if _was_forked:
        return None
    try:
        run = ctypes.CDLL("libtorch_cpu.so", mode=os.RTLD_NOLOAD).GOMP_parallel
    except (OSError, AttributeError):  # another system, or torch without OpenMP
        return None
    run.argtypes, run.restype = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint, ctypes.c_uint), None
    return run


def _note_fork() -> None:
    global _was_forked
    _was_forked = True


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_note_fork)


@cache
def _pool(process: int, threads: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(threads, thread_name_prefix="scuff")


# --- compiled -------------------------------------------------------------------------------------------------------


@cache
def _over_ranges(loop: Any) -> Callable:
    names = names_of(loop.py_func.__code__.co_argcount - 2)
    return shareable(loop, "over_ranges", names, f" each(start, stop, {', '.join(names)})")


def shareable(loop: Any, purpose: str, names: Sequence[str], body: str) -> Callable:
    """Compile a loop as `whole(place, start, stop, *arguments)`, of which the text of the body makes use as `each`.

    It is called with 0 for a place to work, or with a place to write its arguments there; see `_write`.

    The loop becomes a part of what is compiled. Numba looks for what it has kept by the place and the bytes of a
    function, and by what it encloses, which for another function differs from process to process. So each loop gets a
    function of its own, which finds it as a global name, and has a name and a place in its file.
    """
    given, plain = ", ".join(names), loop.py_func
    text = f"def whole(place, start, stop, {given}):\n if place:\n  return write(place, ({given},))\n{body}\n return 0"
    place = {"co_filename": plain.__code__.co_filename, "co_firstlineno": plain.__code__.co_firstlineno}
    name = f"{plain.__name__}_{purpose}"
    code = compile(text, name, "exec").co_consts[0].replace(co_name=name, co_qualname=name, **place)
    return compiled(FunctionType(code, {"each": inlined(plain), "write": _write, "__name__": plain.__module__}, name))


def names_of(count: int) -> list[str]:
    return [f"a{k}" for k in range(count)]


@intrinsic
def _write(typing_context, place, arguments):
    """Write arguments of the function that is being compiled to an address; return that of a function for OpenMP."""

    def generate(context, builder, _, given):
        values = cgutils.unpack_tuple(builder, given[1])
        values = [_borrowed(context, builder, *each) for each in zip(arguments.types, values, strict=True)]
        together = ir.LiteralStructType([value.type for value in values])
        if context.get_abi_sizeof(together) > SET:
            raise TypingError(f"the arguments of {builder.function.name} take more than {SET} bytes")
        target = builder.inttoptr(given[0], together.as_pointer())
        for k, value in enumerate(values):
            builder.store(value, cgutils.gep_inbounds(builder, target, 0, k))
        return builder.ptrtoint(_on_thread(context, builder.function, arguments, together), WORD)

    return types.int64(types.int64, arguments), generate


def _borrowed(context, builder, kind, value):
    """An argument without the counters of who holds its arrays: they end with this call. Python keeps the arrays."""
    if isinstance(kind, types.BaseTuple):
        for k, each in enumerate(kind.types):
            part = _borrowed(context, builder, each, builder.extract_value(value, k))
            value = builder.insert_value(value, part, k)
    elif isinstance(kind, types.Array):
        array = context.make_array(kind)(context, builder, value)
        array.meminfo, array.parent = (cgutils.get_null_value(x.type) for x in (array.meminfo, array.parent))
        return array._getvalue()
    return value


def _on_thread(context, loop, arguments, together):
    """The function that every thread runs: it reads one set of arguments, and takes rows until none is left."""
    kind = ir.FunctionType(ir.VoidType(), [WORD.as_pointer()])
    function = ir.Function(loop.module, kind, f"{loop.name}.on_thread")
    function.linkage = "internal"
    begin, again, more, failed, done = (function.append_basic_block(n) for n in ("", "again", "more", "failed", "done"))
    builder, head = ir.IRBuilder(begin), function.args[0]

    def word(k):
        return builder.gep(head, [WORD(k)])

    def take(k, amount):
        return builder.atomic_rmw("add", word(k), amount, "monotonic")

    end, rows, sets = (builder.load(word(k)) for k in (END, TOGETHER, SETS))
    mine = builder.add(builder.urem(take(JOINED, WORD(1)), sets), WORD(1))
    room = builder.bitcast(builder.gep(head, [builder.mul(mine, WORD(SET // 8))]), together.as_pointer())
    values = [builder.load(cgutils.gep_inbounds(builder, room, 0, k)) for k in range(len(together.elements))]
    builder.branch(again)

    builder.position_at_end(again)
    first = take(NEXT, rows)
    builder.cbranch(builder.icmp_signed("<", first, end), more, done)

    builder.position_at_end(more)
    last = builder.add(first, rows)
    last = builder.select(builder.icmp_signed("<", last, end), last, end)
    kinds = (types.int64, types.int64, types.int64, *arguments.types)
    given = [WORD(0), first, last, *values]
    status, _ = context.call_conv.call_function(builder, loop, types.int64, kinds, given)
    builder.cbranch(status.is_error, failed, again)

    builder.position_at_end(failed)
    builder.store(WORD(1), word(FAILED))
    builder.branch(done)

    builder.position_at_end(done)
    builder.ret_void()
    return function
