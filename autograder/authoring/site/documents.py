"""The pages of docs/ on the site: the same texts, whose links lead to pages of the site where there are some."""

from __future__ import annotations

import re
import shutil
from collections.abc import Mapping
from pathlib import Path

from autograder.authoring.release_texts import DOCUMENTS
from autograder.authoring.site.landing import MAP
from autograder.model.course import Course

LINK = re.compile(r"(?<=\]\()(?P<path>[^)#:\s]+)(?P<place>#[^)\s]*)?(?=\))")
LANDING = "index.md"
NOTEBOOKS = "../notebooks/"
# For instructors, in the order in which they need them; other pages follow.
READING_ORDER = ("first-class", "instructors", "policies", "many-students", "deploy", "security", "architecture")


def copy(course: Course, folder: Path, pages: Mapping[str, str]) -> list[str]:
    """The documents and their pictures, into this folder; gives their names, in the order of the side bar."""
    here = course.root / "docs"
    names = sorted((path.stem for path in here.glob("*.md") if path.name != LANDING), key=order)
    folder.mkdir(parents=True, exist_ok=True)
    for name in names:
        text = (here / f"{name}.md").read_text(encoding="utf-8")
        for_students = f"docs/{name}.md" in DOCUMENTS and course.student_repository
        home = course.student_repository if for_students else course.repository
        (folder / f"{name}.md").write_text(with_links(course, text, pages, "", "../", home), encoding="utf-8")
    if (here / "images").is_dir():
        shutil.copytree(here / "images", folder / "images")
    return names


def order(name: str) -> tuple[int, str]:
    return (READING_ORDER.index(name) if name in READING_ORDER else len(READING_ORDER)), name


def landing(course: Course, pages: Mapping[str, str]) -> str:
    """The text of the first page, which lies above the other documents on the site."""
    path = course.root / "docs" / LANDING
    if not path.exists():
        return plain_landing(course)
    return with_links(course, path.read_text(encoding="utf-8"), pages, "docs/", "", course.repository)


def plain_landing(course: Course) -> str:
    """For a course without a first page, or a site of some assignments, where that page would promise others."""
    guide = "[How to start](docs/students.md), on your computer or in Colab.\n\n"
    known = (course.root / "docs" / "students.md").exists()
    return f"# {course.title}\n\n{guide if known else ''}{MAP}\n"


def with_links(course: Course, text: str, pages: Mapping[str, str], documents: str, top: str, repository: str) -> str:
    """A document's text with links for the site. `pages` are those of notebooks, by the notebooks' places; `documents`
    and `top` lead to the other documents and to the site's folder; other files are in `repository`, which those who
    read the document may see.
    """
    here = course.root / "docs"

    def lead(mark: re.Match[str]) -> str:
        path, place = mark["path"], mark["place"] or ""
        page = pages.get(path.removeprefix(NOTEBOOKS)) if path.startswith(NOTEBOOKS) else None
        if page is not None:
            return f"{top}{page}{place}"
        if ((here / path).parent == here and path.endswith(".md")) or path.startswith("images/"):
            return f"{documents}{path}{place}"
        file = (here / path).resolve().relative_to(course.root.resolve())
        return f"{repository.removesuffix('.git')}/blob/{course.tag}/{file.as_posix()}{place}"

    return LINK.sub(lead, text)
