"""Markdown with formulas, as HTML that runs nothing and loads nothing: formulas become MathML, which browsers show by
themselves.
"""

from __future__ import annotations

import html
import re
from functools import partial
from typing import Any
from xml.etree import ElementTree

import latex2mathml.converter

from autograder.classroom.feedback import PageBudget, Renderer, without_scripts

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


def markdown_html(source: str, attachments: dict[str, Any] | None = None, budget: PageBudget | None = None) -> str:
    """`budget`: of the page that the text stands on, where there are several."""
    return (budget or PageBudget()).made(source, partial(rendered, attachments=attachments or {}))


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
