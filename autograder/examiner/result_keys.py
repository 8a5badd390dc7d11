"""Results that need not be had again: the digest of all that decides what a test says, and the use of kept results.

A key names everything that a test's outputs follow from: the cells that can decide them (model/dependence.py), the
files beside the notebook, the test, the recorded mistakes it is compared with, the set-up of the instructor's notebook,
the secret of the class, limits, tools and versions. Where the key of a kept result is the same, the test is not run.
The student's cells are, since what other tests need is the state they make, unless nothing at all is left to run.

Only what went well is kept: a run in which a process was stopped, a limit was reached or a question stayed ungraded is
had again each time, and so is one that comes out of kept results with such an end.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from autograder.examiner.limits import Limits
from autograder.examiner.result import Result
from autograder.examiner.tester import is_foreign
from autograder.model import dependence, regions

CodeCell = tuple[int, str, str, bool]  # index, name, source, is it a test
OF_SETUP = ("setup", "imports", "helpers", "imported", "exports", "audit")  # of what the examiner knows of a notebook
GENERATED = "colab"  # the cell that the build adds: it looks for packages, not for names


@dataclass(frozen=True)
class Keys:
    """Of one notebook of one submission: of the outputs of its cells, and of each test by its index."""

    run: str
    tests: Mapping[int, str]


@dataclass
class Known:
    """What is known already, by the index of a cell."""

    tests: dict[int, dict[str, Any]] = field(default_factory=dict)  # outputs and seconds
    run: Result | None = None  # of the other cells


def digest(*parts: Any) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def keys_of(
    job: Mapping[str, Any],
    notebook: Mapping[str, Any],
    code: Sequence[CodeCell],
    files: Sequence[tuple[str, bytes]],
    given: Collection[int],
    left_out: Collection[int] = (),
) -> Keys:
    """`job["tools"]` is a digest of tools, versions and limits; `given` are indices of the instructor's own cells, and
    `left_out` of those among them that are not run.
    """
    beside = [[name, hashlib.sha256(data).hexdigest()] for name, data in sorted(files)]
    around = [job["tools"], beside, sorted(job["given"])]
    cells = [(index, name, source) for index, name, source, is_test in code if not is_test]
    sources = [source for _, _, source in cells]
    trusted = [place for place, (_, name, _) in enumerate(cells) if name == GENERATED]
    setup = [{name: notebook.get(name) for name in OF_SETUP}, notebook.get("secret")]
    found: dict[int, str] = {}
    before: list[str] = []  # tests
    for index, name, source, is_test in code:
        if not is_test:
            continue
        if is_foreign(source):  # it may use what earlier tests have made
            places, earlier = list(range(len(cells))), list(before)
        else:
            places, earlier = dependence.decisive(sources, source, trusted), []
        decided_by = [[cells[place][0] < index, sources[place]] for place in places]
        discreet = any(regions.has_hidden(text) for text in before)
        recorded = notebook.get("recorded", {}).get(name, [])
        found[index] = digest(around, setup, source, discreet, recorded, earlier, decided_by)
        before.append(source)
    run = digest(around, [[name, source, index in given, index in left_out] for index, name, source in cells])
    return Keys(run, found)


def known_of(kept: Mapping[str, Any] | None, keys: Keys, code: Sequence[CodeCell]) -> Known:
    """What of the kept results (classroom/kept_results.py) holds for these keys."""
    if not kept:
        return Known()
    tests = {
        index: kept["tests"][name]
        for index, name, _, is_test in code
        if is_test and name in kept["tests"] and kept["tests"][name]["key"] == keys.tests[index]
    }
    if len(tests) < len(keys.tests):
        if any(is_foreign(source) for _, _, source, is_test in code if is_test):
            tests = {}  # the one that is new may use what the others make
        return Known(tests)
    others = [index for index, _, _, is_test in code if not is_test]
    if kept["run"] != keys.run or len(kept["cells"]) != len(others):
        return Known(tests)
    run = Result(cpu=kept["cpu_seconds"], peak=kept["peak_mb"] << 20)
    for index, cell in zip(others, kept["cells"], strict=True):
        run.outputs[index], run.seconds[index] = cell["outputs"], cell["seconds"]
    return Known(tests, run)


def completed(result: Result, known: Known) -> Result:
    """The result of a run together with what was known."""
    for index, test in known.tests.items():
        result.outputs[index], result.seconds[index] = test["outputs"], test["seconds"]
    return result


def went_well(result: Result, limits: Limits) -> bool:
    """Did nothing happen that a run of another length could have kept from happening, or made happen?"""
    quiet = not (result.incidents or result.ungraded or result.ended)
    return quiet and sum(result.seconds.values()) < limits.submission_seconds / 2


def to_keep(keys: Keys, result: Result, limits: Limits, names: Mapping[int, str]) -> dict[str, Any]:
    """The keys to store with a result. Outputs that go with signs of an attempt get none: the signs are had anew."""
    if not went_well(result, limits):
        return {}
    return {
        "run": "" if result.integrity else keys.run,
        "tests": {names[index]: key for index, key in keys.tests.items() if names[index]},
    }
