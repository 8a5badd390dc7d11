"""Select-all-that-apply questions: the judge of their test cells, and a panel of checkboxes to think with.

A test cell reads the answer, which stands in the source of the student's cell, and scores it in its hidden part:

    question = Question("q1", points=2, options="ABCD")
    question.answer(q1)
    question.key(right={"B": "why B belongs", ...}, wrong={"A": "why A does not", ...})   # hidden
    question.score()

Without the hidden key any readable answer is accepted, and nothing says which options are right. With it, the score is
points × max(0, share of right options ticked − share of wrong options ticked), and every option is explained.

`show(item)` displays the question as checkboxes and writes the line to copy. It knows no answers. For practice without
grading an instructor may give it `right` and `wrong` as above: a button then judges at once. That ships the answers
and explanations in the notebook's source to everybody who opens it.
"""

from __future__ import annotations

import os
import re
import textwrap
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from typing import Any

from IPython import get_ipython
from IPython.display import display

from helpers.checks import report
from helpers.checks.compare import describe
from helpers.checks.failed import Failed
from helpers.checks.plain_data import plain
from helpers.checks.quiet import guarded

WIDGET_VIEW = "application/vnd.jupyter.widget-view+json"
HOW_TO_ANSWER = "return the letters of the options that apply as a set of strings, with quotes and commas"
Explanations = Mapping[str, str]


@dataclass(frozen=True)
class Item:
    """One question as it is shown: no answer in it."""

    name: str
    stem: str
    options: Mapping[str, str]


@dataclass
class Verdict(report.Outcome):
    """The outcome of a question: what is said about the answer, and the share of the points it earns."""

    said: str = ""
    share: float = 0.0

    @property
    def score(self) -> float:
        return round(float(self.points) * self.share, 6)

    @property
    def headline(self) -> str:
        return f"{self.name}: {self.said}"


def share(ticked: Set[str], right: Set[str], wrong: Set[str]) -> float:
    """The share of the right options that is ticked, less the share of the wrong ones that is ticked; never below 0."""
    won = len(ticked & right) / len(right)
    lost = len(ticked & wrong) / len(wrong) if wrong else 0.0
    return max(0.0, won - lost)


def literal(ticked: Set[str]) -> str:
    """The answer as Python source."""
    return "{" + ", ".join(f'"{letter}"' for letter in sorted(ticked)) + "}" if ticked else "set()"


class UnreadableError(Exception):
    """The answer cannot be read as letters of options; the message says why."""


def read(value: Any, options: str) -> frozenset[str]:
    """The ticked letters in a set, list, tuple or string; case and separators do not matter."""
    if value is None:
        raise UnreadableError("nothing came back (None): is a `return` missing?")
    if type(value) is str:
        pieces: list[Any] = [value]
    elif type(value) in (set, frozenset, list, tuple) or (type(value) is dict and not value):
        pieces = list(value)
    else:
        raise UnreadableError(f"a set of letters should come back, got {describe(value)}")
    for piece in pieces:
        if type(piece) is not str:
            raise UnreadableError(f"every element should be a letter in quotes, got {describe(piece)}")
    ticked = frozenset(re.sub(r"[\s,;]", "", "".join(pieces)).upper())
    unknown = sorted(ticked - set(options))
    if unknown:
        raise UnreadableError(
            f"there is no option {', '.join(unknown)[:40]}: this question has the options {', '.join(options)}"
        )
    return ticked


class Question:
    """The judge of one question's test cell."""

    def __init__(self, name: str, points: float, options: str) -> None:
        self.name, self.points, self.options = name, points, options
        self.ticked: frozenset[str] | None = None
        self.verdict: Verdict | None = None
        self.right: Explanations = {}
        self.wrong: Explanations = {}

    def answer(self, given: Callable[[], Any] | Any) -> None:
        """Read the student's answer. Says whether it is readable, never whether it is right."""
        result = guarded(lambda: plain(given()))[0] if callable(given) else given
        try:
            if isinstance(result, Failed) and result.__dict__["unwritten"] is not None:
                unwritten = {self.name: f"not written yet: {HOW_TO_ANSWER}"}
                self.verdict = Verdict(self.name, self.points, 0, 1, unwritten=unwritten, said="not written yet")
                return
            if isinstance(result, Failed):
                raise UnreadableError(result.__dict__["reason"])
            ticked = read(result, self.options)
            if not ticked:
                raise UnreadableError("no option is ticked, and every question has at least one that applies")
        except UnreadableError as error:
            finding = report.Finding(HOW_TO_ANSWER, str(error))
            self.verdict = Verdict(self.name, self.points, 0, 1, [finding], said="no answer that can be scored")
            return
        self.ticked = ticked
        note = (
            "these points are for an answer that can be read. Which options are right is judged in grading, and"
            " explained there."
        )
        self.verdict = Verdict(
            self.name, self.points, 1, 1, notes=[note], said=f"your answer {literal(ticked)} is recorded", share=1.0
        )

    def key(self, right: Explanations, wrong: Explanations) -> None:
        """Score the answer. Every option is explained, on the side it belongs to: `right` or `wrong`."""
        if not right or sorted([*right, *wrong]) != sorted(self.options):
            raise ValueError(
                f"{self.name}: explain each of the options {', '.join(self.options)} once, at least one of them as"
                " right"
            )
        self.right, self.wrong = right, wrong
        if self.ticked is not None:
            self.verdict = judged(self.name, self.points, self.ticked, right, wrong)

    def score(self) -> float:
        """Show the verdict, with the explanations if there is a key, and give the points earned as a plain float."""
        if self.verdict is None:
            raise RuntimeError(f"the test cell of {self.name} has read no answer: call `answer` first")
        try:
            return report.show(self.verdict)
        finally:  # in strict mode `report.show` raises for a lost point
            lines = explained(self.ticked, self.right, self.wrong)
            if lines := [line for line in lines if line.good or self.ticked is None]:  # the verdict tells the others
                emit(as_text(lines), as_html(lines))


# ---- after grading --------------------------------------------------------------------------------------------------


def judged(name: str, points: float, ticked: Set[str], right: Explanations, wrong: Explanations) -> Verdict:
    """The verdict on an answer, by the formula."""
    hits, slips = len(ticked & right.keys()), len(ticked & wrong.keys())
    said = f"{hits} of {len(right)} right options ticked"
    said += f", {slips} of {len(wrong)} wrong ones" if wrong else ", and there are no wrong ones"
    decided = hits + len(wrong) - slips
    slipped = [line for line in explained(ticked, right, wrong) if not line.good]
    return Verdict(
        name,
        points,
        decided,
        len(right) + len(wrong),
        [report.Finding(f"{line.letter} ({line.decision}): {line.explanation}", "") for line in slipped],
        said=said,
        share=share(ticked, right.keys(), wrong.keys()),
    )


@dataclass(frozen=True)
class Line:
    """One option after grading."""

    letter: str
    good: bool
    decision: str
    explanation: str


def explained(ticked: Set[str] | None, right: Explanations, wrong: Explanations) -> list[Line]:
    """What became of every option, and why, in the order of the letters.

    `ticked` is None where no answer could be read.
    """
    lines = []
    for letter, explanation in sorted({**right, **wrong}.items()):
        belongs = letter in right
        verb = "applies" if belongs else "does not apply"
        if ticked is None:
            lines.append(Line(letter, False, verb, explanation))
            continue
        good = (letter in ticked) == belongs
        lines.append(
            Line(
                letter,
                good,
                f"{'ticked' if letter in ticked else 'not ticked'}, {'and' if good else 'but'} it {verb}",
                explanation,
            )
        )
    return lines


def as_text(lines: list[Line]) -> str:
    return "\n".join(
        f"  {'✓' if line.good else '✗'} {line.letter} ({line.decision}): {line.explanation}" for line in lines
    )


def as_html(lines: list[Line]) -> str:
    rows = []
    for line in lines:
        colour = "#029e73" if line.good else "#d55e00"
        rows.append(
            f'<div style="margin:4px 0"><b style="color:{colour}">{"✓" if line.good else "✗"} {line.letter}</b> '
            f'<span style="opacity:0.7">{line.decision}.</span> {report.code_marks(line.explanation)}</div>'
        )
    return f'<div class="course-quiz" style="padding:0 16px;line-height:1.45">{"".join(rows)}</div>'


# ---- the panel ------------------------------------------------------------------------------------------------------


def has_kernel() -> bool:
    return getattr(get_ipython(), "kernel", None) is not None


def emit(text: str, rich: str) -> None:
    """HTML with a text twin where there is a kernel, else print."""
    if has_kernel():
        display({"text/plain": text, "text/html": rich}, raw=True)
    else:
        print(text)


def show(item: Item, right: Explanations | None = None, wrong: Explanations | None = None) -> None:
    """The question as checkboxes; as text where there are no widgets, no kernel, or (in grading) nobody to click.

    `right` and `wrong` add a button that judges at once. They ship the answers: leave them out of graded work.
    """
    options = [
        textwrap.fill(option, 100, initial_indent=f"  [ ] {letter}  ", subsequent_indent=" " * 9)
        for letter, option in item.options.items()
    ]
    text = "\n".join(
        [textwrap.fill(item.stem, 100), *options, textwrap.fill(f"In the cell below, {HOW_TO_ANSWER}.", 100)]
    )
    made = panel(item, right, wrong) if has_kernel() and not os.environ.get("NBGRADER_EXECUTION") else None
    if made is None:
        print(text)
    else:
        view = {"version_major": 2, "version_minor": 0, "model_id": made.model_id}
        display({WIDGET_VIEW: view, "text/plain": text}, raw=True)


def panel(item: Item, right: Explanations | None = None, wrong: Explanations | None = None) -> Any:
    """The widget, or None where ipywidgets is not installed. Tab moves from box to box, the space bar ticks."""
    try:
        import ipywidgets as widgets
    except ImportError:
        return None
    boxes = {
        letter: widgets.Checkbox(description=letter, indent=False, layout=widgets.Layout(width="4em", flex="0 0 auto"))
        for letter in item.options
    }
    line = widgets.Text(description="Copy this:", layout=widgets.Layout(width="26em"))
    verdict = widgets.HTML()

    def ticked() -> frozenset[str]:
        return frozenset(letter for letter, box in boxes.items() if box.value)

    def write(_: Any = None) -> None:
        line.value = f"return {literal(ticked())}" if ticked() else "tick the options that apply"
        verdict.value = ""

    def judge(_: Any) -> None:
        chosen = ticked()
        lines = [line for line in explained(chosen, right or {}, wrong or {}) if line.good]
        verdict.value = report.as_html(judged(item.name, 1, chosen, right or {}, wrong or {})) + as_html(lines)

    for box in boxes.values():
        box.observe(write, "value")
    write()
    rows = [
        widgets.HBox([box, prose(widgets, item.options[letter])], layout=widgets.Layout(align_items="center"))
        for letter, box in boxes.items()
    ]
    parts = [prose(widgets, item.stem), *rows, line]
    if right:
        button = widgets.Button(description="Check")
        button.on_click(judge)
        parts += [button, verdict]
    return widgets.VBox(parts)


def prose(widgets: Any, text: str) -> Any:
    """A paragraph that wraps."""
    return widgets.HTML(
        f'<div style="line-height:1.4;white-space:normal">{report.code_marks(text)}</div>',
        layout=widgets.Layout(flex="1 1 auto", width="auto"),
    )
