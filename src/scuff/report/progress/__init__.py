"""The progress of studies: a section of their reports, and a page of its own for those that are not finished."""
