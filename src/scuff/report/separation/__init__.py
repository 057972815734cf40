"""Pages about studies of MSCR, and about class separations."""
