"""Written answers: what a grader's keys put into nbgrader's gradebook, and what the page may and may not show."""

from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from nbgrader.api import Gradebook

from autograder.classroom import written
from autograder.classroom.gradebook import open_gradebook
from autograder.classroom.written.answers import answer_html
from autograder.classroom.written.marks import (
    ChangedMeanwhileError,
    Marks,
    Seen,
    comment_on,
    comments_used,
    marks_of,
    save,
    stored_marks,
)
from autograder.classroom.written.questions import question_of, question_text, questions
from autograder.model import course as courses
from autograder.model.notebook import Cell
from autograder.model.rubric import Rubric, RubricItem
from helpers.student import lab

RUBRIC = Rubric("", (RubricItem(1, "why"), RubricItem(2, "how"), RubricItem(-0.5, "wrong")))
STUDENTS = [f"zoe-{number}" for number in range(6)]
WRITTEN = """
# %% [markdown]
# Before.
# ### 1.1 Why?
# Say why.

# %% [markdown] written="why" points=3
# <!-- BEGIN SOLUTION -->
# Because.
#
# | points | rubric |
# | --- | --- |
# | 1 | why |
# | 2 | how |
# <!-- END SOLUTION -->
"""


@pytest.fixture
def graded_class(small_course: Path) -> courses.Course:
    """Six graded submissions with a written answer each, one of them blank."""
    script = small_course / "solutions" / "01-small" / "01-small.py"
    script.write_text(script.read_text() + WRITTEN)
    course = courses.load(small_course)
    with open_gradebook(course) as book:
        book.add_assignment("01-small")
        book.add_notebook("01-small", "01-small")
        book.add_grade_cell("why", "01-small", "01-small", max_score=3, cell_type="markdown")
        book.add_solution_cell("why", "01-small", "01-small")
        for number, student in enumerate(STUDENTS):
            book.add_student(student)
            book.add_submission("01-small", student)
            grade = book.find_grade("why", "01-small", "01-small", student)
            grade.auto_score, grade.needs_manual_grade = (0.0, False) if number == 0 else (None, True)
            folder = small_course / "autograded" / student / "01-small"
            folder.mkdir(parents=True)
            metadata = {"nbgrader": {"grade_id": "why", "grade": True, "solution": True, "points": 3}}
            cell = {"cell_type": "markdown", "source": f"Answer {number}", "metadata": metadata}
            (folder / "01-small.ipynb").write_text(json.dumps({"cells": [cell], "nbformat": 4, "nbformat_minor": 5}))
        book.db.commit()
    return course


def state(book: Gradebook, student: str) -> Seen:
    grade = book.find_grade("why", "01-small", "01-small", student)
    return Seen(grade.manual_score, comment_on(grade), grade.needs_manual_grade, "")


def grade_one(book: Gradebook, student: str, marks: Marks, seen: Seen) -> None:
    save(book, book.find_grade("why", "01-small", "01-small", student), seen, marks, RUBRIC, 3)


@pytest.mark.parametrize(
    ("marks", "score"),
    [
        (Marks(True, (0, 1)), 3.0),
        (Marks(True, (0,), 0.5), 1.5),
        (Marks(True, (0, 1), 2.0), 3.0),
        (Marks(True, (2,)), 0.0),
        (Marks(True), 0.0),
        (Marks(False, (), 0.0, "well"), None),
    ],
)
def test_points_follow_the_ticked_items_within_the_question_s_maximum(marks, score):
    assert marks.score(RUBRIC, 3) == score


def test_a_grade_lands_where_formgrader_puts_it(graded_class):
    with open_gradebook(graded_class) as book:
        grade_one(book, "zoe-1", Marks(True, (1,), 0.0, "Say why."), state(book, "zoe-1"))
        stored = state(book, "zoe-1")
        assert (stored.score, stored.waiting) == (2.0, False)
        assert stored.comment is not None
        assert all(part in stored.comment for part in ("why", "how", "Say why."))
        assert "wrong" not in stored.comment
        assert book.find_submission("01-small", "zoe-1").score == 2.0
        (mine,) = stored_marks(book, question_of(book, "01-small", "01-small", "why").grades).values()
        assert marks_of(stored, mine, RUBRIC, 3) == Marks(True, (1,), 0.0, "Say why.")
        assert comments_used([mine]) == ["Say why."]
        grade_one(book, "zoe-1", Marks(), stored)
        assert state(book, "zoe-1") == Seen(None, None, True, "")


def test_of_two_graders_the_second_is_told_and_changes_nothing(graded_class):
    with open_gradebook(graded_class) as book:
        seen = state(book, "zoe-1")
        grade_one(book, "zoe-1", Marks(True, (0,), 0.0, "first"), seen)
        first = state(book, "zoe-1")
        with pytest.raises(ChangedMeanwhileError):
            grade_one(book, "zoe-1", Marks(True, (0, 1), 0.0, "second"), seen)
        assert state(book, "zoe-1") == first
        only_comment = Seen(first.score, "another", first.waiting, "")
        with pytest.raises(ChangedMeanwhileError):
            grade_one(book, "zoe-1", Marks(True, (1,)), only_comment)
        assert state(book, "zoe-1") == first


def test_what_formgrader_changed_since_is_believed_instead_of_the_ticks():
    ticks = Marks(True, (0, 1), 0.0, "fine")
    changed = Seen(1.0, "see me", False, "")
    assert marks_of(changed, ticks, RUBRIC, 3) == Marks(True, (), 1.0, "see me")


def test_the_order_is_shuffled_per_question_and_the_same_each_time(graded_class):
    with open_gradebook(graded_class) as book:
        first, again = (questions(book)[0].grades for _ in range(2))
        assert [one.id for one in first] == [one.id for one in again]
        assert len({one.id for one in first}) == len(STUDENTS)
        question = questions(book)[0]
        assert (question.waiting, len(question.to_grade)) == (5, 5)
        asked = question_text(graded_class, question)
        assert asked.text.startswith("### 1.1 Why?")
        assert "Because" not in asked.text
        assert [item.points for item in asked.rubric.items] == [1, 2]


@pytest.mark.parametrize(
    "text",
    [
        "<script>alert(1)</script>",
        '<img src=x onerror="alert(1)">',
        "[x](javascript:alert(1))",
        '![$\\text{" onerror="alert(1)}$](x.png)',
        '<a title="$\\text{&quot; onclick=&quot;alert(1)}$">x</a>',
        "$\\href{javascript:alert(1)}{x}$",
        "![x](https://elsewhere.example/p.png)",
        "&#xe000;0&#xe001; &#xe000;999999&#xe001;",
    ],
)
def test_nothing_in_an_answer_runs_or_loads(text):
    from html.parser import HTMLParser

    loaded = []

    class Reader(HTMLParser):
        def handle_starttag(self, tag, attrs):
            assert tag != "script"
            for name, value in attrs:
                assert not name.startswith("on")
                assert not str(value).lower().startswith("javascript")
                if name == "src":
                    loaded.append(value)

    Reader().feed(answer_html(Cell("markdown", text, {}), "/pictures"))
    assert all(value.startswith("/pictures/") for value in loaded)


def test_formulas_are_shown_without_a_script_from_elsewhere():
    shown = answer_html(Cell("markdown", "So $a^2 < b$, and\n\n$$\\frac{1}{2}$$", {}), "/pictures")
    assert shown.count("<math") == 2
    assert "<mfrac>" in shown
    assert "&lt;" in shown


@pytest.mark.slow
def test_the_server_asks_for_its_token_and_for_the_page_s_own_and_names_nobody(graded_class):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [
        sys.executable,
        "-P",
        "-m",
        "jupyter_server",
        lab.extension(written.__name__),
        f"--ServerApp.port={port}",
    ]
    command += ["--no-browser", "--allow-root", "--IdentityProvider.token=abc", "--ServerApp.port_retries=0"]
    environment = {**os.environ, "COURSE_ROOT": str(graded_class.root)}
    server = subprocess.Popen(command, cwd=graded_class.root, env=environment, stderr=subprocess.DEVNULL)
    page = f"http://127.0.0.1:{port}/course/written"
    opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())

    def ask(path: str, method: str = "GET", body: object = None, **headers: str) -> tuple[int, str]:
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{page}{path}", data, headers, method=method)
        try:
            with opener.open(request, timeout=60) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    try:
        while server.poll() is None:
            try:
                assert ask("/api/question/01-small/01-small/why")[0] == 403
                break
            except urllib.error.URLError:
                time.sleep(0.2)
        assert ask("?token=abc")[0] == 200
        told = [ask(""), ask("/01-small/01-small/why"), ask("/api/question/01-small/01-small/why")]
        waiting = json.loads(told[-1][1])["answers"]
        assert len(waiting) == 5
        address = f"/api/answer/{waiting[0]['id']}"
        told.append(ask(address))
        assert all(status == 200 and "zoe" not in text for status, text in told)
        seen = json.loads(told[-1][1])["seen"]
        body = {"marks": {"graded": True, "items": [1], "adjustment": 0, "comment": "ok"}, "seen": seen}
        assert ask(address, "PUT", body)[0] == 403  # as a form on another site would send it
        cookies = next(one for one in opener.handlers if isinstance(one, urllib.request.HTTPCookieProcessor)).cookiejar
        token = next(one.value for one in cookies if one.name == "_xsrf")
        status, text = ask(address, "PUT", body, **{"X-XSRFToken": token, "Content-Type": "application/json"})
        assert status == 200
        assert json.loads(text)["seen"]["score"] == 2.0
        assert ask(address, "PUT", body, **{"X-XSRFToken": token, "Content-Type": "application/json"})[0] == 409
        assert ask(f"/picture/{waiting[0]['id']}/..%2f..%2f..%2fgradebook.db")[0] == 404
    finally:
        server.terminate()
        server.wait()
