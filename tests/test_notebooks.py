"""Every assignment, run for real: cell by cell with nbval, through `course verify`, and on Colab's older Jupyter stack."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from conftest import ROOT, TOOLS, run_course
from nbclient import NotebookClient

from autograder.authoring import build
from autograder.authoring.answers import submission
from autograder.model import course
from autograder.model.regions import without_markers
from helpers.kit.validate import client_class, executed, results_of

ASSIGNMENTS = course.load(ROOT).assignments
by_assignment = pytest.mark.parametrize("assignment", ASSIGNMENTS, ids=lambda a: a.id)
# Widgets, kept models, a corpus, a simulated GPU: what differs between Colab's stack and ours shows in one of these.
ON_COLAB = ("03-attention", "09-gpt", "12-translation", "15-kernels")
# The others run in a kernel on Colab's stack (above) or beside the examiner (test_engines.py).
IN_A_KERNEL = ("01-big-picture", "06-tokenization", "11-speeches", "16-precision")


def some(chosen: tuple[str, ...]) -> pytest.MarkDecorator:
    """These assignments in `make test`, all of them in `make test-all`."""
    every = [pytest.param(a, marks=() if a.id in chosen else pytest.mark.thorough) for a in ASSIGNMENTS]
    return pytest.mark.parametrize("assignment", every, ids=lambda a: a.id)


@pytest.mark.slow
@some(IN_A_KERNEL)
def test_solution_runs_cell_by_cell_without_an_error(assignment: course.Assignment, tmp_path: Path) -> None:
    instructor, _, _ = build.build(course.load(ROOT), assignment)
    notebook = tmp_path / f"{assignment.id}.ipynb"
    notebook.write_text(instructor, encoding="utf-8")
    environment = {
        **os.environ,
        "NBGRADER_EXECUTION": "validate",  # small experiments, and no hand_in()
        "COURSE_STRICT_CHECKS": "1",
        "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}",
    }
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "--nbval-lax",
            "--nbval-current-env",
            "--nbval-cell-timeout=120",
            "-p",
            "no:xdist",
            "-q",
            notebook.name,
        ],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-5000:]
    assert " passed" in done.stdout


@pytest.mark.slow
@by_assignment
@pytest.mark.parametrize("sample", ["15", pytest.param("1", marks=[pytest.mark.thorough, pytest.mark.timeout(1800)])])
def test_the_tests_are_tested(assignment: course.Assignment, sample: str) -> None:
    done = run_course("verify", assignment.id, "--json", "--sample", sample)
    assert done.returncode in (0, 1), done.stderr
    (report,) = json.loads(done.stdout)
    assert report["failures"] == []


@pytest.mark.slow
def test_untouched_notebook_fails_every_visible_test_with_a_message() -> (
    None
):  # `verify` does the same for every assignment, without a kernel
    (assignment,) = course.load(ROOT).select(["03-attention"])
    done = run_course("check", str(assignment.student_notebook), "--json")
    assert done.returncode == 1, done.stderr
    for result in json.loads(done.stdout):
        assert result["score"] == 0
        assert "not written yet" in result["message"], result


@by_assignment
def test_student_notebook_has_no_outputs_and_starts_with_the_colab_cell(assignment: course.Assignment) -> None:
    notebook = nbformat.read(assignment.student_notebook, as_version=4)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in code)
    assert notebook.cells[0].source.startswith("# "), "a notebook opens with its title"
    assert code[0].source.count("\n") == 5, "the set-up for Colab is a title, what it does, and four lines"
    assert code[0].source.endswith(")")
    assert "colab.ready(" in code[0].source
    assert "torch" not in code[0].source


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["file", "folder", "package"])
def test_a_students_own_helpers_beside_the_notebook_are_named_in_one_sentence(kind: str, tmp_path: Path) -> None:
    setup = next(
        c.source for c in nbformat.read(ASSIGNMENTS[0].student_notebook, as_version=4).cells if c.cell_type == "code"
    )
    theirs = tmp_path / ("helpers.py" if kind == "file" else "helpers")
    if kind == "file":
        theirs.write_text("def mine():\n    return 1\n")
    else:
        theirs.mkdir()
        (theirs / ("__init__.py" if kind == "package" else "mine.py")).write_text("")
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(setup)])
    folder = {"metadata": {"path": str(tmp_path)}}  # a kernel as JupyterLab starts it, which looks there first
    client = NotebookClient(notebook, timeout=60, kernel_name="python3", allow_errors=True, resources=folder)
    client.execute()
    (said,) = notebook.cells[0].outputs
    assert said.ename == "ImportError"
    assert said.evalue.startswith(str(theirs))
    assert "hides the course's own helpers: give yours another name" in said.evalue
    os.replace(theirs, tmp_path / ("mine.py" if kind == "file" else "mine"))
    client.execute()
    assert notebook.cells[0].outputs == []


def test_requests_that_wake_a_kernel_disturb_no_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_class(), "nudge_seconds", 0.1)
    notebook = nbformat.v4.new_notebook(
        cells=[
            nbformat.v4.new_code_cell("import time\ntime.sleep(1)\nprint('slept')"),
            nbformat.v4.new_code_cell("6 * 7"),
        ]
    )
    client_class()(notebook, timeout=60, kernel_name="python3").execute()
    assert [
        output.get("text") or output["data"]["text/plain"] for cell in notebook.cells for output in cell.outputs
    ] == ["slept\n", "42"]


@pytest.fixture(scope="session")
def colab_stack() -> Path:
    """Colab's versions of the Jupyter stack in a folder of their own, to be put in front of the environment's."""
    place = ROOT / ".colab"
    pins = dict(
        line.split("==") for line in (ROOT / "tests" / "colab-constraints.txt").read_text().splitlines() if "==" in line
    )
    wanted = [
        "ipython",
        "ipykernel",
        "ipywidgets",
        "jupyter_client",
        "traitlets",
        "tornado",
        "numpy",
        "pandas",
        "matplotlib",
        "seaborn",
    ]
    stamp = place / ".installed"
    stamp_text = " ".join(f"{name}=={pins[name]}" for name in wanted)
    if not stamp.exists() or stamp.read_text() != stamp_text:
        command = [
            sys.executable,
            "-m",
            "pip",
            "install",
            "--quiet",
            "--upgrade",
            "--target",
            str(place),
            *stamp_text.split(),
        ]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        if done.returncode:
            pytest.skip(f"Colab's versions cannot be installed here: {done.stderr.strip().splitlines()[-1]}")
        stamp.write_text(stamp_text)
    return place


@pytest.mark.slow
@pytest.mark.xdist_group("colab")
@some(ON_COLAB)
def test_answered_notebook_passes_its_visible_tests_on_colabs_stack(
    assignment: course.Assignment, colab_stack: Path, tmp_path: Path
) -> None:
    cells, _ = build.checked_cells(assignment)
    student = assignment.student_notebook.read_text(encoding="utf-8")
    notebook = tmp_path / f"{assignment.id}.ipynb"
    answered = nbformat.reads(
        submission(student, {cell.grade_id: without_markers(cell.source) for cell in cells if cell.is_solution}),
        as_version=4,
    )
    answered.cells.append(
        nbformat.v4.new_code_cell(
            "import IPython; print('ipython', IPython.__version__)\nimport ipywidgets; print('widgets',"
            " ipywidgets.__version__)"
        )
    )
    nbformat.write(answered, notebook)
    done = executed(notebook, PYTHONPATH=str(colab_stack))
    printed = "".join(output.get("text", "") for output in done.cells[-1].outputs)
    assert "ipython 7.34" in printed
    assert "widgets 7.7" in printed
    for result in results_of(done):
        assert result.passed, f"{result.name}: {result.message}"
