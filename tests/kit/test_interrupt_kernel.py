"""A student stops a long training cell in a real kernel, goes on to the next cells, and runs the cell again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from jupyter_client.manager import KernelManager

from autograder.authoring.source import read

SOLUTIONS = Path(__file__).parents[2] / "solutions"
PATIENCE = 600  # seconds for one message on a busy machine


class Notebook:
    """The code cells of a model solution, without its tests, in a kernel."""

    def __init__(self, assignment: str, monkeypatch: pytest.MonkeyPatch, scale: str = "laptop") -> None:
        monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
        monkeypatch.setenv("COURSE_SCALE", scale)
        monkeypatch.setenv("MPLBACKEND", "Agg")
        cells = read(SOLUTIONS / assignment / f"{assignment}.py")
        self.cells = [cell.source for cell in cells if cell.kind == "code" and not cell.grade_id.endswith("-test")]
        self.manager = KernelManager()
        self.manager.start_kernel(cwd=str(SOLUTIONS.parent))
        self.client = self.manager.client()
        self.client.start_channels()
        self.client.wait_for_ready(timeout=PATIENCE)

    def close(self) -> None:
        self.client.stop_channels()
        self.manager.shutdown_kernel(now=True)

    def place(self, text: str) -> int:
        (found,) = [number for number, source in enumerate(self.cells) if f"\n{text}" in f"\n{source}"]
        return found

    def run(self, source: str, interrupt_after: str = "") -> str:
        """Run one cell and give what it printed; with `interrupt_after`, interrupt as soon as its output matches.

        An error fails the test.
        """
        wanted = self.client.execute(source)
        printed, pressed = "", False
        while True:
            message = self.client.get_iopub_msg(timeout=PATIENCE)
            if message["parent_header"].get("msg_id") != wanted:
                continue
            content = message["content"]
            assert message["msg_type"] != "error", f"{content['ename']}: {content['evalue']}\n" + "\n".join(
                content["traceback"]
            )
            printed += content.get("text", "") if message["msg_type"] == "stream" else ""
            printed += content.get("data", {}).get("text/html", "")  # the curve of a loop that watches its losses
            if interrupt_after and not pressed and re.search(interrupt_after, printed):
                pressed = True
                self.manager.interrupt_kernel()
            if message["msg_type"] == "status" and content["execution_state"] == "idle":
                return printed

    def value(self, expression: str) -> float:
        return float(self.run(f"print({expression})"))


@pytest.fixture
def notebook(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Notebook]:
    opened = Notebook(request.param, monkeypatch)
    yield opened
    opened.close()


@pytest.mark.slow
@pytest.mark.parametrize("notebook", ["09-gpt"], indirect=True)
def test_an_interrupted_gpt_writes_text_and_goes_on(notebook: Notebook) -> None:
    training, generating = notebook.place("with training.Loop("), notebook.place("opening = ")
    for source in notebook.cells[:training]:
        notebook.run(source)
    printed = notebook.run(notebook.cells[training], interrupt_after=r"training: step \d+ of 1000")
    stopped = int(re.search(r"training: stopped at step (\d+) of 1000; run the cell again to go on", printed).group(1))
    assert 0 < stopped < 1000
    assert notebook.value("len(train_losses)") == stopped
    for source in notebook.cells[training + 1 : generating + 1]:  # the curves, the comparison, the sliders, the text
        notebook.run(source)
    printed = notebook.run(
        notebook.cells[training], interrupt_after=rf"going on after step {stopped} of 1000[\s\S]*training: step \d+ of"
    )
    again = int(re.search(r"stopped at step (\d+) of 1000", printed).group(1))
    assert stopped < again < 1000
    assert notebook.value("len(train_losses)") == again


@pytest.mark.slow
@pytest.mark.parametrize("notebook", ["08-positions"], indirect=True)
def test_an_interrupted_length_experiment_is_drawn_and_goes_on(notebook: Notebook) -> None:
    experiment = notebook.place("results = extrapolation.experiment(")
    for source in notebook.cells[:experiment]:
        notebook.run(source)
    printed = notebook.run(
        notebook.cells[experiment], interrupt_after=r"seed 0:[^\r]*\|\s*\d\d+/10500 \[[^\]]*<[^\]]*loss="
    )
    stopped = int(re.search(r"sinusoidal, seed 0: stopped at step (\d+) of 500", printed).group(1))
    assert notebook.value("len(results)") == 1
    notebook.run(notebook.cells[experiment + 1])
    printed = notebook.run(
        notebook.cells[experiment], interrupt_after=rf"going on after step {stopped} of 500[\s\S]*loss="
    )
    assert int(re.search(r"stopped at step (\d+) of 500", printed).group(1)) > stopped
    assert "Traceback" not in printed


STOP_EARLY = """
import signal
from helpers.kit import interrupts

def stopped_at_its_second_step(self, cell, listening=interrupts.Loop._listening):
    for number, item in enumerate(listening(self, cell)):
        yield item
        if number == 1 and not cell.asked:  # the signal comes between two steps, in the first loop of the cell that is long enough
            signal.raise_signal(signal.SIGINT)

interrupts.Loop._listening = stopped_at_its_second_step
"""


@pytest.mark.slow
@pytest.mark.parametrize("assignment", ["10-attention-experiments", "14-fine-tuning"])
def test_a_notebook_whose_training_cells_are_all_stopped_runs_to_its_end(
    assignment: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = Notebook(assignment, monkeypatch, "smoke")
    try:
        opened.run(STOP_EARLY)
        printed = "".join(opened.run(source) for source in opened.cells)
        assert "run the cell again to go on" in printed
    finally:
        opened.close()


def test_an_interrupt_outside_such_a_loop_is_an_ordinary_one(monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Notebook("08-positions", monkeypatch)
    try:
        opened.run("from helpers.kit import training\nfor _ in training.progress(range(2), 'short'): pass")
        with pytest.raises(AssertionError, match="KeyboardInterrupt"):
            opened.run("print('now', flush=True)\nimport time\ntime.sleep(600)", interrupt_after="now")
    finally:
        opened.close()
