"""Damaged notebooks: every kind of damage is mended, on the record, and the student's answers survive."""

from __future__ import annotations

import copy
import json
import resource
import signal
import socket
import subprocess
import sys
import time
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from autograder.examiner import job, repair
from autograder.examiner.deadline import MachineFault
from autograder.examiner.limits import Limits
from autograder.examiner.repair import Cell, Unreadable, reading, reading_limits
from autograder.examiner.tester import Prepared
from autograder.model.record import ReasonKind, Repair, RepairKind, Sign, SignKind


def known(name: str, *, solution: bool = False, grade: bool = False, points: float = 0) -> dict[str, Any]:
    found: dict[str, Any] = {
        "grade_id": name,
        "solution": solution,
        "grade": grade,
        "locked": not solution,
        "schema_version": 3,
    }
    return {"nbgrader": {**found, **({"points": points} if grade else {})}}


STUB = 'def double(x):\n    """Twice x."""\n    # YOUR CODE HERE\n    raise NotImplementedError()'
TEST = (
    "assert double(2) == 4\nassert double('ab') == 'abab'\n### BEGIN HIDDEN TESTS\nassert double(7) == 14\n### END"
    " HIDDEN TESTS"
)
VISIBLE = "assert double(2) == 4\nassert double('ab') == 'abab'\n"
INSTRUCTOR = [
    Cell("markdown", "# Doubling", {}, "title"),
    Cell("code", "import math\nimport torch  # the set-up", known("setup"), "setup"),
    Cell("code", STUB, known("double", solution=True), "double"),
    Cell("code", TEST, known("double-test", grade=True, points=2), "double-test"),
    Cell("markdown", "Why?", known("why", solution=True, grade=True, points=1), "why"),
    Cell("markdown", "The end.", {}, "end"),
]
RELEASED = {"setup": INSTRUCTOR[1].source, "double": STUB, "double-test": VISIBLE, "why": "Why?"}
ANSWER = "def double(x):\n    return x + x"


def submitted() -> list[dict[str, Any]]:
    """An honest submission, as a list of cells."""
    sources = {"double": ANSWER, "double-test": VISIBLE, "why": "Because of symmetry."}
    return [
        {
            "cell_type": c.kind,
            "id": c.id,
            "metadata": copy.deepcopy(c.metadata),
            "source": sources.get(c.name, c.source),
        }
        for c in INSTRUCTOR
    ]


def repaired(cells: list[dict[str, Any]]) -> repair.Repaired:
    data = json.dumps({"cells": cells, "metadata": {}, "nbformat": 4, "nbformat_minor": 5}).encode()
    return repair.repair(repair.read(data), INSTRUCTOR, RELEASED)


def by_name(done: repair.Repaired) -> dict[str, Cell]:
    return {cell.name: cell for cell in done.cells if cell.name}


def whole(done: repair.Repaired) -> None:
    """Everything is in its place, with the instructor's tests and the student's answers."""
    assert [cell.name for cell in done.cells if cell.name] == ["setup", "double", "double-test", "why"]
    found = by_name(done)
    assert found["double"].source == ANSWER
    assert found["double-test"].source == TEST
    assert found["double-test"].nbgrader["points"] == 2
    assert found["why"].source == "Because of symmetry."


def test_an_honest_notebook_needs_no_repair() -> None:
    done = repaired(submitted())
    whole(done)
    assert done.repairs == []
    assert done.edited == []


def test_edited_tests_and_points_become_the_instructors() -> None:
    cells = submitted()
    cells[3]["source"] = "assert True"
    cells[3]["metadata"]["nbgrader"]["points"] = 200
    done = repaired(cells)
    whole(done)
    assert done.edited == [Sign.of(SignKind.EDITED, cell="double-test", role="test cell")]


@pytest.mark.parametrize("ids", [True, False])
def test_stripped_metadata(ids: bool) -> None:
    cells = submitted()
    for cell in cells:
        cell["metadata"] = {}
        if not ids:
            del cell["id"]
    done = repaired(cells)
    whole(done)
    assert len(done.repairs) == 4


def test_colab_keeps_ids_in_the_metadata() -> None:
    cells = submitted()
    for cell in cells:
        cell["metadata"] = {"id": cell.pop("id")}
    whole(repaired(cells))


def test_deleted_cells_come_back() -> None:
    cells = submitted()
    done = repaired([cells[0], cells[2], cells[4]])
    whole(done)
    assert Repair.of(RepairKind.MISSING, cell="double-test", role="test") in done.repairs
    without_answer = repaired([cell for cell in cells if cell["id"] != "double"])
    assert by_name(without_answer)["double"].source == STUB


def test_duplicated_cells_the_last_answer_counts() -> None:
    cells = submitted()
    first = copy.deepcopy(cells[2])
    first["source"] = "def double(x):\n    return 3 * x"
    blank = copy.deepcopy(cells[2])
    blank["source"] = STUB
    done = repaired([*cells[:2], first, cells[2], blank, *cells[3:]])
    whole(done)
    assert Repair.of(RepairKind.DUPLICATED, cell="double", count=3) in done.repairs


def test_order_is_restored_and_own_cells_stay() -> None:
    cells = submitted()
    own = {"cell_type": "code", "metadata": {}, "source": "my_note = 1"}
    done = repaired([cells[3], cells[2], own, cells[4], cells[1], cells[0], cells[5]])
    whole(done)
    place = [cell.source for cell in done.cells]
    assert place.index("my_note = 1") == place.index(ANSWER) + 1
    assert Repair.of(RepairKind.REORDERED) in done.repairs


def test_retyped_cells() -> None:
    cells = submitted()
    cells[2]["cell_type"], cells[3]["cell_type"], cells[4]["cell_type"] = "markdown", "raw", "code"
    done = repaired(cells)
    whole(done)
    assert [by_name(done)[name].kind for name in ("double", "double-test", "why")] == ["code", "code", "markdown"]


def test_a_false_graded_cell_is_only_a_cell() -> None:
    extra = {"cell_type": "code", "metadata": known("gift", grade=True, points=100), "source": "100.0"}
    done = repaired([*submitted(), extra])
    whole(done)
    assert done.cells[-1].nbgrader == {}
    assert Repair.of(RepairKind.UNKNOWN_NAME, cell="gift") in done.repairs


def test_a_written_answer_without_metadata_is_found_by_its_place() -> None:
    cells = submitted()
    cells[4]["metadata"] = {}
    del cells[4]["id"]
    whole(repaired(cells))


def test_an_answer_written_below_an_untouched_prompt_is_moved_to_it() -> None:
    cells = submitted()
    cells[4]["source"] = "Why?"
    own = {"cell_type": "markdown", "id": "new", "metadata": {}, "source": "Because of symmetry."}
    done = repaired([*cells[:5], own, *cells[5:]])
    assert by_name(done)["why"].source == "Why?\n\nBecause of symmetry."
    assert "The end." in [cell.source for cell in done.cells]  # the instructor's next text is not taken for an answer
    assert Repair.of(RepairKind.ANSWER_NEARBY, cell="why", where="below") in done.repairs
    answered = submitted()
    done = repaired([*answered[:5], own, *answered[5:]])  # a remark below an answer stays a remark
    assert by_name(done)["why"].source == "Because of symmetry."
    assert done.repairs == []


@pytest.mark.parametrize(
    ("own", "above"),
    [
        ({"cell_type": "markdown", "source": "Because of symmetry."}, True),
        ({"cell_type": "code", "source": "# Because of symmetry."}, False),
        ({"cell_type": "code", "source": "Because of symmetry."}, False),
    ],
)
def test_an_answer_written_above_or_in_a_code_cell_is_moved_too(own: dict[str, Any], above: bool) -> None:
    cells = submitted()
    cells[4]["source"] = "Why?"
    place = 4 if above else 5
    done = repaired([*cells[:place], {**own, "metadata": {}}, *cells[place:]])
    assert "Because of symmetry." in by_name(done)["why"].source
    assert by_name(done)["double-test"].source == TEST
    assert any(one.kind == RepairKind.ANSWER_NEARBY and one.about["cell"] == "why" for one in done.repairs)


@pytest.mark.parametrize("place", [1, 2, 3, 4, 6])
@pytest.mark.parametrize("stripped", [False, True])
def test_an_answer_in_a_new_cell_anywhere_counts(place: int, stripped: bool) -> None:
    """What was given must not overwrite it, and the test must not come before it."""
    cells = submitted()
    cells[2]["source"] = STUB
    cells.insert(place, {"cell_type": "code", "metadata": {}, "source": ANSWER})
    for cell in cells if stripped else ():
        cell["metadata"] = {}
        cell.pop("id", None)
    done = repaired(cells)
    before_test = [cell.source for cell in done.cells[: [cell.name for cell in done.cells].index("double-test")]]
    assert ANSWER in before_test
    assert STUB not in before_test[before_test.index(ANSWER) :]
    assert [one for one in done.repairs if one.about.get("cell") == "double"]


def test_everything_in_one_cell() -> None:
    value = Cell("code", "answer = ...", known("answer", solution=True), "answer")
    data = json.dumps({"cells": [{"cell_type": "code", "metadata": {}, "source": f"{ANSWER}\nanswer = 42"}]}).encode()
    done = repair.repair(repair.read(data), [*INSTRUCTOR, value], {**RELEASED, "answer": "answer = ..."})
    assert "answer = ..." not in [cell.source for cell in done.cells]


def test_what_the_instructor_defines_is_nobodys_answer() -> None:
    cells = submitted()
    cells[2]["source"] = STUB
    given = Cell("code", "def double(x):\n    return 2 * x  # an example", {}, "example")
    cells.insert(1, {"cell_type": "code", "id": "example", "metadata": {}, "source": given.source})
    data = json.dumps({"cells": cells}).encode()
    done = repair.repair(repair.read(data), [INSTRUCTOR[0], given, *INSTRUCTOR[1:]], RELEASED)
    assert by_name(done)["double"].source == STUB


def test_an_answer_pasted_into_the_test_cell_counts() -> None:
    cells = submitted()
    cells[2]["source"] = STUB
    cells[3]["source"] = f"{ANSWER}\n\nprint(double(2))\n{VISIBLE}"
    done = repaired(cells)
    whole(done)
    assert done.edited
    assert Repair.of(RepairKind.STUB_ANSWERED_ELSEWHERE, cell="double") in done.repairs


def test_a_blank_copy_of_the_notebook_does_not_undo_the_answers() -> None:
    blank = [
        {**cell, "source": RELEASED.get(cell["metadata"].get("nbgrader", {}).get("grade_id", ""), cell["source"])}
        for cell in submitted()
    ]
    for cells in ([*blank, *submitted()], [*submitted(), *blank]):
        done = repaired(cells)
        whole(done)
        assert STUB not in [cell.source for cell in done.cells]
        for cell in cells:
            cell["metadata"] = {}
            cell.pop("id", None)
        done = repaired(cells)
        assert by_name(done)["double"].source == ANSWER
        assert STUB not in [cell.source for cell in done.cells]


def test_pasted_pictures_stay() -> None:
    cells = submitted()
    cells[4]["attachments"] = {"x.png": {"image/png": "aGk="}}
    assert by_name(repaired(cells))["why"].attachments == {"x.png": {"image/png": "aGk="}}


@pytest.mark.parametrize(
    "damage",
    [
        lambda nb: nb["cells"][2].update(source=[ANSWER[:10], ANSWER[10:]]),
        lambda nb: nb["cells"][2].update(source=ANSWER.split("\n")),
        lambda nb: nb["cells"][0].pop("metadata"),
        lambda nb: nb["cells"][0].update(metadata=None, source=None),
        lambda nb: nb["cells"].insert(0, "not a cell"),
        lambda nb: nb["cells"].insert(0, {"cell_type": 7}),
        lambda nb: nb.update(nbformat=5, nbformat_minor=99, metadata=[]),
        lambda nb: nb.update(nbformat=3, worksheets=[{"cells": nb.pop("cells")}]),
        lambda nb: [cell.update(input=cell.pop("source")) for cell in nb["cells"] if cell["cell_type"] == "code"],
    ],
)
def test_other_formats_and_broken_parts(damage: Any) -> None:
    notebook: dict[str, Any] = {"cells": submitted(), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}
    damage(notebook)
    for encoding in ("utf-8", "utf-8-sig", "utf-16", "utf-16-le", "utf-16-be", "utf-32"):
        whole(repair.repair(repair.read(json.dumps(notebook).encode(encoding)), INSTRUCTOR, RELEASED))


def test_what_is_nearly_json_is_read() -> None:
    text = json.dumps({"cells": submitted(), "metadata": {}, "nbformat": 4}, indent=1)
    line = next(line for line in text.splitlines(keepends=True) if "x + x" in line)
    conflict = f"<<<<<<< HEAD\n{line}||||||| base\nlost\n=======\n{line.replace('x + x', '2 * x')}>>>>>>> origin/main\n"
    for damaged, changes in (
        (text.replace("\n ],", ",\n ],"), {"commas": True}),
        (text.replace(line, conflict), {"version": "first"}),
        (text + "\n}", {"behind": 2}),
        (text.replace("Because of", "Because\tof").replace("\tof", " of"), None),
    ):
        repairs: list[Repair] = []
        whole(repair.repair(repair.read(damaged.encode(), repairs), INSTRUCTOR, RELEASED))
        mended = {"version": "", "commas": False, "behind": 0, **(changes or {})}
        assert repairs == ([] if changes is None else [Repair.of(RepairKind.NOT_QUITE_JSON, **mended)])
    assert repair.read(b'{"cells": [{"cell_type": "code", "source": "a\tb\nc"}]}')[0].source == "a\tb\nc"


def test_a_file_made_to_be_slow_to_mend_is_refused_soon() -> None:
    started = time.process_time()
    for data in (
        b'{"cells": [' + b'"\\"' * 100_000,
        b"{" + b"<<<<<<<\n" * 100_000,
        b"{" + b"<<<<<<<\n=======\n" * 50_000,
        b"{" + b", " * 200_000,
    ):
        with pytest.raises(Unreadable):
            repair.read(data)
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("data", "reason"),
    [
        (b"", ReasonKind.EMPTY),
        (b"\0" * 100, ReasonKind.EMPTY),
        (b'{"cells": [', ReasonKind.CUT_OFF),
        (b"PK\x03\x04 this is a zip file", ReasonKind.ZIP),
        (b"%PDF-1.7", ReasonKind.PDF),
        (b"<html>", ReasonKind.HTML),
        (b"no notebook", ReasonKind.NOT_JSON),
        (b"[1, 2]", ReasonKind.NO_CELLS),
        (b'{"cells": 5}', ReasonKind.NO_CELLS),
        (b"[" * 100_000, ReasonKind.TOO_DEEP),
        (b'{"cells": [' + b"{}," * 6000 + b"{}]}", ReasonKind.TOO_MANY_CELLS),
    ],
)
def test_what_cannot_be_read_says_why(data: bytes, reason: ReasonKind) -> None:
    with pytest.raises(Unreadable) as refused:
        repair.read(data)
    assert refused.value.reason.kind == reason


# ---- limits come first -----------------------------------------------------------------------------------------------

GREEDY = {
    "objects": "{},",
    "lists": "[[]],",
    "objects with a member": '{"a":{}},',
    "numbers": "0,",
    "texts": '"","x",',
    "members": None,
}


@pytest.mark.parametrize("unit", GREEDY)
def test_a_file_of_nothing_but_values_is_refused_before_it_takes_memory(unit: str, tmp_path: Path) -> None:
    """24 MB of `{},` would be 700 MB of Python's objects. Measured in a process of its own, whose memory is capped."""
    size = 24 << 20
    one = GREEDY[unit]
    body = "".join(f'"{n}":0,' for n in range(size // 10)) + '"":0' if one is None else one * (size // len(one)) + "0"
    text = f'{{"cells": {{{body}}}}}' if one is None else f'{{"cells": [{body}]}}'
    path = tmp_path / "greedy.ipynb"
    path.write_text(text)
    code = (
        "import resource, sys; from autograder.examiner import repair\n"
        "data = open(sys.argv[1], 'rb').read()\n"
        "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
        "before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss\n"
        "try: repair.read(data)\n"
        "except repair.Unreadable as refused: print(refused.reason.kind)\n"
        "print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    reason, grown = done.stdout.strip().splitlines()
    assert reason == ReasonKind.TOO_MANY_VALUES
    assert int(grown) << 10 < 3 * size, "kilobytes beyond the file itself"


def test_values_are_counted_outside_texts_only() -> None:
    assert not reading.more_values_than(10, json.dumps({"source": ",{[" * 100}))
    assert not reading.more_values_than(10, json.dumps({"source": '\\",' * 100}))
    assert reading.more_values_than(10, json.dumps({"source": [1] * 20}))
    assert not reading.more_values_than(10, '"' + '\\",' * 100)  # a text without an end


def test_repair_is_bounded_in_time_and_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    before = resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGVTALRM)
    monkeypatch.setattr(reading_limits, "REPAIR_SECONDS", 0.05)
    with pytest.raises(Unreadable) as slow, repair.within_limits():
        next(n for n in count() if n < 0)
    assert slow.value.reason.kind == ReasonKind.TOO_SLOW
    monkeypatch.setattr(reading_limits, "MEMORY_TO_READ", 64 << 20)
    monkeypatch.setattr(reading_limits, "REPAIR_SECONDS", 60.0)
    with pytest.raises(Unreadable) as greedy, repair.within_limits():
        bytearray(256 << 20)
    assert greedy.value.reason.kind == ReasonKind.TOO_MUCH_MEMORY
    assert (resource.getrlimit(resource.RLIMIT_AS), signal.getsignal(signal.SIGVTALRM)) == before
    assert signal.getitimer(signal.ITIMER_VIRTUAL) == (0.0, 0.0)


def test_a_machine_with_too_little_memory_is_not_the_notebook_s_fault(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading_limits, "MEMORY_TO_READ", 64 << 20)
    monkeypatch.setattr(reading_limits, "machine_is_short", lambda: True)
    with pytest.raises(MachineFault), repair.within_limits():
        bytearray(256 << 20)
    monkeypatch.undo()
    before = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (reading_limits.address_space() + (512 << 20), before[1]))
    try:
        assert reading_limits.machine_is_short()
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def test_what_is_done_with_the_text_before_it_runs_is_limited_like_reading(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Names and dependences of a very long cell take longer than to read it; without a limit there was no verdict."""

    def endless(*unused: object) -> None:
        while True:
            pass

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(reading_limits, "REPAIR_SECONDS", 0.2)
    monkeypatch.setattr(job.result_keys, "keys_of", endless)
    path = tmp_path / "x.ipynb"
    path.write_text('{"cells": [], "metadata": {}, "nbformat": 4, "nbformat_minor": 5}')
    asked = {"path": str(path), "place": str(tmp_path), "limits": Limits().as_dict(), "tools": "x"}
    nobody = socket.socket()
    with nobody:
        made = job.grade(
            {**asked, "repairs": [], "files": [], "given": []},
            {"cells": [{"kind": "markdown", "source": "x", "metadata": {}}], "released": {}},
            Prepared({}, set()),
            None,
            nobody,
            nobody,
        )
    assert made is not None
    assert made.unreadable is not None
    assert made.unreadable.kind == ReasonKind.TOO_SLOW
