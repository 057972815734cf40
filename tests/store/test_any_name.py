"""A store keeps files under any name that is one, and never outside of its folder."""

from __future__ import annotations

import contextlib
import os
import tempfile

from hypothesis import example, given
from hypothesis import strategies as st

from scuff.store import Store

WORDS = st.text(st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1, max_size=12)


@given(st.lists(WORDS.filter(lambda word: word.strip(". ")), min_size=1, max_size=3), st.binary(max_size=40))
def test_what_is_written_is_read(parts, content):
    with tempfile.TemporaryDirectory() as folder:
        store, name = Store(folder), "/".join(parts)
        store.write(name, content)
        assert store.exists(name)
        assert store.read(name) == content
        assert name in store.names("", "")


@given(st.text(max_size=12), st.binary(max_size=4))
@example("../x", b"")
@example("a/../../x", b"")
@example("../inside-not", b"")
@example("..", b"")
def test_no_name_leads_outside(name, content):
    with tempfile.TemporaryDirectory() as folder:
        inside = os.path.join(folder, "inside")
        os.mkdir(inside)
        with contextlib.suppress(ValueError, OSError):
            Store(inside).write(name, content)
        assert os.listdir(folder) == ["inside"]
