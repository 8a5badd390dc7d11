"""A notebook shell that records outputs as a kernel would: streams, results, figures, errors.

Used on both sides of the wire.
"""

from __future__ import annotations

import ast
import contextlib
import ctypes
import gc
import importlib
import io
import os
import sys
import tempfile
import warnings
from typing import Any

from IPython.core.displayhook import DisplayHook
from IPython.core.displaypub import DisplayPublisher
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

KEPT_TYPES = 12  # MIME types of one output

# The first traceback asks all modules for their files (with torch, thousands: half a second). So it is made before the
# first fork.
FIRST_ERROR = """
def _fail():
    raise NotImplementedError()
_fail()
"""


class OutputRecorder:
    """Outputs of one cell, in order, up to a number of bytes."""

    def __init__(self, limit: int) -> None:
        self.limit = limit
        self.start()

    def start(self) -> None:
        self.outputs: list[dict[str, Any]] = []
        self.used = 0
        self.cut = False

    def fits(self, size: int) -> bool:
        self.used += size
        if self.used > self.limit:
            self.cut = True
        return not self.cut

    def stream(self, name: str, text: str) -> None:
        if not text or self.cut:
            return
        room = self.limit - self.used
        if not self.fits(len(text)):
            text = text[: max(room, 0)] + "\n… more output than is kept"
        last = self.outputs[-1] if self.outputs else {}
        if last.get("output_type") == "stream" and last["name"] == name:
            last["parts"].append(text)
        else:
            self.outputs.append({"output_type": "stream", "name": name, "parts": [text]})

    def data(self, kind: str, data: Any, metadata: Any) -> None:
        data = {str(k): v for k, v in list(dict(data).items())[:KEPT_TYPES] if isinstance(v, str | dict | list)}
        if self.fits(sum(len(v) if isinstance(v, str) else len(repr(v)) for v in data.values())):
            self.outputs.append({"output_type": kind, "data": data, "metadata": metadata or {}})

    def error(self, name: str, value: str, lines: list[str]) -> None:
        if self.fits(len(value) + sum(map(len, lines))) or len(self.outputs) < 50:
            lines = [line[:4000] for line in lines[-40:]]
            self.outputs.append({"output_type": "error", "ename": name, "evalue": value[:2000], "traceback": lines})

    def finished(self) -> list[dict[str, Any]]:
        for output in self.outputs:
            if output["output_type"] == "stream":
                output["text"] = "".join(output.pop("parts"))
        return self.outputs


class Stream(io.TextIOBase):
    """Standard output or error of the shell."""

    def __init__(self, recorder: OutputRecorder, name: str, number: int) -> None:
        self.recorder, self.stream_name, self.number = recorder, name, number

    encoding = "utf-8"

    def writable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self.number

    def write(self, text: str) -> int:
        self.recorder.stream(self.stream_name, str(text))
        return len(text)


class Publisher(DisplayPublisher):
    """What `display` shows."""

    recorder: OutputRecorder

    def publish(self, data: Any, metadata: Any = None, source: Any = None, **kwargs: Any) -> None:
        self.recorder.data("display_data", data, metadata)

    def clear_output(self, wait: bool = False) -> None:
        self.recorder.start()


class Hook(DisplayHook):
    """The value of a cell's last expression."""

    recorder: OutputRecorder

    def write_output_prompt(self) -> None:
        pass

    @staticmethod
    def semicolon_at_end_of_expression(expression: str) -> bool:
        """IPython splits the whole cell into tokens to find out. Mostly a look at the last line of code is enough."""
        lines = (line.strip() for line in reversed(expression.splitlines()))
        last = next((line for line in lines if line and not line.startswith("#")), "")
        return ";" in last and bool(DisplayHook.semicolon_at_end_of_expression(expression))

    def write_format_data(self, format_dict: Any, md_dict: Any = None) -> None:
        self.recorder.data("execute_result", format_dict, md_dict)


class Shell(InteractiveShell):
    """An IPython shell without history, terminal or threads."""

    kernel = "examiner"  # libraries look for this attribute to see whether they run in a notebook
    recorder: OutputRecorder

    def init_display_pub(self) -> None:
        self.display_pub = Publisher(parent=self)

    def init_displayhook(self) -> None:
        super().init_displayhook()
        self.displayhook = Hook(parent=self, shell=self, cache_size=0)
        self.display_trap.hook = self.displayhook

    def transform_cell(self, raw_cell: str) -> str:
        """Plain Python is what IPython's transformations would leave as it is: they split it into tokens to see that,
        which takes longer than most cells.
        """
        if not self.input_transformers_post and raw_cell[:1].strip():
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")  # IPython's own parser will say it
                    ast.parse(raw_cell)
                return raw_cell if raw_cell.endswith("\n") else raw_cell + "\n"
            except (SyntaxError, ValueError, RecursionError, MemoryError):
                pass
        return super().transform_cell(raw_cell)

    def _showtraceback(self, etype: Any, evalue: Any, stb: list[str]) -> None:
        self.recorder.error(getattr(etype, "__name__", "Error"), str(evalue), [str(line) for line in stb])

    def enable_gui(self, gui: Any = None) -> None:
        pass


def new_shell(limit: int) -> Shell:
    """The shell of this process, with figures drawn as a kernel draws them."""
    config = Config()
    config.HistoryManager.enabled = False
    config.InteractiveShell.autocall = 0
    config.InteractiveShell.colors = "nocolor"
    config.InteractiveShell.xmode = "Plain"  # other modes parse the source of libraries: half a second
    for kind in (Shell, InteractiveShell):  # each keeps its own
        kind.clear_instance()
    shell = Shell.instance(config=config)
    shell.recorder = OutputRecorder(limit)
    for part in (shell.display_pub, shell.displayhook):
        setattr(part, "recorder", shell.recorder)  # noqa: B010  traits of ours, which their classes do not declare
    try:
        import matplotlib_inline.backend_inline as inline
    except ImportError:
        return shell
    inline.configure_inline_support(shell, "module://matplotlib_inline.backend_inline")
    return shell


def import_all(names: list[str]) -> None:
    """Import modules, and `module:name` from them: some libraries load a part only when it is asked for."""
    for name in names:
        module, _, part = name.partition(":")
        with contextlib.suppress(Exception):  # what fails here fails again, visibly, in the notebook that imports it
            imported = importlib.import_module(module)
            if part and not hasattr(imported, part):
                importlib.import_module(f"{module}.{part}")


def run_cell(shell: Shell, source: str, grab: bool = True) -> tuple[list[dict[str, Any]], Any, BaseException | None]:
    """Outputs of a cell, its value and its exception.

    With `grab`, what is written to file descriptors 1 and 2 is an output, too.
    """
    recorder = shell.recorder
    recorder.start()
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = Stream(recorder, "stdout", 1), Stream(recorder, "stderr", 2)
    capture = None
    if grab:
        with contextlib.suppress(OSError):  # no space or no right: then what is written there is not recorded
            capture = DescriptorCapture()
    try:
        result = shell.run_cell(source, store_history=True)
    finally:
        sys.stdout, sys.stderr = before
        if capture is not None:
            for name, text in capture.finish(recorder.limit):
                recorder.stream(name, text)
    return recorder.finished(), result.result, result.error_before_exec or result.error_in_exec


class DescriptorCapture:
    """File descriptors 1 and 2 go to files while a cell runs: C code, `os.write` and child processes print there."""

    def __init__(self) -> None:
        # Files without a name, which end when they are closed.
        self.files = [os.open(tempfile.gettempdir(), os.O_TMPFILE | os.O_RDWR, 0o600) for _ in range(2)]
        self.saved = [os.dup(1), os.dup(2)]
        for number, file in zip((1, 2), self.files, strict=True):
            os.dup2(file, number)

    def finish(self, limit: int) -> list[tuple[str, str]]:
        texts = []
        for number, name, file, saved in zip((1, 2), ("stdout", "stderr"), self.files, self.saved, strict=True):
            try:
                os.dup2(saved, number)
                os.close(saved)
                text = os.pread(file, limit, 0).decode(errors="replace")
                os.close(file)
            except OSError:  # the cell closed them: there is nothing to show
                continue
            if text:
                texts.append((name, text))
        return texts


HUGE_PAGE = 2 << 20
MADV_COLLAPSE = 25


def ready_to_fork() -> None:
    """Make forks of this process cheap.

    A garbage collection writes to every object, and so would copy every page in every fork: objects that exist now are
    left out of it for good (garbage among them is never freed). Memory in pages of 2 MB is forked and ended four times
    as fast as in pages of 4 kB: Linux 6.1 and newer can join small pages, elsewhere this does nothing.
    """
    gc.freeze()
    gc.enable()
    libc = ctypes.CDLL(None)
    try:
        with open("/proc/self/maps") as file:
            lines = file.read().splitlines()
    except OSError:  # not Linux
        return
    for line in lines:
        place, rights, _, _, inode, *name = line.split(maxsplit=5)
        if not rights.startswith("rw") or inode != "0" or (name and name[0].startswith(("[v", "[stack"))):
            continue
        start, end = (int(part, 16) for part in place.split("-"))
        for address in range(-(-start // HUGE_PAGE) * HUGE_PAGE, end - HUGE_PAGE + 1, HUGE_PAGE):
            libc.madvise(ctypes.c_void_p(address), ctypes.c_size_t(HUGE_PAGE), MADV_COLLAPSE)
