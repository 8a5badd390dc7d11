"""Run by a Python that has otter-grader, in a folder of tests/ and notebooks: grades every notebook; each must be
perfect.
"""

from __future__ import annotations

import sys
from pathlib import Path


def main() -> None:
    from otter.api import grade_submission
    from otter.generate import main as generate

    generate(tests_dir="tests", output_path="autograder.zip", no_requirements=True, no_environment=True)
    for path in sorted(Path().glob("*.ipynb")):
        results = grade_submission(str(path), "autograder.zip", quiet=True)
        if results.total != results.possible:
            sys.exit(f"{path}: otter gives {results.total} of {results.possible}: {results.summary()}")


if __name__ == "__main__":
    main()
