"""The last look at a built site: does every link lead somewhere, and does no page load anything from another host?"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import unquote, urlsplit

from autograder.authoring import html_pages
from autograder.authoring.html_pages import HtmlPage

URL_IN_CSS = re.compile(r"""(?:url\(\s*|@import\s+)["']?([^"')\s;]+)""")


def problems(folder: Path) -> list[str]:
    """One line for each link that leads nowhere and each thing that is loaded from elsewhere."""
    pages = {path: html_pages.read(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    found = []
    for path, page in pages.items():
        name = path.relative_to(folder).as_posix()
        found += [f"{name}: {problem}" for problem in loaded_by(page, path, folder)]
        found += [f"{name}: {problem}" for link in page.links if (problem := broken(link, path, folder, pages))]
    for path in sorted(folder.rglob("*.css")):
        for address in URL_IN_CSS.findall(path.read_text(encoding="utf-8")):
            if problem := not_here(address, path, folder):
                found.append(f"{path.relative_to(folder).as_posix()}: {problem}")
    return found


def loaded_by(page: HtmlPage, path: Path, folder: Path) -> Iterator[str]:
    styles = [address for line in page.lines for address in URL_IN_CSS.findall(line) if "url(" in line]
    for address in [*page.loads, *styles]:
        if problem := not_here(address, path, folder):
            yield problem


def not_here(address: str, path: Path, folder: Path) -> str:
    """Why what is loaded from this address is not a file of the site; "" if it is."""
    parts = urlsplit(address)
    if parts.scheme == "data" or not (parts.netloc or parts.scheme or parts.path):
        return ""
    if parts.scheme or parts.netloc:
        return f"loads {address} from another host"
    return "" if is_file(target(parts.path, path, folder)) else f"loads {address}, which is not there"


def broken(link: str, path: Path, folder: Path, pages: dict[Path, HtmlPage]) -> str:
    """Why a link leads nowhere; "" if it leads to a place of the site, or to another host."""
    parts = urlsplit(link)
    if parts.scheme or parts.netloc:
        return ""
    place = target(parts.path, path, folder) if parts.path else path
    if not is_file(place):
        return f"links to {link}, which is not there"
    page = pages.get(place)
    if page is not None and parts.fragment and unquote(parts.fragment) not in page.ids:
        return f"links to {link}, and that page has no such place"
    return ""


def target(address: str, path: Path, folder: Path) -> Path:
    home = folder if address.startswith("/") else path.parent
    return (home / unquote(address).lstrip("/")).resolve()


def is_file(path: Path) -> bool:
    return path.is_file() or (path / "index.html").is_file()
