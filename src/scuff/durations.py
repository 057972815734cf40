"""How long something takes, in words."""

from __future__ import annotations

MINUTE, HOUR, DAY = 60, 3600, 86400


def show_duration(seconds: float) -> str:
    """Seconds in words, as precisely as people want them.

    >>> show_duration(0.2), show_duration(12.3), show_duration(5400), show_duration(1e6)
    ('1 s', '12 s', '1.5 h', '11.6 days')
    """
    if seconds < 2 * MINUTE:
        return f"{max(seconds, 1):.0f} s"
    if seconds < HOUR:
        return f"{seconds / MINUTE:.0f} min"
    return f"{seconds / HOUR:.1f} h" if seconds < 2 * DAY else f"{seconds / DAY:.1f} days"
