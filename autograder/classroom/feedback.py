"""What came with the work, as a page may show it: text, tables and pictures, and nothing that runs.

A page is made within a budget of time and size: a text can be written to be slow.
"""

from __future__ import annotations

import html
import re
import signal
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any
from urllib.parse import unquote

from jinja2 import pass_context
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath

from autograder.examiner import sanitize
from autograder.examiner.repair import PICTURES

NO_PICTURE = (  # a single transparent point
    "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"
)
ATTACHED = "attachment:"
IN_HTML = re.compile(rf"(<img\s[^>]{{0,1000}}?src=[\"']?)({ATTACHED}[^\"'>\s]+)")

# ---- texts, within a budget ------------------------------------------------------------------------------------------

PAGE_SECONDS, TEXT_SECONDS = 20.0, 5.0  # of processor time, to make one page, and one text on it
PAGE_SIGNS, CUT_SIGNS = 1_000_000, 2_000  # of texts on one page; of each text beyond that


class TextTooSlow(BaseException):
    """Making HTML of a text takes longer than any ordinary text does."""


class PageBudget:
    """What is left of one page's time and size."""

    def __init__(self) -> None:
        self.seconds, self.signs = PAGE_SECONDS, PAGE_SIGNS

    def made(self, source: str, make: Callable[[str], str]) -> str:
        """HTML of a text; where that takes too long, or the page has become too long, the text itself or its
        beginning.
        """
        self.signs -= len(source)
        started, in_time = time.process_time(), None
        if self.signs >= 0 and self.seconds > 0:
            with suppress(TextTooSlow), at_most(min(self.seconds, TEXT_SECONDS)):
                in_time = make(source)
        self.seconds -= time.process_time() - started
        if in_time is not None:
            return in_time
        cut = "" if self.signs >= 0 or len(source) <= CUT_SIGNS else f"\n… {len(source) - CUT_SIGNS:,} characters more"
        return f"<pre>{html.escape(source[:CUT_SIGNS] + cut if cut else source)}</pre>"


@contextmanager
def at_most(seconds: float) -> Iterator[None]:
    """End what takes more processor time, regular expressions included. Only the main thread can be interrupted."""

    def late(signum: int, frame: FrameType | None) -> None:
        raise TextTooSlow

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def budget_of(context: Any) -> PageBudget:
    """One for each page."""
    resources = context.get("resources")
    budget: PageBudget = PageBudget() if resources is None else resources.setdefault("page_budget", PageBudget())
    return budget


class HighlightedCode(str):
    """HTML that the highlighter made: a student's code is only text in it."""


@pass_context
def code_in_colours(context: Any, source: str, metadata: Any = None, **options: Any) -> str:
    """nbconvert's colours, within the budget of the page. A template filter of the HTML exporter."""
    return HighlightedCode(
        budget_of(context).made(
            source, lambda text: str(Highlight2HTML(pygments_lexer="python")(text, metadata=metadata))
        )
    )


@pass_context
def markdown_without_scripts(context: Any, source: str) -> str:
    """Markdown as HTML that runs nothing, within the budget of the page. A template filter of the HTML exporter."""
    return budget_of(context).made(source, lambda text: without_scripts(context, text))


class Renderer(IPythonRenderer):
    """nbconvert's, with pictures found by the name they were pasted under: editors write it in the code of addresses,
    or not.
    """

    def _embed_image_or_attachment(self, src: str) -> str:
        if not src.startswith(ATTACHED):
            return src
        pictures = {unicodedata.normalize("NFC", name): bundle for name, bundle in self.attachments.items()}
        written = html.unescape(src.removeprefix(ATTACHED))
        for name in (written, unquote(written)):
            bundle = pictures.get(unicodedata.normalize("NFC", name), {})
            for kind in PICTURES:
                if bundle.get(kind):
                    return f"data:{kind};base64,{bundle[kind]}"
        return NO_PICTURE  # a text that was copied without its picture still has a page


def without_scripts(context: Any, source: str, make_renderer: Callable[..., Renderer] = Renderer) -> str:
    """nbconvert's way from Markdown to HTML, cleaned."""
    path = context.get("resources", {}).get("metadata", {}).get("path", "")
    renderer = make_renderer(
        escape=False,
        allow_harmful_protocols=False,
        attachments=context.get("cell", {}).get("attachments", {}),
        path=path,
    )
    made = str(MarkdownWithMath(renderer=renderer).render(source))
    made = IN_HTML.sub(lambda found: found[1] + renderer._embed_image_or_attachment(found[2]), made)
    return clean_page(made) if made.count("<") <= sanitize.MOST_TAGS else f"<pre>{html.escape(source)}</pre>"


TAGS = sanitize.TAGS | {
    "details",
    "summary",
    "kbd",
    "dl",
    "dt",
    "dd",
    "del",
    "ins",
    "mark",
    "cite",
    "q",
    "center",
    "tt",
    "var",
    "samp",
    "big",
}
PLAIN = {"title", "alt", "width", "height", "colspan", "rowspan", "align", "border", "open", "start", "type"}
ATTRIBUTES = {"*": PLAIN | {"class"}, "img": {"src"}, "a": {"href"}}
# Classes of code in colours, of tables, and of our tests' reports; a page's own would move things about.
CLASSES = re.compile(r"highlight|hl-[\w-]+|anchor-link|dataframe|course-check|[a-z][a-z0-9]{0,2}")


def attribute_on_pages(tag: str, name: str, value: str) -> str | None:
    """No handler, no style, no data for the page's scripts."""
    return None if name == "class" and not all(CLASSES.fullmatch(word) for word in value.split()) else value


def clean_page(text: str) -> str:
    return sanitize.cleaned(text, TAGS, ATTRIBUTES, attribute_on_pages)


def clean_html(element: Any) -> str:
    """In place of nbconvert's filter of this name: what may stand on a page. Code in colours is ours already."""
    if isinstance(element, HighlightedCode):
        return element
    text = element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)
    return clean_page(text) if text.count("<") <= sanitize.MOST_TAGS else html.escape(text)
