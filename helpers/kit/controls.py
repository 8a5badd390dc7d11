"""What the widgets share that ask the kernel: labels that are never cut, and the goal below the controls."""

from __future__ import annotations

import html
from typing import Any


def options(**more: Any) -> dict[str, Any]:
    """Arguments of a control: a wide one with room for its label, that shrinks in a narrow window."""
    import ipywidgets

    layout = ipywidgets.Layout(width="420px", max_width="100%")
    return {"layout": layout, "style": {"description_width": "8em"}, **more}


class Goal:
    """A line that says what to try, and when it is reached."""

    def __init__(self, text: str) -> None:
        import ipywidgets

        self.text, self.line = text, ipywidgets.HTML()
        self.tell(False)

    def tell(self, reached: bool) -> None:
        colour, word = ("#029e73", "✓ Reached") if reached else ("#8888", "Goal")
        self.line.value = (
            f'<div role="status" style="margin:4px 0;padding:2px 8px;line-height:1.4;white-space:normal;'
            f'font-weight:600;border-left:4px solid {colour}">{word}: {html.escape(self.text)}</div>'
        )
