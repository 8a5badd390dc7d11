"""Cells and what they showed, as HTML for a page that runs nothing and fetches nothing."""

from __future__ import annotations

import base64
import html
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from nbconvert.filters.ansi import strip_ansi
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.classroom.feedback import NO_PICTURE, PageBudget, clean_page
from autograder.classroom.formulas import markdown_html, mathml
from autograder.examiner import sanitize
from autograder.model.notebook import Cell
from autograder.model.outcome import MIME

COLOURS: HtmlFormatter[str] = HtmlFormatter(style="friendly_grayscale", cssclass="code")
PICTURE_TYPES = {".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif"}
BESIDE = re.compile(r'(<img\s[^>]*?\bsrc=")(?!data:)([^"]+)"')
PICTURE_BYTES, PAGE_PICTURE_BYTES = 3_000_000, 12_000_000
BASE64 = re.compile(r"[A-Za-z0-9+/=\s]+")
# The box of a test says how it looks in its own attributes: these may, and none that moves it over something else.
BOX_STYLES = {
    *("background", "background-color", "border", "border-left", "border-radius", "color", "display", "flex-wrap"),
    *("font-family", "font-size", "font-weight", "gap", "justify-content", "line-height", "margin", "margin-left"),
    *("margin-right", "margin-top", "max-width", "opacity", "overflow-wrap", "padding", "padding-left", "white-space"),
}


class CellsAsHtml:
    """Makes the cells of one page, within its budget. `folder` has the pictures that were handed in."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.budget = PageBudget()
        self.picture_bytes = PAGE_PICTURE_BYTES

    # ---- sources -----------------------------------------------------------------------------------------------------

    def source(self, cell: Cell) -> str:
        return self.code(cell.source) if cell.kind == "code" else self.text(cell.source, cell.attachments)

    def text(self, source: str, attachments: dict[str, Any] | None = None) -> str:
        return self.with_pictures(markdown_html(source, attachments, self.budget))

    def line(self, source: str) -> str:
        """A text of one paragraph, to stand in a line."""
        made = self.text(source).strip()
        inner = made.removeprefix("<p>").removesuffix("</p>")
        return inner if made.startswith("<p>") and "<p>" not in inner else html.escape(source)

    def code(self, source: str) -> str:
        return self.budget.made(source, lambda text: str(highlight(text, PythonLexer(stripnl=False), COLOURS)))

    # ---- outputs -----------------------------------------------------------------------------------------------------

    def output(self, output: Mapping[str, Any], of_test: bool = False) -> str:
        kind = output.get("output_type")
        if kind == "stream":
            label = " title='standard error'" if output.get("name") == "stderr" else ""
            return f"<pre class='printed'{label}>{self.plain(joined(output.get('text', '')))}</pre>"
        if kind == "error":
            return self.error(output)
        data = output.get("data")
        return self.shown(data, of_test) if isinstance(data, Mapping) else ""

    def error(self, output: Mapping[str, Any]) -> str:
        name, said = str(output.get("ename", "")), str(output.get("evalue", ""))
        lines = self.plain("\n".join(map(str, output.get("traceback", ()))))
        first = self.plain(f"{name}: {said}" if said else name)
        made = f"<pre class='error'>{first}</pre>"
        where = f"<details><summary>where it happened</summary><pre class='error'>{lines}</pre></details>"
        return made + where if lines and lines != first else made

    def shown(self, data: Mapping[str, Any], of_test: bool) -> str:
        if MIME in data and of_test:
            return box(joined(data.get("text/html", "")), self.plain(joined(data.get("text/plain", ""))))
        for kind in ("image/png", "image/jpeg"):
            if kind in data and BASE64.fullmatch(joined(data[kind])):
                content = "".join(joined(data[kind]).split())
                said = html.escape(joined(data.get("text/plain", "figure")))
                return f"<img src='data:{kind};base64,{content}' alt='{said}'>"
        if "text/html" in data:
            made = self.budget.made(joined(data["text/html"]), cleaned)
            return f"<div class='shown'>{self.with_pictures(made)}</div>"
        if "text/markdown" in data:
            return f"<div class='shown'>{self.text(joined(data['text/markdown']))}</div>"
        if "text/latex" in data:
            return f"<div class='shown'>{mathml(joined(data['text/latex']).strip().strip('$'), 'block')}</div>"
        return f"<pre>{self.plain(joined(data['text/plain']))}</pre>" if "text/plain" in data else ""

    def plain(self, text: str) -> str:
        self.budget.signs -= len(text)
        cut = text if self.budget.signs >= 0 else text[:2000]
        return html.escape(strip_ansi(cut))

    # ---- pictures that lie beside the notebook -----------------------------------------------------------------------

    def with_pictures(self, made: str) -> str:
        """With the bytes of pictures that were handed in beside the notebook: the page travels alone."""
        return BESIDE.sub(lambda found: f'{found[1]}{self.embedded(html.unescape(found[2]))}"', made)

    def embedded(self, name: str) -> str:
        for candidate in (name, unquote(name)):
            path = self.folder / candidate
            kind = PICTURE_TYPES.get(path.suffix.lower())
            if kind is None or not path.resolve().is_relative_to(self.folder.resolve()) or not path.is_file():
                continue
            size = path.stat().st_size
            if path.is_symlink() or size > min(PICTURE_BYTES, self.picture_bytes):
                continue
            self.picture_bytes -= size
            return f"data:{kind};base64,{base64.b64encode(path.read_bytes()).decode()}"
        return NO_PICTURE


def joined(text: Any) -> str:
    """A text as a notebook's file has it: one, or its lines."""
    return text if isinstance(text, str) else "".join(map(str, text)) if isinstance(text, list | tuple) else str(text)


def cleaned(text: str) -> str:
    return clean_page(text) if text.count("<") <= sanitize.MOST_TAGS else f"<pre>{html.escape(text)}</pre>"


def box(text: str, plain: str) -> str:
    """The box of the notebook, in its colours. Under plain nbgrader students could write one: it is cleaned, too."""
    import nh3

    if not text or text.count("<") > sanitize.MOST_TAGS:
        return f"<pre class='course-check'>{plain}</pre>"
    made: str = nh3.clean(
        text,
        tags={"div", "span", "b", "code", "pre", "ul", "li", "p", "br", "details", "summary"},
        attributes={"*": {"style"}},
        clean_content_tags=sanitize.SILENT,
        filter_style_properties=BOX_STYLES,
    )
    return f"<div class='course-check'>{made}</div>"
