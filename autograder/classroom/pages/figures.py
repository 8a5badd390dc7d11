"""Small figures as SVG in the page itself. Shades differ in lightness and every bar has its number, so they can be read
in grey.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from markupsafe import Markup

SHADES = {  # from dark to light, of the colour-blind-safe palette where there is a colour
    "earned": "#0b5d46",
    "idea": "#c9641e",
    "part": "#e79a53",
    "edge": "#f8dcb8",
    "by hand": "#4a5d73",
    "unanswered": "#9a9a9a",
    "other": "#d9d9d9",
}


def histogram(bins: Sequence[dict[str, Any]]) -> Markup:
    """How many students have how many percent. The axis is labelled, the bars say their number."""
    width, height, base, left = 46, 150, 180, 44
    most = max([one["students"] for one in bins] + [1])
    parts = []
    for place, one in enumerate(bins):
        tall = height * one["students"] / most
        x = left + place * width
        parts.append(
            f'<rect x="{x + 2}" y="{base - tall:.1f}" width="{width - 4}" height="{tall:.1f}" fill="#0b5d46"/>'
        )
        if one["students"]:
            parts.append(text(x + width / 2, base - tall - 5, str(one["students"]), "middle", bold=True))
        parts.append(text(x, base + 16, str(one["from"]), "middle"))
    end = left + len(bins) * width
    parts.append(text(end, base + 16, str(bins[-1]["to"]) if bins and bins[-1]["to"] <= 100 else "more", "middle"))
    parts.append(f'<line x1="{left}" y1="{base}" x2="{end}" y2="{base}" stroke="#1a1a1a"/>')
    parts.append(text((left + end) / 2, base + 36, "score, percent of the maximum", "middle"))
    parts.append(text(14, base - height / 2, "students", "middle", turn=True))
    told = ", ".join(f"{one['from']} to {one['to']} percent: {one['students']}" for one in bins if one["students"])
    return drawing(end + 20, base + 44, parts, f"Distribution of scores. {told}.", "figure")


def bar(share: float | None) -> Markup:
    """A share of one, as a bar."""
    if share is None:
        return Markup("")
    parts = [
        '<rect x="0" y="2" width="100" height="10" fill="#fff" stroke="#8a8a8a" stroke-width=".8"/>',
        f'<rect x="0" y="2" width="{100 * share:.1f}" height="10" fill="#0b5d46"/>',
    ]
    return drawing(101, 14, parts, f"{100 * share:.0f} percent", "bar")


def stacked(parts: Sequence[tuple[str, float]]) -> Markup:
    """Points that were earned and lost, side by side, with a number where there is room for one."""
    whole = sum(points for _, points in parts) or 1.0
    made, x = [], 0.0
    for kind, points in parts:
        wide = 700 * points / whole
        made.append(f'<rect x="{x:.1f}" y="0" width="{wide:.1f}" height="34" fill="{SHADES[kind]}" stroke="#fff"/>')
        if wide > 38:
            ink = "#fff" if kind in ("earned", "idea", "by hand") else "#111"
            made.append(text(x + wide / 2, 22, f"{100 * points / whole:.0f}%", "middle", ink=ink, bold=True))
        x += wide
    told = ", ".join(f"{kind} {100 * points / whole:.0f} percent" for kind, points in parts)
    return drawing(700, 34, made, f"Points: {told}.", "figure")


def swatch(kind: str) -> Markup:
    return drawing(14, 14, [f'<rect width="14" height="14" fill="{SHADES[kind]}" stroke="#555"/>'], kind, "swatch")


def text(
    x: float, y: float, content: str, anchor: str, bold: bool = False, ink: str = "#1a1a1a", turn: bool = False
) -> str:
    """The content is ours: numbers and fixed words."""
    weight = ' font-weight="700"' if bold else ""
    turned = f' transform="rotate(-90 {x:.1f} {y:.1f})"' if turn else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" fill="{ink}"{weight}{turned}>{content}</text>'


def drawing(width: float, height: float, parts: Sequence[str], told: str, kind: str) -> Markup:
    return Markup(
        f'<svg class="{kind}" viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{told}" font-size="13"'
        f' font-family="system-ui, sans-serif">{"".join(parts)}</svg>'
    )
