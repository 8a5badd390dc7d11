"""Job files for Slurm: written from a few settings, and checked before they wait in a queue for an hour only to
fail.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

# minutes | minutes:seconds | hours:minutes:seconds | days-hours | days-hours:minutes | days-hours:minutes:seconds
TIME = re.compile(r"\d+|\d+:[0-5]\d|\d+:[0-5]\d:[0-5]\d|\d+-\d+|\d+-\d+:[0-5]\d|\d+-\d+:[0-5]\d:[0-5]\d")
MEMORY = re.compile(r"\d+[KMGT]?")
GPUS = re.compile(r"gpu(:[A-Za-z][\w.-]*)?:\d+")
COUNT = re.compile(r"[1-9]\d*")
WORD = re.compile(r"[\w.,-]+")
ANY = re.compile(r".+")
OPTIONS = {
    "job-name": WORD,
    "partition": WORD,
    "account": WORD,
    "time": TIME,
    "mem": MEMORY,
    "gres": GPUS,
    "nodes": COUNT,
    "ntasks": COUNT,
    "cpus-per-task": COUNT,
    "output": ANY,
    "error": ANY,
}
REQUIRED = ("job-name", "time", "mem", "output")


def job_file(
    name: str,
    commands: list[str],
    time: str,
    gpus: int = 1,
    cpus: int = 4,
    memory: str = "16G",
    environment: Mapping[str, str] | None = None,
    **more: str,
) -> str:
    """The text of a job file.

    `more` are further options with _ for -, for example partition="gpu". Raises ValueError if it is not valid.
    """
    options = {"job-name": name, "time": time, "nodes": "1", "ntasks": "1", "cpus-per-task": str(cpus), "mem": memory}
    if gpus:
        options["gres"] = f"gpu:{gpus}"
    options["output"] = "%x-%j.log"  # job name and number: two runs never share a log
    options |= {key.replace("_", "-"): value for key, value in more.items()}
    lines = ["#!/bin/bash", *(f"#SBATCH --{key}={value}" for key, value in options.items()), "set -euo pipefail"]
    lines += [f"export {key}={value}" for key, value in (environment or {}).items()]
    text = "\n".join([*lines, *commands]) + "\n"
    found = problems(text)
    if found:
        raise ValueError("this job file is not valid: " + "; ".join(found))
    return text


def problems(text: str) -> list[str]:
    """What is wrong with a job file, line by line; nothing if it can be sent."""
    lines = text.splitlines()
    found = []
    if "\r" in text:
        found.append("the file has Windows line ends: Slurm refuses it")
    if not lines or not lines[0].startswith("#!"):
        found.append("line 1: the file must begin with the interpreter, #!/bin/bash")
    seen: dict[str, str] = {}
    command_at = 0
    for number, line in enumerate(lines, 1):
        stripped = line.strip()
        if stripped.startswith("#SBATCH"):
            if command_at:
                found.append(f"line {number}: Slurm ignores options after the first command (line {command_at})")
            match = re.fullmatch(r"#SBATCH --([a-z-]+)=(\S+)", line)
            if match is None:
                found.append(f"line {number}: write `#SBATCH --option=value`")
                continue
            key, value = match.groups()
            if key not in OPTIONS:
                found.append(f"line {number}: option --{key} is not known here")
            elif not OPTIONS[key].fullmatch(value):
                found.append(f"line {number}: --{key}={value} is not in Slurm's format")
            if key in seen:
                found.append(f"line {number}: --{key} is given twice")
            seen[key] = value
        elif re.match(r"#\s*SBATCH", stripped):
            found.append(f"line {number}: Slurm reads `#SBATCH` only when it is written exactly so")
        elif stripped and not stripped.startswith("#") and not command_at:
            command_at = number
    found += [f"option --{key} is missing" for key in REQUIRED if key not in seen]
    if not command_at:
        found.append("there is no command to run")
    if "time" in seen and OPTIONS["time"].fullmatch(seen["time"]) and seconds(seen["time"]) == 0:
        found.append("--time is zero: the job would end at once, or never, depending on the cluster")
    return found


def seconds(time: str) -> int:
    """How long a Slurm time is. Mind that `10` and `10:00` are ten minutes, and `10:00:00` is ten hours."""
    if not TIME.fullmatch(time):
        raise ValueError(f"{time!r} is not a Slurm time")
    days, _, rest = time.rpartition("-")
    parts = [int(part) for part in rest.split(":")]
    if days:
        hours, minutes, secs = [*parts, 0, 0][:3]
    elif len(parts) == 3:
        hours, minutes, secs = parts
    else:
        hours, (minutes, secs) = 0, [*parts, 0][:2]
    return ((int(days or 0) * 24 + hours) * 60 + minutes) * 60 + secs
