"""A page on this machine to play with corruptions and to walk through results: the server behind `scuff explore`."""
