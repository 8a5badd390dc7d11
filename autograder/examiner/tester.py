"""Runs test cells. Each one talks to its own clone of the student's process; a verdict is only what is computed here."""

from __future__ import annotations

import ast
import builtins
import contextlib
import json
import os
import resource
import signal
import socket
import symtable
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

from autograder.examiner import bridge, recorder, repair, wire
from autograder.examiner.deadline import LoadAwareDeadline, MachineFault
from autograder.examiner.notebook import HIDDEN
from autograder.source import free_names
from helpers.checks import beside
from helpers.device import seed


@dataclass(frozen=True)
class Names:
    """Of one test cell: what it takes from the student, what it binds itself that student code might look at, and what its hidden part binds."""

    wanted: list[str]
    bound: list[str]
    secret: set[str]


@dataclass
class Prepared:
    """What the tests of one notebook need: the namespace that its locked set-up cell makes, and the names students define."""

    namespace: dict[str, Any]
    exports: set[str]
    imported: set[str] = field(default_factory=set)
    known: dict[str, Names] = field(default_factory=dict)  # of test cells, by their source
    carried: dict[str, Any] = field(default_factory=dict)  # what earlier tests of a foreign notebook made, for later ones


@dataclass
class Test:
    """One test cell, and the way to the student's process as it was at that place."""

    index: int
    source: str
    seconds: float
    call_seconds: float
    sock: socket.socket | None
    pid: int = 0
    handle: int = -1
    discreet: bool = False
    reason: str = ""
    cells: list[str] = field(default_factory=list)
    started: Callable[[], tuple[int, float]] = lambda: (0, 0.0)


def prepare(shell: recorder.Shell, notebook: dict[str, Any]) -> Prepared:
    """Run the locked set-up cell, or the import statements, of the instructor's notebook, and its other locked cells."""
    setup = notebook["setup"]
    shell.reset(new_session=False)
    base = set(shell.user_ns)
    if setup is not None:
        _, _, error = recorder.run_cell(shell, setup, grab=False)
        if error is not None:
            raise RuntimeError(f"the set-up cell fails in the examiner: {type(error).__name__}: {error}")
    for line in notebook["imports"]:
        recorder.run_cell(shell, line, grab=False)  # what cannot be imported here is not there for the tests either
    before = set(shell.user_ns)
    for source in notebook["helpers"]:
        recorder.run_cell(shell, source, grab=False)  # one that needs a student's work fails here, and is the student's process's
    found = {k: v for k, v in shell.user_ns.items() if k not in base and not k.startswith("_")}
    imported = set(notebook["imported"])
    if setup is None:  # all imports were tried: what is not here can only be a module that students hand in
        imported &= set(found)
    made = Prepared(found, set(notebook["exports"]) - (set(found) - before), imported)
    for cell in notebook["cells"]:
        if repair.Cell(**cell).is_test:
            names_of(shell, cell["source"], made)
    return made


def names_of(shell: recorder.Shell, source: str, prepared: Prepared) -> Names:
    """Found out once for every test of the assignment, before examiners are forked."""
    if source not in prepared.known:
        wanted, bound = needed(shell, source, prepared)
        prepared.known[source] = Names(wanted, bound, bound_in_hidden(shell, source))
    return prepared.known[source]


def needed(shell: recorder.Shell, source: str, prepared: Prepared) -> tuple[list[str], list[str]]:
    """Names a test cell takes from the student, and names it binds itself that student code might look at."""
    try:
        table = symtable.symtable(shell.transform_cell(source), "test", "exec")
    except SyntaxError:
        return [], []
    bound = {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}
    wanted = []
    for name in sorted(free_names(table)):
        known = name in bound or name in prepared.namespace or name in prepared.imported or hasattr(builtins, name)
        if name in prepared.exports or not known:
            wanted.append(name)
    return wanted, sorted(bound)


def bound_in_hidden(shell: recorder.Shell, source: str) -> set[str]:
    """Names that the hidden part of a test binds: what it expects is nobody's business."""
    hidden = "".join(part.group(0) for part in HIDDEN.finditer(source))
    try:
        table = symtable.symtable(shell.transform_cell(hidden), "hidden", "exec")
    except SyntaxError:  # a region that is no whole piece of code: nothing of this cell is shown
        return set(needed(shell, source, Prepared({}, set()))[1])
    return {s.get_name() for s in table.get_symbols() if s.is_assigned() or s.is_imported() or s.is_namespace()}


def names_used(cells: list[str]) -> set[str]:
    """Every name that the submitted code mentions."""
    found: set[str] = set()
    for cell in cells:
        try:
            tree = ast.parse(cell)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            continue
        found |= {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return found


def run_test(shell: recorder.Shell, prepared: Prepared, test: Test, budget: LoadAwareDeadline) -> dict[str, Any]:
    """One test cell: outputs, and the reason where it could not be completed. `budget` is what is left to the whole submission."""
    nothing = {"index": test.index, "outputs": [], "seconds": 0.0}
    if test.sock is None:
        return {**nothing, "lost": test.reason or "there is no state of the notebook to test"}
    if budget.remaining() <= 0:
        return {**nothing, "lost": f"the submission did not get here within {budget.seconds:g} s"}
    started = time.monotonic()
    meter = budget.meter
    meter.main = test.pid
    link = bridge.Bridge(test.sock, test.call_seconds, lambda: test.cells, test.pid, test.started, meter)
    deadline = LoadAwareDeadline(meter, test.seconds)
    lost = ""

    def look(signum: int, frame: FrameType | None) -> None:
        try:
            budget.left()
            deadline.left()
        except wire.Late:
            who = "your code" if link.asking else "the test"
            whole = f"the submission did not finish {budget.how()}" if budget.remaining() <= 0 else ""
            link.lost = link.lost or whole or f"{who} did not finish {deadline.how()}"
        except MachineFault as fault:
            link.fault = fault
            link.lost = link.lost or str(fault)
        else:
            return
        signal.setitimer(signal.ITIMER_REAL, 1.0, 1.0)  # again, should something swallow it
        raise bridge.Lost(link.lost)

    outputs: list[dict[str, Any]] = []
    signal.signal(signal.SIGALRM, look)
    try:
        signal.setitimer(signal.ITIMER_REAL, meter.tick, meter.tick)
        shell.user_ns.clear()
        shell.user_ns.update(shell.user_ns_hidden)
        shell.user_ns.update({"__name__": "__main__", "__builtins__": builtins, "get_ipython": lambda: shell, **prepared.namespace})
        seed(0)
        names = names_of(shell, test.source, prepared)
        plain = "Check(" not in test.source  # a foreign notebook: its tests build on each other
        earlier = {name: value for name, value in prepared.carried.items() if name not in prepared.exports} if plain else {}
        shell.user_ns.update(earlier)
        wanted = [name for name in names.wanted if name not in earlier]
        for name in wanted:
            try:
                shell.user_ns[name] = link.get(name)
            except NameError:
                shell.user_ns.pop(name, None)
            except bridge.FarError:  # its own words could quote what an earlier test had asked
                raise bridge.Lost(f"`{name}` is nothing that the test can use") from None
        link.namespace = shell.user_ns
        link.bound = {name: shell.user_ns[name] for name in wanted if name in shell.user_ns}
        link.mirrors = plain
        # what the tests of a foreign notebook bind, student code may look at
        link.waiting = tuple(set(wanted) | (set(names.bound) & names_used(test.cells) - names.secret if plain else set()))
        link.discreet = test.discreet
        link.given = prepared.exports | prepared.imported | set(prepared.namespace)
        beside.far = link
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            outputs, value, error = recorder.run_cell(shell, test.source, grab=False)
        outputs = completed(outputs, value, error, test.discreet or "BEGIN HIDDEN TESTS" in test.source)
        if plain:
            made = {name: shell.user_ns[name] for name in names.bound if name in shell.user_ns}
            prepared.carried.update({name: thing for name, thing in made.items() if not link.owns(thing)})
        lost = link.lost
        if lost:  # the reason is all there is to say
            outputs = []
    except bridge.Lost as reason:
        lost = str(reason)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        beside.far = None
        test.sock.close()
        if test.handle >= 0:
            with contextlib.suppress(OSError):
                signal.pidfd_send_signal(test.handle, signal.SIGKILL)
        close_figures()
    if link.fault is not None:
        raise link.fault
    return {"index": test.index, "outputs": outputs, "lost": lost, "seconds": time.monotonic() - started, "ended": link.ended}


def completed(outputs: list[dict[str, Any]], value: Any, error: BaseException | None, hidden: bool) -> list[dict[str, Any]]:
    """The outputs, with the verdict in them whatever else was cut, and without standard error: that is not a failure.

    The traceback of a cell with hidden tests would show their lines: only its last line is kept.
    """
    kept = []
    for output in outputs:
        if output["output_type"] == "stream" and output["name"] == "stderr":
            if hidden:  # a warning quotes the line it comes from
                continue
            output = {**output, "name": "stdout"}
        if output["output_type"] == "error" and (hidden or isinstance(error, bridge.Lost)):
            output = {**output, "traceback": [f"{output['ename']}: {output['evalue']}"]}
        kept.append(output)
    kinds = {output["output_type"] for output in kept}
    if error is not None and "error" not in kinds:
        kept.append({"output_type": "error", "ename": type(error).__name__, "evalue": str(error)[:2000], "traceback": []})
    if error is None and value is not None and "execute_result" not in kinds:
        kept.append({"output_type": "execute_result", "data": {"text/plain": repr(value)[:2000]}, "metadata": {}})
    return kept


def close_figures() -> None:
    import sys

    pyplot = sys.modules.get("matplotlib.pyplot")
    if pyplot is not None:
        pyplot.close("all")


def limit_memory(most: int) -> None:
    """This process may use so many bytes more than now."""
    try:
        now = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    except OSError:  # not Linux, and so without a sandbox
        return
    resource.setrlimit(resource.RLIMIT_AS, (now + most, now + most))


def run_tests(
    shell: recorder.Shell,
    prepared: Prepared,
    tests: list[Test],
    pipe: int,
    memory_bytes: int,
    clean: Callable[[], None],
    budget: LoadAwareDeadline,
) -> None:
    """All of them, one after the other; a line of JSON per finished test. Runs in a process of its own and ends it."""
    status = 1
    limit_memory(memory_bytes)

    def tell(message: dict[str, Any]) -> None:
        data = json.dumps(message, default=str).encode("utf-8", "replace") + b"\n"
        while data:
            data = data[os.write(pipe, data) :]

    budget.meter.alive = lambda: tell({"alive": True})
    try:
        for test in tests:
            tell({"begin": test.index})
            found = run_test(shell, prepared, test, budget)
            clean()
            tell(found)
        status = 0
    except MachineFault as fault:
        tell({"fault": str(fault)})
    finally:
        os._exit(status)
