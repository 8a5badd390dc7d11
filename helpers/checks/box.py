"""The box that shows the outcome of a test cell, in a notebook and on a feedback page: one piece of HTML.

It is made from the outcome as data (`report.as_data`), so that whoever kept the data can show the box again. Styles are
inline: front ends drop style sheets from outputs, and themes differ, so colours are tints over the page's own.
"""

from __future__ import annotations

import html
from collections.abc import Mapping, Sequence
from typing import Any

GOOD, BAD, OPEN = "#029e73", "#d55e00", "#949494"  # green, orange and grey of the colour-blind-safe palette
TINT = {GOOD: "rgba(2,158,115,0.07)", BAD: "rgba(213,94,0,0.07)", OPEN: "rgba(148,148,148,0.09)"}
MARK = {GOOD: "✓", BAD: "✗", OPEN: "○"}
WRAP = "overflow-wrap:anywhere"  # long names and numbers break, and do not run out of the cell
CODE = "font-family:var(--jp-code-font-family,ui-monospace,monospace);font-size:0.92em"


def box(outcome: Mapping[str, Any], folded: str = "") -> str:
    """The outcome of one test cell: name, points, requirements, what to look at next, and what can be unfolded."""
    colour = colour_of(outcome)
    parts = [heading(outcome, colour)]
    if outcome["requirements"] and colour is not OPEN:
        parts.append(row("".join(chip(requirement) for requirement in outcome["requirements"]), "margin-top:4px"))
    parts += [hint(sentence, [], OPEN) for sentence in outcome["unwritten"].values()]
    parts += [hint(text, seen, BAD) for text, seen in grouped(outcome["findings"])]
    parts += [row(f"Note: {html.escape(note)}", "margin-top:6px;opacity:0.75") for note in outcome["notes"]]
    parts.append(folded)
    style = f"border-left:4px solid {colour};background:{TINT[colour]};border-radius:3px;padding:8px 14px;margin:4px 0"
    return f'<div class="course-check" style="{style};max-width:56em;line-height:1.5;{WRAP}">{"".join(parts)}</div>'


def colour_of(outcome: Mapping[str, Any]) -> str:
    """Grey where nothing is written yet: that is no mistake."""
    if outcome["passed"] == outcome["reached"]:
        return GOOD
    return OPEN if outcome["unwritten"] and not outcome["passed"] and not outcome["findings"] else BAD


def heading(outcome: Mapping[str, Any], colour: str) -> str:
    points = f"{readable(outcome['score'])} of {readable(outcome['points'])} points"
    return row(
        f'<span><b style="color:{colour}">{MARK[colour]}</b> <b>{html.escape(outcome["headline"])}</b></span>'
        f' <span style="opacity:0.75;white-space:nowrap">{points}</span>',
        "display:flex;flex-wrap:wrap;justify-content:space-between;gap:0 1.5em",
    )


def chip(requirement: Mapping[str, Any]) -> str:
    colour = GOOD if requirement["passed"] else BAD
    name = html.escape(requirement["name"])
    mark = f'<b style="color:{colour}">{MARK[colour]}</b>'
    return f'<span style="display:inline-block;margin-right:1.2em">{mark} {name}</span> '


def hint(text: str, seen: Sequence[str], colour: str) -> str:
    """What to look at, and below it what was seen."""
    lines = [f"<div>{code_marks(text)}</div>"] if text else []
    lines += [f'<div style="opacity:0.8;white-space:pre-wrap;{CODE}">{code_marks(line)}</div>' for line in seen]
    return row("".join(lines), f"margin-top:8px;padding-left:10px;border-left:2px solid {colour}")


def in_steps(steps: Sequence[tuple[str, str]]) -> str:
    """Steps of help, each folded inside the one before: whoever wants the next has seen this one."""
    if not steps:
        return ""
    (title, text), *more = steps
    return unfolding(title, f'<div style="margin:2px 0 0 1.1em">{code_marks(text.strip())}</div>{in_steps(more)}')


def model_answer(code: str, remarks: Sequence[str]) -> str:
    """Our answer, folded: to compare with one's own, which stands in the cell above."""
    shown = f'<pre style="margin:4px 0 0 1.1em;white-space:pre-wrap;{CODE}">{html.escape(code)}</pre>'
    shown += "".join(f'<div style="margin:4px 0 0 1.1em">{code_marks(remark)}</div>' for remark in remarks)
    return unfolding("Compare with our answer", shown)


def unfolding(title: str, content: str) -> str:
    """Folded until it is clicked. `<details>` needs no script and no kernel, and a keyboard reaches it."""
    head = f'<summary style="cursor:pointer">{html.escape(title)}</summary>'
    return f'<details style="margin-top:8px">{head}{content}</details>'


def row(content: str, style: str) -> str:
    return f'<div style="{style}">{content}</div>'


def readable(points: float) -> str:
    return f"{round(points, 2):g}"


def grouped(findings: Sequence[Mapping[str, Any]]) -> list[tuple[str, list[str]]]:
    """Hints in order, each once, with what was seen under it; the same observation is not repeated."""
    groups: dict[str, list[str]] = {}
    for finding in findings:
        seen = groups.setdefault(finding["hint"], [])
        text = f"{finding['seen']} (hidden check)".strip() if finding["hidden"] else finding["seen"]
        if text and text not in seen:
            seen.append(text)
    return list(groups.items())


def code_marks(line: str) -> str:
    """Escape, and show what stands between back-ticks as code."""
    pieces = html.escape(line).split("`")
    if len(pieces) % 2 == 0:  # an odd back-tick: leave the text as it is
        return html.escape(line)
    return "".join(f'<code style="{CODE}">{p}</code>' if i % 2 else p for i, p in enumerate(pieces))
