"""JupyterLab for students, where nbgrader is installed: Validate stays, and the tools of graders are not started."""

from __future__ import annotations

from typing import Any

FOR_GRADERS = [
    "@jupyter/nbgrader:create-assignment",
    "@jupyter/nbgrader:formgrader",
    "@jupyter/nbgrader:assignment-list",
    "@jupyter/nbgrader:course-list",
    "@jupyter/nbgrader:menu",
]


def without_graders_tools(handler: Any, page_config: dict[str, Any]) -> dict[str, Any]:
    """JupyterLab asks for this with every page: which of its extensions not to start."""
    disabled = page_config.setdefault("disabledExtensions", [])
    disabled += [name for name in FOR_GRADERS if name not in disabled]
    return page_config


def _jupyter_server_extension_points() -> list[dict[str, str]]:
    return [{"module": __name__}]


def _load_jupyter_server_extension(server: Any) -> None:
    server.web_app.settings["page_config_hook"] = without_graders_tools
