"""Plain torch: slow, short, right. The fast back ends are held against these functions."""
