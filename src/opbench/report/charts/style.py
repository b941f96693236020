"""What all charts share: colours that everybody can tell apart, sizes, data written into them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import altair

#: Okabe and Ito's palette: told apart with any kind of colour vision.
PALETTE = [
    "#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00", "#9a8700", "#7f7f7f",
]  # fmt: skip
VERDICTS = {"slower": "#b84a00", "faster": "#0067a6", "same": "#6f747c", "unknown": "#8b7fa8"}
#: A shape beside the colour: colour alone does not reach everybody.
SHAPES = {
    "slower": "triangle-up",
    "faster": "triangle-down",
    "same": "circle",
    "unknown": "diamond",
}
WIDTH = 640


def inline(values: list[dict[str, Any]]) -> Any:
    """Data inside the chart: it needs no file and no server."""
    import altair

    return altair.InlineData(values=values)


def log(**more: Any) -> altair.Scale:
    import altair

    return altair.Scale(type="log", **more)


def palette() -> altair.Scale:
    import altair

    return altair.Scale(range=PALETTE)


def verdict_scales() -> tuple[altair.Scale, altair.Scale]:
    """Colour and shape of the four verdicts, the same in every chart."""
    import altair

    names = list(VERDICTS)
    return (
        altair.Scale(domain=names, range=list(VERDICTS.values())),
        altair.Scale(domain=names, range=[SHAPES[name] for name in names]),
    )


def scaled(unit: str, typical: float) -> tuple[float, str]:
    """What to divide by, and the unit to write on the axis: (1e-6, "µs")."""
    from opbench.report.units import SCALES

    fitting = [each for each in SCALES.get(unit, ()) if abs(typical) >= each[0]]
    return fitting[-1] if fitting else (SCALES[unit][0] if unit in SCALES else (1.0, unit))
