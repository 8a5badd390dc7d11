"""What the course adds to nbgrader's own pipeline, used by `nbgrader_config.py`."""

from __future__ import annotations

import atexit
import html
import json
import re
import signal
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType
from typing import Any
from urllib.parse import unquote

from jinja2 import pass_context
from nbconvert.filters.highlight import Highlight2HTML
from nbconvert.filters.markdown_mistune import IPythonRenderer, MarkdownWithMath
from nbgrader.api import Gradebook, MissingEntry
from nbgrader.preprocessors import NbGraderPreprocessor

from autograder import course as courses
from autograder.examiner import notebook as notebooks
from autograder.examiner import page
from autograder.examiner.repair import PICTURES
from autograder.examiner.sandbox import Limits
from autograder.source import BEGIN_HIDDEN, END_HIDDEN

NO_PICTURE = "data:image/gif;base64,R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7"  # a single transparent point
ATTACHED = "attachment:"
IN_HTML = re.compile(rf"(<img\s[^>]{{0,1000}}?src=[\"']?)({ATTACHED}[^\"'>\s]+)")
TRIES = 3  # at a submission that the machine kept from being graded
NOT_GRADED = "NotGraded"  # the examiner's own words, which quote nothing


class Examine(NbGraderPreprocessor):
    """`nbgrader autograde` with the examiner in place of its Execute: student code and tests in two processes, sandboxed."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        about = resources["nbgrader"]
        this = courses.load()
        assignment = next((a for a in this.assignments if a.id == about["assignment"]), None)
        limits = Limits() if assignment is None else this.limits(assignment)
        cells = [
            {"kind": c.cell_type, "source": c.source, "metadata": json.loads(json.dumps(c.metadata)), "id": c.get("id", "")}
            for c in nb.cells
        ]
        name = f"{about['assignment']}/{about['notebook']}"
        data = notebooks.from_cells(instructor_cells(this, about, cells))
        folder = Path(resources["metadata"]["path"])
        for path in copies_of_links(this.root / "submitted" / about["student"] / about["assignment"], folder):
            self.log.warning("%s: %s was a link; it was left out", about["student"], path.name)
            path.unlink()
        files = [
            (str(path.relative_to(folder)), str(path)) for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix != ".ipynb"
        ]
        home = this.root / "solutions" / about["assignment"]
        given = [label for label, _ in files if (home / label).is_file()]
        message = {"op": "grade", "job": about["student"], "prepared": name, "cells": cells, "repairs": [], "files": files, "given": given}
        requests = (
            {"op": "prepare", "assignment": about["assignment"], "notebooks": {about["notebook"]: data}, "folder": str(home)},
            {**message, "limits": limits.as_dict(), "rlimits": limits.settings()},
        )
        for tries_left in reversed(range(TRIES)):
            answer = answer_to(requests, limits.output_kb << 10)
            if "error" not in answer:
                break
            if not tries_left or answer.get("late"):  # nbgrader writes nothing for this student
                raise RuntimeError(f"the examiner could not grade this: {answer['error']}")
        for cell, graded in zip(nb.cells, json.loads(answer["notebook"])["cells"], strict=True):
            if cell.cell_type == "code":
                cell.outputs = [notebook_node(output) for output in graded["outputs"]]
                cell.execution_count = graded["execution_count"]
        for line in [*answer["repairs"], *answer["tamper"], *answer["events"]]:
            self.log.warning("%s: %s", about["student"], line)
        return nb, resources


def copies_of_links(submitted: Path, folder: Path) -> list[Path]:
    """What nbgrader copied from where links in a submission led: the grader's own files, or another student's."""
    links = [path.relative_to(submitted) for path in submitted.rglob("*") if path.is_symlink()]
    return [folder / name for name in links if (folder / name).is_file()]


def notebook_node(output: Any) -> Any:
    import nbformat

    return nbformat.from_dict(output)


def instructor_cells(course: courses.Course, about: dict[str, Any], cells: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Cells to take imports and names from: the instructor's own notebook where it is at hand, else the locked cells of this one."""
    path = course.root / "solutions" / about["assignment"] / f"{about['notebook']}.ipynb"
    if not path.exists():
        return [cell for cell in cells if cell["metadata"].get("nbgrader", {}).get("locked")]
    found = []
    for entry in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        source = entry["source"] if isinstance(entry["source"], str) else "".join(entry["source"])
        found.append({"kind": entry["cell_type"], "source": source, "metadata": entry.get("metadata", {}), "id": entry.get("id", "")})
    return found


def answer_to(requests: Sequence[dict[str, Any]], output_bytes: int) -> dict[str, Any]:
    """What the shared worker says to these, one after the other: to the last, or to the first that fails."""
    from autograder.examiner import pool as pools

    answer: dict[str, Any] | None = None
    for request in requests:
        sock = shared_pool(output_bytes).sockets[0]
        answer = None
        with suppress(ConnectionError):
            pools.send(sock, request)
            answer = pools.receive(sock)
        if answer is None:
            _pools.pop().close()  # the next try has a new one
            return {"error": "its worker ended"}
        if "error" in answer:
            return answer
    return answer or {}


_pools: list[Any] = []


def shared_pool(output_bytes: int) -> Any:
    """One worker for this nbgrader process, started when the first submission needs it."""
    if not _pools:
        from autograder.examiner import pool as pools
        from autograder.submissions import PACKAGES

        _pools.append(pools.Pool(1, PACKAGES, [], output_bytes))
        atexit.register(close_pools)
    return _pools[0]


def close_pools() -> None:
    while _pools:
        _pools.pop().close()


class HideHiddenTests(NbGraderPreprocessor):
    """Takes hidden tests out of what a student sees: their source, and the tracebacks that quote it."""

    seen = False

    def preprocess_cell(self, cell: Any, resources: Any, cell_index: int) -> tuple[Any, Any]:
        self.seen = (self.seen if cell_index else False) or (cell.cell_type == "code" and BEGIN_HIDDEN in cell.source)
        graded = cell.metadata.get("nbgrader", {}).get("grade", False)
        if cell.cell_type == "code" and (
            BEGIN_HIDDEN in cell.source or (self.seen and graded)
        ):  # after a hidden test, errors could quote it
            cell.source = without_hidden(cell.source)
            for output in cell.outputs:
                if output.output_type == "error" and output.ename != NOT_GRADED:
                    output.traceback = [f"{output.ename} in a hidden test of this cell."]
                    output.evalue = ""
        return cell, resources


def without_hidden(source: str) -> str:
    """The cell's text with every hidden region replaced by one comment."""
    lines, hidden = [], False
    for line in source.split("\n"):
        if BEGIN_HIDDEN in line:
            hidden = True
            lines.append("# (hidden tests ran here)")
        elif END_HIDDEN in line:
            hidden = False
        elif not hidden:
            lines.append(line)
    return "\n".join(lines)


PAGE_SECONDS, TEXT_SECONDS = 20.0, 5.0  # of processor time, to make one page, and one text on it
PAGE_SIGNS, CUT_SIGNS = 1_000_000, 2_000  # of texts on one page; of each text beyond that


class Slow(BaseException):
    """This text was written to be slow."""


class Room:
    """What is left of one page's time and size."""

    def __init__(self) -> None:
        self.seconds, self.signs = PAGE_SECONDS, PAGE_SIGNS

    def made(self, source: str, make: Callable[[str], str]) -> str:
        """HTML of a text; where that takes too long, or the page has become too long, the text itself or its beginning."""
        self.signs -= len(source)
        started, in_time = time.process_time(), None
        if self.signs >= 0 and self.seconds > 0:
            with suppress(Slow), at_most(min(self.seconds, TEXT_SECONDS)):
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
        raise Slow

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


def room_on(context: Any) -> Room:
    resources = context.get("resources")
    found: Room = Room() if resources is None else resources.setdefault("room", Room())
    return found


class InColours(str):
    """HTML that the highlighter made: a student's code is only text in it."""


@pass_context
def code_in_colours(context: Any, source: str, metadata: Any = None, **options: Any) -> str:
    """nbconvert's colours, as far as there is room. A template filter of the HTML exporter."""
    return InColours(room_on(context).made(source, lambda text: str(Highlight2HTML(pygments_lexer="python")(text, metadata=metadata))))


@pass_context
def markdown_without_scripts(context: Any, source: str) -> str:
    """Markdown as HTML that runs nothing, as far as there is room. A template filter of the HTML exporter."""
    return room_on(context).made(source, lambda text: without_scripts(context, text))


class Renderer(IPythonRenderer):
    """nbconvert's, with pictures found by the name they were pasted under: editors write it in the code of addresses, or not."""

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


def without_scripts(context: Any, source: str) -> str:
    """nbconvert's way from Markdown to HTML, cleaned."""
    path = context.get("resources", {}).get("metadata", {}).get("path", "")
    renderer = Renderer(escape=False, allow_harmful_protocols=False, attachments=context.get("cell", {}).get("attachments", {}), path=path)
    made = str(MarkdownWithMath(renderer=renderer).render(source))
    made = IN_HTML.sub(lambda found: found[1] + renderer._embed_image_or_attachment(found[2]), made)
    return clean_page(made) if made.count("<") <= page.MOST_TAGS else f"<pre>{html.escape(source)}</pre>"


TAGS = page.TAGS | {"details", "summary", "kbd", "dl", "dt", "dd", "del", "ins", "mark", "cite", "q", "center", "tt", "var", "samp", "big"}
PLAIN = {"title", "alt", "width", "height", "colspan", "rowspan", "align", "border", "open", "start", "type"}
ATTRIBUTES = {"*": PLAIN | {"class"}, "img": {"src"}, "a": {"href"}}
# Classes of code in colours, of tables, and of our tests' reports; a page's own would move things about.
CLASSES = re.compile(r"highlight|hl-[\w-]+|anchor-link|dataframe|course-check|[a-z][a-z0-9]{0,2}")


def attribute_on_pages(tag: str, name: str, value: str) -> str | None:
    """No handler, no style, no data for the page's scripts."""
    return None if name == "class" and not all(CLASSES.fullmatch(word) for word in value.split()) else value


def clean_page(text: str) -> str:
    return page.cleaned(text, TAGS, ATTRIBUTES, attribute_on_pages)


def clean_html(element: Any) -> str:
    """In place of nbconvert's filter of this name: what may stand on a page. Code in colours is ours already."""
    if isinstance(element, InColours):
        return element
    text = element.decode("utf-8", "replace") if isinstance(element, bytes) else str(element)
    return clean_page(text) if text.count("<") <= page.MOST_TAGS else html.escape(text)


class GradingReport(NbGraderPreprocessor):
    """On top of a feedback page: what was repaired, what could not be graded and why, time and memory used."""

    def preprocess(self, nb: Any, resources: Any) -> tuple[Any, Any]:
        import nbformat

        path = Path(resources["metadata"]["path"]) / "grading.json"
        if path.exists():
            record = json.loads(path.read_text(encoding="utf-8"))
            text = report_text(record["notebooks"].get(resources["nbgrader"]["notebook"], {}), waiting(resources["nbgrader"]))
            if text:
                nb.cells.insert(0, nbformat.v4.new_markdown_cell(text))
        return nb, resources


def waiting(about: dict[str, Any]) -> list[str]:
    """Answers of this notebook that a person has still to look at."""
    with Gradebook(about["db_url"]) as book:
        try:
            notebook = book.find_submission_notebook(about["notebook"], about["assignment"], about["student"])
        except MissingEntry:
            return []
        return [grade.name for grade in notebook.grades if grade.needs_manual_grade]


def report_text(record: dict[str, Any], waiting: Sequence[str] = ()) -> str:
    """The report as Markdown. What a student's process said about itself is text, and shown as text."""
    if not record:
        return ""
    lines = ["### About the grading of this notebook", ""]
    if record.get("unreadable"):
        lines.append(f"- **It could not be graded:** {shown(record['unreadable'])}")
    lines += [f"- **{shown(name)}** was not graded: {shown(reason)}" for name, reason in record["lost"].items()]
    lines += [f"- **{shown(name)}** waits for a grader: the points shown for it are not final." for name in waiting]
    lines += [f"- Repaired: {shown(text)}" for text in record["repairs"]]
    lines += [f"- Stopped: {shown(text)}" for text in record["events"] if not text.startswith("unreadable")]
    limits = record["limits"]
    lines.append(
        f"- Your cells used {record['cpu_seconds']:.1f} s of processor time and at most {record['peak_mb']} MB of memory, libraries included "
        f"(allowed: {limits['cell_seconds']:g} s a cell, {limits['memory_mb']} MB beyond the libraries)."
    )
    own = {
        name: seconds for name, seconds in record["times"].items() if name not in record["grades"]
    }  # a test's time tells what it was given
    slow = sorted(own.items(), key=lambda entry: -entry[1])[:3]
    if slow:
        lines.append("- Slowest: " + ", ".join(f"{shown(name)} {seconds:.2f} s" for name, seconds in slow) + ".")
    return "\n".join(lines)


def shown(text: str) -> str:
    """Text that stays text in Markdown and HTML."""
    return html.escape(re.sub(r"([\\`*_\[\]#|])", r"\\\1", " ".join(str(text).split())))
