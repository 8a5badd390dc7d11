"""What an HTML page says, links to and loads: for the checks of what is published."""

from __future__ import annotations

from dataclasses import dataclass, field
from html.parser import HTMLParser

INLINE = frozenset({"a", "abbr", "b", "code", "em", "i", "kbd", "small", "span", "strong", "sub", "sup", "u", "var"})
# Attributes by which a page loads something, whoever reads it; a link only leads there.
LOADS = {
    "audio": "src",
    "embed": "src",
    "iframe": "src",
    "img": "src",
    "input": "src",
    "link": "href",
    "object": "data",
    "script": "src",
    "source": "src",
    "track": "src",
    "video": "src",
}


@dataclass
class HtmlPage(HTMLParser):
    """One page, read by `read`."""

    # Every text. Attributes, scripts, comments, and code within a sentence have lines of their own.
    lines: list[str] = field(default_factory=lambda: [""])
    links: list[str] = field(default_factory=list)
    loads: list[str] = field(default_factory=list)
    ids: set[str] = field(default_factory=set)
    code: list[str] | None = None  # inside a piece of code in a sentence: what it said so far

    def __post_init__(self) -> None:
        super().__init__(convert_charrefs=True)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value or "" for name, value in attrs}
        if tag not in INLINE:
            self.lines.append("")
        if tag == "code":
            self.code = []
        self.ids |= {values[name] for name in ("id", "name") if values.get(name)}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        if values.get(LOADS.get(tag, "")):
            self.loads.append(values[LOADS[tag]])
        if "srcset" in values:
            self.loads += [part.split()[0] for part in values["srcset"].split(",") if part.split()]
        said = [line for value in values.values() for line in value.split("\n")]
        self.lines[-1:-1] = said

    def handle_endtag(self, tag: str) -> None:
        if tag not in INLINE:
            self.lines.append("")
        if tag == "code" and self.code is not None:
            self.lines[-1:-1] = "".join(self.code).split("\n")
            self.code = None

    def handle_data(self, data: str) -> None:
        if self.code is not None:
            self.code.append(data)
        first, *rest = data.split("\n")
        self.lines[-1] += first
        self.lines += rest

    def handle_comment(self, data: str) -> None:
        self.lines[-1:-1] = data.split("\n")


def read(text: str) -> HtmlPage:
    page = HtmlPage()
    page.feed(text)
    page.close()
    return page
