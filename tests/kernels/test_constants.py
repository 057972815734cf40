"""Tables that are remembered."""

from __future__ import annotations

import pytest

from scuff.kernels.constants import noting_tables, remembered


def test_who_notes_tables_gets_those_that_were_used():
    @remembered(2)
    def table(number: int) -> list[int]:
        return [number]

    first = table(1)
    with noting_tables() as used:
        assert table(1) is first
    table(1)
    assert len(used) == 1
    assert used[0] is first


def test_tables_are_not_made_while_their_use_is_noted():
    """On a GPU that is being recorded, nothing would fill them; the next call must make them anew."""
    calls = []

    @remembered(2)
    def table(number: int) -> int:
        calls.append(number)
        return number

    with noting_tables(), pytest.raises(RuntimeError, match="made while"):
        table(1)
    assert table(1) == 1
    assert calls == [1, 1]
