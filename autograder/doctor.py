"""`course doctor`: what this machine has, and what to do about what it lacks."""

from __future__ import annotations

import shutil
import sys
from dataclasses import dataclass
from importlib import metadata

from autograder.examiner import warm
from autograder.examiner.protections import protections

NEEDED = ["torch", "jupyterlab", "nbgrader", "nbclient", "jupytext", "ipywidgets", "seaborn"]


@dataclass
class Finding:
    """One thing that was looked at. What is needed and not good makes `course doctor` fail."""

    name: str
    good: bool
    found: str
    advice: str = ""
    needed: bool = False


def version_of(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "not installed"


def accelerator() -> Finding:
    import torch

    if torch.cuda.is_available():
        return Finding("GPU", True, torch.cuda.get_device_name(0))
    if torch.backends.mps.is_available():
        return Finding("GPU", True, "Apple MPS")
    return Finding("GPU", False, "none", "not needed: the course runs on a CPU; COURSE_SCALE=gpu wants one")


def warm_processes() -> Finding:
    """What stays between calls, so that the next one starts at once."""
    if not warm.minutes():
        return Finding("warm process", True, "not wanted (COURSE_WARM=0)")
    if warm.folder() is None:
        return Finding("warm process", False, "none", "it needs Linux and a folder that only you can enter")
    found = [
        f"process {one['pid']}, {one['mb']} MB, "
        + (f"{one['pools']} in use" if one["pools"] else f"idle for {one['idle_seconds']} s")
        for one in warm.all_warm()
    ]
    stays = f"it ends after {warm.minutes():g} minutes without work"
    return Finding("warm process", True, "; ".join(found) or f"none now; {stays}")


def examine() -> list[Finding]:
    """Look at Python, the packages, the tools beside them, and the accelerator."""
    version = sys.version.split()[0]
    findings = [Finding("Python", sys.version_info >= (3, 11), version, "install Python 3.11 or newer", needed=True)]
    for package in NEEDED:
        found = version_of(package)
        findings.append(Finding(package, found != "not installed", found, "run `make setup`", needed=True))
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    findings.append(
        Finding(
            "Chromium",
            chromium is not None,
            chromium or "none",
            "only the browser tests need it: apt-get install chromium",
        )
    )
    findings += [Finding(p.name, p.active, p.detail, p.advice) for p in protections()]
    findings.append(warm_processes())
    if findings[1].good:
        findings.append(accelerator())
    return findings
