"""What a grader and a student see in a browser: text, tables and pictures that came with the work, and nothing that
runs or is fetched.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from conftest import run_course
from test_grade import WRITTEN, graded_text, store

from autograder.classroom import feedback
from autograder.examiner.sanitize import harmless

PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="
SHOWN = f"data:image/png;base64,{PIXEL}"


def page(source: str, **attachments: Any) -> str:
    """A text cell on a page."""
    return feedback.without_scripts({"cell": {"attachments": attachments}}, source)


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("plot.png", "![](attachment:plot.png)"),
        ("a b.png", "![](attachment:a%20b.png)"),
        ("a%20b.png", "![](attachment:a%20b.png)"),
        ("a b.png", "![](<attachment:a b.png>)"),
        ("Übung.png", "![](attachment:Übung.png)"),
        ("U\u0308bung.png", "![](attachment:Übung.png)"),
        ("Übung.png", "![](attachment:%C3%9Cbung.png)"),
        ("a&b.png", "![](attachment:a&b.png)"),
        ("a(1).png", "![](attachment:a(1).png)"),
        ("plot.png", '<img src="attachment:plot.png" width="300">'),
        ("a b.png", '<img width="300" src="attachment:a%20b.png">'),
    ],
)
def test_a_pasted_picture_is_shown_whatever_its_name(name: str, written: str) -> None:
    assert f'src="{SHOWN}"' in page(f"Look: {written}", **{name: {"image/png": PIXEL}})


def test_a_picture_that_is_missing_costs_the_picture_only() -> None:
    assert "the answer" in page("![x](attachment:nowhere.png) the answer")
    assert "the answer" in page("![x](attachment:Übung.png) the answer", **{"Übung.png": {"image/svg+xml": "<svg/>"}})


REMOTE = [
    "http://evil.example/x.png",
    "https://evil.example/x.png",
    "//evil.example/x.png",
    "\\\\evil.example/x.png",
    "/\\evil.example/x.png",
    "ht\ntps://evil.example/x.png",
    " https://evil.example/x.png",
    "HTTPS:evil.example/x.png",
    "ftp://evil.example/x.png",
    "data:image/svg+xml;base64,evil.example",
]


@pytest.mark.parametrize("address", REMOTE)
def test_no_picture_is_fetched(address: str) -> None:
    ways = [f'<img alt="sketch" src="{address}">', f"<img alt='sketch' srcset='{address} 2x' src='{address}'>"]
    ways += [f"![sketch]({address})", f"![sketch](<{address}>)"]
    ways += [f'<table background="{address}"><tr><td style="background:url({address})">x</td></tr></table>']
    for text in ways:
        for made in (page(text), harmless("text/html", text), feedback.clean_html(text)):
            assert not re.search(r"<[^>]*evil", made), made


def test_pictures_with_their_bytes_links_and_files_beside_the_page_stay() -> None:
    text = f'<img src="{SHOWN}"> <img src="figures/plot 1.png"> <a href="https://example.org/a?b=1#c">there</a>'
    for made in (page(text), harmless("text/html", text), feedback.clean_html(text)):
        assert SHOWN in made
        assert 'src="figures/plot 1.png"' in made
        assert 'href="https://example.org/a?b=1#c"' in made


@pytest.mark.parametrize("tag", ["script", "style", "SCRIPT", "svg", "iframe", "template"])
def test_what_is_no_text_does_not_become_text(tag: str) -> None:
    text = f"before <b>bold</b> <{tag}>steal = marks</{tag}> after"
    for made in (page(text), harmless("text/html", text), feedback.clean_html(text)):
        assert "steal" not in made
        assert all(word in made for word in ("before", "<b>bold</b>", "after"))


def test_nothing_runs_and_nothing_imitates_the_page() -> None:
    text = (
        '<div onclick="steal()" style="position:fixed" class="panel-heading" id="score">x</div><a'
        ' href="javascript:steal()">y</a><a href="data:text/html,steal()">z</a><form action="/steal"><input'
        ' name="steal"></form><base href="//steal/"><meta http-equiv="refresh">'
    )
    for made in (page(text), harmless("text/html", text), feedback.clean_html(text)):
        assert not re.search(r"steal|position|panel|score|<form|<input|<base|<meta", made), made


def test_what_students_write_stays() -> None:
    made = page(
        "If $a<b$ and 3 < 4 & x > y:\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n```python\nx = 1 <"
        " 2\n```\n\n<details><summary>s</summary>t</details>"
    )
    for piece in (
        "$a&lt;b$",
        "3 &lt; 4 &amp; x &gt; y",
        "<td>1</td>",
        "<summary>s</summary>",
        '<span class="mi">1</span>',
    ):
        assert piece in made
    assert harmless("text/html", '<table class="dataframe" border="1"><tr><th>a</th></tr></table>').startswith(
        '<table class="dataframe" border="1">'
    )


@pytest.mark.slow
def test_a_page_with_a_picture_of_an_odd_name_and_a_script_is_written(small_course: Path) -> None:
    source = small_course / "solutions" / "01-small" / "01-small.py"
    source.write_text(source.read_text() + WRITTEN)
    assert run_course("build", cwd=small_course).returncode == 0
    answer = (
        "Look: ![](attachment:Übung.png) ![](attachment:a%20b.png) ![](https://evil.example/x.png)"
        " <script>stealMarks()</script>"
    )
    notebook = json.loads(graded_text(small_course, why=answer))
    for cell in notebook["cells"]:
        if cell["source"] == answer:
            cell["attachments"] = {"Übung.png": {"image/png": PIXEL}, "a b.png": {"image/png": PIXEL}}
        if cell["cell_type"] == "code":
            outputs = {
                "text/html": "<p>made</p><script>stealMarks()</script><img src='https://evil.example/x.png'>",
                "text/plain": "1.0",
            }
            cell["outputs"] = [{"output_type": "execute_result", "data": outputs, "metadata": {}, "execution_count": 1}]
    store(small_course, json.dumps(notebook))
    (small_course / "autograded" / "ada" / "01-small" / "grading.json").unlink()  # there was no examiner
    done = run_course("feedback", "01-small", cwd=small_course)
    assert done.returncode == 0, done.stderr
    made = (small_course / "feedback" / "ada" / "01-small" / "01-small.html").read_text(encoding="utf-8")
    assert made.count(SHOWN) == 2
    assert "<p>made</p>" in made
    assert "stealMarks" not in made
    assert not re.search(r"<[^>]*evil", made)
