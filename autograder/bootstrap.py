"""Makes `.venv/` with everything installed.

Run by `make setup`, or by hand where there is no make: python autograder/bootstrap.py

Needs nothing but Python's standard library, and says in one line what is missing. (Plain old syntax on purpose: a
Python that is too old must be able to read this far.)
"""

import os
import subprocess
import sys
import time

OLDEST = (3, 11)
ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
VENV = os.path.join(ROOT, ".venv")
PYTHON = os.path.join(VENV, "Scripts", "python.exe") if os.name == "nt" else os.path.join(VENV, "bin", "python")
EXTRAS = "instructor,finetuning,cluster,postgresql,site,dev"


def stop(message):  # type: ignore[no-untyped-def]
    sys.stderr.write("setup: %s\n" % message)  # noqa: UP031
    sys.exit(2)


def run(command):  # type: ignore[no-untyped-def]
    print("$ " + " ".join(os.path.relpath(part, ROOT) if part.startswith(ROOT) else part for part in command))
    sys.stdout.flush()
    return subprocess.call(command, cwd=ROOT)


def main():  # type: ignore[no-untyped-def]
    if sys.version_info < OLDEST:
        found = sys.version.split()[0]
        stop("Python 3.11 or newer is needed, this is %s. Name another one: make PYTHON=python3.11 setup" % found)  # noqa: UP031
    started = time.time()
    try:
        open(os.path.join(ROOT, ".write-test"), "w").close()
        os.unlink(os.path.join(ROOT, ".write-test"))
    except OSError as error:
        stop("cannot write to %s: %s. Clone the course into a folder of yours." % (ROOT, error.strerror))  # noqa: UP031
    if not os.path.exists(PYTHON) and run([sys.executable, "-m", "venv", VENV]):
        stop(
            "the virtual environment could not be made. On Debian and Ubuntu: apt-get install python3-venv, then remove"
            " .venv and try again"
        )
    print("Installing the course into .venv: a few minutes the first time, seconds after that.")
    pip = [PYTHON, "-m", "pip", "--disable-pip-version-check", "install", "--quiet", "--constraint", "constraints.txt"]
    if run([*pip, "--editable", f".[{EXTRAS}]"]):
        stop("pip could not install the packages: its own message is above. Is there a network, and 4 GB of free disk?")
    with open(os.path.join(VENV, ".installed"), "w") as stamp:
        stamp.write("ok\n")
    print(f"Ready after {time.time() - started:.0f} s. Try: make lab")


if __name__ == "__main__":
    main()
