"""The command `scuff`, which is also `python -m scuff`: so launchers such as torchrun can start it."""

import atexit
import gc
import os

from scuff.cli import app

RARELY = 10_000  # new objects between two looks for cycles, instead of 700: imports of torch make a million that stay


def main() -> None:
    """Run the command line, with as little work as may be for Python's collector of cycles and for the system.

    The collector would look through all that torch has imported again and again, and once more at the end: a fourth of
    the time that a short command takes. The system would hand out the memory of large pictures in pages of 4 KiB, which
    takes as long as to corrupt them; torch asks for larger ones if it finds this variable when it first needs memory.
    """
    os.environ.setdefault("THP_MEM_ALLOC_ENABLE", "1")
    gc.set_threshold(RARELY)
    atexit.register(gc.freeze)
    app(prog_name="scuff")


if __name__ == "__main__":
    main()
