"""The class page: planted facts are found in its data, on the page and on one screen of a terminal."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import run_course
from planted_class import ASSIGNMENT, COPIED, HARD, MEAN, MISTAKEN, NOBODY, planted_class

from autograder.classroom.class_facts import TAKES, class_facts, correlated, lost_to, score_facts
from autograder.classroom.class_summary import COLUMNS, LINES, summary
from autograder.classroom.pages.class_page import as_script, class_page
from autograder.classroom.pages.returned import Exercise, Grade, ShownCell
from autograder.classroom.similar import Known, similar
from autograder.classroom.totals import Mark
from autograder.model import course
from autograder.model.notebook import Cell
from autograder.model.outcome import MIME
from helpers.checks import credit


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("planted")
    planted_class(made)
    return made


@pytest.fixture(scope="module")
def page(root: Path) -> str:
    this = course.load(root)
    return class_page(this, class_facts(this, this.assignments[0]))


@pytest.fixture(scope="module")
def facts(page: str) -> Any:
    return data_of(page)


def data_of(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="class-data">(.*?)</script>', page, re.S)
    assert found is not None
    return json.loads(found[1])


def test_the_hard_exercise_is_the_hardest_and_stands_first(page: str, facts: Any) -> None:
    shares = {one["name"]: one["share"] for one in facts["exercises"] if one["share"] is not None}
    assert min(shares, key=lambda name: shares[name]) == HARD
    assert shares[HARD] < 0.4
    assert re.findall(r'<tr id="x-([\w-]+)"', page)[0] == HARD
    assert re.search(r"<b>Hardest exercise:</b> <a[^>]*>3 Cubes</a>", page)


def test_the_mistake_of_a_third_is_the_most_frequent_named_one(page: str, facts: Any) -> None:
    top = facts["mistakes"][0]
    assert (top["exercise"], top["mistake"], top["hint"]) == (MISTAKEN, "mean in place of sum", MEAN)
    assert (top["students"], top["of"]) == (13, 38)  # two have not answered
    assert len(top["who"]) == 13
    assert re.search(r"<b>Most frequent mistake:</b> mean in place of sum", page)
    assert not any(one["hint"].endswith("not written yet") for one in facts["mistakes"] + facts["hints"])
    assert {one["name"]: one["unanswered"] for one in facts["exercises"]}[MISTAKEN] == 2


def test_who_handed_in_nothing_and_who_needs_help_is_named(page: str, facts: Any) -> None:
    assert facts["nothing_handed_in"] == NOBODY
    assert [one["student"] for one in facts["help"][:2]] == ["student-03", "student-05"]
    assert all(one["percent"] < 50 or one["unanswered"] > one["exercises"] / 2 for one in facts["help"])
    assert re.search(r"<b>Handed in nothing:</b> Nobody-1 \(nobody-1\), ", page)


def test_the_copied_pair_comes_first_and_nobody_is_accused(page: str, facts: Any) -> None:
    (pair,) = facts["similar"]
    assert tuple(pair["students"]) == COPIED
    assert [one["exercise"] for one in pair["exercises"]] == [HARD]
    assert pair["exercises"][0]["shared"] >= pair["exercises"][0]["of"] - 1  # all but how every answer begins
    assert not pair["exercises"][0]["word_for_word"]  # the names differ
    assert "What this cannot tell" in page
    assert not re.search(r"cheat|plagiari|guilt|copied", page)


def test_waiting_answers_repairs_integrity_and_time_are_there(facts: Any) -> None:
    assert facts["waiting"] == [{"exercise": "why", "answers": 40}]
    assert [one["student"] for one in facts["repairs"]] == ["student-02"]
    assert [one["student"] for one in facts["integrity"]] == ["student-04"]
    assert [one["student"] for one in facts["stopped"]] == ["student-06"]
    assert facts["time"]["slowest"][0]["student"] == "student-39"


def test_points_add_up(facts: Any) -> None:
    split = facts["gravities"]
    assert split["possible"] == pytest.approx(sum(value for kind, value in split.items() if kind != "possible"))
    assert split["idea"] > split["part"] > split["edge"] > 0
    assert sum(one["students"] for one in facts["scores"]["bins"]) == facts["scores"]["students"] == 40


def test_the_page_is_one_file_and_its_data_cannot_end_it(page: str) -> None:
    assert len(re.findall("<script", page)) == 1
    assert not re.findall(r"""(?:src|href)=["'](?!#|data:)""", page)
    text = str(as_script({"hint": "</script><script>alert(1)</script>&lt;"}))
    assert "<" not in text
    assert json.loads(text) == {"hint": "</script><script>alert(1)</script>&lt;"}


def test_the_summary_fits_a_screen_and_has_the_planted_facts(facts: Any) -> None:
    lines = summary(facts)
    text = "\n".join(lines)
    assert len(lines) <= LINES - 2
    assert max(map(len, lines)) <= COLUMNS
    for fact in ("3 Cubes", "mean in place of sum", "nobody-1", "student-03", " and ".join(COPIED)):
        assert fact in text
    many = {**facts, "exercises": facts["exercises"] * 9, "mistakes": facts["mistakes"] * 9, "title": "long " * 50}
    many["help"] = facts["help"] * 50
    assert len(summary(many)) <= LINES - 2
    assert max(map(len, summary(many))) <= COLUMNS


@pytest.mark.slow
def test_report_on_the_command_line(root: Path) -> None:
    done = run_course("report", ASSIGNMENT, "--html", "class.html", cwd=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "wrote class.html"
    assert len(done.stdout.splitlines()) <= LINES
    assert data_of((root / "class.html").read_text(encoding="utf-8"))["nothing_handed_in"] == NOBODY
    done = run_course("report", ASSIGNMENT, "--similar", "--json", cwd=root)
    assert done.returncode == 0, done.stderr
    assert [one["students"] for one in json.loads(done.stdout)] == [list(COPIED)]
    done = run_course("report", ASSIGNMENT, "--json", cwd=root)
    entries = json.loads(done.stdout)
    assert set(entries[0]) == {"name", "points", "average", "full_marks", "submissions", "waiting", "hints"}


# ---- parts -----------------------------------------------------------------------------------------------------------


def mark(student: str, score: float, out_of: float = 10) -> Mark:
    return Mark("a", student, "", "", "", score, out_of, 0, False)


def test_full_marks_are_in_the_last_tenth_and_bonus_beyond_it() -> None:
    bins = score_facts([mark("a", 10), mark("b", 9.5), mark("c", 0)])["bins"]
    assert [one["students"] for one in bins] == [1, 0, 0, 0, 0, 0, 0, 0, 0, 2]
    bins = score_facts([mark("a", 12), mark("b", 9.5)])["bins"]
    assert [one["students"] for one in bins] == [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1]


def test_an_exercise_is_compared_with_the_rest_and_not_with_itself() -> None:
    good = [0, 0, 0, 0, 1, 1, 1, 1]
    assert correlated(good, [1, 2, 1, 2, 8, 9, 8, 9]) == pytest.approx(0.99, abs=0.02)
    assert correlated(good, good[::-1]) == -1
    assert correlated(good[:7], good[:7]) is None  # too few
    assert correlated([1] * 8, good) is None  # everybody has the same


@pytest.mark.parametrize(
    ("failed", "lost"),
    [
        (["idea", "part"], {"idea": 3.0}),
        (["part", "edge"], {"part": 3 * 5 / 7, "edge": 3 * 2 / 7}),
        (["edge"], {"edge": 3.0}),
    ],
)
def test_lost_points_go_to_the_idea_or_are_shared(failed: list[str], lost: dict[str, float]) -> None:
    requirements = [
        {"name": kind, "gravity": kind, "passed": kind not in failed, "share": 1.0} for kind in ("idea", "part", "edge")
    ]
    data = {
        **{"version": 1, "name": "x", "points": 4.0, "score": 1.0, "passed": 1, "reached": 3},
        **{"requirements": requirements, "findings": [], "notes": [], "unwritten": {}},
    }
    known = {"grade_id": "x-test", "grade": True, "solution": False, "points": 4}
    cell = Cell("code", "", {"nbgrader": known})
    shown = ShownCell(cell, [{"output_type": "display_data", "data": {MIME: data}}])
    assert lost_to(Exercise(shown, Grade(1.0, 4.0))) == pytest.approx(lost)


def test_points_are_split_by_what_failing_a_requirement_takes() -> None:
    assert {gravity.value: 1 - takes for gravity, takes in TAKES.items()} == pytest.approx(credit.LEFT)


GIVEN = "def f(x):\n    raise NotImplementedError()"
ODD = "def f(x):\n    {a} = sorted(x, key=lambda y: (y % 7, -y))\n    return [{a}[i] ** 2 + 3 for i in range(0, len(x), 2)]"
LOOP = "def f(x):\n    out = []\n    for value in x:\n        out.append(value * 2 + 1)\n    return out"


def test_names_comments_and_layout_do_not_hide_a_copy() -> None:
    commented = ODD.format(a="things").replace("\n    return", '\n    # mine\n    """note"""\n    return')
    found = similar({"f": {"a": ODD.format(a="z"), "b": commented, "c": LOOP}}, {"f": Known(True, (GIVEN,))})
    assert [pair.students for pair in found] == [("a", "b")]


def test_what_the_course_itself_gives_or_names_is_no_copy() -> None:
    answers = {"f": {"a": LOOP, "b": LOOP, "c": ODD.format(a="z")}}
    assert [pair.students for pair in similar(answers, {"f": Known(True, (GIVEN,))})] == [("a", "b")]
    assert similar(answers, {"f": Known(True, (GIVEN, LOOP))}) == []


def test_what_many_have_is_an_idiom_and_rare_matches_come_first() -> None:
    many = {f"s{number:02}": LOOP for number in range(30)}
    assert similar({"f": many}, {}) == []
    rare = {**many, "y": ODD.format(a="p"), "z": ODD.format(a="q")}
    assert [pair.students for pair in similar({"f": rare}, {})] == [("y", "z")]


def test_written_answers_are_compared_by_words() -> None:
    text = "The variance of a dot product grows with the width, so that a softmax saturates and gradients vanish."
    answers = {"why": {"a": text, "b": text.upper().replace(",", ";"), "c": "Because scores are large, it saturates."}}
    (pair,) = similar(answers, {"why": Known(False, ("*Your answer here.*",))})
    assert pair.students == ("a", "b")
    assert similar({"why": {"a": "x = (", "b": "x = ("}}, {"why": Known(True)}) == []  # too short, and no Python
