"""The commands for a class: roster, collect, grade, feedback, export, report."""

from __future__ import annotations

import fnmatch
import json
import sys
from pathlib import Path
from typing import Any

import click
from rich.table import Table
from rich.text import Text

from autograder.commands import command, course, err, json_option, out
from autograder.model import course as courses
from autograder.model.course import CourseError


@course.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("--assignment", help="The assignment of a Moodle grading worksheet, where its file's name does not tell.")
@json_option
@command
def roster(file: Path, assignment: str | None, as_json: bool) -> None:
    """Read who is in the course: a gradebook export of Canvas, a grading worksheet or participants list of Moodle, a
    roster of Gradescope, or a CSV file (id, name, e-mail, section, extensions, group, excused).

    Reading a newer file updates what it says. Nobody is removed.
    """
    from autograder.classroom.roster_files import read_roster
    from autograder.classroom.roster_store import update_roster

    this = courses.load()
    if assignment is not None:
        this.select([assignment])
    read = read_roster(file, this, assignment)
    with err.status("writing to the gradebook"):
        people, changes = update_roster(this, read)
    if as_json:
        print(json.dumps({"kind": read.kind, "people": len(people.people), **vars(changes), "ignored": read.ignored}))
        return
    if read.ignored:
        err.print(f"course: columns that are not used: {', '.join(read.ignored)}", markup=False)
    if changes.absent:
        err.print(
            f"course: {len(changes.absent)} on the roster are not in this file, and stay: {some(changes.absent)}",
            markup=False,
        )
    out.print(
        f"{read.kind}: {len(changes.new)} new, {len(changes.changed)} changed, {len(changes.same)} as before;"
        f" {len(people.people)} on the roster"
    )


def some(names: list[str], most: int = 10) -> str:
    """The first of many names."""
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


@course.command()
@click.argument("archive", type=click.Path(path_type=Path))
@click.option("--assignment", help="The assignment the archive is about, where its names do not tell.")
@json_option
@command
def collect(archive: Path, assignment: str | None, as_json: bool) -> None:
    """Put submissions from an LMS archive (Canvas, Moodle, Gradescope, plain folders) into submitted/.

    With a roster, students are found by the numbers of the LMS, and those who have not handed in are named. Exit 1 if
    some work has no place.
    """
    from autograder.classroom.collect import collect as collect_from

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
            f"{len(found.placed)} submissions collected, {len(found.skipped)} files to look at, {len(found.unplaced)}"
            " of them not placed"
        )
        for title, pairs in (("late", found.late), ("not handed in", found.missing), ("excused", found.excused)):
            for about in dict.fromkeys(assignment for _, assignment in pairs):
                names = [student for student, assignment in pairs if assignment == about]
                out.print(f"{about}: {len(names)} {title}: {', '.join(names)}", markup=False)
    sys.exit(0 if found.placed and not found.unplaced else 1)


@course.command()
@click.argument("assignment")
@click.option("--student", default="*", help="Only students whose id matches this pattern.")
@click.option(
    "--workers", type=click.IntRange(1), help="Submissions graded at the same time. Default: one per processor."
)
@click.option(
    "--scheduler", metavar="ADDRESS", help="Grade on the Dask cluster of this scheduler, e.g. tcp://10.0.0.1:8786."
)
@click.option("--force", is_flag=True, help="Grade again what has not changed since it was graded.")
@click.option(
    "--sandbox",
    "level",
    type=click.Choice(["namespaces", "container"]),
    default="namespaces",
    help="How student code is kept apart. `container` is for root in a container that allows no namespaces.",
)
@click.option("--unsafe", is_flag=True, help="Grade without a sandbox: student code runs with your rights.")
@click.option("--new-secret", is_flag=True, help="Hidden inputs from a new secret, where the class's is lost.")
@json_option
@command
def grade(
    assignment: str,
    student: str,
    workers: int | None,
    scheduler: str | None,
    force: bool,
    level: str,
    unsafe: bool,
    new_secret: bool,
    as_json: bool,
) -> None:
    """Grade submitted/ in the sandboxed examiner, into nbgrader's gradebook.

    Exit 1 if a submission could not be graded.
    """
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from autograder.classroom import grade as grader
    from autograder.examiner.sandbox import Level

    this = courses.load()
    (chosen,) = this.select([assignment])
    protection = Level.UNSAFE if unsafe else Level(level)
    if told := protection.open_here():
        option = "--unsafe" if unsafe else f"--sandbox {level}"
        err.print(f"course: {option}: {told}", markup=False)
    trouble = 0
    columns = [
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("left"),
        TimeRemainingColumn(),
    ]
    # Time left from the pace of the whole run: the last half minute, as is usual, can be two slow submissions.
    with Progress(*columns, console=err, transient=True, speed_estimate_period=3600) as progress:
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
                err.print(
                    "course: look at these tests before you believe a zero: docs/instructors.md, Notebooks of your own",
                    markup=False,
                )

        options: dict[str, Any] = {
            "student": student,
            "workers": workers or 0,
            "scheduler": scheduler,
            "force": force,
            "level": protection,
            "new_secret": new_secret,
        }
        found = grader.grade(this, chosen, **options, on_start=begin, on_result=step, on_own=own)
    if as_json:
        print(json.dumps(vars(found)))
    else:
        table = Table("student", "score", "of", "seconds", "to look at")
        for row in found.rows:
            marks = (
                [f"not read: {row['unreadable']}"]
                if row["unreadable"]
                else [f"{name}: {reason}" for name, reason in row["lost"].items()]
            )
            notes = marks[:2] + ([f"and {len(marks) - 2} more"] if len(marks) > 2 else [])
            notes += [f"{len(row['repairs'])} repairs"] if row["repairs"] else []
            notes += [f"{len(row['tamper'])} signs of tampering"] if row["tamper"] else []
            notes += [f"late: {row['late_penalty']:g} points were taken off"] if row["late_penalty"] else []
            notes += ["waits for a manual grade"] if row["waiting"] else []
            table.add_row(
                row["student"],
                f"{row['score']:g}",
                f"{row['out_of']:g}",
                f"{row['seconds']:.1f}",
                Text("; ".join(notes)),
            )
        out.print(table)
        out.print(f"{len(found.rows)} graded, {found.skipped} unchanged since they were graded, {found.seconds:.1f} s")
        for line in found.failed:
            err.print(f"course: {line}", markup=False)
    sys.exit(1 if found.failed else 0)


@course.command()
@click.argument("assignment")
@click.option("--student", default="*", help="Only students whose id matches this pattern.")
@click.option("--pack", type=click.Choice(["canvas", "moodle"]), help="Also pack the pages for upload to this LMS.")
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="The packed file. Default: feedback-ASSIGNMENT-LMS.zip."
)
@command
def feedback(assignment: str, student: str, pack: str | None, target: Path | None) -> None:
    """Write a feedback page per graded submission: hints, never a hidden test's source.

    --pack makes one archive of them, in the names that Canvas or Moodle finds the students by.
    """
    from autograder.classroom import totals
    from autograder.classroom.nbgrader_command import nbgrader

    this = courses.load()
    (chosen,) = this.select([assignment])
    if not list((this.root / "autograded").glob(f"{student}/{chosen.id}")):
        raise CourseError(
            f"nothing graded matches autograded/{student}/{chosen.id}: run `course grade {chosen.id}` first"
        )
    totals.gradebook(this).close()  # where it cannot be used, its own reason is better than nbgrader's
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
        path.parent.name
        for path in (this.root / "autograded").glob(f"*/{chosen.id}")
        if fnmatch.fnmatchcase(path.parent.name, student)
    }
    missing = sorted(graded - {page.parent.parent.name for page in pages})
    for name in missing:
        reason = trouble or "its id has signs that nbgrader takes for a pattern?"
        err.print(f"course: no page was written for {name}: {reason}", markup=False)
    if trouble and not missing:
        err.print(f"course: {trouble}", markup=False)
    left_out: list[str] = []
    if pack is not None:
        from autograder.classroom.feedback_pack import pack_feedback

        target = target or this.root / f"feedback-{chosen.id}-{pack}.zip"
        packed, left_out = pack_feedback(this, chosen, pack, target, student)
        for name in left_out:
            err.print(
                f"course: {name} is not in the pack: what {pack} calls this submission is not known", markup=False
            )
        out.print(f"packed the pages of {packed} students into {target}", markup=False)
    sys.exit(1 if missing or trouble or left_out else 0)


@course.command()
@click.argument("assignments", nargs=-1)
@click.option(
    "--format",
    "form",
    type=click.Choice(["csv", "canvas", "moodle", "gradescope", "gradescope-autograder"]),
    default="csv",
    show_default=True,
)
@click.option("--to", "target", type=click.Path(path_type=Path), help="File to write; without it, standard output.")
@command
def export(assignments: tuple[str, ...], form: str, target: Path | None) -> None:
    """Marks for a spreadsheet or an LMS. Bonus points add to the score, not to what it is out of.

    Canvas and Moodle get the file that was read with `course roster`, with the marks in it. gradescope-autograder is no
    marks, but an archive that grades one assignment on Gradescope: --to names it.
    """
    from autograder.classroom import export as exports
    from autograder.classroom.roster_store import load_roster
    from autograder.classroom.totals import marks

    this = courses.load()
    chosen = this.select(assignments)
    if form == "gradescope-autograder":
        from autograder.classroom import gradescope_autograder

        if len(assignments) != 1 or target is None:
            raise CourseError(
                "an autograder for Gradescope is of one assignment, and a file: `course export 03-attention --format"
                " gradescope-autograder --to autograder.zip`"
            )
        with err.status("packing"):
            gradescope_autograder.pack(this, chosen[0], target)
        out.print(f"wrote {target}: hidden tests and the secret of the class are in it", markup=False)
        return
    rows = marks(this, chosen)
    if not rows:
        raise CourseError("nothing is graded yet: run `course grade` first")
    remarks: list[str] = []
    text = exports.export(rows, form, load_roster(this), chosen, remarks)
    for line in remarks:
        err.print(f"course: {line}", markup=False)
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
@click.option("--html", "page", type=click.Path(path_type=Path), help="Write the whole report as a page, to this file.")
@click.option(
    "--integrity",
    is_flag=True,
    help="Instead: who edited tests, patched libraries or tried to leave the sandbox, and what was repaired.",
)
@click.option("--similar", is_flag=True, help="Instead: pairs of answers that are worth reading side by side.")
@click.option("--leaderboard", is_flag=True, help="Instead: the fewest calls or bytes, as the tests counted them.")
@click.option("--names", is_flag=True, help="Name the students on the leaderboard.")
@json_option
@command
def report(
    assignment: str, page: Path | None, integrity: bool, similar: bool, leaderboard: bool, names: bool, as_json: bool
) -> None:
    """How the class did: scores, hard exercises, frequent mistakes, and who needs help."""
    from autograder.classroom.report import class_report

    this = courses.load()
    (chosen,) = this.select([assignment])
    if integrity:
        integrity_table(this, chosen, as_json)
    elif similar:
        similar_table(this, chosen, as_json)
    elif leaderboard:
        leaderboard_table(this, chosen, names, as_json)
    elif page is None and as_json:
        entries = class_report(this, chosen)
        if not entries:
            raise CourseError(f"nothing of {chosen.id} is graded yet: run `course grade {chosen.id}` first")
        print(json.dumps([entry.as_dict() for entry in entries], ensure_ascii=False))
    else:
        whole_report(this, chosen, page, as_json)


def whole_report(this: courses.Course, chosen: courses.Assignment, page: Path | None, as_json: bool) -> None:
    from autograder.classroom.class_facts import class_facts
    from autograder.classroom.class_summary import summary

    with err.status("reading the class"):
        facts = class_facts(this, chosen)
    if page is not None:
        from autograder.classroom.pages.class_page import class_page

        courses.write_whole(page, class_page(this, facts))
    if as_json:
        print(json.dumps(facts, ensure_ascii=False))
        return
    for line in summary(facts):
        out.print(line, markup=False)
    if page is not None:
        out.print(f"wrote {page}", markup=False)


def integrity_table(this: courses.Course, chosen: courses.Assignment, as_json: bool) -> None:
    from autograder.classroom.report import integrity_report

    lines = integrity_report(this, chosen)
    if as_json:
        print(json.dumps(lines))
        return
    table = Table("student", "kind", "what")
    for line in lines:
        table.add_row(line["student"], line["kind"], Text(line["what"]))
    out.print(table if lines else "Nothing was repaired, nothing looks like tampering.")


def leaderboard_table(this: courses.Course, chosen: courses.Assignment, names: bool, as_json: bool) -> None:
    from autograder.classroom.leaderboard import leaderboards

    boards = leaderboards(this, chosen, names)
    if as_json:
        print(json.dumps(boards, ensure_ascii=False))
        return
    for board in boards:
        table = Table("rank", board["counted"], "students", *["who"] * names)
        for place in board["places"]:
            who = [Text(", ".join(place["names"]))] if names else []
            table.add_row(str(place["rank"]), f"{place['count']:,}", str(place["students"]), *who)
        out.print(table)
    if not boards:
        out.print(f"No test of {chosen.id} counts anything for a leaderboard, or nobody has its full marks yet.")


def similar_table(this: courses.Course, chosen: courses.Assignment, as_json: bool) -> None:
    from autograder.classroom.class_facts import similar_report
    from autograder.model.wording import SIMILAR_LIMITS

    pairs = similar_report(this, chosen)
    if as_json:
        print(json.dumps([pair.as_dict() for pair in pairs], ensure_ascii=False))
        return
    table = Table("students", "exercises", "shared")
    for pair in pairs:
        same = [f"{one.exercise}{' (word for word)' if one.word_for_word else ''}" for one in pair.matches]
        shared = [f"{one.shared} of {one.of}" for one in pair.matches]
        table.add_row(Text("\n".join(pair.students)), Text("\n".join(same)), Text("\n".join(shared)))
    out.print(table if pairs else "No pair of answers shares enough to be worth reading.")
    out.print(SIMILAR_LIMITS, markup=False)
