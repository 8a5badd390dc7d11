"""Written answers, graded question by question in the browser: a page of `course lab --instructor`.

nbgrader's gradebook stays the master: points and comments are stored where formgrader stores them.
"""

from __future__ import annotations

from typing import Any

PAGE = "/course/written"


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    from autograder.classroom.written.handlers import add_handlers

    add_handlers(server.web_app)
