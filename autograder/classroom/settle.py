"""When a result counts: what the machine kept from being done is tried again, and never a zero."""

from __future__ import annotations

from typing import Any

from autograder.classroom.inbox import Job

TRIES = 3  # at a result that the machine kept from being had
MOST_POOLS = 4  # times as often, where it was not the job that failed, but all workers were gone


def settled(job: Job, answer: dict[str, Any]) -> dict[str, Any] | None:
    """The result of a job, or None where it is to be tried again."""
    if "error" not in answer:
        return answer
    job.tries += 1
    # One kill can end the whole pool: then a job comes back from every worker that it is given to.
    most = MOST_POOLS * TRIES if answer.get("pool") else TRIES
    return failed(answer["error"]) if job.tries >= most or answer.get("late") else None


def failed(reason: str) -> dict[str, Any]:
    """Of a submission that could not be graded, through no fault of its own: there is no record, and nothing to
    write.
    """
    return {"failed": reason, "seconds": 0.0}
