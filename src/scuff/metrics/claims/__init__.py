"""Evidence for and against a claim about a mean, valid whenever one stops to look."""
