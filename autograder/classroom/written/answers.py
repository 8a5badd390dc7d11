"""An answer as a grader sees it: cleaned of all that runs, with its pictures and formulas, and without its author.

Formulas become MathML, which browsers show by themselves: nothing is loaded from elsewhere.
"""

from __future__ import annotations

import hashlib
import html
import json
import re
from functools import partial
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import latex2mathml.converter
from nbgrader.api import Grade

from autograder.classroom.feedback import PageBudget, Renderer, without_scripts
from autograder.model.course import Course
from autograder.model.notebook import Cell, Notebook

PICTURE_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
BESIDE = re.compile(r'(<img\s[^>]*?\bsrc=")(?!data:)([^"]+)"')
LONGEST_FORMULA = 2000
MARK, END = "\ue000", "\ue001"  # around a formula's number while the text is cleaned; private signs of Unicode
NUMBERED = re.compile(f"{MARK}(?P<number>[0-9]{{1,6}}){END}")
IN_PLACE = re.compile(rf'(?P<tag><[^">]*(?:"[^"]*"[^">]*)*>)|{NUMBERED.pattern}')
MATHML = "{http://www.w3.org/1998/Math/MathML}"
MATHML_ATTRIBUTES = {
    "display",
    "stretchy",
    "fence",
    "form",
    "lspace",
    "rspace",
    "columnalign",
    "accent",
    "linethickness",
}
MATHML_ATTRIBUTES |= {"mathvariant", "minsize", "maxsize", "movablelimits", "separator", "width"}


def answer_folder(course: Course, grade: Grade) -> Path:
    return course.root / "autograded" / grade.student.id / grade.assignment.name


def answer_cell(course: Course, grade: Grade) -> Cell | None:
    """The graded notebook's cell, or None where the notebook cannot be found or read."""
    path = answer_folder(course, grade) / f"{grade.notebook.name}.ipynb"
    try:
        return Notebook.from_json(path.read_bytes()).named().get(grade.name)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def digest(cell: Cell | None) -> str:
    """Tells one answer from another."""
    content = json.dumps(None if cell is None else [cell.source, cell.attachments], sort_keys=True)
    return hashlib.sha256(content.encode()).hexdigest()


def answer_html(cell: Cell, pictures: str) -> str:
    """An answer on the page; `pictures` is the address of files that were handed in beside the notebook."""
    if cell.kind != "markdown":
        return f"<pre>{html.escape(cell.source)}</pre>"
    made = markdown_html(cell.source, cell.attachments)
    return BESIDE.sub(lambda found: f'{found[1]}{html.escape(pictures)}/{found[2]}"', made)


def markdown_html(source: str, attachments: dict[str, Any] | None = None) -> str:
    return PageBudget().made(source, partial(rendered, attachments=attachments or {}))


def rendered(source: str, attachments: dict[str, Any]) -> str:
    formulas: list[str] = []
    context = {"cell": {"attachments": attachments}, "resources": {}}
    text = source.replace(MARK, "").replace(END, "")
    made = without_scripts(context, text, partial(FormulaRenderer, formulas))
    return IN_PLACE.sub(lambda found: in_place(found, formulas), made)


def in_place(found: re.Match[str], formulas: list[str]) -> str:
    """A formula's mark becomes the formula; inside a tag (a picture's description, say) it goes."""
    if found["tag"]:
        return NUMBERED.sub("", found["tag"])
    number = int(found["number"])
    return formulas[number] if number < len(formulas) else ""


class FormulaRenderer(Renderer):
    """Keeps formulas apart until the text is cleaned, which knows no MathML."""

    def __init__(self, formulas: list[str], **options: Any) -> None:
        super().__init__(**options)
        self.formulas = formulas

    def kept(self, latex: str, display: str) -> str:
        self.formulas.append(mathml(latex, display))
        return f"{MARK}{len(self.formulas) - 1}{END}"

    def block_math(self, body: str) -> str:
        return self.kept(body, "block")

    def latex_environment(self, name: str, body: str) -> str:
        return self.kept(f"\\begin{{{name}}}{body}\\end{{{name}}}", "block")

    def inline_math(self, body: str) -> str:
        return self.kept(body, "inline")


def mathml(latex: str, display: str) -> str:
    """A formula for the browser; as the student typed it where it cannot be made."""
    as_typed = f"<code>{html.escape(latex)}</code>"
    if len(latex) > LONGEST_FORMULA:
        return as_typed
    try:
        tree = ElementTree.fromstring(latex2mathml.converter.convert(latex, display=display))
    except Exception:  # noqa: BLE001  the converter raises many kinds for text that is no formula
        return as_typed
    for element in tree.iter():
        element.tag = element.tag.removeprefix(MATHML)
        if not re.fullmatch(r"m[a-z]+", element.tag):
            return as_typed
        for name in set(element.attrib) - MATHML_ATTRIBUTES:
            del element.attrib[name]
    return ElementTree.tostring(tree, encoding="unicode")
