"""A large mixed class in one go, as `make bench ARGS=thousand` grades it; here a small one of six tiny assignments."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from conftest import ROOT, SMALL

from autograder.authoring import build
from autograder.examiner import sandbox, warm
from autograder.model import course
from benchmarks import thousand

pytestmark = [
    pytest.mark.slow,
    pytest.mark.thorough,
    pytest.mark.timeout(1800),
    pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}"),
]
COUNT = 36  # six of each assignment, the last one hostile
SECOND = SMALL.replace("double", "twice").split("# %% [markdown]")[1]


@pytest.fixture
def own_warm_process(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """One that six assignments share, and that ends with the test."""
    folder = Path(tempfile.mkdtemp(prefix="warm-"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(folder))
    monkeypatch.setenv("COURSE_WARM", "5")
    yield
    warm.end_all()
    shutil.rmtree(folder)


def six_assignments(root: Path) -> course.Course:
    entries = []
    for number in range(1, 7):
        name = f"{number:02}-small"
        folder = root / "solutions" / name
        folder.mkdir(parents=True)
        (folder / f"{name}.py").write_text(f"{SMALL.lstrip()}\n# %% [markdown]{SECOND}", encoding="utf-8")
        entries.append(f'[[assignment]]\nid = "{name}"\ntitle = "Doubling"\npart = "I"\nminutes = 5\n')
    head = 'title = "Small"\ncourse_id = "small"\nrepository = "https://github.com/example/small"\n\n'
    (root / "course.toml").write_text(head + "\n".join(entries), encoding="utf-8")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    made = course.load(root)
    files, _ = build.outputs(made, list(made.assignments))
    build.write(files)
    return made


@pytest.mark.usefixtures("own_warm_process")
def test_a_mixed_class_is_graded_whole_then_not_at_all_then_where_a_test_changed(tmp_path: Path) -> None:
    made = six_assignments(tmp_path)
    kinds = thousand.make_submissions(made, COUNT)
    first = thousand.graded(made, workers=2)
    assert first.failed == []
    assert len(first.rows) == COUNT
    assert thousand.records_missing(made, kinds) == []
    perfect = [row for row in first.rows if kinds[row["assignment"]][row["student"]] == "perfect"]
    assert perfect
    assert all(row["score"] == row["out_of"] == 4.0 for row in perfect)
    again = thousand.graded(made, workers=2)
    assert (again.rows, again.skipped) == ([], COUNT)
    thousand.change_a_test(made.assignments[0])
    changed = thousand.graded(made, workers=2)
    assert changed.skipped == COUNT - COUNT // 6
    before = {row["student"]: row["score"] for row in first.rows if row["assignment"] == "01-small"}
    assert {row["student"]: row["score"] for row in changed.rows} == before
    reused = [row["reused"] for row in changed.rows if kinds["01-small"][row["student"]] in ("perfect", "partial")]
    assert set(reused) == {1}
