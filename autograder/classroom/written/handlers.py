"""The pages and the programming interface of written grading, as handlers of the Jupyter server.

The server's token lets in, as everywhere in Jupyter; what changes something also needs its cross-site token. The page
loads nothing from elsewhere, and nothing that is sent to it says whose an answer is.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

from jinja2 import Environment, FileSystemLoader, select_autoescape
from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import APIHandler, JupyterHandler
from jupyter_server.utils import url_path_join
from nbgrader.api import Grade, Gradebook, MissingEntry
from tornado import web

from autograder.classroom.formulas import markdown_html
from autograder.classroom.totals import gradebook
from autograder.classroom.written import PAGE
from autograder.classroom.written.answers import (
    PICTURE_TYPES,
    answer_cell,
    answer_folder,
    answer_html,
    digest,
)
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
from autograder.classroom.written.questions import Question, question_of, question_text, questions
from autograder.model import course as courses
from autograder.model.course import CourseError

HERE = Path(__file__).parent
PAGES = Environment(loader=FileSystemLoader(HERE), autoescape=select_autoescape())
POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'self'",
    ]
)
AUTH_RESOURCE = "written"
STATIC = {"page.js": "text/javascript", "page.css": "text/css"}


class Page(JupyterHandler):
    """What pages and files share."""

    auth_resource = AUTH_RESOURCE

    @property
    def content_security_policy(self) -> str:
        return POLICY

    def address(self, *parts: str) -> str:
        return url_path_join(self.base_url, PAGE, *(quote(part, safe="") for part in parts))


class QuestionList(Page):
    """Every question with the number of answers that wait."""

    @web.authenticated
    @authorized
    def get(self) -> None:
        try:
            this = courses.load()
            with gradebook(this) as book:
                titles = {one.id: one.title for one in this.assignments}
                rows = [
                    {
                        "address": self.address(one.assignment, one.notebook, one.name),
                        "title": titles.get(one.assignment, ""),
                        "question": one,
                        "blank": len(one.grades) - len(one.to_grade),
                    }
                    for one in questions(book)
                ]
            reason = ""
        except CourseError as error:
            rows, reason = [], str(error)
        formgrader = url_path_join(self.base_url, "formgrader")
        page = PAGES.get_template("list.html")
        self.write(page.render(rows=rows, reason=reason, formgrader=formgrader, static=self.address("static")))


class QuestionPage(Page):
    """The page on which one question is graded. Its script asks for everything else."""

    @web.authenticated
    @authorized
    def get(self, assignment: str, notebook: str, name: str) -> None:
        self.xsrf_token  # noqa: B018  sets the cookie that the script sends back
        page = PAGES.get_template("question.html")
        self.write(
            page.render(
                back=self.address(),
                static=self.address("static"),
                question=self.address("api", "question", assignment, notebook, name),
                answer=self.address("api", "answer"),
            )
        )


class Static(Page):
    """The script and the style of the pages."""

    @web.authenticated
    @authorized
    def get(self, name: str) -> None:
        self.set_header("Content-Type", f"{STATIC[name]}; charset=utf-8")
        self.write((HERE / name).read_bytes())


class Picture(Page):
    """A picture that was handed in beside the notebook."""

    @web.authenticated
    @authorized
    def get(self, grade: str, name: str) -> None:
        this = courses.load()
        with gradebook(this) as book:
            folder = answer_folder(this, grade_of(book, grade)).resolve()
        path = (folder / name).resolve()
        kind = PICTURE_TYPES.get(path.suffix.lower())
        if kind is None or not path.is_relative_to(folder) or not path.is_file():
            raise web.HTTPError(404)
        self.set_header("Content-Type", kind)
        self.set_header("X-Content-Type-Options", "nosniff")
        self.write(path.read_bytes())


class QuestionData(APIHandler):
    """A question, its rubric, and the state of its answers."""

    auth_resource = AUTH_RESOURCE

    @web.authenticated
    @authorized
    def get(self, assignment: str, notebook: str, name: str) -> None:
        this = courses.load()
        with gradebook(this) as book:
            question = question_of(book, assignment, notebook, name)
            if question is None:
                raise web.HTTPError(404)
            asked = question_text(this, question)
            rubric = asked.rubric
            self.finish(
                json.dumps(
                    {
                        "name": f"{assignment} · {name}",
                        "points": question.points,
                        "text": markdown_html(asked.text),
                        "model_answer": markdown_html(rubric.model_answer),
                        "remarks": markdown_html(rubric.remarks),
                        "items": [{"points": one.points, "text": markdown_html(one.text)} for one in rubric.items],
                        "blank": len(question.grades) - len(question.to_grade),
                        "answers": states(question),
                        "comments": comments_used(stored_marks(book, question.grades).values()),
                    }
                )
            )


class AnswerData(APIHandler):
    """One answer with its marks; `put` stores marks, if the gradebook still has what the page showed."""

    auth_resource = AUTH_RESOURCE

    @web.authenticated
    @authorized
    def get(self, identity: str) -> None:
        this = courses.load()
        with gradebook(this) as book:
            self.finish(json.dumps(self.shown(this, book, grade_of(book, identity))))

    @web.authenticated
    @authorized
    def put(self, identity: str) -> None:
        try:
            body = self.get_json_body() or {}
            marks, seen = Marks.from_json(body.get("marks")), Seen.from_json(body.get("seen"))
        except (ValueError, AttributeError) as error:
            raise web.HTTPError(400, str(error)) from None
        this = courses.load()
        with gradebook(this) as book:
            grade = grade_of(book, identity)
            question = question_with(book, grade)
            try:
                if seen.answer != digest(answer_cell(this, grade)):
                    raise ChangedMeanwhileError
                save(book, grade, seen, marks, question_text(this, question).rubric, question.points)
            except ChangedMeanwhileError:
                self.set_status(409)
            book.db.expire_all()
            self.finish(json.dumps(self.shown(this, book, grade_of(book, identity))))

    def shown(self, this: courses.Course, book: Gradebook, grade: Grade) -> dict[str, Any]:
        question = question_with(book, grade)
        cell = answer_cell(this, grade)
        seen = Seen(grade.manual_score, comment_on(grade), grade.needs_manual_grade, digest(cell))
        stored = stored_marks(book, [grade]).get(grade.id)
        marks = marks_of(seen, stored, question_text(this, question).rubric, question.points)
        pictures = url_path_join(self.base_url, PAGE, "picture", grade.id)
        missing = "<p>The graded notebook is missing or damaged: run <code>course grade</code> again.</p>"
        return {
            "html": missing if cell is None else answer_html(cell, pictures),
            "marks": vars(marks),
            "seen": vars(seen),
            "answers": states(question),
        }


def grade_of(book: Gradebook, identity: str) -> Grade:
    try:
        return book.find_grade_by_id(identity)
    except MissingEntry:
        raise web.HTTPError(404) from None


def question_with(book: Gradebook, grade: Grade) -> Question:
    found = question_of(book, grade.assignment.name, grade.notebook.name, grade.name)
    if found is None:
        raise web.HTTPError(404)
    return found


def states(question: Question) -> list[dict[str, Any]]:
    """The answers of a question in its order: which wait, and what the others earned."""
    return [{"id": one.id, "waiting": one.needs_manual_grade, "score": one.manual_score} for one in question.to_grade]


def add_handlers(app: web.Application) -> None:
    """Below the server's address."""
    part = r"/([^/]+)"
    routes: list[tuple[str, type[JupyterHandler]]] = [
        (rf"{PAGE}/?", QuestionList),
        (rf"{PAGE}/static/(page\.js|page\.css)", Static),
        (rf"{PAGE}/picture{part}/(.+)", Picture),
        (rf"{PAGE}/api/question{part}{part}{part}", QuestionData),
        (rf"{PAGE}/api/answer{part}", AnswerData),
        (rf"{PAGE}{part}{part}{part}", QuestionPage),
    ]
    base = app.settings["base_url"]
    app.add_handlers(".*$", [(url_path_join(base, pattern), handler) for pattern, handler in routes])
