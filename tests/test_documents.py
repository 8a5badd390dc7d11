"""What README and the other documents tell people to type exists: variables, commands, options, targets, extras, paths,
benchmarks.
"""

from __future__ import annotations

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from conftest import ROOT

from autograder.cli import course as command
from benchmarks.__main__ import names as benchmark_names

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]
CODE = [
    path
    for folder in ("helpers", "autograder", "data", "benchmarks", "solutions")
    for path in (ROOT / folder).rglob("*.py")
]
# Made while a class runs, or by `make` and `course`; .gitignore has the patterns.
MADE = (
    ".venv",
    "autograded",
    "class",
    "class.html",
    "demo",
    "feedback",
    "gradebook.db",
    "grading.json",
    "marks.csv",
    "submitted",
    "submissions.zip",
)
MADE += ("handed-in.json", "submission_metadata.yml", "timestamp.txt")
MADE += ("classroom.yml",)  # in a release
MADE += ("helpers.py",)  # a student's own, which hides the course's
MADE += ("requirements.txt",)  # in the package that `course release` makes
PLACEHOLDERS = re.compile(r"[A-Z]{2,}|…|\.\.\.|\*|<|path/to|ps1|YOUR|\$")  # NN-name, STUDENT, DIR: to be filled in
# `$NAME`, `NAME=value`, and names that begin as ours and our libraries' do. (The kernel's names are spelt alike, and
# are none.)
VARIABLE = re.compile(
    r"\$([A-Z][A-Z0-9_]+)|\b([A-Z][A-Z0-9_]{2,})=\S|\b((?:COURSE|GRADING|NBGRADER|HF|OMP)_[A-Z0-9_]+)\b"
)
MEASURED = re.compile(r"\b(took|measured|measures)\b")
QUANTITY = re.compile(r"\d ?(s|ms|seconds|minutes|times|MB|GB)\b")


def code_in(page: Path) -> Iterator[str]:
    """What a page shows as code: spans, and the lines of its blocks without their comments."""
    text = page.read_text(encoding="utf-8")
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    for kind, block in blocks:
        if kind in ("sh", ""):
            yield from (line.partition("  #")[0].strip() for line in block.splitlines())
    yield from (
        span.replace("\\|", "|")
        for span in re.findall(r"`([^`\n]+)`", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL))
    )


def everything_shown() -> list[tuple[str, str]]:
    return [(page.name, line) for page in PAGES for line in code_in(page) if line]


def after(program: str) -> list[tuple[str, list[str]]]:
    """Arguments of every use of a program, by page; several commands in one line count each."""
    found = []
    for page, line in everything_shown():
        for part in re.split(r"&&|;|\|(?!\w)", line):
            part = re.sub(r"^(?:[A-Z_]+=\S+ )+", "", part.strip())  # COURSE_SCALE=smoke make lab
            match = re.match(rf"(?:\.venv/bin/)?{program} +([^#\n]*)", part)
            if match is not None:
                found.append((page, shlex.split(match[1].replace("[", " ").replace("]", " ").replace("'", ""))))
    return found


def test_every_variable_is_read_by_the_code_and_every_one_of_ours_is_told() -> None:
    code = "\n".join(path.read_text(encoding="utf-8") for path in [*CODE, ROOT / "Makefile"])
    told = {
        name for page in PAGES for found in VARIABLE.findall(page.read_text(encoding="utf-8")) for name in found if name
    }
    assert {"COURSE_SCALE", "COURSE_SST2"} <= told
    unknown = {name for name in told if not re.search(rf"[\"'$(]{name}\b", code)}
    assert not unknown, f"no code reads {unknown}"
    ours = set(re.findall(r"[\"'](COURSE_[A-Z0-9_]+)[\"']", code)) - {
        "COURSE_BENCH_ONLY",
        "COURSE_BENCH_SEEDS",
        "COURSE_BENCH_STEPS",
        "COURSE_STRICT_CHECKS",
    }  # benchmarks' and tests' own
    assert ours <= told, f"no page tells of {ours - told}"


def test_every_command_and_option_exists() -> None:
    uses = after("course")
    assert len(uses) > 20
    for page, args in uses:
        name = args[0].rstrip(":") if args else ""
        if not re.fullmatch(r"[a-z]+", name):
            continue  # `course` alone, or a place for any command
        assert name in command.commands, f"{page}: there is no `course {name}`"
        known = {
            option
            for parameter in command.commands[name].params
            if isinstance(parameter, click.Option)
            for option in parameter.opts
        }
        ours = args[: args.index("--")] if "--" in args else args
        for option in (arg.partition("=")[0].rstrip(",;:.") for arg in ours if arg.startswith("--")):
            assert option in known | {"--help"}, f"{page}: `course {name}` has no {option}"


def test_options_that_stand_alone_belong_to_some_command() -> None:
    known = {option for one in command.commands.values() for parameter in one.params for option in parameter.opts} | {
        "--help"
    }
    for page, line in everything_shown():
        if line.startswith("--"):
            assert line.split()[0].partition("=")[0] in known, f"{page}: no command has {line}"


def test_every_make_target_and_benchmark_exists() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for page, args in after("make"):
        for target in (arg for arg in args if re.fullmatch(r"[a-z-]+", arg)):
            assert re.search(rf"^{target}:", makefile, re.MULTILINE), f"{page}: there is no `make {target}`"
        if "bench" in args:
            for name in (arg.removeprefix("ARGS=") for arg in args if arg.startswith("ARGS=")):
                assert set(name.strip("\"'").split()) <= set(benchmark_names()), f"{page}: there is no benchmark {name}"


def test_every_nbgrader_command_exists() -> None:
    from nbgrader.apps.nbgraderapp import NbGraderApp

    for page, args in after("nbgrader"):
        assert args[0] in NbGraderApp.subcommands, f"{page}: there is no `nbgrader {args[0]}`"


def test_every_extra_that_is_to_be_installed_exists() -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    texts = [page.read_text(encoding="utf-8") for page in PAGES] + [path.read_text(encoding="utf-8") for path in CODE]
    named = {
        name
        for text in texts
        for group in re.findall(r"(?:install '?\.|sequence-models-workbook)\[([\w,]+)\]", text)
        for name in group.split(",")
    }
    assert {"instructor", "cluster", "postgresql"} <= named
    assert named <= set(extras), f"there is no extra {named - set(extras)}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_path_exists(page: Path) -> None:
    ignored = [
        line.rstrip("/")
        for line in (ROOT / ".gitignore").read_text(encoding="utf-8").split()
        if not line.startswith("#")
    ]
    for line in code_in(page):
        for word in line.replace("\\", "/").split():
            word = word.strip("()[]{},;:'\"")
            if not re.fullmatch(
                r"[\w.-]+(/[\w.-]*)+|[\w-]+\.(py|md|toml|txt|yml|ipynb|db|json)", word
            ) or PLACEHOLDERS.search(word):
                continue
            first = word.split("/")[0]
            if first in MADE or first in ignored or word.rpartition("/")[2] in MADE:
                continue
            if "." not in word and not any(
                (ROOT / folder / first).exists() for folder in ("", "autograder", "helpers")
            ):
                continue  # two words with a stroke between them
            if re.fullmatch(r"solutions/[\w-]+/[\w-]+\.ipynb", word):  # built, from the script of that name
                word = f"{word.removesuffix('.ipynb')}.py"
            here = [
                ROOT / word,
                page.parent / word,
                *ROOT.glob(f"solutions/*/{word}"),
                *ROOT.glob(f"*/{word}"),
                *ROOT.glob(f"autograder/*/{word}"),
            ]
            assert any(path.exists() for path in here), f"{page.name} names {word}, which does not exist"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_measured_number_names_its_benchmark(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for paragraph in re.split(r"\n\s*\n", text):
        if MEASURED.search(paragraph) and QUANTITY.search(paragraph):
            bench = re.findall(r"make bench ARGS=(\w+)|benchmarks/(\w+)\.py", paragraph)
            assert bench, f"{page.name}: which benchmark gave this?\n{paragraph}"
            assert {name for pair in bench for name in pair if name} <= set(benchmark_names())
