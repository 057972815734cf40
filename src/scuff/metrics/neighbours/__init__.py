"""The exact search for nearest pairs of points of different classes."""
