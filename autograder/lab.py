"""`course lab` in a staff repository: as a student's, and says what has to be built. Instructors get the pages for
graders too.
"""

from __future__ import annotations

from autograder import work
from autograder.classroom import written
from autograder.model.course import Assignment, Course
from helpers.student import lab


def not_built(course: Course) -> list[str]:
    """What the author of an assignment should know: a line for each that has to be built.

    Only files' times are looked at.
    """
    lines = []
    for assignment in course.assignments:
        command = f"run `course build {assignment.id}`"
        if not all(path.exists() for path in assignment.student_notebooks):
            lines.append(f"notebooks/{assignment.id} is not complete: {command}")
        elif script_is_newer(assignment):
            lines.append(
                f"solutions/{assignment.id}/{assignment.source.name} is newer than what was built from it: {command}"
            )
    return lines


def script_is_newer(assignment: Assignment) -> bool:
    """Was the script saved after the instructor's notebook was built from it?

    Where none was built, as in a student's clone, nobody asks.
    """
    script, built = assignment.source, assignment.instructor_notebook
    return script.exists() and built.exists() and script.stat().st_mtime_ns > built.stat().st_mtime_ns


def start(course: Course, no_browser: bool, port: int | None, extra: tuple[str, ...], instructor: bool = False) -> None:
    """Hand out what is missing in work/, then run JupyterLab until it is stopped."""
    lines = [*not_built(course), *work.prepare(course)]
    extensions = [lab.START_PAGE, lab.STUDENTS_TOOLS]
    if instructor:
        extensions = [lab.START_PAGE, written.__name__]
        lines.append(f"written answers are graded on {written.PAGE} of the server's address")
    lab.start(course.root, lines, no_browser, port, extra, extensions)
