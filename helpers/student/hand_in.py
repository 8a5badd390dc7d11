"""`hand_in()`, the last cell of every notebook: checks it as grading will, and gives the file to hand in.

The notebook comes from Colab's front end, or from the file that JupyterLab or VS Code saved. It is run from the top in
a fresh process. While a notebook is graded or checked, which includes that run, the cell does nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from helpers.kit.scale import graded
from helpers.student import summary
from helpers.student.files import CourseError, write_whole

FOLDER = "hand-in"  # beside the notebook: copies under the right name
FRONT_END_SECONDS = 60


@dataclass
class Found:
    """The notebook to hand in, and the file it came from; on Colab there is none."""

    content: bytes
    file: Path | None = None


def hand_in(assignment: str, notebook: str | None = None) -> None:
    """Run this notebook from the top, show its points and what is unanswered, and say which file to hand in.

    `notebook` is the path of its file, where that cannot be found.
    """
    if graded():
        return
    try:
        found = this_notebook(assignment, notebook)
        if found.file is not None and (advice := unsaved(found)):
            print(advice)
        print(f"Running {assignment} from the top in a fresh process: some seconds to two minutes. ■ stops it.")
        results = run_from_the_top(found)
        summary.show(assignment, json.loads(found.content), results)
        give(assignment, found)
    except CourseError as reason:
        print(reason)


# ---- where the notebook is -------------------------------------------------------------------------------------------


def on_colab() -> bool:
    return "google.colab" in sys.modules


def this_notebook(assignment: str, named: str | None) -> Found:
    if named is None and on_colab():
        return Found(from_front_end(assignment))
    path = Path(named) if named is not None else saved_file(assignment)
    try:
        content = path.read_bytes()
        json.loads(content)["cells"]
    except (OSError, ValueError, KeyError, TypeError):
        raise CourseError(f"{path} is not a notebook that can be read: give another path. {how(assignment)}") from None
    return Found(content, path.resolve())


def from_front_end(assignment: str) -> bytes:
    """Ask the page in the browser. Colab promises nobody this call, so every way it can fail ends in advice."""
    try:
        from google.colab import _message

        notebook = _message.blocking_request("get_ipynb", request="", timeout_sec=FRONT_END_SECONDS)["ipynb"]
        return (json.dumps(notebook, ensure_ascii=False, indent=1) + "\n").encode()
    except Exception as error:  # noqa: BLE001  a private call of another's package
        raise CourseError(
            f"Colab did not hand over the notebook ({type(error).__name__}). Use its menu: File, Download, Download"
            f" .ipynb; name the file {assignment}.ipynb and hand it in. To check it first, put it into the folder of"
            f" files on the left. {how(assignment)}"
        ) from None


def saved_file(assignment: str) -> Path:
    """The file behind this notebook: VS Code says it in a variable, Jupyter's server in the environment."""
    candidates = [
        user_variables().get("__vsc_ipynb_file__", ""),
        os.environ.get("JPY_SESSION_NAME", ""),
        f"{assignment}.ipynb",
    ]
    for name in candidates:
        if str(name).endswith(".ipynb") and Path(name).is_file():
            return Path(name)
    raise CourseError(f"The file of this notebook was not found from {Path.cwd()}. {how(assignment)}")


def how(assignment: str) -> str:
    return f'Say where it is: hand_in("{assignment}", "/path/to/{assignment}.ipynb")'


def shell() -> Any:
    from IPython import get_ipython

    return get_ipython()


def user_variables() -> dict[str, Any]:
    kernel = shell()
    return {} if kernel is None else kernel.user_ns


def unsaved(found: Found) -> str:
    """Advice where the file is older than the cell that was run before this one: no cell in it has that number."""
    assert found.file is not None
    kernel = shell()
    before = 0 if kernel is None else len(kernel.history_manager.input_hist_raw) - 2  # it begins with an empty one
    counts = {cell.get("execution_count") for cell in json.loads(found.content)["cells"]}
    if before < 1 or before in counts:
        return ""
    when = time.strftime("%H:%M:%S", time.localtime(found.file.stat().st_mtime))
    return (
        f"The file was saved at {when}, before you ran the last cells: what follows is about that file. Save (Ctrl+S,"
        " on a Mac ⌘S), then run this cell again."
    )


# ---- checking and giving ---------------------------------------------------------------------------------------------


def run_from_the_top(found: Found) -> list[dict[str, Any]]:
    """Results of the test cells, as `course check --json` gives them. The run sees the folder that the notebook is
    in.
    """
    if found.file is not None:
        return check(found.file)
    handle, name = tempfile.mkstemp(dir=Path.cwd(), prefix=".hand-in-", suffix=".ipynb")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(found.content)
        return check(Path(name))
    finally:
        os.unlink(name)


def check(path: Path) -> list[dict[str, Any]]:
    command = [sys.executable, "-P", "-m", "helpers.student.command", "check", "--json", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, encoding="utf-8", check=False)
    if done.returncode not in (0, 1) or not done.stdout.strip():
        reason = done.stderr.strip().splitlines()[-1:] or [f"exit code {done.returncode}"]
        raise CourseError(f"The notebook was not run to its end, so nothing was checked: {reason[0]}")
    results: list[dict[str, Any]] = json.loads(done.stdout)
    return results


def give(assignment: str, found: Found) -> None:
    """The file under its right name: downloaded on Colab, elsewhere where it is, or a copy beside it."""
    name = f"{assignment}.ipynb"
    path = found.file
    if path is None or path.name != name:
        path = (Path.cwd() if path is None else path.parent) / FOLDER / name
        write_whole(path, found.content)
    if not on_colab():
        print(f"The file to hand in: {path}")
        return
    try:
        from google.colab import files

        files.download(str(path))
        print(f"Your browser has been asked to save {name}: hand in that file. It is also {path}.")
    except Exception as error:  # noqa: BLE001  whatever the front end does: the file is there
        print(
            f"The download did not start ({type(error).__name__}). Fetch {path} from the folder of files on the left."
        )
