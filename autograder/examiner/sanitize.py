"""HTML that may appear on a page which a grader or a student looks at: text, tables and pictures, and nothing that
runs.
"""

from __future__ import annotations

import html
import re
from collections.abc import Callable

MOST_TAGS = 5000  # in one output: cleaning takes time with the square of their depth
TAGS = {
    "a",
    "abbr",
    "b",
    "blockquote",
    "br",
    "caption",
    "code",
    "col",
    "colgroup",
    "div",
    "em",
    "figure",
    "figcaption",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "hr",
    "i",
    "img",
    "li",
    "ol",
    "p",
    "pre",
    "s",
    "small",
    "span",
    "strong",
    "sub",
    "sup",
    "table",
    "tbody",
    "td",
    "tfoot",
    "th",
    "thead",
    "tr",
    "u",
    "ul",
}
# What stands in these is no text for a reader: it goes with its tags.
SILENT = {
    "script",
    "style",
    "template",
    "noscript",
    "noembed",
    "noframes",
    "iframe",
    "object",
    "svg",
    "math",
    "title",
    "xmp",
}
COMMON = {"title", "colspan", "rowspan", "align", "border"}
ATTRIBUTES = {"*": COMMON | {"class"}, "img": {"src", "alt", "width", "height"}, "a": {"href"}}
SCHEMES = {"http", "https", "mailto", "data"}
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif);base64,[\w+/=\s-]+", re.ASCII)
BESIDE_THE_PAGE = re.compile(r"[\w-][\w.%() -]*(?:/[\w-][\w.%() -]*)*")  # no scheme, no other machine, no folder above
SOMEWHERE = re.compile(r"(?:https?://|mailto:|#)\S*", re.IGNORECASE)

Filter = Callable[[str, str, str], str | None]


def cleaned(text: str, tags: set[str], attributes: dict[str, set[str]], attribute: Filter) -> str:
    """HTML with these tags and attributes and nothing else.

    A picture carries its bytes or lies beside the page: none is fetched.
    """
    import nh3

    def allowed(tag: str, name: str, value: str) -> str | None:
        if name == "src":
            return value if PICTURE.fullmatch(value) or BESIDE_THE_PAGE.fullmatch(value) else None
        if name == "href":
            return value if SOMEWHERE.fullmatch(value) or BESIDE_THE_PAGE.fullmatch(value) else None
        return attribute(tag, name, value)

    made: str = nh3.clean(
        text, tags=tags, clean_content_tags=SILENT, attributes=attributes, attribute_filter=allowed, url_schemes=SCHEMES
    )
    return made


def plain_attribute(tag: str, name: str, value: str) -> str | None:
    """No class but that of tables: a page's own would imitate a grader's words."""
    return None if name == "class" and value != "dataframe" else value


def harmless(kind: str, text: str) -> str:
    """An output of this MIME type as a browser may show it."""
    if kind not in ("text/html", "text/markdown"):
        return text
    if text.count("<") > MOST_TAGS:
        return html.escape(text)
    return cleaned(text, TAGS, ATTRIBUTES, plain_attribute)
