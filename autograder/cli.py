"""The `course` command. Exit codes: 0 done, 1 found failures, 2 could not run."""

from __future__ import annotations

import fnmatch
import json
import sys
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table
from rich.text import Text

from autograder import course as courses
from autograder import database
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
        except Exception as error:
            reason = database.problem(error)
            if reason is None:
                raise
            err.print(f"course: the gradebook cannot be used: {reason}", markup=False)
            sys.exit(2)

    return run


json_option = click.option("--json", "as_json", is_flag=True, help="Machine-readable results on standard output.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="sequence-models-workbook")
def course() -> None:
    """Build, check, release and grade the workbook's assignments.

    Exit codes: 0 done, 1 found failures, 2 could not run.
    """


@course.command()
@click.argument("assignments", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing; fail when notebooks/ is not what solutions/ makes.")
@click.option("--force", is_flag=True, help="Replace notebooks that a person changed, too; copies of them are kept in kept/.")
@json_option
@command
def build(assignments: tuple[str, ...], check: bool, force: bool, as_json: bool) -> None:
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
    changed = builder.write(files, keep=this.root / "kept" if force else None)
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
    """Open JupyterLab on the workbook's start page. Your notebooks are the copies in work/."""
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
@click.option("--sample", type=click.IntRange(1), default=1, help="Try every so many variants only: a quick look, not the release gate.")
@json_option
@command
def verify(assignments: tuple[str, ...], sample: int, as_json: bool) -> None:
    """Test the tests: solution full marks, blank zero, every named mistake caught, every right variant accepted."""
    from autograder import verify as verifier

    this = courses.load()
    reports = []
    with err.status("verifying") as status:
        for assignment in this.select(assignments):
            name = assignment.id
            reports.append(verifier.verify(this, assignment, lambda text: status.update(f"{name} · {text}"), sample))  # noqa: B023
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
    """Put submissions from an LMS archive (Canvas, Moodle, Gradescope, plain folders) into submitted/. Exit 1 if some work has no place."""
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
        out.print(
            f"{len(found.placed)} submissions collected, {len(found.skipped)} files to look at, {len(found.unplaced)} of them not placed"
        )
    sys.exit(0 if found.placed and not found.unplaced else 1)


@course.command()
@click.argument("assignment")
@click.option("--student", default="*", help="Only students whose id matches this pattern.")
@click.option("--workers", type=click.IntRange(1), help="Submissions graded at the same time. Default: one per processor.")
@click.option("--scheduler", metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler, e.g. tcp://10.0.0.1:8786.")
@click.option("--force", is_flag=True, help="Grade again what has not changed since it was graded.")
@click.option("--unsafe", is_flag=True, help="Grade without a sandbox: student code runs with your rights.")
@json_option
@command
def grade(assignment: str, student: str, workers: int | None, scheduler: str | None, force: bool, unsafe: bool, as_json: bool) -> None:
    """Grade submitted/ in the sandboxed examiner, into nbgrader's gradebook. Exit 1 if a submission could not be graded."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

    from autograder import grade as grader

    this = courses.load()
    (chosen,) = this.select([assignment])
    if unsafe:
        err.print("course: --unsafe: student code runs without a sandbox and with your rights", markup=False)
    trouble = 0
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    with Progress(*columns, console=err, transient=True) as progress:
        task = progress.add_task(f"{chosen.id}: starting", total=None)

        def begin(total: int, skipped: int) -> None:
            progress.update(task, total=total, description=f"{chosen.id}: {skipped} unchanged, {total} to grade")

        def step(row: dict[str, Any], done: int, total: int) -> None:
            nonlocal trouble
            trouble += bool(row["lost"] or row["unreadable"])
            progress.update(task, completed=done, description=f"{chosen.id}: {done} graded, {trouble} with trouble")

        def own(outcome: Any) -> None:
            if as_json:  # which has it all
                return
            err.print(f"course: {outcome.text()}", markup=False)
            for line in outcome.warnings:
                err.print(f"course: {line}", markup=False)
            if outcome.warnings:
                err.print("course: look at these tests before you believe a zero: docs/instructors.md, Notebooks of your own", markup=False)

        options: dict[str, Any] = {"student": student, "workers": workers or 0, "scheduler": scheduler, "force": force, "unsafe": unsafe}
        found = grader.grade(this, chosen, **options, started=begin, told=step, tried=own)
    if as_json:
        print(json.dumps(vars(found)))
    else:
        table = Table("student", "score", "of", "seconds", "to look at")
        for row in found.rows:
            marks = (
                [f"not read: {row['unreadable']}"] if row["unreadable"] else [f"{name}: {reason}" for name, reason in row["lost"].items()]
            )
            notes = marks[:2] + ([f"and {len(marks) - 2} more"] if len(marks) > 2 else [])
            notes += [f"{len(row['repairs'])} repairs"] if row["repairs"] else []
            notes += [f"{len(row['tamper'])} signs of tampering"] if row["tamper"] else []
            notes += [f"late: {row['late_penalty']:g} points will be taken off"] if row["late_penalty"] else []
            notes += ["waits for a manual grade"] if row["waiting"] else []
            table.add_row(row["student"], f"{row['score']:g}", f"{row['out_of']:g}", f"{row['seconds']:.1f}", Text("; ".join(notes)))
        out.print(table)
        out.print(f"{len(found.rows)} graded, {found.skipped} unchanged since they were graded, {found.seconds:.1f} s")
        for line in found.failed:
            err.print(f"course: {line}", markup=False)
    sys.exit(1 if found.failed else 0)


@course.command()
@click.argument("assignment")
@click.option("--student", default="*", help="Only students whose id matches this pattern.")
@command
def feedback(assignment: str, student: str) -> None:
    """Write a feedback page per graded submission: hints, never a hidden test's source."""
    from autograder import marks
    from autograder.nbgrader_command import nbgrader

    this = courses.load()
    (chosen,) = this.select([assignment])
    if not list((this.root / "autograded").glob(f"{student}/{chosen.id}")):
        raise CourseError(f"nothing graded matches autograded/{student}/{chosen.id}: run `course grade {chosen.id}` first")
    marks.gradebook(this).close()  # where it cannot be used, its own reason is better than nbgrader's
    trouble = ""
    with err.status("writing feedback"):
        try:
            nbgrader(this, "generate_feedback", chosen.id, "--force", f"--student={student}")
        except CourseError as error:  # of one student: the others have their pages
            trouble = str(error)
    pages = sorted((this.root / "feedback").glob(f"*/{chosen.id}/*.html"))
    for page in pages:
        if fnmatch.fnmatchcase(page.parent.parent.name, student):
            out.print(str(page.relative_to(this.root)), markup=False)
    graded = {
        path.parent.name for path in (this.root / "autograded").glob(f"*/{chosen.id}") if fnmatch.fnmatchcase(path.parent.name, student)
    }
    missing = sorted(graded - {page.parent.parent.name for page in pages})
    for name in missing:
        reason = trouble or "its id has signs that nbgrader takes for a pattern?"
        err.print(f"course: no page was written for {name}: {reason}", markup=False)
    if trouble and not missing:
        err.print(f"course: {trouble}", markup=False)
    sys.exit(1 if missing or trouble else 0)


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
        raise CourseError("nothing is graded yet: run `course grade` first")
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
@click.option(
    "--integrity", is_flag=True, help="Instead: who edited tests, patched libraries or tried to leave the sandbox, and what was repaired."
)
@json_option
@command
def report(assignment: str, integrity: bool, as_json: bool) -> None:
    """How the class did: average and full marks per exercise, and the hints given most."""
    from autograder.report import class_report, integrity_report

    this = courses.load()
    (chosen,) = this.select([assignment])
    if integrity:
        lines = integrity_report(this, chosen)
        if as_json:
            print(json.dumps(lines))
            return
        table = Table("student", "kind", "what")
        for line in lines:
            table.add_row(line["student"], line["kind"], Text(line["what"]))
        out.print(table if lines else "Nothing was repaired, nothing looks like tampering.")
        return
    entries = class_report(this, chosen)
    if not entries:
        raise CourseError(f"nothing of {chosen.id} is graded yet: run `course grade {chosen.id}` first")
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
