"""Kernels that crash, race, loop or lie about their work: the figures are the examiner's own, and only the question
that a kernel belongs to is lost.
"""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from classroom import once
from conftest import ROOT, run_course
from course import header

from autograder.examiner import sandbox
from autograder.model.course import load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sandbox.why_not() is not None, reason="hostile code needs a sandbox"),
]

NAME = "92-kernels"
SETUP = "import torch\nfrom helpers import checks\nfrom helpers.checks import Check, randn\nfrom helpers.kit.tiles import tl, triton"
STUB = '@triton.jit\ndef double_kernel(x, out, n, BLOCK: tl.constexpr):\n    """out = 2 x, n numbers each."""'
BODY = """
    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    numbers = tl.load(x + places, mask=places < n)
    tl.store(out + places, numbers + numbers, mask=places < n)"""
TEST = """
check = Check("double", points=4)
numbers = torch.arange(40.0)
with check.idea("twice as much"):
    run = check.measure(checks.traffic, double_kernel, (2,), numbers[:32], torch.zeros(32), 32, BLOCK=16)
    check.close(run.arrays["out"], 2 * numbers[:32], "twice as much")
    ### BEGIN HIDDEN TESTS
    check.equal([run.loaded, run.stored], [128, 128], "one read, one write")
    run = check.measure(checks.traffic, double_kernel, (3,), numbers, torch.zeros(40), 40, BLOCK=16)
    check.close(run.arrays["out"], 2 * numbers, "the last block")
    ### END HIDDEN TESTS
check.score()
"""
OTHER = (
    'def other():\n    """One."""',
    "    return 1",
    'check = Check("other", points=1)\ncheck.equal(check.run(other), 1, "one")\ncheck.score()',
)
HONEST = STUB + BODY
TWICE = HONEST.replace("numbers + numbers", "tl.load(x + places, mask=places < n) + numbers")
PATCHES = """
import helpers.kit.tiles.language as language, helpers.kit.tiles.launch as launch, helpers.kit.tiles.memory as memory
memory.Memory.load = lambda self, array, offsets, mask=None, line=0: offsets * 1.0
memory.Memory.look_for_races = lambda *a: None
language.load = lambda *a, **k: 0.0
launch.run_program = lambda *a, **k: None
launch.counted = lambda memory, arrays: launch.Traffic(128, 128, 0, 0, 2, {"out": 2 * torch.arange(32.0)})
checks.traffic = lambda *a, **k: launch.counted(None, None)
"""
WRONG = {
    "outside": HONEST.replace("x + places, mask=places < n", "x + places"),
    "race": HONEST.replace("tl.program_id(0) * BLOCK + tl", "tl"),
    "endless": HONEST.replace("    tl.store", "    while n > 0:\n        numbers = numbers + 0.0\n    tl.store"),
    "loads twice": TWICE,
    "loads twice, simulator patched": PATCHES + TWICE,
    "stores nothing, simulator patched": PATCHES + STUB + "\n    places = tl.arange(0, BLOCK)",
    "ends the process": f"import os\n{HONEST}\n    os._exit(0)",
    "reaches for Python": HONEST + '\n    __import__("os")._exit(0)',
    "by way of a type": HONEST + "\n    y = x.dtype.__class__",
    "made of a string": f"exec({HONEST!r})",
    "no kernel": "def double_kernel(x, out, n, BLOCK):\n    out.copy_(2 * x)",
    "too much memory": HONEST.replace("    tl.store", "    y = tl.zeros((1048576, 65536), tl.float32)\n    tl.store"),
}
RIGHT = {"honest": HONEST, "simulator patched for nothing": PATCHES + HONEST}


def source() -> str:
    parts = [f"{header(grade_id='setup', locked=True)}\n{SETUP}"]
    exercises = {"double": (STUB, BODY.strip("\n"), TEST.strip()), "other": OTHER}
    for name, (stub, body, test) in exercises.items():
        answer = f"{stub}\n    ### BEGIN SOLUTION\n{body}\n    ### END SOLUTION"
        parts.append(f"# %% [markdown]\n# Write it.\n\n{header(grade_id=name, solution=True)}\n{answer}")
        points = 4 if name == "double" else 1
        parts.append(f"{header(grade=True, grade_id=f'{name}-test', locked=True, points=points)}\n{test}")
    return "\n\n".join(parts) + "\n"


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    def work(shared: Path) -> dict[str, Any]:
        root = shared / "kernels"
        folder = root / "solutions" / NAME
        folder.mkdir(parents=True)
        (root / "course.toml").write_text(
            'title = "K"\ncourse_id = "k"\nrepository = "https://github.com/example/k"\n\n[limits]\ncell_seconds = 4\n'
            f'test_seconds = 8\nmemory_mb = 512\n\n[[assignment]]\nid = "{NAME}"\ntitle = "K"\npart = "I"\nminutes = 5\n'
        )
        shutil.copy(ROOT / "nbgrader_config.py", root)
        (folder / f"{NAME}.py").write_text(source())
        built = run_course("build", cwd=root)
        assert built.returncode == 0, built.stderr
        student = load(root).assignments[0].student_notebook.read_text()
        for number, answer in enumerate([*RIGHT.values(), *WRONG.values()]):
            notebook = json.loads(student)
            answers = {"double": answer, "other": f"{OTHER[0]}\n{OTHER[1]}"}
            for cell in notebook["cells"]:
                cell["source"] = answers.get(cell["metadata"].get("nbgrader", {}).get("grade_id", ""), cell["source"])
            place = root / "submitted" / f"s{number}" / NAME
            place.mkdir(parents=True)
            (place / f"{NAME}.ipynb").write_text(json.dumps(notebook))
        done = run_course("grade", NAME, "--workers", "2", "--json", cwd=root)
        assert done.returncode == 0, done.stderr + done.stdout
        grades = {}
        for number, name in enumerate([*RIGHT, *WRONG]):
            record = json.loads((root / "autograded" / f"s{number}" / NAME / "grading.json").read_text())
            marks = record["notebooks"][NAME]["grades"]
            grades[name] = {test: marks[test]["auto"] for test in ("double-test", "other-test")}
        return grades

    return once(tmp_path_factory, "kernels", work)


@pytest.mark.parametrize("name", RIGHT)
def test_a_right_kernel_keeps_everything(graded: dict[str, dict[str, float]], name: str) -> None:
    assert graded[name] == {"double-test": 4.0, "other-test": 1.0}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_kernel_loses_its_question_and_no_other(graded: dict[str, dict[str, float]], name: str) -> None:
    assert graded[name]["double-test"] <= 1.0  # a quarter: the idea has failed
    assert graded[name]["other-test"] == 1.0
