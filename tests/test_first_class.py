"""What docs/first-class.md tells a new instructor to type works, command by command; the recipes can be read by the
tools that they are for.
"""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
from pathlib import Path

import click
import pytest
import yaml
from conftest import ROOT, run_course

from autograder import demo
from autograder.authoring import build
from autograder.authoring.made_up_class import made_up_students
from autograder.examiner import sandbox
from autograder.model import course

PAGE = ROOT / "docs" / "first-class.md"
RECIPES = ROOT / "docs" / "recipes"


def commands() -> list[list[str]]:
    """Every line of the page's shell blocks, with the small assignment in place of the page's."""
    blocks = re.findall(r"^```sh\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines() if line.strip()]
    return [line.replace("03-attention", "01-small").split() for line in lines]


@pytest.fixture
def class_of_one(small_course: Path) -> Path:
    """A course with what Canvas gives: its gradebook, and an archive with the work of four."""
    made = course.load(small_course)
    (assignment,) = made.assignments
    files, _ = build.outputs(made, [assignment])
    build.write(files)
    cells, _ = build.checked_cells(assignment)
    people = list(demo.enrolled(made_up_students(cells, {"double": []}, 4)))
    demo.write_lms_files(made, assignment, cells, people)
    shutil.move(small_course / demo.GRADEBOOK, small_course / "gradebook.csv")
    return small_course


@pytest.mark.slow
def test_every_command_of_the_page_works_in_its_order(class_of_one: Path) -> None:
    typed = commands()
    assert [line[1] for line in typed] == [
        *("doctor", "release", "roster", "collect", "grade", "feedback", "report", "export"),
    ]
    for program, *args in typed:
        assert program == "course"
        unsafe = ["--unsafe"] if args[0] == "grade" and sandbox.why_not() else []
        done = run_course(*args, *unsafe, cwd=class_of_one)
        assert done.returncode == 0, f"course {args}: {done.stdout} {done.stderr}"
    assert (class_of_one / "class" / "notebooks" / "01-small" / "01-small.ipynb").exists()
    assert (class_of_one / "feedback-01-small-canvas.zip").stat().st_size
    assert "</html>" in (class_of_one / "class.html").read_text(encoding="utf-8")
    marks = demo.marks_of(class_of_one / "marks.csv")
    assert len(marks) == 4 + demo.ABSENT
    assert list(marks.values()).count("") == demo.ABSENT


def test_shell_recipes_are_bash_and_python_recipes_are_python() -> None:
    for path in RECIPES.glob("*.sh"):
        subprocess.run(["bash", "-n", str(path)], check=True)
    for path in RECIPES.glob("*.py"):
        ast.parse(path.read_text(encoding="utf-8"))


def test_the_image_copies_what_exists_and_nothing_private() -> None:
    text = (RECIPES / "Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    assert {line.split()[0] for line in lines} <= {"FROM", "ARG", "RUN", "WORKDIR", "COPY", "ENV", "CMD"}
    assert lines[0].startswith("FROM ")
    copied = [name for line in lines if line.startswith("COPY ") for name in line.split()[1:-1]]
    assert all((ROOT / name).exists() for name in copied)
    assert not {"solutions", "gradebook.db", ".course", "."} & set(copied)


def test_pods_use_the_image_have_limits_and_start_what_exists() -> None:
    documents = list(yaml.safe_load_all((RECIPES / "kubernetes.yaml").read_text(encoding="utf-8")))
    assert [one["kind"] for one in documents].count("Deployment") == 2
    for one in documents:
        assert {"apiVersion", "kind", "metadata"} <= set(one)
        if one["kind"] == "Deployment":
            assert one["spec"]["selector"]["matchLabels"] == one["spec"]["template"]["metadata"]["labels"]
            (container,) = one["spec"]["template"]["spec"]["containers"]
            assert container["image"] == "sequence-models"
            assert container["resources"]["limits"]["memory"]
            known_to_dask(container["command"][1], container["command"][2:])


def test_the_slurm_job_starts_what_exists() -> None:
    text = (RECIPES / "slurm.sh").read_text(encoding="utf-8")
    for name, rest in re.findall(r"\bdask (scheduler|worker) (.*?) &", text):
        known_to_dask(name, rest.split())


def known_to_dask(name: str, words: list[str]) -> None:
    """These options are options of `dask scheduler` or `dask worker`."""
    from distributed.cli import dask_scheduler, dask_worker

    program = {"scheduler": dask_scheduler.main, "worker": dask_worker.main}[name]
    options = {
        option
        for parameter in program.params
        if isinstance(parameter, click.Option)
        for option in (*parameter.opts, *parameter.secondary_opts)
    }
    assert {word for word in words if word.startswith("--")} <= options
