"""Every sentence about a graded submission that a person reads.

Made from kinds and plain data; no program matches on one.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from autograder.model.policy import Lateness
from autograder.model.record import EventKind as E
from autograder.model.record import Fact
from autograder.model.record import ReasonKind as W
from autograder.model.record import RepairKind as R
from autograder.model.record import SignKind as S

NOT_A_NOTEBOOK = "the file is not a notebook: "
BROKE_OFF = "it broke the connection"
ENDED = "it ended the Python process"
NOT_COPIED = "the notebook's process could not be copied"

SENTENCES: dict[StrEnum, str] = {
    R.FILE_RENAMED: "the file was called {file!r}; it was taken as {notebook}.ipynb",
    R.IN_FOLDER: "the notebook was in the folder {folder!r}",
    R.OTHER_TAKEN: "{file!r} could not be read or was as it was given; {taken!r} was taken",
    R.OTHERS_IGNORED: "there were other notebooks, which were not looked at: {files}",
    R.NOT_QUITE_JSON: "{steps}",
    R.REORDERED: "cells were in another order; they are back in the assignment's order",
    R.UNKNOWN_NAME: "a cell claimed to be {cell!r}, which this assignment does not have",
    R.DUPLICATED: "there were {count} cells named {cell!r}; the one with the last answer counts",
    R.MISSING: "the {role} {cell!r} was missing; it was put back as it was given",
    R.RETYPED: "{cell!r} had become a {was} cell; it is a {now} cell again",
    R.UNNAMED: "{cell!r} had lost its metadata; it was recognised by its text or place",
    R.ANSWER_NEARBY: "the answer {cell!r} was written in a new cell {where}; it was moved to its place",
    R.ANSWER_ELSEWHERE: "the answer {cell!r} was found in another cell",
    R.STUB_ANSWERED_ELSEWHERE: "{cell!r} was left as it was given; the answer was found in another cell",
    S.EDITED: "{role} {cell!r} was edited; the instructor's version was used",
    S.CHANGED: "{text}",
    S.ATTEMPT: "attempt: {text}",
    E.FILES_LEFT_OUT: "files that did not fit were left out: {files}",
    E.INTERRUPTED: "a cell was interrupted after {time}",
    E.STOPPED: "{cell}: {why}",
    E.STOPPED_BEFORE: "before {cell}: {why}",
    E.PROCESSES_ENDED: "{count} processes that a cell left behind were ended",
    E.OUT_OF_TIME: "the submission used its {seconds:g} s",
    E.NOT_RESTORED: "the notebook's process could not be restored",
    E.SAID_NOTHING: "the notebook's process did not say what it changed",
    E.UNREADABLE: "unreadable: {why}",
    W.ENDED: f"{ENDED} (a crash, `os._exit`, a kill, or out of memory)",
    W.ENDED_AFTERWARDS: ENDED,
    W.SENT: BROKE_OFF + ": it sent {what}",
    W.FOREIGN_ANSWER: f"{BROKE_OFF}: it sent an answer of its own",
    W.NO_ANSWER: f"{BROKE_OFF} to the grader",
    W.SILENT: "it did not answer",
    W.CELL_LATE: "it did not finish within {time}",
    W.CELL_MEMORY: "it used more than {mb} MB of memory",
    W.NOT_COPIED: NOT_COPIED,
    W.NOT_COPIED_ERROR: NOT_COPIED + " ({error})",
    W.NOT_RUN: "the test did not run",
    W.NOT_COMPLETED: "the test could not be completed with what your code gave back",
    W.NO_STATE: "there is no state of the notebook to test",
    W.STATE_NOT_KEPT: "the state of the notebook before this test could not be kept",
    W.STATE_NOT_RESTORED: "your code ended the Python process, and its state could not be restored",
    W.NOTEBOOK_TIME: "the notebook did not get here within {seconds:g} s",
    W.SUBMISSION_TIME: "the submission did not get here within {seconds:g} s",
    W.SUBMISSION_LATE: "the submission did not finish within {time}",
    W.ANSWER_LATE: "your code did not finish within {time}",
    W.TEST_LATE: "the test did not finish within {time}",
    W.UNUSABLE: "`{name}` is nothing that the test can use",
    W.ANSWER_ENDED: "your code ended the Python process it ran in (a crash, `os._exit`, or out of memory)",
    W.ANSWER_SENT: "your code sent {what} instead of a result",
    W.MALFORMED_ANSWER: "your code sent a malformed answer instead of a result",
    W.MALFORMED_MEASUREMENT: "your code sent a malformed measurement",
    W.MALFORMED_GRADIENTS: "your code sent malformed gradients",
    W.PROCESSES_WHERE_FORBIDDEN: (
        "your code started processes or threads where something is forbidden: one process has to do it"
    ),
    W.PROCESSES_WHERE_COUNTED: (
        "your code started processes or threads where its work was counted: one process has to do it"
    ),
    W.UNCOUNTED_MEMORY: (
        "your code took far more memory than the largest tensor that was counted: the counter was changed"
    ),
    W.UNCOUNTED_WORK: (
        "your code worked far longer than the operations that were counted take: the work must be done with torch"
    ),
    W.MACHINE: "{text}",
    W.NOT_READ: "the submission could not be read: {why}",
    W.NO_NOTEBOOK: "there is no notebook in the submission",
    W.NO_FILE: "the notebook is a link or a special file, not a file",
    W.EMPTY: "the file is empty",
    W.TOO_LARGE: "the file has {mb} MB, more than a notebook can have",
    W.TOO_MANY_VALUES: "the file holds more than {most:,} values, more than a notebook has",
    W.TOO_DEEP: "the file is nested too deeply to be a notebook",
    W.NO_CELLS: f"{NOT_A_NOTEBOOK}it holds no cells",
    W.TOO_MANY_CELLS: "the notebook has {count} cells, more than {most}",
    W.TOO_SLOW: "it takes more than {seconds:g} s to read, which no notebook does",
    W.TOO_MUCH_MEMORY: "it takes more than {mb} MB of memory to read, which no notebook does",
    W.PDF: f"{NOT_A_NOTEBOOK}it is a PDF",
    W.ZIP: f"{NOT_A_NOTEBOOK}it is a zip archive",
    W.GZIP: f"{NOT_A_NOTEBOOK}it is a gzip archive",
    W.HTML: f"{NOT_A_NOTEBOOK}it is a web page (HTML)",
    W.CONFLICT: f"{NOT_A_NOTEBOOK}it holds the marks of a merge conflict",
    W.CUT_OFF: NOT_A_NOTEBOOK + "it seems to be cut off{place}",
    W.NOT_JSON: NOT_A_NOTEBOOK + "it is not JSON{place}",
}


def sentence(fact: Fact) -> str:
    """What a person reads, without characters that a terminal would act on."""
    about = {name: sentence(value) if isinstance(value, Fact) else value for name, value in fact.about.items()}
    return printable(SENTENCES[fact.kind].format_map({**about, **derived(fact.kind, about)}))


def derived(kind: StrEnum, about: Mapping[str, Any]) -> dict[str, str]:
    """Parts of a sentence that depend on the data."""
    if kind in (W.CUT_OFF, W.NOT_JSON):
        return {"place": f" (line {about['line']})" if about["line"] else ""}
    if kind == R.OTHERS_IGNORED:
        return {"files": ", ".join(map(repr, about["files"]))}
    if kind == E.FILES_LEFT_OUT:
        return {"files": ", ".join(map(str, about["files"]))[:300]}
    if kind == R.NOT_QUITE_JSON:
        steps = []
        if about["version"]:
            steps.append(f"there were marks of a merge conflict; of two versions, the {about['version']} was taken")
        if about["commas"]:
            steps.append("commas too many were left out")
        if about["behind"]:
            steps.append(f"{about['behind']} characters behind the end of the notebook were left out")
        return {"steps": "; ".join(steps)}
    if "slept" in about:
        return {"time": f"{about['seconds']:g} s" + (": it slept or waited" if about["slept"] else "")}
    return {}


def printable(text: str) -> str:
    """Without signs that a terminal would act on."""
    return "".join(sign if sign.isprintable() else " " for sign in text)


# ---- in the graded notebook ------------------------------------------------------------------------------------------

NOT_GRADED, STOPPED, TIMEOUT = (
    "NotGraded",
    "Stopped",
    "TimeoutError",
)  # names of the errors that the examiner puts into outputs
MORE_OUTPUT = "… more output than is kept"
MORE_OUTPUT_OF_NOTEBOOK = "… more output than is kept of one notebook"
NO_RESPONSE = "No response."
AS_HANDED_IN = "as handed in"  # of outputs that came with the submission: grading did not make them


def stopped_cell(why: Fact) -> str:
    return f"this cell was stopped: {sentence(why)}"


def interrupted_cell(seconds: float) -> str:
    return f"the cell was interrupted after {seconds:g} s"


def refused_submission(why: Fact) -> str:
    """Markdown, in place of a notebook that cannot be read."""
    again = "Hand it in again: in JupyterLab, save the notebook, then upload the `.ipynb` file."
    return f"**This submission could not be graded:** {sentence(why)}. {again}"


# ---- on a feedback page ----------------------------------------------------------------------------------------------


def lateness(late: Lateness, penalty: float) -> str:
    """What being late has cost; nothing for what came in time."""
    if not late.days:
        return ""
    begun = f"Handed in late: day {late.days} after the due date had begun."
    used = f" Late days used for it: {late.free_days}." if late.free_days else ""
    taken = f" {100 * late.share:g}% of the points, {penalty:g}, are taken off." if late.share else ""
    return begun + used + (taken or " Nothing is taken off.")


def points(value: float) -> str:
    """To a readable step; a sum of tenths has no long tail."""
    return f"{round(value, 4):g}"


def total(score: float, out_of: float, penalty: float) -> str:
    """The mark as the LMS gets it."""
    made = f"{points(score)} of {points(out_of)} points"
    return f"{made}, after {points(penalty)} taken off for being late" if penalty else made


def bonus(earned: float, possible: float) -> str:
    return (
        f"{points(earned)} of {points(possible)} bonus points are in the total. They come on top: the maximum does not"
        " count them."
    )


def waits(names: int, possible: float) -> str:
    answers = "1 answer waits" if names == 1 else f"{names} answers wait"
    return f"Not final: {answers} for a grader ({points(possible)} points)."


# ---- about a class ---------------------------------------------------------------------------------------------------

SIMILAR_LIMITS = (
    "What this cannot tell: who had it from whom, or whether both had it from a book, a forum, a tutor or an assistant;"
    " who worked together with permission; answers of a few tokens, which are not compared; copies that were rewritten."
    " It is a reason to read two answers side by side, and no more."
)
