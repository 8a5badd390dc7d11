"""The workflow that a release brings for GitHub Classroom: its shell runs here as it does there."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path

import yaml
from conftest import TOOLS, run_course

from autograder.authoring.github_classroom import PLACE, workflow_files
from autograder.model import course


def test_the_workflow_of_a_release_reports_the_points_of_the_visible_tests(small_course: Path) -> None:
    done = run_course("release", "01-small", "--to", "class", cwd=small_course)
    assert done.returncode == 0, done.stderr
    folder = small_course / "class"
    steps = yaml.safe_load((folder / PLACE).read_text(encoding="utf-8"))["jobs"]["run-autograding-tests"]["steps"]
    (check,) = [step for step in steps if step.get("id") == "check"]
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    environment["GITHUB_OUTPUT"] = str(small_course / "output")
    ran = subprocess.run(
        ["bash", "-e", "-c", check["run"]], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert not (folder / "work").exists(), "the release itself was checked"
    name, _, encoded = (small_course / "output").read_text().strip().partition("=")
    result = json.loads(base64.b64decode(encoded))
    assert name == "result"
    assert (result["version"], result["status"], result["max_score"]) == (1, "fail", 2)
    assert [(test["name"], test["score"], test["status"]) for test in result["tests"]] == [("double", 0, "fail")]
    (report,) = [step for step in steps if "reporter" in step.get("uses", "")]
    assert report["env"] == {"CHECK_RESULTS": "${{ steps.check.outputs.result }}"}
    assert report["with"] == {"runners": "check"}


def test_the_workflow_checks_every_assignment_of_the_release_and_may_report() -> None:
    (text,) = workflow_files(course.load().select(["03-attention", "12-translation"])).values()
    assert "for id in 03-attention 12-translation; do" in text
    assert "pip install --requirement requirements.txt" in text
    assert yaml.safe_load(text)["permissions"]["checks"] == "write"
