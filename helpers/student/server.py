"""The start page as a page of the Jupyter server that `course lab` starts.

The server's token lets in, as everywhere in Jupyter.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from jupyter_server.auth.decorator import authorized
from jupyter_server.base.handlers import JupyterHandler
from jupyter_server.utils import url_path_join
from tornado import web

from helpers.student import course
from helpers.student.lab import PAGE
from helpers.student.start_page import page

POLICY = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"


class StartPage(JupyterHandler):
    """The start page, as things stand now."""

    auth_resource = "contents"

    @property
    def content_security_policy(self) -> str:
        return POLICY

    @web.authenticated
    @authorized
    async def get(self) -> None:
        this = course.load(Path(self.settings["server_root_dir"]).expanduser())
        self.set_header("Cache-Control", "no-store")  # going back shows what was done since
        self.finish(page(this, url_path_join(self.base_url, "lab/tree/")))


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    address = url_path_join(server.web_app.settings["base_url"], PAGE)
    server.web_app.add_handlers(".*$", [(address, StartPage)])
