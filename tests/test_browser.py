"""The product in a real JupyterLab with a real browser: a student fixes an answer, an instructor grades by hand."""

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import ROOT, SMALL, TOOLS, run_course

from autograder.authoring import headers
from autograder.model.notebook import Cell
from helpers.student import authorship

playwright = pytest.importorskip("playwright.sync_api", reason="Playwright is not installed: pip install playwright")

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium on this machine: apt-get install chromium"),
]

WRITTEN = """
# %% [markdown] nbgrader={"grade": true, "grade_id": "why", "locked": false, "points": 3, "schema_version": 3, "solution": true, "task": false}
# <!-- BEGIN SOLUTION -->
# Because doubling is addition.
# <!-- END SOLUTION -->
"""
TOKEN = "test-token"


@pytest.fixture
def page(tmp_path: Path) -> Iterator[Any]:
    with playwright.sync_playwright() as tools:
        browser = tools.chromium.launch(
            executable_path=CHROMIUM,
            args=[
                "--no-sandbox",
                "--disable-gpu",
                "--disable-background-networking",
                "--disable-sync",
                "--no-first-run",
                "--disable-component-update",
            ],
        )
        tab = browser.new_page(viewport={"width": 1300, "height": 900})
        tab.set_default_timeout(90_000)
        yield tab
        tab.screenshot(path=tmp_path / "last.png")  # kept by pytest: what the browser showed when the test ended
        browser.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class Lab:
    """`course lab --no-browser`, started and stopped as a student does."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.port = free_port()
        self.address = f"http://127.0.0.1:{self.port}"
        self.log = root / "lab.log"
        self.server: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
        environment["JUPYTERLAB_WORKSPACES_DIR"] = str(
            self.root / "workspaces"
        )  # or the tabs of an earlier session come back
        command = [sys.executable, "-m", "autograder", "lab", "--no-browser", "--port", str(self.port)]
        with self.log.open("w") as log:
            self.server = subprocess.Popen(
                [*command, "--", f"--IdentityProvider.token={TOKEN}"],
                cwd=self.root,
                env=environment,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        for _ in range(240):
            try:
                urllib.request.urlopen(f"{self.address}/api?token={TOKEN}", timeout=5)
                return
            except (urllib.error.URLError, ConnectionError, TimeoutError):
                assert self.server.poll() is None, self.log.read_text()
                time.sleep(0.5)
        pytest.fail(f"no server after two minutes: {self.log.read_text()}")

    def stop(self) -> None:
        if self.server is not None:
            os.killpg(self.server.pid, signal.SIGTERM)
            self.server.wait(30)
            with suppress(ProcessLookupError):  # a server can go on waiting for a kernel that had just been asked for
                os.killpg(self.server.pid, signal.SIGKILL)
            self.server = None


@pytest.fixture
def running(small_course: Path) -> Iterator[Lab]:
    """The lab, running on the small course with one written question more."""
    (small_course / "solutions" / "01-small" / "01-small.py").write_text(with_short_headers(SMALL.lstrip() + WRITTEN))
    (small_course / "solutions" / "jupytext.toml").write_bytes((ROOT / "solutions" / "jupytext.toml").read_bytes())
    built(small_course)
    lab = Lab(small_course)
    lab.start()
    yield lab
    lab.stop()


@pytest.fixture
def lab(running: Lab) -> str:
    """The server's address."""
    return running.address


def with_short_headers(script: str) -> str:
    def short(found: re.Match[str]) -> str:
        return headers.header_of(Cell("markdown" if found[1] else "code", "", {"nbgrader": json.loads(found[2])}))

    return re.sub(r"^# %%( \[markdown\])? nbgrader=(\{.*\})$", short, script, flags=re.MULTILINE)


def built(root: Path) -> None:
    done = run_course("build", cwd=root)
    assert done.returncode == 0, done.stderr


def cell(page: Any, text: str) -> Any:
    return page.locator(".jp-CodeCell", has_text=text).first


def replace_code(page: Any, target: Any, code: str) -> None:
    target.locator(".cm-content").click()
    page.keyboard.press("Control+a")
    page.keyboard.insert_text(code)
    page.keyboard.press("Shift+Enter")


def run_cell(page: Any, target: Any) -> None:
    target.locator(".cm-content").click()
    page.keyboard.press("Shift+Enter")


def until(seen: Any, action: Callable[[], None]) -> None:
    """Do it, and again if nothing is seen of it: while JupyterLab starts or redraws, a key or click can be lost, as for
    any user.
    """
    for _ in range(6):
        action()
        try:
            seen.wait_for(timeout=20_000)
            return
        except playwright.TimeoutError:
            continue
    pytest.fail(f"nothing came of it: {seen}")


def test_student_fails_reads_fixes_and_validates(lab: str, page: Any, small_course: Path) -> None:
    page.goto(f"{lab}/course?token={TOKEN}")
    assert "Start with" in page.locator(".go").inner_text()
    assert "0 of 2 points" in page.locator(".card").inner_text()
    page.get_by_role("link", name="Doubling", exact=True).click()
    page.locator(".jp-RenderedMarkdown", has_text="Twice as much").wait_for()
    setup = cell(page, "from helpers.checks import Check")
    until(setup.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")), lambda: run_cell(page, setup))

    assert page.get_by_text("Formgrader").count() == 0
    assert page.locator("[data-id='nbgrader-create-assignemnt'], [title*='Create Assignment']").count() == 0
    test_cell = page.locator(".jp-CodeCell", has_text="Test of double")  # folded: that is all there is to see of it
    answer = page.locator(".jp-CodeCell", has_text="def double")
    message = test_cell.locator(".course-check")

    def try_answer(code: str) -> None:
        replace_code(page, answer, code)  # and the folded test is the next cell
        page.keyboard.press("Shift+Enter")

    until(message, lambda: try_answer("def double(x):\n    return x * 3"))
    assert "double: 0 of 1 checks passed" in message.inner_text()
    assert "twice one is two" in message.inner_text()
    assert "expected 2, got 3" in message.inner_text()

    passed = test_cell.locator(".course-check", has_text=re.compile(r"passed\s+2 of 2 points"))
    until(passed, lambda: try_answer("def double(x):\n    return x + x"))
    assert test_cell.locator(".jp-OutputArea-output").count() == 1, "the box, and no number below it"
    assert not test_cell.locator(".cm-content").is_visible()
    run_cell(page, answer)  # leads to the test
    page.keyboard.press("Enter")
    test_cell.locator(".cm-content", has_text='Check("double"').wait_for()  # unfolded without a mouse
    page.keyboard.press("Escape")
    with page.expect_popup() as opened:
        page.evaluate("address => window.open(address)", f"{lab}/course")
    start = opened.value
    assert "2 of 2 points" in start.locator(".card").inner_text()
    start.close()

    written = page.locator(".jp-MarkdownCell", has_text="YOUR ANSWER HERE")
    written.dblclick()
    replace_code(page, written, "Doubling is adding a number to itself.")
    page.locator(".jp-RenderedMarkdown", has_text="Doubling is adding").wait_for()
    # Validate saves, too, and JupyterLab may ask whether it may.
    overwrite = page.locator(".jp-Dialog").get_by_role("button", name="Overwrite")
    page.add_locator_handler(overwrite, overwrite.click)
    save(page, small_course / "work" / "01-small" / "01-small.ipynb", "Doubling is adding")
    validate = page.locator("[title='Validate Assignment']").filter(visible=True).first
    until(page.get_by_text("Success! Your notebook passes all the tests."), validate.click)


def save(page: Any, path: Path, text: str) -> None:
    """Save, and wait until the file has this text.

    JupyterLab takes a save that is under way, its own autosave included, for somebody else's, and asks.
    """
    overwrite = page.locator(".jp-Dialog").get_by_role("button", name="Overwrite")
    for _ in range(12):
        if overwrite.is_visible():
            overwrite.click()
        else:
            page.keyboard.press("Control+s")
        for _ in range(50):
            if text in path.read_text():
                return
            page.wait_for_timeout(200)
    pytest.fail(f"nothing was saved: {page.url}")


def test_an_answer_is_there_after_a_restart_and_after_a_new_version_arrived(
    running: Lab, page: Any, small_course: Path, tmp_path: Path
) -> None:
    mine = small_course / "work" / "01-small" / "01-small.ipynb"

    @contextmanager
    def opened(name: str) -> Iterator[Any]:
        """The notebook in a browser of its own: a page whose server is gone holds on to what it shows."""
        tab = page.context.browser.new_page(viewport={"width": 1300, "height": 900})
        tab.set_default_timeout(90_000)
        tab.goto(f"{running.address}/lab?token={TOKEN}")  # signs in
        tab.wait_for_selector(".jp-Launcher, .jp-Notebook", state="attached")
        tab.goto(f"{running.address}/lab/tree/work/01-small/{name}")
        tab.locator(".jp-CodeCell", has_text="def double").filter(visible=True).wait_for()
        yield tab
        tab.screenshot(path=tmp_path / f"{name}.png")
        tab.close()

    with opened("01-small.ipynb") as tab:
        tab.locator(".jp-RenderedMarkdown", has_text="Twice as much").click()
        tab.get_by_text("Python 3 (ipykernel) | Idle").wait_for()  # JupyterLab has noted the kernel's language
        assert tab.locator(".jp-mod-dirty").count() == 0, "a notebook just opened is not unsaved"
        tab.keyboard.press("Control+s")
        assert authorship.untouched(authorship.read(mine))
        answer = tab.locator(".jp-CodeCell", has_text="def double")
        seen = tab.locator(".jp-CodeCell", has_text="my own doubling")
        until(seen, lambda: replace_code(tab, answer, "def double(x):\n    return 2 * x  # my own doubling"))
        save(tab, mine, "my own doubling")
    assert "my own doubling" in mine.read_text()
    running.stop()
    running.start()
    with opened("01-small.ipynb") as tab:
        tab.locator(".jp-CodeCell", has_text="my own doubling").wait_for()
    running.stop()

    script = small_course / "solutions" / "01-small" / "01-small.py"
    script.write_text(script.read_text().replace("Twice as much.", "Twice as much, in a new version."))
    built(small_course)  # what `git pull` brings: another notebooks/
    running.start()
    assert "(new version)" in running.log.read_text()
    with opened("01-small.ipynb") as tab:
        tab.locator(".jp-CodeCell", has_text="my own doubling").wait_for()
        tab.goto(f"{running.address}/lab/tree/work/01-small/01-small (new version).ipynb")
        tab.locator(".jp-RenderedMarkdown", has_text="in a new version").wait_for()
    assert "my own doubling" in mine.read_text()


def test_an_instructor_edits_the_solution_notebook_and_the_script_has_it(
    lab: str, page: Any, small_course: Path
) -> None:
    script = small_course / "solutions" / "01-small" / "01-small.py"
    before = script.read_text()
    page.goto(f"{lab}/lab?token={TOKEN}")
    page.wait_for_selector(".jp-Launcher, .jp-Notebook", state="attached")
    page.goto(f"{lab}/lab/tree/solutions/01-small/01-small.ipynb")
    text = page.locator(".jp-MarkdownCell", has_text="Twice as much")
    text.locator(".jp-RenderedMarkdown").dblclick()
    edited = page.locator(".jp-RenderedMarkdown", has_text="Three times as much")
    until(edited, lambda: replace_code(page, text, "Three times as much."))
    save(page, script, "Three times as much.")
    assert script.read_text() == before.replace("Twice as much.", "Three times as much.")
    built(small_course)
    assert "Three times as much." in (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_text()


def test_instructor_sees_the_submission_and_grades_it_by_hand_in_formgrader(
    lab: str, page: Any, small_course: Path
) -> None:
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}

    def nbgrader(*args: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *args],
            cwd=small_course,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr

    nbgrader("generate_assignment", "01-small", "--force")
    place = small_course / "submitted" / "ada" / "01-small"
    place.mkdir(parents=True)
    notebook = (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_text()
    stub = '    # YOUR CODE HERE\\n",\n    "    raise NotImplementedError()'
    assert stub in notebook
    (place / "01-small.ipynb").write_text(
        notebook.replace(stub, "    return 2 * x").replace("YOUR ANSWER HERE", "It is addition.")
    )
    nbgrader("autograde", "01-small", "--create")

    page.goto(f"{lab}/lab?token={TOKEN}")  # signs in
    page.goto(f"{lab}/formgrader/gradebook/01-small/01-small")
    page.get_by_text("Submission #1").wait_for()
    assert "2 / 5" in page.locator("table").inner_text()
    page.get_by_text("Submission #1").click()
    page.get_by_text("It is addition.").wait_for()
    page.locator("input.score[placeholder='2']").wait_for()  # the grades have been loaded
    box = page.locator("input.score").last
    with page.expect_response(lambda response: "/api/grade/" in response.url and response.request.method == "PUT"):
        box.fill("2.5")
        box.press("Tab")
    nbgrader("generate_feedback", "01-small")
    nbgrader("export")
    assert "4.5" in (small_course / "grades.csv").read_text()
    feedback = (small_course / "feedback" / "ada" / "01-small" / "01-small.html").read_text()
    assert "hidden tests ran here" in feedback
    assert "hidden_input" not in feedback


def test_the_widget_follows_the_mouse_and_the_keyboard(page: Any, tmp_path: Path) -> None:
    from helpers.attention.four_keys import KEYS
    from helpers.attention.widgets import drag_query

    path = tmp_path / "widget.html"
    path.write_text(f"<html><meta charset='utf-8'><body>{drag_query(KEYS).data}</body></html>")
    page.goto(path.as_uri())
    tip, first = page.locator(".tip"), page.locator(".weight").first
    before = float(first.inner_text())
    box = tip.bounding_box()
    page.mouse.move(box["x"] + 5, box["y"] + 5)
    page.mouse.down()
    page.mouse.move(box["x"] - 40, box["y"] + 120, steps=4)
    page.mouse.up()
    dragged = float(first.inner_text())
    assert dragged < before
    tip.press("ArrowUp")
    assert float(first.inner_text()) > dragged
    page.locator(".factor").fill("5")
    assert sorted(float(w) for w in page.locator(".weight").all_inner_texts())[-1] == pytest.approx(1, abs=1e-3)


def test_the_valley_follows_its_sliders(page: Any, tmp_path: Path) -> None:
    from helpers.training_craft.valley import valley_dial

    path = tmp_path / "valley.html"
    path.write_text(f"<html><meta charset='utf-8'><body>{valley_dial(0.03, 0.0).data}</body></html>")
    page.goto(path.as_uri())
    verdict = page.locator(".verdict")
    assert verdict.inner_text().endswith("it grows")
    page.locator(".momentum").fill("0.9")
    assert verdict.inner_text().endswith("it falls")
    page.locator(".rate").fill("-1")
    assert verdict.inner_text().endswith("it grows")
    assert page.locator(".points circle").count() < 61  # the path ends where it leaves the picture


def widgets() -> dict[str, tuple[Any, Callable[[Any], None]]]:
    """Every widget, and what reaches its goal with the keyboard alone."""
    from helpers.attention.four_keys import KEYS
    from helpers.attention.widgets import drag_query
    from helpers.kernels.launches import Watched, step_through
    from helpers.positions.rotary_dial import rotary_dial
    from helpers.precision.number_formats import bit_dial
    from helpers.tokenization.tokens import playground
    from helpers.training_craft.valley import valley_dial

    def bits_of_minus_six(tab: Any) -> None:  # fp8: 1 1001 100
        for label in ("sign bit 7", "exponent bit 6", "exponent bit 5", "exponent bit 4", "mantissa bit 2"):
            tab.get_by_label(label).press("Enter")

    def valley(tab: Any) -> None:
        tab.locator(".rate").fill("-1.54")
        tab.locator(".momentum").fill("0.7")

    launch = Watched({"x": (1, 2)}, [(0,), (1,)], [{"x": np.array([[1, 0]])}, {"x": np.array([[0, 2]])}])
    return {
        "drag": (drag_query(KEYS), lambda tab: tab.locator(".factor").press("End")),
        "dial": (rotary_dial(m=43, n=0), lambda tab: tab.locator(".m").press("ArrowRight")),
        "valley": (valley_dial(), valley),
        "bits": (bit_dial(), bits_of_minus_six),
        "tokens": (
            playground(
                [(b"t", b"h")], "Each byte of this line is a token, but for two letters: the colours have to wrap."
            ),
            lambda tab: tab.locator(".text").fill("qx" * 12),
        ),
        "launch": (step_through(launch), lambda tab: tab.locator("input").press("End")),
    }


def test_every_widget_has_a_goal_and_says_when_it_is_reached(page: Any, tmp_path: Path) -> None:
    for name, (widget, reach) in widgets().items():
        path = tmp_path / f"{name}.html"
        path.write_text(f"<html><meta charset='utf-8'><body>{widget.data}</body></html>")
        page.goto(path.as_uri())
        goal = page.locator(".goal")
        assert goal.inner_text().startswith("Goal: "), name
        page.set_viewport_size({"width": 380, "height": 800})
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, f"{name} is cut in a narrow window"
        for slider in page.locator("input[type=range]").all():
            assert slider.bounding_box()["width"] >= 200, f"{name}: a slider too short to set"
        before = goal.evaluate("node => node.style.borderColor")
        reach(page)
        assert goal.inner_text().startswith("✓ Reached: "), name
        assert goal.evaluate("node => node.style.borderColor") != before, f"{name} looks the same as before"
        page.screenshot(path=tmp_path / f"{name}.png")
        assert page.evaluate("document.documentElement.scrollWidth") <= 380, f"{name} is cut in a narrow window"
        page.set_viewport_size({"width": 1300, "height": 900})
        root = page.locator("[data-lm-suppress-shortcuts]")
        assert root.count() == 1, f"{name}: JupyterLab would take its keys"


def test_a_narrow_slice_of_an_array_is_filled_without_seams(page: Any, tmp_path: Path) -> None:
    from helpers.kernels.launches import Watched, step_through

    loaded = Watched({"x": (1, 45)}, [(0,)], [{"x": np.ones((1, 45), int)}])
    path = tmp_path / "launch.html"
    path.write_text(f"<html><meta charset='utf-8'><body>{step_through(loaded).data}</body></html>")
    page.goto(path.as_uri())
    colours = page.locator("canvas").evaluate(
        "c => new Set(new Uint32Array(c.getContext('2d').getImageData(0, 0, c.width, c.height).data.buffer)).size"
    )
    assert colours == 1


def test_course_lab_says_what_to_do_where_the_port_or_folder_is_wrong(tmp_path: Path) -> None:
    done = run_course("lab", "--no-browser", cwd=tmp_path, COURSE_ROOT="")
    assert done.returncode == 2
    assert "no course.toml" in done.stderr
