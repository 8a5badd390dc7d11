"""The student's `course` command: `course lab` and `course check`.

Exit codes as everywhere in the course: 0 done, 1 found failures, 2 could not run.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path

from helpers.kit.colab import DISTRIBUTION
from helpers.student import course, files, lab, work

OLDEST = (3, 11)


def main(arguments: Sequence[str] | None = None) -> None:
    if sys.version_info < OLDEST:
        sys.exit(f"course: Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, this is {sys.version.split()[0]}")
    chosen = parser().parse_args(arguments)
    try:
        sys.exit(chosen.run(chosen))
    except files.CourseError as error:
        print(f"course: {error}", file=sys.stderr)
    except OSError as error:
        place = f" {error.filename}" if error.filename else ""
        reason = error.strerror or error
        print(f"course: {reason}:{place}. Is the disk full, or the folder read-only?", file=sys.stderr)
    except KeyboardInterrupt:
        print("course: stopped", file=sys.stderr)
        sys.exit(130)
    sys.exit(2)


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser("course", description="Work on the course's notebooks and check them.")
    top.add_argument("--version", action="version", version=f"course, version {version()}")
    commands = top.add_subparsers(title="commands", required=True, metavar="lab | check")
    one = commands.add_parser("lab", help="open JupyterLab on the start page; your notebooks are in work/")
    one.add_argument("--no-browser", action="store_true", help="for servers: print the address, open nothing")
    one.add_argument("--port", type=int, help="port of the server")
    one.add_argument("extra", nargs="*", help="after --: arguments for JupyterLab", metavar="ARGS")
    one.set_defaults(run=run_lab)
    two = commands.add_parser("check", help="run a notebook's tests from the top; exit 1 if any fails")
    two.add_argument("notebook", type=Path)
    two.add_argument("--json", action="store_true", help="machine-readable results on standard output")
    two.set_defaults(run=run_check)
    return top


def version() -> str:
    try:
        return metadata.version(DISTRIBUTION)
    except metadata.PackageNotFoundError:
        return "unknown (not installed)"


def run_lab(chosen: argparse.Namespace) -> int:
    this = course.load()
    lines = work.prepare(this.root, this.data_files())
    lab.start(this.root, lines, chosen.no_browser, chosen.port, chosen.extra)
    return 0


def run_check(chosen: argparse.Namespace) -> int:
    from helpers.kit import validate

    try:
        results = validate.check_notebook(chosen.notebook)
    except validate.NotCheckedError as reason:
        raise files.CourseError(str(reason)) from None
    if chosen.json:
        print(json.dumps([result.as_dict() for result in results], ensure_ascii=False))
    else:
        for result in results:
            print(result.text())
        print(f"\n{validate.summary(results)}")
    return 0 if all(result.passed for result in results) else 1


if __name__ == "__main__":
    main()
