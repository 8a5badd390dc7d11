"""The feedback page: what a student reads to fix the mistakes, in one file that needs nothing else."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlparse

import nbformat
import pytest
from conftest import ROOT

from autograder.classroom.nbgrader_plugins import HideHiddenTests
from autograder.classroom.pages.feedback_page import POLICY, Standing, page
from autograder.classroom.pages.outputs import CellsAsHtml
from autograder.classroom.pages.returned import Grade, Gradebook, returned
from autograder.classroom.totals import Mark
from autograder.examiner import tester
from autograder.examiner.limits import Limits
from autograder.model import regrade
from autograder.model.course import Course, CourseError, load
from autograder.model.outcome import MIME
from autograder.model.policy import Lateness
from autograder.model.published import PublishedNotebook
from autograder.model.record import Event, EventKind, Reason, ReasonKind, Record
from helpers.checks import credit, report

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="


def cell(source: str, kind: str = "code", outputs: Any = (), course: Any = None, **known: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = {"nbgrader": {"schema_version": 3, **known}} if known else {}
    metadata |= {"course": course} if course else {}
    return {"cell_type": kind, "source": source, "metadata": metadata, "outputs": list(outputs)}


def answer(name: str, source: str, **more: Any) -> dict[str, Any]:
    return cell(source, grade_id=name, solution=True, grade=False, locked=False, **more)


def graded_by_test(name: str, points: float, *outputs: Any) -> dict[str, Any]:
    return cell(
        "check.score()",
        outputs=outputs,
        grade_id=f"{name}-test",
        solution=False,
        grade=True,
        locked=True,
        points=points,
    )


def written(name: str, source: str, points: float) -> dict[str, Any]:
    return cell(source, "markdown", grade_id=name, solution=True, grade=True, locked=False, points=points)


def outcome(name: str, points: float, findings: Any = (), failed: Any = (), unwritten: Any = None) -> list[Any]:
    made = report.Outcome(name, points, 0, 0, list(findings), unwritten=dict(unwritten or {}))
    for requirement, gravity in (("weights", "idea"), ("mask", "part"), ("large scores", "edge")):
        one = credit.Requirement(requirement, gravity)
        one.add(requirement not in failed and not unwritten, form=False)
        made.requirements.append(one)
        made.passed, made.reached = made.passed + one.passed, made.reached + 1
    data = {"text/plain": report.text(made), "text/html": report.as_html(made), MIME: report.as_data(made)}
    return [
        {"output_type": "display_data", "data": data, "metadata": {}},
        {"output_type": "execute_result", "data": {"text/plain": "0.123456"}, "metadata": {}},
    ]


def heading(text: str) -> dict[str, Any]:
    return cell(text, "markdown")


def figure(said: str = "figure") -> dict[str, Any]:
    return {"output_type": "display_data", "data": {"image/png": PIXEL, "text/plain": said}, "metadata": {}}


SCALE = report.Finding("scale by the root of `d`, not by $d$", "expected 0.5, got 0.25", False, "weights")
RAISED = report.Finding("the mask is not applied", "your code raised ValueError: shapes (3,) and (4,)", False, "mask")
CELLS = [
    heading("# The title\n\nSome words."),
    heading("## 1 Weights\n### 1.1 Weights of $\\sqrt{d}$ <small>★☆☆ · 5 min · 3 points</small>\nWrite it."),
    answer("weights", "def weights(q, k):\n    return q @ k"),
    graded_by_test("weights", 3, *outcome("weights", 3, [SCALE], ["weights"])),
    cell("plots.heatmap(w)", outputs=[figure("drawn")]),
    heading("### 1.2 The mask"),
    answer("mask", "def mask(w):\n    return w", outputs=[{"output_type": "stream", "name": "stdout", "text": "mine"}]),
    graded_by_test("mask", 4, *outcome("mask", 4, [RAISED], ["mask"])),
    heading("### 1.3 More <small>1 point</small>"),
    answer("bonus-more", "def more():\n    return 1"),
    graded_by_test("bonus-more", 1, *outcome("bonus-more", 1)),
    heading("### 1.4 Why?"),
    written("why", "Because $x^2$ grows.", 2),
    heading("### 1.5 And then?"),
    written("then", "I think so.", 2),
    heading("### 1.6 Last"),
    answer("last", "def last():\n    raise NotImplementedError()"),
    graded_by_test("last", 2, *outcome("last", 2, unwritten={"last": "`last` is not written yet"})),
]
GRADES = {
    "weights-test": Grade(0.4, 3),
    "mask-test": Grade(2, 4),
    "bonus-more-test": Grade(1, 1),
    "why": Grade(1.5, 2, by_person=True),
    "then": Grade(0, 2, waiting=True),
    "last-test": Grade(0, 2),
}
BOOK = Gradebook(GRADES, {"why": "- 1 of 1: grows\n\nSay *why* $x > 1$."}, frozenset({"last"}))
MARK = Mark("03-attention", "ada", "Ada", "Byron", "", 4.41, 13, 1, True, 0.49, Lateness(90000, 2, 1, 0.1))
STANDING = Standing(MARK, {"ada": MARK.late}, 4.9, BOOK, (), 1.0)


def made(
    cells: Any = CELLS,
    standing: Standing = STANDING,
    record: PublishedNotebook | None = None,
    folder: Path = Path(),
    course: Course | None = None,
) -> str:
    this = course or load(ROOT)
    (assignment,) = this.select(["03-attention"])
    work = returned(cells, standing.book, record.ungraded if record is not None else {})
    return page(this, assignment, "ada", assignment.id, standing, record, work, CellsAsHtml(folder))


@pytest.fixture(scope="module")
def ada() -> str:
    return made()


def rows(text: str) -> dict[str, Mapping[str, str]]:
    """The table of the summary."""
    found = re.findall(r'<tr class="\w+" ((?:data-[\w-]+="[^"]*" ?)+)>', text)
    entries = [dict(re.findall(r'data-([\w-]+)="([^"]*)"', one)) for one in found]
    return {one["exercise"]: one for one in entries}


def section(text: str, name: str) -> str:
    found = re.search(rf'<section class="exercise \w+" id="{name}">(.*?)</section>', text, re.S)
    assert found is not None
    return found[1]


def test_the_summary_has_every_exercise_with_its_state_and_points(ada: str) -> None:
    found = {name: (row["state"], row["score"], row["points"]) for name, row in rows(ada).items()}
    assert found == {
        "weights": ("lost", "0.4", "3"),
        "mask": ("lost", "2", "4"),
        "bonus-more": ("full", "1", "1"),
        "why": ("lost", "1.5", "2"),
        "then": ("waiting", "0", "2"),
        "last": ("blank", "0", "2"),
    }
    assert ada.index('id="summary"') < ada.index('<section class="exercise')
    assert "<b>✗</b> mask</span>" in ada
    assert "<b>✓</b> large scores</span>" in ada


def test_the_total_is_the_exported_mark(ada: str) -> None:
    assert 'data-score="4.41" data-out-of="13"' in ada
    assert "4.41 of 13 points, after 0.49 taken off for being late" in ada
    assert "10% of the points, 0.49, are taken off" in ada
    assert "1 of 1 bonus points are in the total" in ada
    assert "Not final: 1 answer waits for a grader (2 points)." in ada


def test_what_to_fix_first_is_ordered_by_points_and_leaves_out_what_waits_or_is_unwritten() -> None:
    work = returned(CELLS, BOOK, {})
    assert [one.name for one in work.fix_first] == ["weights", "mask", "why"]
    assert [one.name for one in work.unanswered] == ["last"]
    assert work.fix_first[0].first_hint == SCALE.hint
    lost_bonus = Gradebook({**GRADES, "bonus-more-test": Grade(0, 9)})
    assert [one.name for one in returned(CELLS, lost_bonus, {}).fix_first][-1] == "bonus-more"


def test_visible_details_stay_and_an_exception_keeps_its_text(ada: str) -> None:
    assert "expected 0.5, got 0.25" in section(ada, "weights")
    assert "your code raised ValueError: shapes (3,) and (4,)" in section(ada, "mask")
    assert "mine" in section(ada, "mask")
    assert "0.123456" not in ada  # the bare number below the box


def test_the_box_keeps_its_colours_and_cannot_move() -> None:
    assert "border-left:4px solid" in section(made(), "weights")
    evil = {
        "text/html": '<div style="position:fixed;color:red"><script>x()</script><img src="https://e.example/x">hi</div>'
    }
    output = {"output_type": "display_data", "data": {**evil, "text/plain": "hi", MIME: {}}, "metadata": {}}
    shown = CellsAsHtml(Path()).output(output, of_test=True)
    assert "color:red" in shown
    assert not re.search(r"position|script|img|example", shown)


def test_formulas_are_mathml_and_headings_have_their_title_only(ada: str) -> None:
    assert "<msqrt>" in rows_html(ada, "weights")
    assert "★" not in rows_html(ada, "weights")
    assert "<msup>" in section(ada, "why")


def rows_html(text: str, name: str) -> str:
    found = re.search(rf'<tr class="\w+" data-exercise="{name}".*?</tr>', text, re.S)
    assert found is not None
    return found[0]


def test_a_grader_s_comment_stands_beside_the_answer(ada: str) -> None:
    comment = re.search(r'<div class="comment">(.*?)</div>', section(ada, "why"), re.S)
    assert comment is not None
    assert "<li>1 of 1: grows</li>" in comment[1]
    assert "<em>why</em>" in comment[1]


def test_a_figure_belongs_to_the_exercise_before_the_next_heading(ada: str) -> None:
    assert f"data:image/png;base64,{PIXEL}" in section(ada, "weights")
    assert PIXEL not in section(ada, "mask")


def test_outputs_that_grading_did_not_make_say_so() -> None:
    cells = [*CELLS[:4], cell("look()", outputs=[figure()], course={"outputs": "as handed in"}), *CELLS[5:]]
    shown = section(made(cells), "weights")
    assert re.search(rf"<figure><img src='data:image/png;base64,{re.escape(PIXEL)}'.*?<figcaption>as handed in", shown)
    assert "as handed in" not in made()


def test_the_page_is_one_file_without_scripts(ada: str, tmp_path: Path) -> None:
    assert "Content-Security-Policy" in ada
    assert "default-src 'none'" in POLICY
    assert "script-src" not in POLICY
    assert not re.search(r"<(script|link|iframe|object|form)\b", ada)
    sources = re.findall(r"""src=["']([^"']*)""", ada)
    assert sources
    assert all(one.startswith("data:image/") for one in sources)
    (tmp_path / "plot.png").write_bytes(base64.b64decode(PIXEL))
    (tmp_path.parent / "secret.png").write_bytes(b"secret")
    cells = CellsAsHtml(tmp_path)
    shown = cells.text("![](plot.png) ![](../secret.png) ![](https://e.example/x.png) <script>steal()</script>")
    assert shown.count(PIXEL) == 1
    assert not re.search(r"secret|example|steal", shown)


def test_what_a_student_writes_is_shown_as_text() -> None:
    text = "<script>steal()</script><img src=x onerror=steal()>"
    outputs = [
        {"output_type": "stream", "name": "stdout", "text": text},
        {"output_type": "error", "ename": text, "evalue": text, "traceback": [f"\x1b[31m{text}"]},
        {"output_type": "display_data", "data": {"text/html": text, "text/plain": text}, "metadata": {}},
        {"output_type": "display_data", "data": {"image/png": '"><script>steal()', "text/plain": "x"}, "metadata": {}},
    ]
    cells = [heading(f"### {text} title"), answer("mask", text, outputs=outputs), CELLS[7]]
    standing = Standing(MARK, {}, 0.0, Gradebook({"mask-test": Grade(0, 4)}, {"mask": text}))
    shown = made(cells, standing)
    assert "<script" not in shown
    assert not re.search(r"<[^>]*onerror=", shown)


def test_what_stopped_the_notebook_is_said_first_and_once() -> None:
    reason = Reason.of(ReasonKind.EMPTY)
    event = Event.of(EventKind.UNREADABLE, why=reason)
    record = Record("", Limits().as_dict(), incidents=(event,), unreadable=reason)
    shown = made(record=PublishedNotebook.of(record))
    assert shown.count("the file is empty") == 1
    assert shown.index("the file is empty") < shown.index('<ol class="first">')
    lost = Record("", Limits().as_dict(), ungraded={"mask-test": Reason.of(ReasonKind.ANSWER_ENDED)})
    shown = made(record=PublishedNotebook.of(lost))
    assert "Not graded:" in section(shown, "mask")


def test_signs_of_tampering_are_not_for_the_student() -> None:
    record = PublishedNotebook(Limits().as_dict(), integrity=("the test of mask was edited",), repairs=("reordered",))
    shown = made(record=record)
    assert "was edited" not in shown
    assert "Repaired: reordered" in shown


def test_a_regrade_request_has_exercise_and_check_filled_in(ada: str) -> None:
    found = re.search(r'class="regrade"> · <a href="([^"]+)"', section(ada, "mask"))
    assert found is not None
    address = urlparse(found[1].replace("&amp;", "&"))
    message = parse_qs(address.query)
    assert address.scheme == "mailto"
    assert message["subject"] == ["Regrade request: 03-attention, mask"]
    for line in ("Student: ada", "Exercise: mask", "Check: mask", "Points: 2 of 4"):
        assert line in message["body"][0].splitlines()
    assert 'class="regrade"' not in section(ada, "bonus-more")  # nothing was lost
    assert 'class="regrade"' not in section(ada, "then")  # not graded yet


@pytest.mark.parametrize(
    ("address", "link"),
    [
        ("", "mailto:?subject=a%26b&body=x%0D%0Ay"),
        ("ta@example.org", "mailto:ta@example.org?subject=a%26b&body=x%0D%0Ay"),
        ("https://e.example/new?title={subject}&body={body}", "https://e.example/new?title=a%26b&body=x%0Ay"),
    ],
)
def test_regrade_requests_go_where_course_toml_says(address: str, link: str) -> None:
    assert regrade.checked_address(address) == address
    assert regrade.link(address, "a&b", ["x", "y"]) == link


@pytest.mark.parametrize("address", ["javascript:x()", "https://example.org/form", 5, "a b@c"])
def test_an_address_that_nobody_can_write_to_is_one_line(small_course: Path, address: Any) -> None:
    path = small_course / "course.toml"
    path.write_text(f"regrade = {json.dumps(address)}\n" + path.read_text())
    with pytest.raises(CourseError, match="regrade is"):
        load(small_course)


# ---- what tests of other authors say ---------------------------------------------------------------------------------

BARE = "first = double(2)\nassert first == 4, first\n### BEGIN HIDDEN TESTS\nassert double(7) == 14\n### END HIDDEN TESTS\nassert double(1) == 2"


def raised_at(line: int) -> list[dict[str, Any]]:
    """What the examiner keeps of an exception that this line of the cell raises."""
    space: dict[str, Any] = {}
    lines = ["pass"] * len(BARE.split("\n"))
    lines[line - 1] = "raise ValueError('my own words')"
    try:
        exec(compile("\n".join(lines), "cell", "exec"), space)
    except ValueError as error:
        output = {"output_type": "error", "ename": "ValueError", "evalue": str(error), "traceback": ["all of it"]}
        return tester.completed([output], None, error, True, tester.visible_line(error, BARE, space))
    raise AssertionError


@pytest.mark.parametrize(("line", "told"), [(1, True), (2, True), (4, False), (6, False)])
def test_an_exception_of_a_visible_line_keeps_its_words_and_one_after_a_hidden_line_does_not(
    line: int, told: bool
) -> None:
    outputs = raised_at(line)
    assert outputs[0]["evalue"] == "my own words"  # the grader sees it
    node = nbformat.from_dict({**graded_by_test("double", 1, *outputs), "source": BARE})
    HideHiddenTests().preprocess_cell(node, {}, 0)
    shown = CellsAsHtml(Path()).output(node.outputs[0], of_test=True) + node.source
    assert ("my own words" in shown) == told
    assert (BARE.split("\n")[line - 1] in shown) == (told or line == 6)
    assert "double(7)" not in shown


def test_a_whole_traceback_of_a_cell_with_hidden_tests_is_not_shown() -> None:
    output = {"output_type": "error", "ename": "E", "evalue": "14", "traceback": ["-", BARE, "assert double(7)"]}
    node = nbformat.from_dict({**graded_by_test("double", 1, output), "source": BARE})
    HideHiddenTests().preprocess_cell(node, {}, 0)
    assert (node.outputs[0].evalue, len(node.outputs[0].traceback)) == ("", 1)
