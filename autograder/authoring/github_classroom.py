"""A workflow for GitHub Classroom: checks a student's notebook at every push, and reports the points.

It runs what a student has, the visible tests. Marks come from `course grade`.
"""

from __future__ import annotations

from autograder.model.course import Assignment, Course

PLACE = ".github/workflows/classroom.yml"
WORKFLOW = """\
# From `course release`. Runs the visible tests at every push, as `course check` does, and reports the points.
name: Autograding Tests
"on": [push, workflow_dispatch, repository_dispatch]
permissions:
  checks: write
  actions: read
  contents: read
jobs:
  run-autograding-tests:
    runs-on: ubuntu-latest
    if: github.actor != 'github-classroom[bot]'
    timeout-minutes: 30
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with:
          python-version: "3.11"
      - name: Install the course
        run: |
          pip install torch --index-url https://download.pytorch.org/whl/cpu
          pip install "sequence-models-workbook[instructor] @ git+{repository}@{tag}"{needs}
      - name: Check the notebooks
        id: check
        run: |
          for notebook in {notebooks}; do course check "$notebook" --json > "$notebook.checked" || test $? = 1; done
          python -m helpers.kit.classroom_points *.checked
      - name: Report the points
        uses: classroom-resources/autograding-grading-reporter@v1
        env:
          CHECK_RESULTS: "${{{{ steps.check.outputs.result }}}}"
        with:
          runners: check
"""


def workflow_files(course: Course, assignment: Assignment) -> dict[str, str]:
    """Name and text of what a released folder has for GitHub Classroom, where the folder is a student's repository."""
    names = " ".join(path.name for path in assignment.student_notebooks)
    needs = "".join(f" {name}" for name in assignment.needs)
    about = {"repository": course.repository, "tag": course.tag, "notebooks": names, "needs": needs}
    return {PLACE: WORKFLOW.format(**about)}
