"""A trial that decodes no scan says of every file what decoding it says."""

import io

import numpy as np
import pytest
from PIL import Image

from scuff.data.trials import head_of_closed, try_picture
from scuff.pictures import failure_reason, read_picture


def _picture():
    chance = np.random.default_rng(0)
    smooth = Image.fromarray(chance.integers(0, 256, (6, 8, 3), np.uint8)).resize((64, 48))
    return Image.fromarray((np.asarray(smooth) + chance.normal(0, 20, (48, 64, 3))).clip(0, 255).astype(np.uint8))


def _saved(mode="RGB", format="jpeg", **options):
    file = io.BytesIO()
    _picture().convert(mode).save(file, format, **options)
    return file.getvalue()


FILES = {
    "plain": _saved(),
    "grey": _saved("L"),
    "four colours": _saved("CMYK"),
    "restarts": _saved(restart_marker_blocks=2),
    "comment": _saved(optimize=True, comment=b"hello"),
    "two pictures": _saved(format="mpo", save_all=True, append_images=[_picture().rotate(90)]),
    "many scans": _saved(progressive=True),
    "png": _saved(format="png"),
}


def _decoded(content):
    """Why all of a picture cannot be decoded."""
    try:
        read_picture(io.BytesIO(content), is_trial=True)
    except Exception as error:
        return failure_reason(error)
    return None


def _damaged(content, chance):
    """Cut, with bytes that are others, with a mark where none should be, or with a hole."""
    damaged = bytearray(content)
    for _ in range(chance.integers(1, 4)):
        place = int(chance.integers(len(damaged) - 1))
        damaged[place] = chance.integers(256)
    if chance.random() < 0.3:
        damaged[place : place + 2] = bytes([255, chance.integers(256)])
    if chance.random() < 0.3:
        del damaged[place : place + int(chance.integers(200))]
    if chance.random() < 0.3:
        del damaged[int(chance.integers(10, len(damaged))) :]
    return bytes(damaged)


@pytest.mark.filterwarnings("ignore")  # of Pillow, about what is damaged
@pytest.mark.parametrize("kind", FILES)
def test_damaged_files_are_found_as_by_decoding_them(kind):
    content, chance = FILES[kind], np.random.default_rng(1)
    is_quick = kind not in ("many scans", "png")
    assert (head_of_closed(content) is not None) == is_quick
    assert try_picture(lambda: content) is None
    failed = 0
    for _ in range(200):
        damaged = _damaged(content, chance)
        reason = _decoded(damaged)
        assert try_picture(lambda damaged=damaged: damaged) == reason
        failed += reason is not None
    assert failed > 20


def test_a_scan_without_an_end_is_decoded_to_find_out():
    content = FILES["plain"]
    assert head_of_closed(content[:-2]) is None
    assert head_of_closed(content[:-1]) is None
    assert head_of_closed(content[:200]) is None
    assert head_of_closed(b"") is None
    assert "truncated" in try_picture(lambda: content[:-40])
    head = head_of_closed(content)
    assert head.endswith(b"\xff\xd9")
    assert content.startswith(head[:-2])


def test_a_file_that_is_gone_is_named_with_the_reason(tmp_path):
    assert try_picture((tmp_path / "gone.jpg").read_bytes) == "No such file or directory"
