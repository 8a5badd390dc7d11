"""Entry point of the `course` command: says what is missing in one line, where a traceback would help nobody."""

from __future__ import annotations

import os
import sys

OLDEST = (3, 11)
# jsonschema, which nbformat imports, would spend a second on the grammar of international addresses. No notebook's
# schema has one.
NEVER_NEEDED = "rfc3987_syntax"


def is_elsewhere(place: str) -> bool:
    """Is this the current folder, which `python -m` puts on the path, and not where this package lies?

    A submission's files are no modules.
    """
    try:
        here = os.getcwd()
    except FileNotFoundError:  # somebody has removed it
        return False
    home = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    return os.path.abspath(place) == here and not os.path.samefile(here, home)


def main() -> None:
    if sys.version_info < OLDEST:
        sys.exit(f"course: Python {OLDEST[0]}.{OLDEST[1]} or newer is needed, this is {sys.version.split()[0]}")
    sys.path[:] = [place for place in sys.path if not is_elsewhere(place)]
    sys.modules.setdefault(NEVER_NEEDED, None)  # type: ignore[arg-type]  # None: there is no such module
    try:
        from autograder.cli import course
    except ModuleNotFoundError as error:
        print(
            f"course: the package {error.name} is missing: pip install 'sequence-models-workbook[instructor]', or `make"
            " setup`",
            file=sys.stderr,
        )
        sys.exit(2)
    except KeyboardInterrupt:
        print("course: stopped", file=sys.stderr)
        sys.exit(130)
    course(prog_name="course")


if __name__ == "__main__":
    main()
