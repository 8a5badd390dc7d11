"""Questions: the formula, what students see before and after grading, the panel, and that no answer is shipped."""

from __future__ import annotations

import ast
import json
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.authoring import source
from autograder.model.notebook import Cell
from helpers.big_picture.questions import QUESTIONS
from helpers.kit import quiz
from helpers.kit.quiz import Item, Question

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = ROOT / "solutions" / "01-big-picture" / "01-big-picture.py"
STUDENT = ROOT / "notebooks" / "01-big-picture" / "01-big-picture.ipynb"

RIGHT = {"B": "yes, b", "D": "yes, d"}
WRONG = {"A": "no, a", "C": "no, c", "E": "no, e"}
ITEM = Item("sample", "Which `letters`?", {letter: f"option <{letter}>" for letter in "ABCDE"})


def graded(answer: Any, right: dict[str, str] = RIGHT, wrong: dict[str, str] = WRONG, points: float = 2) -> float:
    question = Question("sample", points=points, options="".join(sorted({**right, **wrong})))
    question.answer(answer)
    question.key(right=right, wrong=wrong)
    return question.score()


def validated(answer: Any) -> float:
    """As in the student's notebook: no key."""
    question = Question("sample", points=2, options="ABCDE")
    question.answer(answer)
    return question.score()


# ---- the formula ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("ticked", "share"),
    [("B", 1 / 2), ("BD", 1), ("BDE", 2 / 3), ("ABCDE", 0), ("A", 0), ("AB", 1 / 6), ("ABC", 0), ("ACE", 0)],
)
def test_the_examples_of_the_notebook_and_some_more(ticked: str, share: float) -> None:
    assert graded(lambda: set(ticked)) == pytest.approx(2 * share, abs=1e-6)


@given(st.sets(st.sampled_from("ABCDEF")), st.sets(st.sampled_from("ABCDEF"), min_size=1))
def test_the_share_is_what_the_formula_says(ticked: set[str], right: set[str]) -> None:
    wrong = set("ABCDEF") - right
    lost = sum(letter in wrong for letter in ticked) / len(wrong) if wrong else 0
    assert quiz.share(ticked, right, wrong) == max(0, sum(letter in right for letter in ticked) / len(right) - lost)


@given(st.sets(st.sampled_from("ABCDEF"), min_size=1), st.data())
def test_a_right_tick_never_costs_and_a_wrong_tick_never_pays(right: set[str], data: st.DataObject) -> None:
    wrong = set("ABCDEF") - right
    ticked = data.draw(st.sets(st.sampled_from("ABCDEF")))
    before = quiz.share(ticked, right, wrong)
    for letter in "ABCDEF":
        after = quiz.share(ticked | {letter}, right, wrong)
        assert after >= before if letter in right else after <= before
    assert quiz.share(right, right, wrong) == 1.0
    assert 0 <= before <= 1


def test_the_score_is_a_plain_float_even_for_full_marks() -> None:
    assert type(graded(lambda: {"B", "D"})) is float
    assert type(validated(lambda: {"B", "D"})) is float


def test_all_options_may_be_right() -> None:
    assert graded(lambda: {"A", "B"}, right={"A": "a", "B": "b"}, wrong={}) == 2.0
    assert graded(lambda: {"A"}, right={"A": "a", "B": "b"}, wrong={}) == 1.0


# ---- reading an answer ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "answer", [{"B", "D"}, ["D", "B", "B"], ("b", "D"), frozenset("BD"), "BD", "b, d", " B;D ", ["BD"], {"B, D"}]
)
def test_an_answer_can_be_written_in_many_ways(answer: Any) -> None:
    assert graded(lambda: answer) == 2.0
    assert graded(answer) == 2.0


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (None, "is a `return` missing?"),
        (set(), "no option is ticked"),
        ({}, "no option is ticked"),
        ("", "no option is ticked"),
        ({"B", "F"}, "there is no option F: this question has the options A, B, C, D, E"),
        ("none", "there is no option N, O"),
        ({1, 3}, "a letter in quotes"),
        ([["B"], ["D"]], "a letter in quotes"),
        ({"B": True}, "a set of letters should come back"),
        (3, "a set of letters should come back"),
    ],
)
@pytest.mark.parametrize("judge", [graded, validated])
def test_an_answer_that_cannot_be_scored_earns_nothing_and_says_why(
    judge: Any, answer: Any, message: str, capsys: Any
) -> None:
    assert judge(lambda: answer) == 0.0
    assert message in capsys.readouterr().out


def test_an_object_with_its_own_idea_of_equality_is_no_answer() -> None:
    class Anything(set[str]):
        def __eq__(self, other: object) -> bool:
            return True

        def __and__(self, other: Any) -> Any:
            return other

        __hash__ = None  # type: ignore[assignment]

    assert graded(lambda: Anything("BD")) == 0.0


@pytest.mark.parametrize("judge", [graded, validated])
def test_an_unwritten_answer_is_called_unwritten(judge: Any, capsys: Any) -> None:
    def unwritten() -> None:
        raise NotImplementedError()

    assert judge(unwritten) == 0.0
    assert "not written yet" in capsys.readouterr().out


def test_an_exception_in_the_answer_is_shown_and_does_not_end_the_cell(capsys: Any) -> None:
    assert validated(lambda: {B, "D"}) == 0.0  # type: ignore[name-defined]  # noqa: F821
    assert "name 'B' is not defined" in capsys.readouterr().out


# ---- before and after grading ---------------------------------------------------------------------------------------


@given(st.sets(st.sampled_from("ABCDE"), min_size=1))
def test_without_the_key_every_readable_answer_gets_the_same_reply(ticked: set[str]) -> None:
    question = Question("sample", points=2, options="ABCDE")
    question.answer(lambda: ticked)
    assert question.verdict is not None
    assert question.verdict.score == 2.0
    assert question.verdict.headline == f"sample: your answer {quiz.literal(ticked)} is recorded"
    assert "judged in grading" in question.verdict.notes[0]


def test_after_grading_every_option_is_explained_and_those_to_think_about_come_first(capsys: Any) -> None:
    graded(lambda: {"B", "C"})
    shown = capsys.readouterr().out.splitlines()
    assert shown == [
        "✗ sample: 1 of 2 right options ticked, 1 of 3 wrong ones  (0.33 of 2 points)",
        "  ✗ C (ticked, but it does not apply): no, c",
        "  ✗ D (not ticked, but it applies): yes, d",
        "  ✓ A (not ticked, and it does not apply): no, a",
        "  ✓ B (ticked, and it applies): yes, b",
        "  ✓ E (not ticked, and it does not apply): no, e",
    ]


def test_who_gave_no_answer_reads_the_explanations_too(capsys: Any) -> None:
    graded(lambda: None)
    shown = capsys.readouterr().out
    assert "B (applies): yes, b" in shown
    assert "A (does not apply): no, a" in shown


def test_in_strict_mode_a_lost_point_fails_after_the_explanations(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setenv("COURSE_STRICT_CHECKS", "1")
    with pytest.raises(AssertionError):
        graded(lambda: {"B"})
    assert "yes, d" in capsys.readouterr().out
    assert graded(lambda: {"B", "D"}) == 2.0


def test_explanations_are_escaped_in_html() -> None:
    shown = quiz.as_html(quiz.explained(frozenset("A"), {"A": "`x < 3` & more"}, {}))
    assert "<code" in shown
    assert "x &lt; 3" in shown
    assert "&amp; more" in shown


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        ({}, dict.fromkeys("ABCDE", "")),
        (RIGHT, {"A": "", "C": ""}),
        (RIGHT, {**WRONG, "B": ""}),
        (RIGHT, {**WRONG, "F": ""}),
    ],
)
def test_a_key_must_explain_every_option_once(right: dict[str, str], wrong: dict[str, str]) -> None:
    question = Question("sample", points=2, options="ABCDE")
    question.answer(lambda: {"A"})
    with pytest.raises(ValueError, match="explain each of the options"):
        question.key(right=right, wrong=wrong)


def test_a_test_cell_without_an_answer_is_refused() -> None:
    with pytest.raises(RuntimeError, match="call `answer` first"):
        Question("sample", points=2, options="AB").score()


# ---- the panel ------------------------------------------------------------------------------------------------------


def test_the_panel_writes_the_line_to_copy() -> None:
    panel = quiz.panel(ITEM)
    boxes = [row.children[0] for row in panel.children[1:6]]
    line = panel.children[6]
    assert [box.description for box in boxes] == list("ABCDE")
    assert line.value == "tick the options that apply"
    boxes[2].value = boxes[0].value = True
    assert line.value == 'return {"A", "C"}'
    assert quiz.read(ast.literal_eval(line.value.removeprefix("return ")), "ABCDE") == {"A", "C"}
    boxes[0].value = boxes[2].value = False
    assert line.value == "tick the options that apply"
    assert len(panel.children) == 7  # no button: nothing to judge with
    assert "option &lt;B&gt;" in panel.children[2].children[1].value


def test_instant_feedback_needs_the_key_in_the_cell() -> None:
    panel = quiz.panel(ITEM, RIGHT, WRONG)
    button, verdict = panel.children[-2:]
    box = panel.children[2].children[0]
    box.value = True
    assert verdict.value == ""
    button.click()
    assert "1 of 2 right options ticked, 0 of 3 wrong ones" in verdict.value
    assert "yes, d" in verdict.value
    box.value = False
    assert verdict.value == ""


def test_without_a_kernel_the_question_is_printed(capsys: Any) -> None:
    quiz.show(ITEM)
    shown = capsys.readouterr().out
    assert "Which `letters`?" in shown
    assert "[ ] D  option <D>" in shown
    assert "as a set of strings" in shown


@pytest.fixture
def front_end(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """A kernel, and what is sent to its front end."""
    sent: list[dict[str, Any]] = []
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(quiz, "has_kernel", lambda: True)
    monkeypatch.setattr(quiz, "display", lambda data, raw: sent.append(data))
    return sent


def test_with_a_kernel_the_panel_is_shown_with_a_text_twin(front_end: list[dict[str, Any]], capsys: Any) -> None:
    quiz.show(ITEM)
    assert front_end[0][quiz.WIDGET_VIEW]["model_id"]
    assert "[ ] D  option <D>" in front_end[0]["text/plain"]
    assert capsys.readouterr().out == ""


def test_without_ipywidgets_the_question_is_printed(
    front_end: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    quiz.show(ITEM)
    assert not front_end
    assert "[ ] A  option <A>" in capsys.readouterr().out


def test_in_grading_nobody_clicks_and_the_question_is_printed(
    front_end: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch, capsys: Any
) -> None:
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    quiz.show(ITEM)
    assert not front_end
    assert "[ ] A  option <A>" in capsys.readouterr().out


# ---- the thirteen questions -----------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def cells() -> list[Cell]:
    return source.read(SCRIPT)


@pytest.fixture(scope="module")
def keys(cells: list[Cell]) -> dict[str, tuple[dict[str, str], dict[str, str]]]:
    """(right, wrong) explanations of every question, read from the hidden parts of the source."""
    found = {}
    for cell in cells:
        if not (cell.is_test and cell.grade_id.startswith("q")):
            continue
        calls = [
            node
            for node in ast.walk(cell.tree)
            if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "key"
        ]
        sides = {keyword.arg: ast.literal_eval(keyword.value) for keyword in calls[0].keywords}
        found[cell.grade_id.removesuffix("-test")] = (sides["right"], sides["wrong"])
    return found


def test_there_are_thirteen_and_each_solution_is_its_key(cells: list[Cell], keys: dict[str, Any]) -> None:
    assert list(keys) == [f"q{number}" for number in range(1, 14)] == list(QUESTIONS)
    answers = {cell.grade_id: cell for cell in cells if cell.is_solution and cell.grade_id in keys}
    for name, (right, wrong) in keys.items():
        namespace: dict[str, Any] = {}
        exec(answers[name].source, namespace)
        assert namespace[name]() == set(right), name
        assert sorted([*right, *wrong]) == list(QUESTIONS[name].options), name
        assert all(len(text.split()) >= 6 for text in [*right.values(), *wrong.values()]), name


def test_judge_and_cell_agree_on_name_points_and_options(cells: list[Cell], keys: dict[str, Any]) -> None:
    for cell in cells:
        name = cell.grade_id.removesuffix("-test")
        if cell.is_test and name in keys:
            letters = "".join(QUESTIONS[name].options)
            assert cell.source.startswith(
                f'question = quiz.Question("{name}", points={cell.nbgrader["points"]}, options="{letters}")'
            )


def test_the_panels_show_the_text_of_the_notebook(cells: list[Cell]) -> None:
    texts = [cell.source for cell in cells if cell.kind == "markdown" and cell.source.startswith("### Question ")]
    assert len(texts) == len(QUESTIONS)
    for text, item in zip(texts, QUESTIONS.values(), strict=True):
        heading, _, rest = text.partition("\n")
        stem, _, options = rest.partition("\n\n")
        assert heading.startswith(f"### Question {item.name[1:]}:")
        assert " ".join(stem.split()) == item.stem
        assert dict(re.findall(r"^- \*\*([A-F])\.\*\* (.+)$", options, re.MULTILINE)) == dict(item.options)


def test_keys_follow_no_pattern(keys: dict[str, Any]) -> None:
    sizes = [len(right) for right, _ in keys.values()]
    assert min(sizes) == 1
    assert len(set(sizes)) >= 4
    assert sum(not wrong for _, wrong in keys.values()) == 1  # one question in which everything applies
    assert len({"".join(right) for right, _ in keys.values()}) == len(keys)
    for letter in "ABCDE":
        offered = [letter in right for name, (right, _) in keys.items() if letter in QUESTIONS[name].options]
        assert 0.3 <= sum(offered) / len(offered) <= 0.7, letter
    for pick in (max, min):
        hits = sum(
            pick(item.options, key=lambda letter, item=item: len(item.options[letter])) in keys[item.name][0]
            for item in QUESTIONS.values()
        )
        assert 3 <= hits <= 9, "the length of an option gives it away"


def test_no_option_has_a_tell_tale_word() -> None:
    for item in QUESTIONS.values():
        for option in item.options.values():
            assert not re.search(r"\b(always|never|all of the above|none of)\b", option, re.IGNORECASE), option


def shipped_texts() -> dict[str, str]:
    """All that a student gets: every string of the notebook, metadata included, and the helpers."""
    notebook = json.loads(STUDENT.read_text(encoding="utf-8"))
    texts = {
        f"cell {number}": json.dumps({**cell, "source": ""}, ensure_ascii=False) + "".join(cell["source"])
        for number, cell in enumerate(notebook["cells"])
    }
    texts["metadata"] = json.dumps(notebook["metadata"])
    texts.update(
        {
            str(path.relative_to(ROOT)): path.read_text(encoding="utf-8")
            for path in (ROOT / "helpers").rglob("*")
            if path.suffix in (".py", ".html")
        }
    )
    return texts


def test_neither_notebook_nor_helpers_hold_a_key_or_an_explanation(keys: dict[str, Any]) -> None:
    for place, text in shipped_texts().items():
        flat = " ".join(text.replace('"\n', " ").split())
        for name, (right, wrong) in keys.items():
            for explanation in [*right.values(), *wrong.values()]:
                for sentence in re.split(r"(?<=[.!?:]) ", explanation):
                    if len(sentence) > 20:
                        assert sentence not in flat, (place, name, sentence)
            if place.startswith("cell") or place == "metadata":
                assert quiz.literal(set(right)) not in text, (place, name)
        assert "question.key(" not in text or place == "helpers/kit/quiz.py"


def test_student_cells_differ_only_in_name_and_options(keys: dict[str, Any]) -> None:
    """What is the same for every question can give no answer away: cells, metadata and outputs."""
    notebook = json.loads(STUDENT.read_text(encoding="utf-8"))
    shapes = set()
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "").removesuffix("-test")
        if name in keys:
            cell["metadata"]["nbgrader"].pop("checksum", None)  # of the cell as the student gets it: see below
            text = json.dumps(cell, sort_keys=True)
            text = re.sub(rf"\b{name}\b", "NAME", text).replace(f"question {name[1:]} ", "question N ")
            text = re.sub(
                r"# @title [^\"]*: run this cell", "TITLE", text
            )  # the heading that stands above the question
            shapes.add(re.sub(r'options=\\"[A-F]+\\"', "OPTIONS", text))
    assert len(shapes) == 2  # one answer cell, one test cell


def test_checksums_are_of_the_student_cells() -> None:
    from nbformat import from_dict
    from nbgrader.utils import compute_checksum

    for cell in json.loads(STUDENT.read_text(encoding="utf-8"))["cells"]:
        stored = cell["metadata"].get("nbgrader", {}).get("checksum")
        if stored:
            assert compute_checksum(from_dict({**cell, "source": "".join(cell["source"])})) == stored
