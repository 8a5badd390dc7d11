"""What the commands of `course` share: the group, how results and errors are shown, and exit codes."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import wraps
from typing import Any

import click
from rich.console import Console

from autograder.classroom import database
from autograder.model.course import CourseError

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
            err.print(
                f"course: {error.strerror or error}:{place}. Is the disk full, or the folder read-only?", markup=False
            )
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
