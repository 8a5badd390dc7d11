"""Bad input and poor machines: one clear line that says what to do, a non-zero exit, nothing half-written."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest
from conftest import ROOT, TOOLS, run_course

from autograder import demo, doctor
from autograder.classroom import database
from autograder.cli import course as command
from autograder.examiner import messages, sandbox
from autograder.model import course as courses
from autograder.model.course import CourseError, replace_folder, write_whole

pytestmark = pytest.mark.slow


def one_line(text: str) -> str:
    lines = [line for line in text.splitlines() if line.strip()]
    assert len(lines) == 1, text
    assert "Traceback" not in text
    return lines[0]


def test_unknown_assignment_gets_the_nearest_name() -> None:
    done = run_course("build", "03-atention")
    assert done.returncode == 2
    assert "did you mean 03-attention?" in one_line(done.stderr)


def test_missing_notebook() -> None:
    done = run_course("check", "no-such-notebook.ipynb")
    assert done.returncode == 2
    assert "does not exist" in one_line(done.stderr)


@pytest.mark.parametrize(
    "content",
    ["", "not json", "{}", '{"nbformat": 4, "nbformat_minor": 5, "metadata": {}, "cells": [{"cell_type": "odd"}]}'],
)
def test_a_file_that_is_no_notebook(content: str, tmp_path: Path) -> None:
    path = tmp_path / "odd.ipynb"
    path.write_text(content)
    done = run_course("check", str(path))
    assert done.returncode == 2
    one_line(done.stderr)


def test_check_passes_and_fails_with_the_hint(small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    instructor, student = (
        small_course / folder / "01-small" / "01-small.ipynb" for folder in ("solutions", "notebooks")
    )
    good = run_course("check", str(instructor), cwd=small_course)
    assert good.returncode == 0, good.stdout + good.stderr
    assert "1 of 1 tests passed, 2 of 2 points" in good.stdout
    bad = run_course("check", str(student), "--json", cwd=small_course)
    assert bad.returncode == 1
    (result,) = json.loads(bad.stdout)
    assert result["score"] == 0
    assert "not written yet" in result["message"]


def test_a_check_shows_the_tests_and_nothing_of_the_kernel(small_course: Path) -> None:
    """And what lies beside the notebook can be imported, as in JupyterLab."""
    source = small_course / "solutions" / "01-small" / "01-small.py"
    source.write_text(source.read_text().replace("return x + x  #", "import beside\n    return beside.TWO * x  #"))
    (source.parent / "beside.py").write_text("TWO = 2\n")
    assert run_course("build", cwd=small_course).returncode == 0
    done = run_course("check", str(source.with_suffix(".ipynb")), cwd=small_course)
    assert (done.returncode, done.stderr.strip()) == (0, ""), done.stdout + done.stderr


# Modules that commands of ours import, or that Python imports by itself, as a student could hand them in.
DECOYS = (
    "autograder click helpers ipykernel ipykernel_launcher json jupyterlab matplotlib nbclient nbconvert nbformat"
    " nbgrader numpy pandas"
)
DECOYS += " docutils jinja2 myst_nb pygments random rich runpy sitecustomize sphinx sqlalchemy token torch tornado tqdm traitlets typing usercustomize yaml zmq"


# Commands in an order in which they work; `python -m` is tried for two: how Python was started is the same for all.
STARTED_INSIDE = {
    "a class": ["build", "roster", "collect", "grade", "feedback", "report", "export", "-m export", "-m feedback"],
    "an assignment": ["build", "check", "release", "verify", "new", "doctor"],
    "other programs": ["build", "demo", "lab", "site"],
}
IMPORTED_BEFORE_US = ("autograder", "runpy", "sitecustomize", "usercustomize")


def arguments(name: str, course: Path) -> list[str]:
    return {
        "check": [str(course / "solutions" / "01-small" / "01-small.ipynb")],
        "release": ["01-small", "--to", str(course / "class")],
        "roster": [str(course / "roster.csv")],
        "collect": [str(course / "inbox")],
        "grade": ["01-small", *(["--unsafe", "--student", "ada"] if sandbox.why_not() else [])],
        "feedback": ["01-small"],
        "report": ["01-small"],
        "demo": ["01-small", "--students", "2", "--to", str(course / "demo")],
        "lab": ["--instructor", "--no-browser", "--", "--version"],
        "new": ["02-more"],
        "site": ["01-small", "--scale", "smoke", "--to", str(course / "site")],
    }.get(name, [])


@pytest.mark.timeout(900)  # every command starts a process or two
@pytest.mark.parametrize("kind", STARTED_INSIDE)
def test_no_command_runs_code_of_the_submission_it_is_started_in(kind: str, small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    (small_course / "solutions" / "01-small" / "mistakes.py").write_text("VARIANTS = {}\n")
    folder = small_course / "submitted" / "eve" / "01-small"
    folder.mkdir(parents=True)
    shutil.copy(small_course / "notebooks" / "01-small" / "01-small.ipynb", folder)
    ran = small_course / "ran"
    for name in DECOYS.split():
        (folder / f"{name}.py").write_text(f"open({str(ran)!r}, 'a').write('{name} ')\n")
    (small_course / "inbox" / "ada").mkdir(parents=True)
    shutil.copy(folder / "01-small.ipynb", small_course / "inbox" / "ada")
    (small_course / "roster.csv").write_text("id,name\nada,Ada Lovelace\neve,Eve Mallory\n")
    for line in STARTED_INSIDE[kind]:
        start, name = [str(TOOLS / "course")], line.split()[-1]
        if name != line:
            start = [sys.executable, "-m", "autograder"]
            for unavoidable in IMPORTED_BEFORE_US:
                (folder / f"{unavoidable}.py").unlink(missing_ok=True)
        done = subprocess.run(
            [*start, name, *arguments(name, small_course)], cwd=folder, capture_output=True, text=True, check=False
        )
        assert not ran.exists(), f"course {name} has run {ran.read_text()}"
        assert "Traceback" not in done.stderr, done.stderr
        assert done.returncode == (1 if name == "verify" else 0), f"{name}: {done.stdout} {done.stderr}"


def test_every_command_is_started_inside_a_submission() -> None:
    assert {line.split()[-1] for lines in STARTED_INSIDE.values() for line in lines} == set(command.commands)


@pytest.mark.parametrize("place", ["submitted/eve/01-small", "autograded/eve/01-small/deep"])
def test_a_course_that_came_with_a_submission_is_refused(place: str, small_course: Path) -> None:
    folder = small_course / place
    folder.mkdir(parents=True)
    shutil.copy(small_course / "course.toml", folder)
    (folder / "nbgrader_config.py").write_text(f"open({str(small_course / 'ran')!r}, 'w')\n")
    for environment in ({}, {"COURSE_ROOT": str(folder)}):
        done = run_course("export", cwd=folder, **environment)
        assert done.returncode == 2
        assert f"came with a submission and is not used: run `course` in {small_course}" in one_line(done.stderr)
    assert not (small_course / "ran").exists()


def test_a_submission_is_not_run_with_the_instructor_s_rights(small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    folder = small_course / "submitted" / "eve" / "01-small"
    folder.mkdir(parents=True)
    shutil.copy(small_course / "notebooks" / "01-small" / "01-small.ipynb", folder)
    (folder / "torch.py").write_text(f"open({str(small_course / 'ran')!r}, 'w')\n")
    for place, name in ((small_course, str(folder / "01-small.ipynb")), (folder, "01-small.ipynb")):
        done = run_course("check", name, cwd=place)
        assert done.returncode == 2
        assert "was handed in, and `course check` would run it with your rights" in one_line(done.stderr)
    assert not (small_course / "ran").exists()


def test_a_name_that_is_like_none_gets_the_list() -> None:
    this = courses.load(ROOT)
    with pytest.raises(CourseError, match=r"course.toml knows: 01-big-picture, "):
        this.select(["99-nothing"])
    for name, near in (("03", "03-attention"), ("gpt", "09-gpt"), ("12-translate", "12-translation")):
        with pytest.raises(CourseError, match=f"did you mean {near}"):
            this.select([name])


SLOW_ANSWER = "def double(x):\n    import time\n    time.sleep(25)\n    return 2 * x"


def slow_class(root: Path) -> Path:
    """Two submissions that keep their examiners busy."""
    assert run_course("build", cwd=root).returncode == 0
    student = (root / "notebooks" / "01-small" / "01-small.ipynb").read_text(encoding="utf-8")
    for name in ("ada", "ben"):
        folder = root / "submitted" / name / "01-small"
        folder.mkdir(parents=True)
        (folder / "01-small.ipynb").write_text(demo.submission(student, {"double": SLOW_ANSWER}), encoding="utf-8")
    return root


def started_pool(grading: subprocess.Popen[str]) -> int:
    """The process id of the pool, once its workers are there."""
    for _ in range(1200):
        for path in Path("/proc").glob("[0-9]*/stat"):
            with contextlib.suppress(OSError):
                text = path.read_text()
                pid = int(path.parent.name)
                if (
                    int(text.rpartition(")")[2].split()[1]) == grading.pid
                    and b"autograder.examiner.worker" in Path(f"/proc/{pid}/cmdline").read_bytes()
                ):
                    children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
                    if len(children) >= 3:  # the nursery and two workers
                        return pid
        time.sleep(0.1)
    raise AssertionError("no pool was started")


@pytest.mark.skipif(sandbox.why_not() is not None, reason="grading needs a sandbox")
def test_control_c_says_one_line_and_ends_everything(small_course: Path) -> None:
    line = [sys.executable, "-m", "autograder", "grade", "01-small", "--workers", "2"]
    cold = {**os.environ, "COURSE_WARM": "0"}  # or the pool is no child of the command
    grading = subprocess.Popen(
        line, cwd=slow_class(small_course), env=cold, stderr=subprocess.PIPE, text=True, start_new_session=True
    )
    pool = started_pool(grading)
    os.killpg(grading.pid, signal.SIGINT)  # what a terminal does
    _, told = grading.communicate()
    assert grading.returncode == 130
    assert one_line(told) == "course: stopped"
    assert not Path(f"/proc/{pool}").exists()
    assert not list(Path(tempfile.gettempdir()).glob(f"course-{pool}-*"))


def test_workers_that_were_killed_are_named_as_such() -> None:
    ours, theirs = socket.socketpair()
    theirs.close()
    with ours, pytest.raises(CourseError, match="have ended: were they killed, or did memory run out") as found:
        messages.send(ours, {"op": "examine"})
    assert isinstance(found.value, ConnectionError)  # for those who try again


@pytest.fixture
def refused_port() -> int:
    """A port at which nobody listens."""
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))
        return int(sock.getsockname()[1])


def test_a_database_that_is_down_is_to_be_started(small_course: Path, refused_port: int) -> None:
    path = small_course / "course.toml"
    book = f'gradebook = "postgresql://ann:secret@127.0.0.1:{refused_port}/marks"\n'
    path.write_text(path.read_text().replace("\n[[assignment]]", f"{book}\n[[assignment]]"))
    (small_course / "submitted" / "ada" / "01-small").mkdir(parents=True)
    (small_course / "autograded" / "ada" / "01-small").mkdir(parents=True)
    for args in (["export"], ["grade", "01-small"], ["feedback", "01-small"], ["report", "01-small"]):
        done = run_course(*args, cwd=small_course)
        assert done.returncode == 2, done.stderr
        assert "start it" in one_line(done.stderr)
        assert "secret" not in done.stderr


def test_a_missing_driver_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(database, "find_spec", lambda name: None)
    with pytest.raises(CourseError, match=r"pip install 'sequence-models-workbook\[postgresql\]'"):
        database.must_answer(database.url_for("postgresql://ann@db/marks"))
    database.must_answer("sqlite:////tmp/gradebook.db")


@pytest.mark.parametrize("written", ["postgresql://ann@db/marks", "postgres://ann@db/marks"])
@pytest.mark.parametrize("driver", ["psycopg", "psycopg2"])
def test_an_address_is_given_the_driver_that_is_there(
    written: str, driver: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "find_spec", lambda name: object() if name == driver else None)
    assert database.url_for(written) == f"postgresql+{driver}://ann@db/marks"
    assert database.url_for("postgresql+asyncpg://ann@db/marks") == "postgresql+asyncpg://ann@db/marks"


def test_check_of_a_test_before_its_answer_says_to_run_the_cell_above(small_course: Path) -> None:
    assert run_course("build", cwd=small_course).returncode == 0
    path = small_course / "notebooks" / "01-small" / "01-small.ipynb"
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["metadata"].get("nbgrader", {}).get("grade_id") == "double":
            cell["source"] = "# nothing was run here"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    (result,) = json.loads(run_course("check", str(path), "--json", cwd=small_course).stdout)
    assert result["score"] == 0
    assert "run the cell above first: `double` is not defined yet" in result["message"]
    assert "Traceback" not in result["message"]


def test_outside_a_course(tmp_path: Path) -> None:
    done = run_course("build", cwd=tmp_path)
    assert done.returncode == 2
    assert "no course.toml" in one_line(done.stderr)


@pytest.mark.parametrize(
    ("text", "message"), [("title = ", "not valid TOML"), ("title = 'x'", "'course_id' is missing")]
)
def test_a_broken_course_file(text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "course.toml").write_text(text)
    done = run_course("build", cwd=tmp_path)
    assert done.returncode == 2
    assert message in one_line(done.stderr)


def test_missing_source(small_course: Path) -> None:
    (small_course / "solutions" / "01-small" / "01-small.py").unlink()
    done = run_course("build", cwd=small_course)
    assert done.returncode == 2
    assert "is missing" in one_line(done.stderr)


def test_release_to_a_file_is_refused(small_course: Path, tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("")
    done = run_course("release", "01-small", "--to", str(tmp_path / "taken"), cwd=small_course)
    assert done.returncode == 2
    assert "is a file" in one_line(done.stderr)


def test_a_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "notebook.ipynb"
    path.write_text("old")

    def full(descriptor: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(CourseError, match="No space left on device"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["notebook.ipynb"]


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write to a read-only folder")
def test_a_read_only_folder_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "locked"
    folder.mkdir()
    folder.chmod(0o500)
    with pytest.raises(CourseError, match="cannot write"):
        write_whole(folder / "file", "text")


def test_a_folder_on_a_read_only_file_system_is_named() -> None:
    if not Path("/proc/self").exists():
        pytest.skip("no /proc here to stand in for a read-only file system")
    with pytest.raises(CourseError, match="cannot write"):
        write_whole(Path("/proc/self/course/file"), "text")


def test_replacing_a_folder_keeps_the_old_one_until_the_new_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    target, new = tmp_path / "target", tmp_path / "new"
    target.mkdir()
    (target / "old").write_text("")
    with pytest.raises(CourseError):
        replace_folder(new, target)  # `new` does not exist
    assert (target / "old").exists()
    new.mkdir()
    replace_folder(new, target)
    assert list(target.iterdir()) == []


def test_doctor_reports_and_exits_by_what_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    done = run_course("doctor", "--json")
    assert done.returncode == 0, done.stdout
    names = {finding["name"] for finding in json.loads(done.stdout)}
    assert {"Python", "torch", "nbgrader", "Chromium", "GPU"} <= names
    monkeypatch.setattr(doctor, "version_of", lambda package: "not installed")
    assert any(finding.needed and not finding.good for finding in doctor.examine())


def test_help_names_every_command_and_the_exit_codes() -> None:
    done = run_course("--help")
    assert done.returncode == 0
    for name in ("build", "check", "demo", "doctor", "lab", "release", "verify", "Exit codes"):
        assert name in done.stdout


def test_a_missing_package_is_named(tmp_path: Path) -> None:
    blocker = tmp_path / "click.py"
    blocker.write_text("raise ModuleNotFoundError('no click', name='click')\n")
    done = run_course("build", PYTHONPATH=f"{tmp_path}{os.pathsep}{ROOT}")
    assert done.returncode == 2
    assert "the package click is missing" in one_line(done.stderr)


def test_the_course_is_found_from_a_folder_inside_it() -> None:
    assert courses.find_root(ROOT / "notebooks") == ROOT
    assert sys.version_info >= (3, 11)
