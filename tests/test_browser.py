"""The product in a real JupyterLab with a real browser: a student fixes an answer, an instructor grades by hand."""

from __future__ import annotations

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
from pathlib import Path
from typing import Any

import pytest
from conftest import SMALL, TOOLS, run_course

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


@pytest.fixture
def lab(small_course: Path) -> Iterator[str]:
    """`course lab --no-browser`, running on the small course with one written question more. Gives the server's address."""
    (small_course / "solutions" / "01-small" / "01-small.py").write_text(SMALL.lstrip() + WRITTEN)
    port = free_port()
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}
    environment["JUPYTERLAB_WORKSPACES_DIR"] = str(small_course / "workspaces")  # or the tabs of an earlier session come back
    log = (small_course / "lab.log").open("w")
    command = [sys.executable, "-m", "autograder", "lab", "--no-browser", "--port", str(port), "--", f"--IdentityProvider.token={TOKEN}"]
    server = subprocess.Popen(command, cwd=small_course, env=environment, stdout=log, stderr=log, start_new_session=True)
    address = f"http://127.0.0.1:{port}"
    for _ in range(240):
        try:
            urllib.request.urlopen(f"{address}/api?token={TOKEN}", timeout=5)
            break
        except (urllib.error.URLError, ConnectionError, TimeoutError):
            assert server.poll() is None, (small_course / "lab.log").read_text()
            time.sleep(0.5)
    yield address
    os.killpg(server.pid, signal.SIGTERM)
    server.wait(30)
    log.close()


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
    """Do it, and again if nothing is seen of it: while JupyterLab starts or redraws, a key or click can be lost, as for any user."""
    for _ in range(6):
        action()
        try:
            seen.wait_for(timeout=20_000)
            return
        except playwright.TimeoutError:
            continue
    pytest.fail(f"nothing came of it: {seen}")


def test_student_fails_reads_fixes_and_validates(lab: str, page: Any) -> None:
    page.goto(f"{lab}/lab?token={TOKEN}")
    page.wait_for_selector(".jp-Launcher, .jp-Notebook", state="attached")
    page.goto(f"{lab}/lab/tree/notebooks/start.ipynb")
    page.get_by_role("link", name="Doubling").wait_for()
    page.goto(f"{lab}/lab/tree/notebooks/01-small/01-small.ipynb")
    page.locator(".jp-RenderedMarkdown", has_text="Twice as much").wait_for()
    setup = cell(page, "from helpers.checks import Check")
    until(setup.locator(".jp-InputPrompt", has_text=re.compile(r"\[\d+\]")), lambda: run_cell(page, setup))

    test_cell = page.locator(".jp-CodeCell", has_text='Check("double"')
    answer = page.locator(".jp-CodeCell", has_text="def double")
    message = test_cell.locator(".course-check")

    def try_answer(code: str) -> None:
        replace_code(page, answer, code)
        run_cell(page, test_cell)

    until(message, lambda: try_answer("def double(x):\n    return x * 3"))
    assert "double: 0 of 1 checks passed" in message.inner_text()
    assert "twice one is two" in message.inner_text()
    assert "expected 2, got 3" in message.inner_text()

    passed = test_cell.locator(".course-check", has_text="passed · 2 of 2 points")
    until(passed, lambda: try_answer("def double(x):\n    return x + x"))

    written = page.locator(".jp-MarkdownCell", has_text="YOUR ANSWER HERE")
    written.dblclick()
    replace_code(page, written, "Doubling is adding a number to itself.")
    page.locator(".jp-RenderedMarkdown", has_text="Doubling is adding").wait_for()
    # Validate saves, too. JupyterLab takes a save that is under way, its own autosave included, for somebody else's, and asks.
    overwrite = page.locator(".jp-Dialog").get_by_role("button", name="Overwrite")
    page.add_locator_handler(overwrite, overwrite.click)
    with page.expect_response(lambda response: "/api/contents/" in response.url and response.request.method == "PUT"):
        page.keyboard.press("Control+s")
    validate = page.locator("[title='Validate Assignment']").filter(visible=True).first  # the start page's tab has one, too, out of sight
    until(page.get_by_text("Success! Your notebook passes all the tests."), validate.click)


def test_instructor_sees_the_submission_and_grades_it_by_hand_in_formgrader(lab: str, page: Any, small_course: Path) -> None:
    environment = {**os.environ, "PATH": f"{TOOLS}{os.pathsep}{os.environ['PATH']}"}

    def nbgrader(*args: str) -> None:
        done = subprocess.run(
            [sys.executable, "-m", "nbgrader", *args], cwd=small_course, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stderr

    nbgrader("generate_assignment", "01-small", "--force")
    place = small_course / "submitted" / "ada" / "01-small"
    place.mkdir(parents=True)
    notebook = (small_course / "notebooks" / "01-small" / "01-small.ipynb").read_text()
    stub = '    # YOUR CODE HERE\\n",\n    "    raise NotImplementedError()'
    assert stub in notebook
    (place / "01-small.ipynb").write_text(notebook.replace(stub, "    return 2 * x").replace("YOUR ANSWER HERE", "It is addition."))
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
    from helpers.four_keys import KEYS
    from helpers.widgets import drag_query

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


def test_course_lab_says_what_to_do_where_the_port_or_folder_is_wrong(tmp_path: Path) -> None:
    done = run_course("lab", "--no-browser", cwd=tmp_path, COURSE_ROOT="")
    assert done.returncode == 2
    assert "no course.toml" in done.stderr
