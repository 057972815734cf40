"""The colours of a report, for light and dark screens: those of models, and those of the heat map.

Models have the colours of Okabe and Ito, which people with any kind of colour vision can tell apart, adjusted for the
ground they stand on. The heat map goes from the ground's own tone through orange to violet, and its lightness only ever
falls (on a dark ground: rises), so that it is read in the same order without hue, and on a grey printer.
"""

from __future__ import annotations

SERIES = {
    "light": ("#0072b2", "#c04f00", "#00815f", "#a3508a", "#8a6d00", "#2480b5", "#5b5f66", "#8f1d2c"),
    "dark": ("#5eb1ea", "#f0923f", "#2fc39a", "#df93c4", "#e3c440", "#9ed2f5", "#b4b8bf", "#f0808c"),
}
DASHES = {"solid": "", "dash": "8 4", "dot": "2 4", "dashdot": "8 4 2 4"}  # Plotly's names, and the same in SVG
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "x", "cross", "star", "pentagon")

PAGE = {
    "light": {
        "paper": "#fdfdfb",
        "panel": "#f5f4ef",
        "ink": "#1d1f23",
        "muted": "#5a5f69",
        "line": "#dcdad2",
        "accent": "#1f5f99",
        "best": "#e4efe2",
        "best-ink": "#1d5a25",
    },
    "dark": {
        "paper": "#15171b",
        "panel": "#1d2026",
        "ink": "#e7e6e1",
        "muted": "#a3a8b3",
        "line": "#353942",
        "accent": "#86bdf0",
        "best": "#20362a",
        "best-ink": "#a6dcae",
    },
}

HEAT = {
    "light": ("#f6f3e9", "#f5dca6", "#ecae63", "#d67545", "#a9434b", "#6f2556", "#33134a"),
    "dark": ("#22252c", "#3d2a4f", "#72305f", "#b0474f", "#dc7f45", "#f2bc6b", "#fbf0cf"),
}
STEPS = 20  # shades of the heat map


def themes() -> dict[str, dict[str, str]]:
    """All colours by name, for light and dark: those of the page, "series0", ... of models, "heat0", ... of heat."""
    kinds = {"series": SERIES, "heat": HEAT}
    numbered = {
        theme: {f"{kind}{place}": colour for kind in kinds for place, colour in enumerate(kinds[kind][theme])}  # type: ignore[index]
        for theme in PAGE
    }
    return {theme: PAGE[theme] | numbered[theme] for theme in PAGE}


def mark(place: int) -> dict[str, str]:
    """How the model at a place in the list is drawn: a colour, a kind of line and a symbol, so that colour is not all.

    >>> mark(1)
    {'colour': 'series1', 'dash': 'dash', 'symbol': 'square'}
    """
    dash = list(DASHES)[place % len(DASHES)]
    return {"colour": f"series{place % len(SERIES['light'])}", "dash": dash, "symbol": SYMBOLS[place % len(SYMBOLS)]}


def shade(value: float, highest: float) -> str:
    """The style class of a cell of the heat map, whose scale goes from 0 to `highest`.

    >>> shade(0.0, 0.5), shade(0.26, 0.5), shade(0.5, 0.5)
    ('h0', 'h10', 'h19')
    """
    return f"h{min(STEPS - 1, int(STEPS * value / highest))}"


def colour_rules() -> str:
    """The style rules of all of these, for light screens and paper, and for dark screens."""
    light, dark = (_rules(theme) for theme in ("light", "dark"))
    return f"{light}\n@media screen and (prefers-color-scheme: dark) {{\n{dark}\n}}"


def _rules(theme: str) -> str:
    names = " ".join(f"--{name}: {colour};" for name, colour in themes()[theme].items())
    lines = [f":root {{ {names} }}"]
    for step in range(STEPS):
        ground = blend(HEAT[theme], step / (STEPS - 1))
        ink = max("#000000", "#ffffff", key=lambda ink, ground=ground: contrast(ink, ground))  # type: ignore[misc]
        lines.append(f".h{step} {{ background: {ground}; color: {ink}; }}")
    return "\n".join(lines)


def contrast(colour: str, other: str) -> float:
    """The contrast of two colours as the accessibility guidelines (WCAG 2) define it, from 1 to 21; 4.5 is readable.

    >>> round(contrast("#000000", "#ffffff"), 6)
    21.0
    """
    dark, light = sorted((luminance(colour), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def luminance(colour: str) -> float:
    """The relative luminance of "#rrggbb", from 0 (black) to 1 (white)."""
    linear = [v / 12.92 if v <= 0.04045 else ((v + 0.055) / 1.055) ** 2.4 for v in (c / 255 for c in _rgb(colour))]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def blend(stops: tuple[str, ...], place: float) -> str:
    """The colour at a place from 0 to 1 along evenly spaced stops."""
    position = place * (len(stops) - 1)
    first = min(int(position), len(stops) - 2)
    part = position - first
    mixed = [round(a + (b - a) * part) for a, b in zip(_rgb(stops[first]), _rgb(stops[first + 1]), strict=True)]
    return "#" + "".join(f"{value:02x}" for value in mixed)


def _rgb(colour: str) -> tuple[int, int, int]:
    return tuple(int(colour[start : start + 2], 16) for start in (1, 3, 5))  # type: ignore[return-value]
