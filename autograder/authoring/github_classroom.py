"""A workflow for GitHub Classroom: checks a student's notebook at every push, and reports the points.

It runs what a student has, the visible tests, on the copy in `work/` if that was committed. Marks come from `course
grade`.
"""

from __future__ import annotations

from autograder.model.course import Assignment

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
        env:
          TORCH_INDEX: "${{{{ vars.TORCH_INDEX }}}}" # of PyTorch's builds for CPUs, which are smaller
        run: |
          pip install torch ${{TORCH_INDEX:+--index-url "$TORCH_INDEX"}}
          pip install --requirement requirements.txt
      - name: Check the notebooks
        id: check
        run: |
          for id in {ids}; do
            folder="work/$id"
            if [ ! -d "$folder" ]; then folder="notebooks/$id"; fi
            for notebook in "$folder"/*.ipynb; do
              course check "$notebook" --json > "$notebook.checked" || test $? = 1
              checked+=("$notebook.checked")
            done
          done
          python -m helpers.kit.classroom_points "${{checked[@]}}"
      - name: Report the points
        uses: classroom-resources/autograding-grading-reporter@v1
        env:
          CHECK_RESULTS: "${{{{ steps.check.outputs.result }}}}"
        with:
          runners: check
"""


def workflow_files(assignments: list[Assignment]) -> dict[str, str]:
    """Path and text of what a release has for GitHub Classroom, where it is the template of students' repositories."""
    return {PLACE: WORKFLOW.format(ids=" ".join(assignment.id for assignment in assignments))}
