"""The `course` command. Exit codes: 0 done, 1 found failures, 2 could not run."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from autograder import course as courses
from autograder.course import CourseError

# Results go to standard output, progress and errors to standard error, so that both can be piped.
out = Console(soft_wrap=True, highlight=False)
err = Console(stderr=True, soft_wrap=True, highlight=False)


def command(function: Callable[..., Any]) -> Callable[..., Any]:
    """Turn a user's mistake into one line and exit code 2, and a full disk or read-only folder too."""

    @wraps(function)
    def run(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except CourseError as error:
            for line in str(error).splitlines():
                err.print(f"course: {line}", markup=False)
            sys.exit(2)
        except OSError as error:
            place = f" {error.filename}" if error.filename else ""
            err.print(f"course: {error.strerror or error}:{place}. Is the disk full, or the folder read-only?", markup=False)
            sys.exit(2)
        except KeyboardInterrupt:
            err.print("course: stopped")
            sys.exit(130)

    return run


json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable results on standard output.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sequence-models-workbook")
def course() -> None:
    """Build, check and release the workbook's assignments.

    Exit codes: 0 done, 1 found failures, 2 could not run.
    """


@course.command()
@click.argument("assignments", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing; fail when notebooks/ is not what solutions/ makes.")
@json_option
@command
def build(assignments: tuple[str, ...], check: bool, as_json: bool) -> None:
    """Make the instructor's and the student's notebooks from solutions/."""
    from autograder import build as builder

    this = courses.load()
    chosen = this.select(assignments)
    files: dict[Path, str] = {}
    with err.status("building"):
        files, warnings = builder.outputs(this, chosen)
    for warning in warnings:
        err.print(str(warning), markup=False)
    if check:
        wrong = builder.stale(this, files) if not assignments else [w for w in builder.stale(this, files) if any(a.id in w for a in chosen)]
        if as_json:
            print(json.dumps({"stale": wrong}))
        for line in wrong:
            err.print(f"{line}: run `course build` and commit the result", markup=False)
        if wrong:
            sys.exit(1)
        if not as_json:
            out.print(f"notebooks/ is what solutions/ makes ({len(chosen)} assignments)")
        return
    changed = builder.write(files)
    if as_json:
        print(json.dumps({"written": [str(p.relative_to(this.root)) for p in changed], "warnings": [str(w) for w in warnings]}))
    else:
        for path in changed:
            out.print(f"wrote {path.relative_to(this.root)}")
        out.print(f"{len(chosen)} assignments built, {len(changed)} files changed")


@course.command()
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--no-browser", is_flag=True, help="For servers: print the address, open nothing.")
@click.option("--port", type=int, help="Port of the server.")
@command
def lab(args: tuple[str, ...], no_browser: bool, port: int | None) -> None:
    """Open JupyterLab on the workbook's start page."""
    from autograder.lab import start

    start(courses.load(), no_browser, port, args)


@course.command()
@click.argument("notebook", type=click.Path(path_type=Path))
@json_option
@command
def check(notebook: Path, as_json: bool) -> None:
    """Run a notebook's tests as grading does (visible ones); exit 1 if any fails."""
    from autograder.check import check_notebook

    with err.status(f"running {notebook}"):
        results = check_notebook(notebook)
    if as_json:
        print(json.dumps([result.as_dict() for result in results], ensure_ascii=False))
    else:
        for result in results:
            out.print(result.text(), markup=False)
        earned, possible = sum(r.score for r in results), sum(r.points for r in results)
        out.print(
            f"\n{sum(r.passed for r in results)} of {len(results)} tests passed, {earned:g} of {possible:g} points (written answers not counted)"
        )
    sys.exit(0 if all(r.passed for r in results) else 1)


@course.command()
@click.argument("assignments", nargs=-1)
@json_option
@command
def verify(assignments: tuple[str, ...], as_json: bool) -> None:
    """Test the tests: solution full marks, blank zero, every named mistake caught, every right variant accepted."""
    from autograder import verify as verifier

    this = courses.load()
    reports = []
    with err.status("verifying") as status:
        for assignment in this.select(assignments):
            name = assignment.id
            reports.append(verifier.verify(this, assignment, lambda text: status.update(f"{name} · {text}")))  # noqa: B023
    if as_json:
        print(json.dumps([vars(report) for report in reports], ensure_ascii=False))
    else:
        table = Table("assignment", "exercises", "variants", "failures")
        for report in reports:
            table.add_row(report.assignment, str(report.exercises), str(report.variants), str(len(report.failures)))
            for failure in report.failures:
                err.print(f"✗ {report.assignment} · {failure}", markup=False)
        out.print(table)
    sys.exit(1 if any(report.failures for report in reports) else 0)


@course.command()
@click.argument("assignment")
@click.option("--to", "target", type=click.Path(path_type=Path), required=True, help="Folder that receives the assignment's folder.")
@json_option
@command
def release(assignment: str, target: Path, as_json: bool) -> None:
    """Put an assignment's student notebook, with its data files, into a folder for students."""
    from autograder.release import release as release_to

    this = courses.load()
    (chosen,) = this.select([assignment])
    with err.status("building"):
        place = release_to(this, chosen, target)
    if as_json:
        print(json.dumps({"released": str(place)}))
    else:
        out.print(f"released {chosen.id} to {place}")


@course.command()
@json_option
@command
def doctor(as_json: bool) -> None:
    """Say what works on this machine, what does not, and what to do about it."""
    from autograder.doctor import examine

    findings = examine()
    if as_json:
        print(json.dumps([vars(finding) for finding in findings]))
    else:
        table = Table("", "what", "found", "what to do", box=None)
        for finding in findings:
            mark = "[green]✓[/]" if finding.good else "[red]✗[/]" if finding.needed else "[yellow]–[/]"
            table.add_row(mark, finding.name, finding.found, "" if finding.good else finding.advice)
        out.print(table)
    sys.exit(1 if any(finding.needed and not finding.good for finding in findings) else 0)


@course.command()
@click.argument("assignment", default="03-attention")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), default=Path("demo"), show_default=True, help="Folder for the demonstration."
)
@json_option
@command
def demo(assignment: str, target: Path, as_json: bool) -> None:
    """Take a class of three through release, grading, feedback and export."""
    from autograder import demo as demonstration

    this = courses.load()
    (chosen,) = this.select([assignment])
    with err.status("demo") as status:
        rows = demonstration.run(this, chosen, target.resolve(), lambda text: status.update(text))
    if as_json:
        print(json.dumps(rows))
        return
    table = Table("student", "score", "of", "feedback page")
    for row in rows:
        page = target / "feedback" / row["student_id"] / chosen.id / f"{chosen.id}.html"
        table.add_row(row["student_id"], f"{float(row['score']):g}", f"{float(row['max_score']):g}", str(page))
    out.print(table)
    out.print(f"The gradebook is {target / 'gradebook.db'}; written answers wait for a grader in formgrader (course lab, inside {target}).")


@course.command()
@click.argument("archive", type=click.Path(path_type=Path))
@click.option("--assignment", help="The assignment the archive is about, where its names do not tell.")
@json_option
@command
def collect(archive: Path, assignment: str | None, as_json: bool) -> None:
    """Put submissions from an LMS archive (Canvas, Moodle, Gradescope, plain folders) into submitted/."""
    from autograder.collect import collect as collect_from

    this = courses.load()
    if assignment is not None:
        this.select([assignment])
    found = collect_from(this, archive, assignment)
    if as_json:
        print(json.dumps(vars(found)))
    else:
        for name, reason in found.skipped:
            err.print(f"{name}: {reason}", markup=False)
        out.print(f"{len(found.placed)} submissions collected, {len(found.skipped)} files to look at")
    sys.exit(0 if found.placed else 1)


@course.command()
@click.argument("assignment")
@click.option("--student", default="*", help="Only students whose id matches this pattern.")
@command
def feedback(assignment: str, student: str) -> None:
    """Write a feedback page per graded submission: hints, never a hidden test's source."""
    from autograder.demo import nbgrader

    this = courses.load()
    (chosen,) = this.select([assignment])
    if not list((this.root / "autograded").glob(f"{student}/{chosen.id}")):
        raise CourseError(f"nothing graded matches autograded/{student}/{chosen.id}: run `nbgrader autograde {chosen.id}` first")
    with err.status("writing feedback"):
        nbgrader(this, "generate_feedback", chosen.id, "--force", f"--student={student}")
    for page in sorted((this.root / "feedback").glob(f"{student}/{chosen.id}/{chosen.id}.html")):
        out.print(str(page.relative_to(this.root)))


@course.command()
@click.argument("assignments", nargs=-1)
@click.option("--format", "form", type=click.Choice(["csv", "canvas", "moodle", "gradescope"]), default="csv", show_default=True)
@click.option("--to", "target", type=click.Path(path_type=Path), help="File to write; without it, standard output.")
@command
def export(assignments: tuple[str, ...], form: str, target: Path | None) -> None:
    """Marks for a spreadsheet or an LMS. Bonus points add to the score, not to what it is out of."""
    from autograder import marks

    this = courses.load()
    rows = marks.marks(this, this.select(assignments))
    if not rows:
        raise CourseError("nothing is graded yet: run `nbgrader autograde` first")
    text = marks.export(rows, form)
    waiting = sum(row.waiting for row in rows)
    if waiting:
        err.print(f"{waiting} of {len(rows)} marks still wait for a manual grade")
    if target is None:
        print(text, end="")
    else:
        courses.write_whole(target, text)
        out.print(f"wrote {len(rows)} marks to {target}")


@course.command()
@click.argument("assignment")
@json_option
@command
def report(assignment: str, as_json: bool) -> None:
    """How the class did: average and full marks per exercise, and the hints given most."""
    from autograder.report import class_report

    this = courses.load()
    (chosen,) = this.select([assignment])
    entries = class_report(this, chosen)
    if not entries:
        raise CourseError(f"nothing of {chosen.id} is graded yet: run `nbgrader autograde {chosen.id}` first")
    if as_json:
        print(json.dumps([entry.as_dict() for entry in entries], ensure_ascii=False))
        return
    table = Table("exercise", "points", "average", "full marks", "waiting", "hint given most")
    for entry in entries:
        hint, count = entry.hints.most_common(1)[0] if entry.hints else ("", 0)
        shown = f"{count}× {hint}" if hint else ""
        full = f"{entry.full_marks} of {len(entry.scores)}"
        table.add_row(entry.name.removesuffix("-test"), f"{entry.points:g}", f"{entry.average:.2f}", full, str(entry.waiting or ""), shown)
    out.print(table)
