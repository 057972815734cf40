"""The report of validity: whether a synthetic benchmark predicts robustness to natural shifts."""
