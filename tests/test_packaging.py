"""The pieces around the code agree with each other and with what the README promises."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import yaml
from conftest import ROOT

from autograder import bootstrap, build, course

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return {normal(name): version for name, _, version in (line.partition("==") for line in lines if "==" in line)}


def normal(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def name_of(requirement: str) -> str:
    return normal(re.split(r"[\[><=~! ]", requirement)[0])


def direct_requirements() -> list[str]:
    extras = PROJECT["optional-dependencies"]
    return [*PROJECT["dependencies"], *(line for extra in bootstrap.EXTRAS.split(",") for line in extras[extra])]


def test_every_direct_requirement_is_pinned_to_a_version_it_allows() -> None:
    from packaging.requirements import Requirement

    for line in [*direct_requirements(), *PROJECT["optional-dependencies"]["postgresql"]]:
        requirement = Requirement(line)
        assert normal(requirement.name) in pins(), f"{requirement.name} has no pin in constraints.txt"
        assert pins()[normal(requirement.name)] in requirement.specifier


def test_conda_environment_agrees_with_the_constraints() -> None:
    environment = yaml.safe_load((ROOT / "environment.yml").read_text())
    (from_pip,) = [entry["pip"] for entry in environment["dependencies"] if isinstance(entry, dict)]
    assert "python=3.11" in environment["dependencies"]
    assert "--constraint constraints.txt" in from_pip
    assert f"--editable .[{bootstrap.EXTRAS}]" in from_pip
    named = dict(line.split("==") for line in from_pip if "==" in line)
    assert {normal(name): version for name, version in named.items()} == {name_of(r): pins()[name_of(r)] for r in direct_requirements()}


def test_colab_versions_satisfy_the_notebooks_requirements() -> None:
    from packaging.requirements import Requirement

    colab = ROOT / "tests" / "colab-constraints.txt"
    have = dict(line.split("==") for line in colab.read_text().splitlines() if "==" in line)
    for line in PROJECT["dependencies"]:
        requirement = Requirement(line)
        if requirement.name in have:
            assert have[requirement.name] in requirement.specifier, f"Colab's {requirement.name} would be replaced"


def test_helpers_import_no_heavy_package() -> None:
    heavy = {"nbgrader", "nbclient", "nbconvert", "nbformat", "jupyterlab", "jupytext", "autograder", "click", "rich", "jupyter_client"}
    for path in (ROOT / "helpers").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            names = (
                [a.name for a in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
            assert not heavy & {name.split(".")[0] for name in names}, f"{path.name} imports {names}"


def test_console_command_exists_for_every_documented_name() -> None:
    from autograder.cli import course as command

    readme = (ROOT / "README.md").read_text()
    documented = set(re.findall(r"`course ([a-z]+)", readme))
    assert documented <= set(command.commands), documented - set(command.commands)
    assert set(command.commands) <= documented, f"not in the README: {set(command.commands) - documented}"


def test_make_targets_in_the_readme_exist() -> None:
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"`?make ([a-z-]+)", (ROOT / "README.md").read_text()):
        assert re.search(rf"^{target}:", makefile, re.M), f"make {target} is in the README, not in the Makefile"


def test_readme_lists_every_assignment_with_a_colab_badge() -> None:
    readme = (ROOT / "README.md").read_text()
    this = course.load(ROOT)
    for assignment in this.assignments:
        assert f"notebooks/{assignment.id}/{assignment.id}.ipynb" in readme
        assert this.colab_link(assignment) in readme
        count, bonus = build.points_of(assignment)
        (row,) = [line for line in readme.splitlines() if f"(notebooks/{assignment.id}/{assignment.id}.ipynb)" in line]
        assert f"| {count:g} + {bonus:g} bonus | {assignment.minutes / 60:.2g} h |" in row, (
            f"the README states other points or hours for {assignment.id}"
        )


def test_links_and_pictures_in_the_documents_exist() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not target.startswith(("http:", "https:")):
                assert (page.parent / target).exists(), f"{page.name} points to {target}"


CLEAN = [["ruff", "check", "."], ["ruff", "format", "--check", "."], ["mypy"], ["deptry", "."]]


@pytest.mark.parametrize("command", CLEAN, ids=["lint", "format", "types", "dependencies"])
def test_code_is_clean(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_no_machine_path_or_private_word_in_the_repository() -> None:
    done = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip("not a git checkout: no list of tracked files")
    for name in done.stdout.split("\n"):
        path = ROOT / name
        if name and path.is_file() and path.suffix in {".py", ".md", ".toml", ".yml", ".txt", ".ipynb", ".html", ""}:
            text = path.read_text(errors="ignore")
            assert str(ROOT) not in text, f"{name} holds a path of this machine"


def test_bootstrap_reads_and_refuses_on_an_old_python(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bootstrap.sys, "version_info", (3, 9, 2))
    with pytest.raises(SystemExit) as stopped:
        bootstrap.main()
    assert stopped.value.code == 2
    assert "Python 3.11 or newer is needed" in capsys.readouterr().err


def test_bootstrap_says_what_to_install_where_venv_is_missing(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", str(tmp_path))
    monkeypatch.setattr(bootstrap, "PYTHON", str(tmp_path / "none"))
    monkeypatch.setattr(bootstrap.subprocess, "call", lambda *args, **kwargs: 1)
    with pytest.raises(SystemExit):
        bootstrap.main()
    assert "python3-venv" in capsys.readouterr().err


def test_bootstrap_says_so_without_a_network(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", str(tmp_path))
    monkeypatch.setattr(bootstrap, "PYTHON", sys.executable)
    monkeypatch.setattr(bootstrap.subprocess, "call", lambda *args, **kwargs: 1)
    with pytest.raises(SystemExit):
        bootstrap.main()
    assert "Is there a network" in capsys.readouterr().err


def test_verify_says_so_where_there_is_no_fork(monkeypatch: pytest.MonkeyPatch) -> None:
    from autograder import shell

    monkeypatch.delattr(shell.os, "fork", raising=False)
    with pytest.raises(course.CourseError, match="WSL"):
        shell.fork("name", lambda: None)
