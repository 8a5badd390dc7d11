"""What is published of a graded submission stays as it is: `grading.json` of a part of the hostile class, as it was
stored.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from classroom import once
from golden import CHOSEN, FILE, grade_class, normalised

from autograder.examiner import sandbox

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sandbox.why_not() is not None, reason="hostile code needs a sandbox"),
]
STORED: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    def work(shared: Path) -> dict[str, Any]:
        root = shared / "golden"
        root.mkdir()
        return normalised(grade_class(root))

    found: dict[str, Any] = once(tmp_path_factory, "golden", work)
    return found


@pytest.mark.parametrize("name", CHOSEN)
def test_record_is_the_same_as_before(graded: dict[str, Any], name: str) -> None:
    assert graded[name] == STORED[name]


def test_record_holds_no_path_of_the_machine_that_graded(graded: dict[str, Any], tmp_path: Path) -> None:
    assert str(tmp_path.parent) not in json.dumps(graded)
