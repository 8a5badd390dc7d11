"""`course report --html`: the class on one page that needs nothing else. Its facts are in it as JSON, too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from markupsafe import Markup

from autograder.classroom.class_facts import hardest_first
from autograder.classroom.pages import figures
from autograder.classroom.pages.feedback_page import POLICY, environment
from autograder.classroom.pages.outputs import CellsAsHtml
from autograder.model.course import Course
from autograder.model.wording import SIMILAR_LIMITS

LOST_TO = {  # in the order of the figure, with what a reader is told
    "earned": "earned",
    "idea": "lost to a wrong idea",
    "part": "lost to a missing part",
    "edge": "lost to an edge case",
    "by hand": "lost in answers that a person graded",
    "unanswered": "not answered",
    "other": "not graded, or a test without parts",
}
MOST_MISTAKES, MOST_PEOPLE = 15, 40


def class_page(course: Course, facts: Mapping[str, Any]) -> str:
    cells = CellsAsHtml(course.root)
    titles = {one["name"]: Markup(cells.line(one["title"])) for one in facts["exercises"] if one["title"]}
    return (
        environment()
        .get_template("class.html")
        .render(
            facts=facts,
            data=as_script(facts),
            titles=titles,
            hardest=hardest_first(facts["exercises"]),
            figures=figures,
            split=[(kind, facts["gravities"][kind]) for kind in LOST_TO if facts["gravities"][kind] > 0],
            lost_to=LOST_TO,
            most_mistakes=MOST_MISTAKES,
            most_people=MOST_PEOPLE,
            policy=POLICY,
            similar_limits=SIMILAR_LIMITS,
        )
    )


def as_script(facts: Mapping[str, Any]) -> Markup:
    """JSON that stays data in HTML: no text in it can end the element or begin another."""
    text = json.dumps(facts, ensure_ascii=False)
    for sign, code in (("&", "\\u0026"), ("<", "\\u003c"), (">", "\\u003e")):
        text = text.replace(sign, code)
    return Markup(text)
