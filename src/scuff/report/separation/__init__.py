"""Reports of studies of MSCR, and of class separations."""
