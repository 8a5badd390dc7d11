"""`course site`: pages of text from notebooks and docs/, Sphinx makes them HTML, and two checks look at all of it.

Complete or not at all: the folder is put in place when no answer is in it and every link leads somewhere.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import metadata
from pathlib import Path

from autograder.authoring import build, release_leaks
from autograder.authoring.release_texts import DOCUMENTS
from autograder.authoring.site import documents, links, notebook_page, pictures
from autograder.authoring.site.landing import Entry, with_pictures
from autograder.model.course import Assignment, Course, CourseError, remove_stale_folders, replace_folder

THEME = Path(__file__).parent / "theme"
MATHJAX = "sphinx-mathjax-offline"  # the package that has MathJax in it
MATHJAX_FILES = ("tex-chtml.js", "output/chtml/fonts/woff-v2")
PACKAGES = ("sphinx", "furo", "myst-parser", MATHJAX)
FIRST_PAGE = "---\nhide-toc: true\n---\n"
MADE_HERE = "searchindex.js"  # in every site: a folder without it is somebody else's


def site(
    course: Course, chosen: list[Assignment], target: Path, scale: str, told: Callable[[str], None] = lambda _: None
) -> Path:
    """Make the site of these assignments, in the course's order, and put it in place."""
    refuse_what_is_missing()
    chosen = [one for one in course.assignments if one in chosen]
    target = target.resolve()
    if target.exists() and any(target.iterdir()) and not (target / MADE_HERE).exists():
        raise CourseError(f"{target} is not a site that `course site` made: give an empty folder with --to")
    target.parent.mkdir(parents=True, exist_ok=True)
    remove_stale_folders(target.parent, ".site-")
    with tempfile.TemporaryDirectory(dir=target.parent, prefix=f".site-{os.getpid()}-") as folder:
        text, built = Path(folder) / "text", Path(folder) / "built"
        files = write_text(course, chosen, text, scale, told)
        told("making pages")
        run_sphinx(course, text, built)
        for name, content in files.items():
            (built / name).parent.mkdir(parents=True, exist_ok=True)
            (built / name).write_bytes(content)
        told("looking for answers and broken links")
        release_leaks.check(course, built, "published")
        if found := links.problems(built):
            raise CourseError("\n".join([*found, "nothing was published"]))
        replace_folder(built, target)
    return target


def refuse_what_is_missing() -> None:
    for name in PACKAGES:
        try:
            metadata.version(name)
        except metadata.PackageNotFoundError:
            advice = "pip install 'sequence-models-workbook[site]', or `make setup`"
            raise CourseError(f"{name} is missing: {advice}") from None


def write_text(
    course: Course, chosen: list[Assignment], folder: Path, scale: str, told: Callable[[str], None]
) -> dict[str, bytes]:
    """Everything that Sphinx reads, into this folder. Gives the files that go into the site as they are, by name."""
    files: dict[str, bytes] = {".nojekyll": b""}
    entries = []
    for assignment in chosen:
        told(f"{assignment.id}: running the given cells")
        drawn = pictures.of(course, assignment, scale)
        for name, notebook in build.student_texts(course, assignment).items():
            page = notebook_page.page(course, assignment, name, notebook, drawn, [one.id for one in chosen])
            entries.append(Entry(assignment, page, f"assignments/{Path(name).stem}"))
            write(folder / f"{entries[-1].address}.md", page.markdown())
            files[f"notebooks/{assignment.id}/{name}"] = notebook.encode()
            files |= {f"pictures/{one.name}": one.picture.content for one in page.pictures if one.name}
        for name, path in assignment.data_files().items():
            files[f"notebooks/{assignment.id}/{name}"] = path.read_bytes()
    pages = {f"{entry.assignment.id}/{Path(entry.address).name}.ipynb": f"{entry.address}.md" for entry in entries}
    names = documents.copy(course, folder / "docs", pages)
    whole = len(chosen) == len(course.assignments)
    text = documents.landing(course, pages) if whole else documents.plain_landing(course)
    write(folder / "index.md", f"{FIRST_PAGE}{with_pictures(text, entries)}\n{contents(entries, names)}")
    shutil.copytree(THEME / "static", folder / "_static")
    shutil.copyfile(THEME / "conf.py", folder / "conf.py")
    copy_mathjax(folder / "_static" / "mathjax")
    return files


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def contents(entries: list[Entry], names: list[str]) -> str:
    """What the side bar lists: the students' pages, the assignments by parts, the instructors' pages."""
    for_students = [Path(name).stem for name in DOCUMENTS]
    lists = {"Start": [f"docs/{name}" for name in for_students if name in names]}
    for entry in entries:
        lists.setdefault(f"Part {entry.assignment.part}", []).append(entry.address)
    lists["For instructors"] = [f"docs/{name}" for name in names if name not in for_students]
    return "\n".join(
        "\n".join(["```{toctree}", ":hidden:", f":caption: {caption}", "", *listed, "```", ""])
        for caption, listed in lists.items()
        if listed
    )


def copy_mathjax(target: Path) -> None:
    """MathJax with its fonts, out of the package that has it; of that package's files, two are needed."""
    home = Path(str(metadata.distribution(MATHJAX).locate_file(f"{MATHJAX}/static/mathjax")))
    for name in MATHJAX_FILES:
        path = home / name
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if path.is_dir() else shutil.copyfile)(path, target / name)


def run_sphinx(course: Course, text: Path, built: Path) -> None:
    """A warning of Sphinx's (a link to no page, a formula that does not end) is an error."""
    command = [sys.executable, "-P", "-m", "sphinx", "-b", "html", "-q", "-W", "--keep-going", "-d", f"{text}.doctrees"]
    settings = [f"project={course.title}", f"html_title={course.title}"]
    options = [part for setting in settings for part in ("-D", setting)]
    done = subprocess.run([*command, *options, str(text), str(built)], capture_output=True, text=True, check=False)
    if done.returncode:
        said = (done.stderr or done.stdout).replace(f"{text}{os.sep}", "")
        raise CourseError(f"{said.strip()}\nnothing was published")
    (built / ".buildinfo").unlink(missing_ok=True)
