"""The points of `course check --json`, as GitHub Classroom's reporter takes them.

In the workflow that a release brings: python -m helpers.kit.classroom_points FILE…
"""

from __future__ import annotations

import base64
import json
import os
import sys
from pathlib import Path
from typing import Any


def result_of(checked: list[dict[str, Any]]) -> dict[str, Any]:
    """The reporter's format, version 1: a test with its score for every test cell."""
    tests = [
        {
            "name": one["name"],
            "status": "pass" if one["passed"] else "fail",
            "score": one["score"],
            "message": one["message"],
        }
        for one in checked
    ]
    status = "pass" if all(one["passed"] for one in checked) else "fail"
    return {"version": 1, "status": status, "max_score": sum(one["points"] for one in checked), "tests": tests}


def main(paths: list[str]) -> None:
    """Print the points for people, and hand the result to the next step of the workflow."""
    result = result_of([one for path in paths for one in json.loads(Path(path).read_text(encoding="utf-8"))])
    for test in result["tests"]:
        print(test["message"] or f"{test['name']}: {test['score']:g}")
    print(f"{sum(test['score'] for test in result['tests']):g} of {result['max_score']:g} points in the visible tests")
    encoded = base64.b64encode(json.dumps(result).encode()).decode()
    with open(os.environ["GITHUB_OUTPUT"], "a", encoding="utf-8") as output:
        output.write(f"result={encoded}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
