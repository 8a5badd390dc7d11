"""Nothing is done twice, and nothing is left out: results that are used again are those of a full run."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autograder.classroom.kept_results import kept_results
from autograder.examiner import notebook as notebooks
from autograder.examiner import sandbox
from autograder.examiner.limits import Limits
from autograder.examiner.pool import Pool, Submission, Trial, Trials
from autograder.model.published import PublishedNotebook
from autograder.model.record import Record

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}"),
]

SETUP = "import torch\nfrom helpers.checks import Check, randn"
ANSWERS = {
    "first": ["def first(x):\n    return x + 1", "def first(x):\n    return x + 2", "def first(x):\n    return 1 / 0"],
    "second": [
        "def second(x):\n    return 2 * first(x)",
        "def second(x):\n    return extra(x)",
        "torch.rand(1)\ndef second(x):\n    return 2 * x + 2",
        "def second(x):\n    global step\n    step = 5\n    return 2 * x + 2",
    ],
    "third": [
        "def third(x):\n    return x * step",
        "def third(x):\n    return x * float(open('step.txt').read())",
        "def third(x):\n    return x * table[-1]",
        "def third(x):\n    return x * float(open('factor.txt').read())",
        "def third(x):\n    from mine import factor\n    return x * factor",
        "def third(x):\n    return x * torch.rand(1)",
        "class Third:\n    def __call__(self, x):\n        return x * step\nthird = Third()",
        "def third(x):\n    return x *",
        "# YOUR CODE HERE",
    ],
}
OWN = [  # a student's own cells, at the end and between the exercises
    "",
    "step = 3",
    "step = 4",
    "def extra(x):\n    return 2 * x + 2",
    "def extra(x):\n    return first(x) * 2",
    "def unused(x):\n    return x",
    "open('step.txt', 'w').write('3')",
    "open('step.txt', 'w').write('2')",
    "table = [3]",
    "table.append(2)",
    "first = lambda x: x + 1",
    "torch.manual_seed(3)",
    "torch.rand(2)",
    "globals()['step'] = 3",
    "print(first(1))",
    "print(open('factor.txt').read())",
    "def first(x):\n    return third(x)",
]
HIDDEN = {
    "first": [
        "check.close(check.run(first, x), x + 1, 'one more')",
        "check.close(check.run(first, x), x + 2, 'two more')",
    ],
    "second": ["check.close(check.run(second, x), 2 * x + 2, 'twice')", "check.true(True, 'anything')"],
    "third": [
        "check.close(check.run(third, x), 3 * x, 'three times')",
        "check.close(check.run(third, x), 2 * x, 'twice')",
        "check.close(check.run(third, x), float(open('factor.txt').read()) * x, 'as in the file')",
    ],
}
SAYS = ["you add two", "two is one too many"]  # of the named mistake that the second answer to `first` is
STUBS = {name: f"def {name}(x):\n    raise NotImplementedError" for name in ANSWERS}


@dataclass(frozen=True)
class State:
    """A class and a submission at one time."""

    answers: dict[str, str] = field(default_factory=lambda: {name: texts[0] for name, texts in ANSWERS.items()})
    own: tuple[str, ...] = ("step = 3", "", "")
    hidden: dict[str, str] = field(default_factory=lambda: {name: texts[0] for name, texts in HIDDEN.items()})
    text: str = "A text."
    secret: str = "a" * 32
    tools: str = "these versions"
    helper: str = "SCALE = 1"
    given: str = "3"  # in a file of the instructor's beside the notebook
    mine: str = "factor = 3"  # in a module of the student's
    says: str = ""  # of the named mistake that is recorded; "" where none is

    def cells(self, answers: dict[str, str], own: tuple[str, ...]) -> list[dict[str, Any]]:
        made = [cell("setup", SETUP, locked=True), cell("helper", self.helper, locked=True)]
        for (name, answer), extra in zip(answers.items(), own, strict=True):
            made.append({"kind": "code", "source": extra, "metadata": {}, "id": f"own-{name}"})
            made.append(cell(name, answer, solution=True))
            visible = f'check = Check("{name}", points=2)\ncheck.close(check.run({name}, 1.0), check.run({name}, 1.0), "same")'
            hidden = f"### BEGIN HIDDEN TESTS\nx = randn(2, 3) * SCALE\n{self.hidden[name]}\n### END HIDDEN TESTS"
            made.append(cell(f"{name}-test", f"{visible}\n{hidden}\ncheck.score()", grade=True, locked=True, points=2))
        return [*made, {"kind": "markdown", "source": self.text, "metadata": {}, "id": "text"}]

    def notebook(self, calls: list[Any] | None = None) -> dict[str, Any]:
        described = notebooks.from_cells(self.cells(STUBS, ("", "", "")))
        recorded = {"first-test": [{"name": "two more", "says": self.says, "calls": calls}]} if self.says else {}
        return {**described, "secret": self.secret, "recorded": recorded}

    def submission(self, folder: Path, known: dict[str, Any] | None) -> Submission:
        cells = self.cells(self.answers, self.own)
        files = []
        for name, text in (("factor.txt", self.given), ("mine.py", self.mine)):
            (folder / name).write_text(text, encoding="utf-8")
            files.append((name, str(folder / name)))
        return Submission(
            "01", "01", Limits(), cells=cells, files=files, given=["factor.txt"], tools=self.tools, known=known
        )

    def code(self) -> list[tuple[int, str, str, bool]]:
        """Its cells as `course verify` runs them."""
        cells = [entry for entry in self.cells(self.answers, self.own) if entry["kind"] == "code" and entry["source"]]
        return [
            (index, entry["id"], entry["source"], entry["id"].endswith("-test")) for index, entry in enumerate(cells)
        ]


def cell(name: str, source: str, **nbgrader: Any) -> dict[str, Any]:
    known = {"grade_id": name, "grade": False, "solution": False, "locked": False, "task": False, **nbgrader}
    return {"kind": "code", "source": source, "metadata": {"nbgrader": known}, "id": name}


@pytest.fixture(scope="module")
def pool() -> Iterator[Pool]:
    with Pool(1, ["torch"], 1 << 20) as made:
        yield made


def prepare(pool: Pool, state: State) -> None:
    """The assignment as it is in this state, with the named mistake recorded as `course grade` does it."""
    pool.prepare("01", {"01": replace(state, says="").notebook()})
    if state.says:
        code = State(hidden=state.hidden, helper=state.helper).code()
        places = {name: index for index, name, _, _ in code}
        trial = Trial(0, places["first"], ANSWERS["first"][1], places["first-test"], recording=True)
        answers = [answer for _, answer in pool.try_variants([Trials("01", "01", Limits(), code, [trial])])]
        (outcome,) = (answer["outcome"] for answer in answers if "outcome" in answer)
        assert outcome["calls"], answers
        pool.prepare("01", {"01": state.notebook(outcome["calls"])})


def examined(pool: Pool, folder: Path, state: State, known: dict[str, Any] | None = None) -> Record:
    answer = pool.examine(state.submission(folder, known))
    assert "error" not in answer, answer
    return Record.from_json(answer)


def kept(folder: Path, record: Record) -> dict[str, Any] | None:
    """As the one writer stores it, and the next run reads it."""
    (folder / "01.ipynb").write_text(record.notebook, encoding="utf-8")
    published = {"notebooks": {"01": PublishedNotebook.of(record).to_json()}}
    (folder / "grading.json").write_text(json.dumps(published), encoding="utf-8")
    return kept_results(folder / "grading.json", "01")


def then(pool: Pool, folder: Path, before: State, now: State) -> Record:
    """The record of a state that follows another one; it must be that of a full run."""
    prepare(pool, before)
    known = kept(folder, examined(pool, folder, before))
    prepare(pool, now)
    record, full = examined(pool, folder, now, known), examined(pool, folder, now)
    assert record.notebook == full.notebook
    assert (record.ungraded, record.integrity, record.incidents) == (full.ungraded, full.integrity, full.incidents)
    assert record.decided_by == full.decided_by
    return record


def test_only_the_test_that_changed_is_run_again(pool: Pool, tmp_path: Path) -> None:
    state = State()
    changed = replace(state, hidden={**state.hidden, "third": HIDDEN["third"][1]})
    assert then(pool, tmp_path, state, changed).reused == 2
    assert then(pool, tmp_path, state, replace(state, helper="SCALE = 2")).reused == 0
    assert then(pool, tmp_path, state, replace(state, secret="b" * 32)).reused == 0
    assert then(pool, tmp_path, state, replace(state, tools="other versions")).reused == 0


def test_only_what_an_answer_decides_is_run_again(pool: Pool, tmp_path: Path) -> None:
    state = State()
    for name, reused in (("first", 1), ("second", 2), ("third", 2)):  # second calls first
        changed = replace(state, answers={**state.answers, name: ANSWERS[name][1]})
        assert then(pool, tmp_path, state, changed).reused == reused, name
    doing = replace(state, own=("step = 3", "torch.rand(1)", ""))
    assert then(pool, tmp_path, state, doing).reused == 0


def test_files_beside_the_notebook_decide_every_result(pool: Pool, tmp_path: Path) -> None:
    state = State(answers={**State().answers, "third": ANSWERS["third"][3]})
    assert then(pool, tmp_path, state, state).reused == 3
    assert then(pool, tmp_path, state, replace(state, given="4")).reused == 0
    assert then(pool, tmp_path, state, replace(state, mine="factor = 4")).reused == 0


def test_another_recording_of_a_named_mistake_runs_its_test_again(pool: Pool, tmp_path: Path) -> None:
    wrong = {**State().answers, "first": ANSWERS["first"][1]}
    state = State(answers=wrong, says=SAYS[0])
    prepare(pool, state)
    assert SAYS[0] in examined(pool, tmp_path, state).notebook
    record = then(pool, tmp_path, state, replace(state, says=SAYS[1]))
    assert record.reused == 2
    assert SAYS[1] in record.notebook
    assert SAYS[0] not in record.notebook
    assert then(pool, tmp_path, state, replace(state, says="")).reused == 2


def test_nothing_runs_where_no_code_has_changed(pool: Pool, tmp_path: Path) -> None:
    state = State(own=("step = 3", "import time; print(time.monotonic_ns())", ""))
    prepare(pool, state)
    first = examined(pool, tmp_path, state)
    again = examined(pool, tmp_path, replace(state, text="Another text."), kept(tmp_path, first))
    assert again.reused == 3
    assert again.notebook == first.notebook.replace("A text.", "Another text.")  # the time it shows, too
    assert (again.times, again.cpu_seconds, again.peak_mb) == (first.times, first.cpu_seconds, first.peak_mb)


def test_a_graded_notebook_that_was_changed_gives_no_results(pool: Pool, tmp_path: Path) -> None:
    state = State()
    prepare(pool, state)
    assert kept(tmp_path, examined(pool, tmp_path, state)) is not None
    path = tmp_path / "01.ipynb"
    path.write_text(path.read_text(encoding="utf-8").replace("2.0", "1.0"), encoding="utf-8")
    assert kept_results(tmp_path / "grading.json", "01") is None


def test_a_run_that_did_not_go_well_is_had_again(pool: Pool, tmp_path: Path) -> None:
    ended = State(own=("step = 3", "import os; os._exit(3)", ""))
    prepare(pool, ended)
    assert examined(pool, tmp_path, ended).decided_by == {}
    before = State(own=("step = 3", "def unused(x):\n    return 1", ""))
    ending = replace(before, answers={**before.answers, "third": "def third(x):\n    import os\n    os._exit(3)"})
    assert then(pool, tmp_path, before, ending).reused == 0


states = st.builds(
    State,
    answers=st.fixed_dictionaries({name: st.sampled_from(texts) for name, texts in ANSWERS.items()}),
    own=st.tuples(*[st.sampled_from(OWN)] * 3),
    hidden=st.fixed_dictionaries({name: st.sampled_from(texts) for name, texts in HIDDEN.items()}),
    says=st.sampled_from(["", *SAYS]),
)


@st.composite
def changes(draw: st.DrawFn) -> tuple[State, State]:
    """A state, and one in which some things are others."""
    before, other = draw(states), draw(states)
    after = replace(
        before,
        answers={name: (other if draw(st.booleans()) else before).answers[name] for name in ANSWERS},
        own=tuple(draw(st.sampled_from(pair)) for pair in zip(before.own, other.own, strict=True)),
        hidden={name: (other if draw(st.booleans()) else before).hidden[name] for name in HIDDEN},
        secret=draw(st.sampled_from(["a" * 32] * 4 + ["b" * 32])),
        tools=draw(st.sampled_from(["these versions"] * 4 + ["other versions"])),
        helper=draw(st.sampled_from(["SCALE = 1"] * 4 + ["SCALE = 2"])),
        given=draw(st.sampled_from(["3"] * 4 + ["4"])),
        mine=draw(st.sampled_from(["factor = 3"] * 4 + ["factor = 4"])),
        says=draw(st.sampled_from([before.says, before.says, other.says])),
        text=draw(st.sampled_from(["A text.", "Another text."])),
    )
    return before, after


QUIET = [HealthCheck.function_scoped_fixture, HealthCheck.too_slow]


@given(changes())
@settings(max_examples=10, deadline=None, derandomize=True, database=None, suppress_health_check=QUIET)
def test_whatever_changes_the_result_is_that_of_a_full_run(
    pool: Pool, tmp_path: Path, pair: tuple[State, State]
) -> None:
    then(pool, tmp_path, *pair)


@pytest.mark.thorough
@pytest.mark.timeout(1800)
@given(changes())
@settings(max_examples=100, deadline=None, database=None, suppress_health_check=QUIET)
def test_whatever_changes_a_hundred_times(pool: Pool, tmp_path: Path, pair: tuple[State, State]) -> None:
    then(pool, tmp_path, *pair)
