"""What OpenCV's integer colour conversion divides by, in 4096ths."""

from __future__ import annotations

import numpy as np

HUE_STEPS = np.array([0, *(round((180 << 12) / (6.0 * spread)) for spread in range(1, 256))], dtype=np.int32)
SATURATION_STEPS = np.array([0, *(round((255 << 12) / room) for room in range(1, 256))], dtype=np.int32)
