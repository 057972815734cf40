"""What several files of tests export: a tree of pictures, and arrays with labels."""

import numpy as np
import pytest
from made_exports import make_picture


@pytest.fixture
def pictures(tmp_path):
    """A tree of pictures of several sizes and modes."""
    root = tmp_path / "pictures"
    (root / "cats" / "old").mkdir(parents=True)
    make_picture(24, 30, 1).save(root / "a.bmp")
    make_picture(24, 30, 2).save(root / "cats" / "b.JPEG")
    make_picture(33, 21, 3).save(root / "cats" / "old" / "c.png")
    make_picture(24, 30, 4).convert("L").save(root / "cats" / "grey.png")
    (root / "notes.txt").write_text("no picture")
    (root / ".hidden.png").write_text("no picture")
    return root


@pytest.fixture
def arrays(tmp_path):
    """Seven images of 12 x 10 with labels."""
    path = tmp_path / "data.npz"
    images = np.random.default_rng(0).integers(0, 256, (7, 12, 10, 3), dtype=np.uint8)
    np.savez(path, images=images, labels=np.arange(7) * 11)
    return path
