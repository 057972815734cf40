"""The page about an evaluation."""
