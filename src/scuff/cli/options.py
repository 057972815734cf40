"""Lists on the command line: words or numbers with commas between them."""

from __future__ import annotations


def words(text: str | None) -> list[str] | None:
    """`fog,snow` as a list.

    >>> words("fog, snow"), words(None)
    (['fog', 'snow'], None)
    """
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def whole_numbers(text: str | None, option: str) -> list[int] | None:
    """`1,3` as a list."""
    return _numbers(text, option, int, "whole numbers with commas between them, as in 1,3")


def decimals(text: str | None, option: str) -> list[float] | None:
    """`0.5,0.25` as a list."""
    return _numbers(text, option, float, "numbers with commas between them, as in 0.485,0.456,0.406")


def _numbers(text: str | None, option: str, kind: type, what: str) -> list | None:
    try:
        return None if text is None else [kind(word) for word in words(text)]
    except ValueError as error:
        raise ValueError(f"{option} takes {what}; got {text!r}") from error
