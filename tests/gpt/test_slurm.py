"""Job files are valid when they are written, and what Slurm would refuse or silently ignore is found."""

import pytest

from helpers.gpt import slurm

GOOD = slurm.job_file("gpt", ["python train.py"], "00:20:00", environment={"COURSE_SCALE": "gpu"}, partition="short")


def test_a_generated_file_has_no_problems_and_says_what_was_asked_for() -> None:
    assert slurm.problems(GOOD) == []
    lines = GOOD.splitlines()
    assert lines[0] == "#!/bin/bash"
    assert "#SBATCH --partition=short" in lines
    assert "#SBATCH --gres=gpu:1" in lines
    assert lines.index("export COURSE_SCALE=gpu") < lines.index("python train.py")
    assert "gres" not in slurm.job_file("cpu-only", ["true"], "10", gpus=0)


@pytest.mark.parametrize(
    ("old", "new", "found"),
    [
        ("#!/bin/bash\n", "", "must begin with the interpreter"),
        ("#SBATCH --mem", "# SBATCH --mem", "only when it is written exactly so"),
        ("--mem=16G", "--mem=16GB", "--mem=16GB is not in Slurm's format"),
        ("gpu:1", "gpus:1", "--gres=gpus:1 is not in Slurm's format"),
        ("00:20:00", "20 minutes", "write `#SBATCH --option=value`"),
        ("00:20:00", "00:99:00", "is not in Slurm's format"),
        ("00:20:00", "00:00:00", "--time is zero"),
        ("--time=", "--tiem=", "option --tiem is not known"),
        ("#SBATCH --time=00:20:00\n", "", "option --time is missing"),
        ("python train.py\n", "python train.py\n#SBATCH --nodes=2\n", "ignores options after the first command"),
        ("#SBATCH --nodes=1\n", "#SBATCH --nodes=1\n#SBATCH --nodes=2\n", "--nodes is given twice"),
        ("\n", "\r\n", "Windows line ends"),
    ],
)
def test_a_fault_is_found_and_named(old: str, new: str, found: str) -> None:
    broken = GOOD.replace(old, new)
    assert broken != GOOD
    assert found in "; ".join(slurm.problems(broken))


def test_a_file_without_a_command_is_refused() -> None:
    header = "".join(line + "\n" for line in GOOD.splitlines() if line.startswith("#"))
    assert slurm.problems(header) == ["there is no command to run"]


def test_settings_that_make_an_invalid_file_are_refused() -> None:
    with pytest.raises(ValueError, match="--mem=lots is not in Slurm's format"):
        slurm.job_file("gpt", ["true"], "10:00", memory="lots")


@pytest.mark.parametrize(
    ("time", "seconds"),
    [
        ("30", 1800),
        ("30:00", 1800),
        ("30:00:00", 108000),
        ("1-2", 93600),
        ("1-02:30", 95400),
        ("1-02:30:15", 95415),
        ("00:01:00", 60),
    ],
)
def test_slurm_s_times_are_read_as_slurm_reads_them(time: str, seconds: int) -> None:
    assert slurm.seconds(time) == seconds


def test_what_is_no_time_is_refused() -> None:
    with pytest.raises(ValueError, match="not a Slurm time"):
        slurm.seconds("soon")
