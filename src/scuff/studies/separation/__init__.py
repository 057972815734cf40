"""How far apart classes are, and how much accuracy noise within that distance costs (MSCR)."""
