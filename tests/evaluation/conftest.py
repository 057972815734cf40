"""What several files of tests evaluate on."""

import numpy as np
import pytest

from scuff.data import array_source


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(0)
    return array_source("noise", rng.integers(0, 256, (50, 12, 10, 3), dtype=np.uint8), rng.integers(0, 7, 50))
