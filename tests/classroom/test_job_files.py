"""The job files of docs/recipes on a real Slurm, from Debian's packages: one node that is this machine."""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from conftest import ROOT, TOOLS
from dask_cluster import Cluster, class_of, graded, scores_in

from autograder.examiner import sandbox

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch")
MISSING = [name for name in PROGRAMS if shutil.which(name, path=f"{os.environ['PATH']}:/usr/sbin") is None]
RECIPES = ROOT / "docs" / "recipes"
CONFIGURATION = """
ClusterName=test
SlurmctldHost={host}(127.0.0.1)
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmctldPort={controller}
SlurmdPort={node}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
MpiDefault=none
SwitchType=switch/none
ReturnToService=2
SlurmdParameters=config_overrides
NodeName={host} NodeAddr=127.0.0.1 CPUs=16 RealMemory=128000 State=UNKNOWN
PartitionName=all Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""  # config_overrides: 16 processors and 128 GB are promised, whatever the machine has

pytestmark = [
    pytest.mark.thorough,
    pytest.mark.slow,
    pytest.mark.skipif(sandbox.why_not() is not None, reason=f"no sandbox here: {sandbox.why_not()}"),
    pytest.mark.skipif(bool(MISSING), reason="no Slurm here: apt-get install slurm-wlm munge"),
    pytest.mark.skipif(os.geteuid() != 0, reason="slurmd starts jobs for other users: it is started by root here"),
]


class Slurm:
    """Controller and node daemon, with their own folder and ports."""

    def __init__(self, folder: Path) -> None:
        for name in ("state", "spool"):
            (folder / name).mkdir()
        folder.chmod(0o755)
        key = folder / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o400)
        controller, node = free_ports()
        host = socket.gethostname().partition(".")[0]
        text = CONFIGURATION.format(folder=folder, host=host, controller=controller, node=node)
        (folder / "slurm.conf").write_text(text, encoding="utf-8")
        self.environment = {
            **os.environ,
            "SLURM_CONF": str(folder / "slurm.conf"),
            "PATH": f"{TOOLS}:{os.environ['PATH']}:/usr/sbin",
        }
        munge = [f"--key-file={key}", f"--socket={folder}/munge.socket", f"--seed-file={folder}/seed"]
        munge += [f"--log-file={folder}/munged.log", f"--pid-file={folder}/munged.pid", "--force", "--foreground"]
        self.processes = [self.start("munged", *munge)]
        wait_until((folder / "munge.socket").exists)
        self.processes += [self.start("slurmctld", "-c", "-D"), self.start("slurmd", "-D")]
        wait_until(lambda: "idle" in self.call("sinfo", "--noheader", "--format=%t", check=False))

    def start(self, *line: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(line, env=self.environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(self, *line: str, cwd: Path | None = None, check: bool = True) -> str:
        done = subprocess.run(line, cwd=cwd, env=self.environment, capture_output=True, text=True, check=False)
        assert not check or done.returncode == 0, done.stdout + done.stderr
        return done.stdout.strip()

    def end(self) -> None:
        self.call("scancel", f"--user={os.environ.get('USER', 'root')}", check=False)
        for process in reversed(self.processes):
            with suppress(ProcessLookupError):
                process.terminate()
            process.wait()


def free_ports() -> list[int]:
    with socket.socket() as one, socket.socket() as other:
        for probe in (one, other):
            probe.bind(("127.0.0.1", 0))
        return [one.getsockname()[1], other.getsockname()[1]]


def wait_until(there: Callable[[], bool]) -> None:
    for _ in range(600):
        if there():
            return
        time.sleep(0.1)
    raise AssertionError("a program of Slurm did not start")


@pytest.fixture
def slurm() -> Iterator[Slurm]:
    with tempfile.TemporaryDirectory(prefix="slurm-") as folder:
        running = Slurm(Path(folder))
        yield running
        running.end()


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    """Its scheduler only: Slurm starts the workers."""
    running = Cluster(tmp_path)
    yield running
    running.end()


def stored_scores(root: Path) -> dict[str, float]:
    records = (root / "autograded").glob("*/01-small/grading.json")
    return {path.parts[-3]: json.loads(path.read_text(encoding="utf-8"))["score"] for path in records}


def test_one_job_grades_a_class(small_course: Path, slurm: Slurm) -> None:
    """Scheduler, workers and `course grade` in one allocation."""
    scores = class_of(small_course, 6)
    job = str(RECIPES / "slurm.sh")
    log = small_course / "job.log"
    options = ("--wait", "--ntasks=3", "--mem-per-cpu=1G", f"--output={log}")
    slurm.call("sbatch", *options, job, "01-small", cwd=small_course, check=False)
    assert stored_scores(small_course) == scores, log.read_text(encoding="utf-8")
    assert slurm.call("squeue", "--noheader") == ""  # nothing goes on waiting after the job


def test_workers_of_a_job_grade_for_a_command_elsewhere(small_course: Path, slurm: Slurm, cluster: Cluster) -> None:
    scores = class_of(small_course, 6)
    values = f"--export=ALL,SCHEDULER={cluster.address},COURSE_PYTHON={sys.executable}"
    log = small_course / "workers.log"
    options = ("--parsable", "--cpus-per-task=2", "--mem=1G", f"--output={log}")
    number = slurm.call("sbatch", values, *options, str(RECIPES / "slurm-workers.sh"), cwd=small_course)
    code, report, errors = graded(small_course, cluster)
    assert code == 0, errors + log.read_text(encoding="utf-8")
    assert scores_in(report) == scores
    assert slurm.call("squeue", "--noheader", "--format=%A %T") == f"{number} RUNNING"
