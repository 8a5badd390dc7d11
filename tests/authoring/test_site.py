"""The website: what students get, as pages. No answer is in it, every link leads somewhere, nothing comes from elsewhere."""

from __future__ import annotations

import hashlib
import json
import shutil
import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from conftest import ROOT, run_course
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import PythonLexer

from autograder.authoring import build, html_pages, release_leaks
from autograder.authoring.site import links, notebook_page, pictures
from autograder.authoring.site import site as sites
from autograder.authoring.site.pictures import Picture
from autograder.model import course
from autograder.model.course import Assignment, Course, CourseError

SCRIPT = '''
# %% [markdown]
# # 01 · Doubling
# As in $x + x$; `01-small` is this one.

# %% locked="setup"
import matplotlib.pyplot as plt
import torch
from helpers.checks import Check, randn

# %% [markdown]
# ## 1 Numbers
# ### 1.1 Twice <small>★★☆ · 5 min · 2 points</small>
# Twice as much, like this:
#
# ```python
# ### this is no heading
# ```

# %% exercise="double"
def double(x):
    """Twice x, a tensor of any shape."""
    ### BEGIN SOLUTION
    return x + x  # the secret of doubling
    ### END SOLUTION
### BEGIN SOLUTION
figure = plt.figure(figsize=(3, 3)); plt.show()  # drawn by the answer
### END SOLUTION

# %% test="double" points=2
check = Check("double", points=2)
check.close(check.run(double, torch.ones(3)), 2.0, "twice one is two")
### BEGIN HIDDEN TESTS
hidden_input = randn(4, 5)
check.close(check.run(double, hidden_input), 2 * hidden_input, "other numbers must be doubled, too")
### END HIDDEN TESTS
check.score()

# %% [markdown]
# After the box.

# %% look=true
plt.figure(figsize=(2, 1)); plt.plot(double(torch.arange(3.0))); plt.show()
print("printed by a given cell")

# %% [markdown]
# ## 2 Words
# ### 2.1 Why? <small>★☆☆ · 5 min · 1 point</small>

# %% [markdown] written="why" points=1
# <!-- BEGIN SOLUTION -->
# Because the sum of equals is twice one of them.
#
# | points | rubric |
# | --- | --- |
# | 1 | says so |
# <!-- END SOLUTION -->
'''
DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
TOY = '<div id="toy"></div>\n\n<script>document.getElementById("toy").textContent = "played"</script>'
PICTURES = [Picture(html=TOY), Picture(png=DOT, width=1, height=1)]


@pytest.fixture
def small(small_course: Path) -> Course:
    (small_course / "solutions" / "01-small" / "01-small.py").write_text(SCRIPT.lstrip())
    (small_course / "docs").mkdir()
    (small_course / "docs" / "students.md").write_text("# For students\n\nHere is [the licence](../LICENSE).\n")
    return course.load(small_course)


def drawn(this: Course, assignment: Assignment, scale: str) -> pictures.Pictures:
    """A toy and a dot in place of what the first cell for looking at draws: running a notebook takes seconds."""
    cells = json.loads(build.build(this, assignment)[1])["cells"]
    return {next(cell["id"] for cell in cells if cell["metadata"].get("look")): PICTURES}


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pictures, "of", drawn)


def digests(folder: Path) -> dict[str, str]:
    files = [path for path in folder.rglob("*") if path.is_file()]
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


# ---- a page, and its checks -----------------------------------------------------------------------------------------


def test_a_page_sets_exercises_off_and_has_nothing_but_the_students_text(small: Course) -> None:
    (assignment,) = small.assignments
    ((name, notebook),) = build.student_texts(small, assignment).items()
    page = notebook_page.page(small, assignment, name, notebook, drawn(small, assignment, ""), ["01-small"])
    text = page.markdown()
    box, after = text.partition('<div class="exercise">')[2].split("\n\n</div>\n\nAfter the box.")
    assert "<b>Exercise 1.1</b>" in box
    assert "5 min · 2 points" in box
    assert "# YOUR CODE HERE" in box
    assert "### this is no heading" in box
    assert '<details class="cell test"><summary>Test <span>2 points' in box
    assert "twice one is two" in box
    assert "### 1.1 Twice\n" in text, "stars and points are not part of the heading"
    assert "[`01-small`](01-small.md) is this one" in text
    assert TOY in after
    assert '<img src="../pictures/01-small-1.png"' in after
    assert 'class="cell answer written"' in after
    assert page.stars == [2, 1]
    assert page.pictures[1].picture.content.startswith(b"\x89PNG")
    for secret in ("secret of doubling", "hidden_input", "sum of equals", "NotImplementedError", "hand_in", "rubric"):
        assert secret not in text


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ('<a href="none.html">', "links to none.html, which is not there"),
        ('<a href="other.html#nowhere">', "links to other.html#nowhere, and that page has no such place"),
        ('<a href="#nowhere">', "links to #nowhere, and that page has no such place"),
        ('<img src="none.png">', "loads none.png, which is not there"),
        (
            '<script src="https://cdn.example.org/a.js"></script>',
            "loads https://cdn.example.org/a.js from another host",
        ),
        (
            '<link rel="stylesheet" href="//fonts.example.org/a.css">',
            "loads //fonts.example.org/a.css from another host",
        ),
        (
            '<img srcset="a.png 1x, https://x.example.org/b.png 2x">',
            "loads https://x.example.org/b.png from another host",
        ),
        (
            '<p style="background: url(https://x.example.org/c.png)">',
            "loads https://x.example.org/c.png from another host",
        ),
        (
            "<style>@font-face { src: url('https://x.example.org/f') }</style>",
            "loads https://x.example.org/f from another host",
        ),
    ],
)
def test_a_link_to_nowhere_and_a_file_of_another_host_are_found(tmp_path: Path, page: str, problem: str) -> None:
    good = '<a href="other.html#here"></a><a href="https://example.org"></a><a href="./"></a><img src="a.png?v=1">'
    (tmp_path / "index.html").write_text(good + '<img src="data:image/png;base64,AA==">')
    (tmp_path / "other.html").write_text('<p id="here"></p>')
    (tmp_path / "a.png").write_bytes(b"")
    (tmp_path / "a.css").write_text('a { background: url("a.png") } b { background: url(data:image/png;base64,AA==) }')
    assert links.problems(tmp_path) == []
    (tmp_path / "index.html").write_text(page)
    assert links.problems(tmp_path) == [f"index.html: {problem}"]


def test_a_style_sheet_that_imports_from_another_host_is_found(tmp_path: Path) -> None:
    (tmp_path / "a.css").write_text('@import "https://fonts.example.org/css";\na { background: url(b.png) }')
    assert links.problems(tmp_path) == [
        "a.css: loads https://fonts.example.org/css from another host",
        "a.css: loads b.png, which is not there",
    ]


ANSWER = "    return x + x  # the secret of doubling"
TEST = 'check.close(check.run(double, hidden_input), 2 * hidden_input, "other numbers must be doubled, too")'


@pytest.mark.parametrize(
    "page",
    [
        highlight(f"def double(x):\n{ANSWER}\n", PythonLexer(), HtmlFormatter()),  # every word in colours of its own
        highlight(f"if True:\n    {TEST}\n", PythonLexer(), HtmlFormatter()),
        f"<p>Write <code><span>{ANSWER}</span></code> here.</p>",
        f"<!-- {ANSWER} -->",
        f'<img alt="{ANSWER.strip()}">',
        "<p>Because the sum of equals is twice one of them.</p>",
        f"<script>const shown = `\n{ANSWER}\n`</script>",
    ],
)
def test_an_answer_or_a_hidden_test_on_a_page_is_refused(small: Course, tmp_path: Path, page: str) -> None:
    folder = tmp_path / "built"
    folder.mkdir()
    (folder / "index.html").write_text(f"<html><body><h1>Doubling</h1>{page}</body></html>")
    with pytest.raises(
        CourseError, match=r"index\.html.*this line is also in the (solution|hidden tests) of solutions/01-small"
    ):
        release_leaks.check(small, folder, "published")


# ---- the whole way --------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_site_is_whole_the_same_every_time_and_takes_the_place_of_its_older_self_only(
    small: Course, tmp_path: Path
) -> None:
    one, other, foreign = tmp_path / "one", tmp_path / "two", tmp_path / "foreign"
    for target in (one, other):
        sites.site(small, list(small.assignments), target, "smoke")
    assert digests(one) == digests(other)
    first = (one / "index.html").read_text()
    assert "Doubling" in first, "the map, where a course has no docs/index.md"
    assert "How to start" in first, "a newcomer is led to the students' guide"
    assert "https://github.com/example/small/blob/main/LICENSE" in (one / "docs" / "students.html").read_text()
    (one / "old.html").write_text("")
    sites.site(small, list(small.assignments), one, "smoke")
    assert digests(one) == digests(other)
    foreign.mkdir()
    (foreign / "thesis.txt").write_text("mine")
    with pytest.raises(CourseError, match="is not a site"):
        sites.site(small, list(small.assignments), foreign, "smoke")
    assert digests(foreign).keys() == {"thesis.txt"}


@pytest.mark.slow
@pytest.mark.usefixtures("quick")
def test_a_planted_answer_and_a_broken_link_stop_the_site(small: Course, tmp_path: Path) -> None:
    page, target = small.root / "docs" / "students.md", tmp_path / "site"
    page.write_text(f"# For students\n\n```python\ndef double(x):\n{ANSWER}\n```\n")
    with pytest.raises(CourseError, match=r"docs/students\.html.*solution of solutions/01-small"):
        sites.site(small, list(small.assignments), target, "smoke")
    page.write_text("# For students\n\n[This way](students.md#nowhere).\n")
    with pytest.raises(CourseError, match="nowhere"):
        sites.site(small, list(small.assignments), target, "smoke")
    assert not target.exists()
    assert not list(tmp_path.glob(".site-*"))


@pytest.mark.slow
def test_pictures_are_those_of_given_cells_and_are_drawn_once(small: Course, monkeypatch: pytest.MonkeyPatch) -> None:
    (assignment,) = small.assignments
    found = pictures.of(small, assignment, "smoke")
    ((picture,),) = found.values()
    assert picture.content.startswith(b"\x89PNG")
    assert picture.width < 250, "the figure of the answer is larger"
    kept = next((small.root / pictures.KEPT).iterdir()).read_text()
    assert "printed by a given cell" not in kept

    def refuse(*_: object) -> None:
        raise AssertionError("nothing has changed, and the notebook runs again")

    monkeypatch.setattr(pictures.validate, "run", refuse)
    assert pictures.of(small, assignment, "smoke") == found
    assignment.source.write_text(assignment.source.read_text().replace("figsize=(2, 1)", "figsize=(1, 1)"))
    with pytest.raises(AssertionError, match="nothing has changed"):
        pictures.of(small, assignment, "smoke")


def test_some_assignments_are_shown_in_the_courses_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written: list[str] = []

    def write_text(this: Course, chosen: list[Assignment], *rest: object) -> dict[str, bytes]:
        written.extend(one.id for one in chosen)
        raise CourseError("enough")

    monkeypatch.setattr(sites, "write_text", write_text)
    this = course.load(ROOT)
    with pytest.raises(CourseError, match="enough"):
        sites.site(this, this.select(["09-gpt", "02-rnn-backprop"]), tmp_path / "site", "smoke")
    assert written == ["02-rnn-backprop", "09-gpt"]


@pytest.mark.slow
def test_a_given_cell_that_fails_is_named(small: Course) -> None:
    (assignment,) = small.assignments
    assignment.source.write_text(assignment.source.read_text().replace("plt.figure(figsize=(2", "plt.figur(figsize=(2"))
    with pytest.raises(CourseError, match=r"01-small: its pictures.*AttributeError.*plt\.figur\(figsize"):
        pictures.of(small, assignment, "smoke")


# ---- the course's own site ------------------------------------------------------------------------------------------

TWO = ("03-attention", "15-kernels")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site of the course as it is, with two of its assignments."""
    root = tmp_path_factory.mktemp("course")
    head, *entries = (ROOT / "course.toml").read_text().split("[[assignment]]")
    chosen = [entry for entry in entries if any(f'id = "{name}"' in entry for name in TWO)]
    (root / "course.toml").write_text("[[assignment]]".join([head, *chosen]))
    shutil.copytree(ROOT / "docs", root / "docs")
    shutil.copy(ROOT / "nbgrader_config.py", root)
    for name in TWO:
        shutil.copytree(ROOT / "solutions" / name, root / "solutions" / name, ignore=shutil.ignore_patterns("*.ipynb"))
    this = course.load(root)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pictures, "of", drawn)
        return sites.site(this, list(this.assignments), tmp_path_factory.mktemp("out") / "site", "smoke")


@pytest.mark.slow
def test_the_courses_site_has_its_guide_its_notebooks_and_their_pictures(site: Path) -> None:
    this = course.load(ROOT)
    for assignment in this.select(TWO):
        page = (site / "assignments" / f"{assignment.id}.html").read_text()
        assert assignment.title in page
        assert this.colab_link(assignment) in page
        given = build.student_texts(this, assignment)[f"{assignment.id}.ipynb"]
        assert (site / "notebooks" / assignment.id / f"{assignment.id}.ipynb").read_text() == given
        assert page.count('<div class="exercise">') > 10
        assert f"pictures/{assignment.id}-1.png" in page
        assert (site / "pictures" / f"{assignment.id}-1.png").is_file()
    first = (site / "index.html").read_text()
    assert TOY in first, "docs/index.md asks for the first picture of 03"
    assert first.count('<a class="card"') == 2
    guide = (site / "docs" / "students.html").read_text()
    assert "Shift+Enter" in guide
    assert f'href="{this.student_repository}/blob/{this.tag}/README.md"' in guide, (
        "how to install, where students may look"
    )
    assert "<!--" not in "".join(html_pages.read(first).lines)
    assert (
        site / "_static" / "mathjax" / "output" / "chtml" / "fonts" / "woff-v2" / "MathJax_Main-Regular.woff"
    ).is_file()


@pytest.fixture(scope="module")
def address(site: Path) -> Iterator[str]:
    class Quiet(SimpleHTTPRequestHandler):
        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(site))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


@pytest.mark.slow
@pytest.mark.browser
def test_in_a_browser_formulas_are_set_words_are_found_and_nothing_is_asked_of_other_hosts(address: str) -> None:
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="Playwright is not installed: pip install playwright"
    )
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with playwright.sync_playwright() as tools:
        options = ["--no-sandbox", "--disable-gpu", "--disable-background-networking"]
        browser = tools.chromium.launch(executable_path=chromium, args=options)
        page = browser.new_page(viewport={"width": 390, "height": 844}, color_scheme="dark")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{address}/assignments/03-attention.html")
        page.wait_for_selector("mjx-container")
        page.wait_for_function("window.MathJax.startup.promise.then(() => true)")
        assert page.locator("mjx-container").count() > 50
        assert page.locator("mjx-merror").count() == 0
        assert page.locator("#toy").text_content() == "played"
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, "a phone must not scroll sideways"
        ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert sum(int(part) for part in ground.strip("rgba()").split(",")[:3]) < 150, "dark where that is asked for"
        page.goto(f"{address}/search.html?q=triton")
        page.wait_for_selector("#search-results li a")
        assert "15-kernels" in str(page.locator("#search-results li a").first.get_attribute("href"))
        assert [url for url in asked if not url.startswith((address, "data:", "blob:"))] == []
        browser.close()


@pytest.mark.slow
@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_the_whole_site_with_its_own_pictures(tmp_path: Path) -> None:
    done = run_course("site", "--scale", "smoke", "--to", str(tmp_path / "site"), "--json")
    assert done.returncode == 0, done.stderr
    made = json.loads(done.stdout)
    assert made["assignments"] == [assignment.id for assignment in course.load(ROOT).assignments]
    pages = sorted(path.stem for path in (tmp_path / "site" / "assignments").glob("*.html"))
    assert pages == sorted(made["assignments"])
    for name in pages:
        page = (tmp_path / "site" / "assignments" / f"{name}.html").read_text()
        assert '<figure class="picture">' in page, f"{name} shows no figure"
