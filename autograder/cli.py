"""The `course` command: what there is for an assignment and for a machine. For a class, see class_commands.py."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import NoReturn

import click
from rich.table import Table
from rich.text import Text

from autograder import class_commands as class_commands
from autograder.commands import command, course, err, json_option, out
from autograder.model import course as courses
from autograder.model.course import CourseError
from helpers.kit.scale import SCALES


@course.command()
@click.argument("name")
@command
def new(name: str) -> None:
    """Start a new assignment NN-name: a script and mistakes.py that build and verify, and its entry in course.toml."""
    from autograder.authoring.new import new as start_assignment

    made = start_assignment(courses.load(), name)
    folder = made.source.parent.relative_to(made.root)
    out.print(
        f"{folder} is there, and course.toml knows it: change title, part and minutes there, then run `course build"
        f" {made.id}`"
    )


@course.command()
@click.argument("assignments", nargs=-1)
@click.option("--check", is_flag=True, help="Write nothing; fail when notebooks/ is not what solutions/ makes.")
@click.option(
    "--force", is_flag=True, help="Replace notebooks that a person changed, too; copies of them are kept in kept/."
)
@json_option
@command
def build(assignments: tuple[str, ...], check: bool, force: bool, as_json: bool) -> None:
    """Make the instructor's and the student's notebooks from solutions/."""
    from autograder.authoring import build as builder

    this = courses.load()
    chosen = this.select(assignments)
    files: dict[Path, str] = {}
    with err.status("building"):
        files, warnings = builder.outputs(this, chosen)
    for warning in warnings:
        err.print(str(warning), markup=False)
    if check:
        wrong = (
            builder.stale(this, files)
            if not assignments
            else [w for w in builder.stale(this, files) if any(a.id in w for a in chosen)]
        )
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
        print(
            json.dumps(
                {"written": [str(p.relative_to(this.root)) for p in changed], "warnings": [str(w) for w in warnings]}
            )
        )
    else:
        for path in changed:
            out.print(f"wrote {path.relative_to(this.root)}")
        out.print(f"{len(chosen)} assignments built, {len(changed)} files changed")


@course.command()
@click.argument("args", nargs=-1, type=click.UNPROCESSED)
@click.option("--no-browser", is_flag=True, help="For servers: print the address, open nothing.")
@click.option("--port", type=int, help="Port of the server.")
@click.option(
    "--instructor", is_flag=True, help="With formgrader, Create Assignment, and written answers on /course/written."
)
@command
def lab(args: tuple[str, ...], no_browser: bool, port: int | None, instructor: bool) -> None:
    """Open JupyterLab on the workbook's start page. Your notebooks are the copies in work/."""
    from autograder.lab import start

    start(courses.load(), no_browser, port, args, instructor)


@course.command()
@click.argument("notebook", type=click.Path(path_type=Path))
@json_option
@command
def check(notebook: Path, as_json: bool) -> None:
    """Run a notebook's tests as grading does (visible ones); exit 1 if any fails."""
    from helpers.kit import validate

    if courses.course_that_got(notebook.resolve()) is not None:
        raise CourseError(
            f"{notebook} was handed in, and `course check` would run it with your rights: `course grade` has a sandbox"
        )
    with err.status(f"running {notebook}"):
        try:
            results = validate.check_notebook(notebook)
        except validate.NotCheckedError as reason:
            raise CourseError(str(reason)) from None
    if as_json:
        print(json.dumps([result.as_dict() for result in results], ensure_ascii=False))
    else:
        for result in results:
            out.print(result.text(), markup=False)
        out.print(f"\n{validate.summary(results)}")
    sys.exit(0 if all(r.passed for r in results) else 1)


@course.command()
@click.argument("assignments", nargs=-1)
@click.option(
    "--sample",
    type=click.IntRange(1),
    default=1,
    help="Try every so many variants only: a quick look, not the release gate.",
)
@click.option("--exercise", default="", metavar="NAME", help="Try one exercise only, in seconds: not the release gate.")
@click.option(
    "--seeds",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Also try solution, blank and right answers with the hidden inputs of N other secrets. A release takes 20.",
)
@click.option(
    "--variants",
    type=click.Path(path_type=Path),
    help="Try the variants of this file, in the format of mistakes.py, in place of the assignment's own.",
)
@click.option(
    "--mutate",
    is_flag=True,
    help="Also make wrong answers out of the solution. Each must lose points, or have a reason in mistakes.py.",
)
@click.option(
    "--operators",
    type=click.Choice(["holes", "classical", "all"]),
    help="Which mutants: slips that only one more case would show (holes, the default), signs and axes, or all.",
)
@click.option(
    "--looks",
    is_flag=True,
    help="Once more with the cells marked look=true, which grading leaves out: scores and hints must be the same.",
)
@json_option
@command
def verify(
    assignments: tuple[str, ...],
    sample: int,
    exercise: str,
    seeds: int,
    variants: Path | None,
    mutate: bool,
    operators: str | None,
    looks: bool,
    as_json: bool,
) -> None:
    """Test the tests: solution full marks, blank zero, every named mistake caught, every right variant accepted."""
    from autograder.authoring import verify as verifier

    this = courses.load()
    selected = this.select(assignments)
    if (exercise or variants is not None) and len(selected) != 1:
        raise CourseError(
            "--exercise and --variants need the name of one assignment: course verify 03-attention --exercise weights"
        )
    if mutate and variants is not None:
        raise CourseError("--mutate makes its own wrong answers: leave out --variants")
    if operators and not mutate:
        raise CourseError("--operators chooses among mutants: add --mutate")
    if variants is not None:
        try_file(this, selected[0], variants, exercise, as_json)
    reports = []
    with err.status("verifying") as status:
        for assignment in selected:
            name = assignment.id
            told = lambda text: status.update(f"{name} · {text}")  # noqa: B023, E731
            group = (operators or "holes") * mutate
            reports.append(
                verifier.verify(this, assignment, told, sample, exercise, seeds=seeds, operators=group, both_ways=looks)
            )
    if as_json:
        print(json.dumps([report.as_dict() for report in reports], ensure_ascii=False))
    else:
        weights = ("idea", "part", "edge", "all")
        table = Table(
            "assignment",
            "exercises",
            "variants",
            "failures",
            *weights,
            *["mutants", "survivors"] * mutate,
            title="share of the points that mistakes keep →",
        )
        for report in reports:
            counts = (report.exercises, report.variants, len(report.failures))
            kept = [f"{report.kept[name]['mean']:.2f}" if name in report.kept else "" for name in weights]
            tried = [report.mutants.made, len(report.mutants.survivors)] if report.mutants else []
            table.add_row(report.assignment, *map(str, counts), *kept, *map(str, tried))
            for failure in report.failures:
                err.print(f"✗ {report.assignment} · {failure}", markup=False)
        out.print(table)
    for notice in dict.fromkeys(report.notice for report in reports if report.notice):
        err.print(f"course: {notice}", markup=False)
    sys.exit(1 if any(report.failures for report in reports) else 0)


def try_file(
    this: courses.Course, assignment: courses.Assignment, path: Path, exercise: str, as_json: bool
) -> NoReturn:
    """`course verify --variants`: what became of the variants of a file."""
    from autograder.authoring import verify as verifier

    with err.status(assignment.id) as status:
        outcomes, unknown, notice = verifier.verify_variants(this, assignment, path, status.update, exercise)
    if as_json:
        found = {
            "assignment": assignment.id,
            "variants": [outcome.as_dict() for outcome in outcomes],
            "unknown": unknown,
        }
        print(json.dumps(found, ensure_ascii=False))
    else:
        table = Table("exercise", "", "variant", "earned", "of", "verdict")
        for row in (outcome.as_dict() for outcome in outcomes):
            table.add_row(
                row["exercise"],
                row["kind"],
                Text(row["name"]),
                f"{row['earned']:g}",
                f"{row['points']:g}",
                row["verdict"],
            )
        out.print(table)
        for name in unknown:
            err.print(f"course: {path} names {name!r}, which is not an exercise", markup=False)
    if notice:
        err.print(f"course: {notice}", markup=False)
    sys.exit(0 if all(outcome.good for outcome in outcomes) else 1)


@course.command()
@click.argument("assignments", nargs=-1)
@click.option(
    "--to",
    "target",
    type=click.Path(path_type=Path),
    required=True,
    help="Folder, such as a clone of the students' repository, or a file .zip.",
)
@click.option(
    "--self-study",
    "alone",
    is_flag=True,
    help="A package for learning alone, never for a class: a green test unfolds our answer, and a cell below each"
    " written question shows our answer and its rubric after an attempt.",
)
@json_option
@command
def release(assignments: tuple[str, ...], target: Path, alone: bool, as_json: bool) -> None:
    """Make the students' package: notebooks, the wheel they install, requirements and a README, without any answer.

    With --self-study it has model answers, for people who learn without a class.
    """
    from autograder.authoring.release import release as release_to

    this = courses.load()
    chosen = this.select(assignments)
    with err.status("building"):
        place = release_to(this, chosen, target, alone)
    if as_json:
        print(json.dumps({"released": str(place), "assignments": [assignment.id for assignment in chosen]}))
    else:
        out.print(f"released {', '.join(assignment.id for assignment in chosen)} to {place}")


@course.command()
@click.argument("assignments", nargs=-1)
@click.option(
    "--to", "target", type=click.Path(path_type=Path), help="Folder of the site; without it, site/ in the course's."
)
@click.option(
    "--scale",
    type=click.Choice(SCALES),
    default="laptop",
    help="How large the experiments are whose figures are shown. laptop, the default, takes minutes per notebook, once;"
    " smoke takes seconds.",
)
@json_option
@command
def site(assignments: tuple[str, ...], target: Path | None, scale: str, as_json: bool) -> None:
    """Make the website: the students' guide and notebooks, with the figures of given cells and without any answer."""
    from autograder.authoring.site.site import site as make_site

    this = courses.load()
    chosen = this.select(assignments)
    with err.status("building") as status:
        place = make_site(this, chosen, target or this.root / "site", scale, status.update)
    if as_json:
        print(json.dumps({"site": str(place), "assignments": [assignment.id for assignment in chosen]}))
    else:
        out.print(f"{place / 'index.html'} is the first page: open it in a browser, or copy the folder to any server")


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
    "--to",
    "target",
    type=click.Path(path_type=Path),
    default=Path("demo"),
    show_default=True,
    help="Folder for the demonstration.",
)
@click.option("--students", type=click.IntRange(1, 45), default=40, show_default=True, help="How many hand in.")
@json_option
@command
def demo(assignment: str, target: Path, students: int, as_json: bool) -> None:
    """Take a made-up class with known true scores from the roster to feedback, class report and marks.

    It has its own folder, gradebook, roster and secret. Exit 1 if a mark is not the known score.
    """
    from autograder import demo as demonstration

    this = courses.load()
    (chosen,) = this.select([assignment])
    with err.status("demo") as status:
        done = demonstration.run(this, chosen, target.resolve(), students, lambda text: status.update(text))
    if as_json:
        print(json.dumps(done.as_dict()))
        sys.exit(1 if done.wrong else 0)
    table = Table("command", "seconds")
    for typed, seconds in done.commands:
        table.add_row(Text(typed), f"{seconds:g}")
    out.print(table)
    for login, known, mark in done.wrong:
        err.print(f"course: {login} is known to have {known}, and the mark is {mark or 'none'}", markup=False)
    agree = done.students - len(done.wrong)
    out.print(
        f"{done.students} on the roster, {done.handed_in} handed in; the marks of {agree} are the known ones;"
        f" {done.seconds:g} s in all\n"
    )
    for what, place in done.to_look_at():
        out.print(f"{what:<16} {place}", markup=False)
    out.print(f"{'written answers':<16} cd {done.folder} && course lab --instructor", markup=False)
    sys.exit(1 if done.wrong else 0)
