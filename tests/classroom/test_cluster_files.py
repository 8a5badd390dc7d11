"""The files that start workers on Slurm and on Kubernetes: in the format of those programs, and true to the course."""

from __future__ import annotations

import subprocess

import pytest
import yaml
from conftest import ROOT

from helpers.gpt import slurm

SLURM = ROOT / "docs" / "recipes" / "slurm-workers.sh"
KUBERNETES = ROOT / "docs" / "recipes" / "kubernetes.yaml"


def test_the_slurm_job_is_one_that_slurm_takes() -> None:
    assert slurm.problems(SLURM.read_text(encoding="utf-8")) == []
    subprocess.run(["bash", "-n", SLURM], check=True)
    without = subprocess.run(["bash", SLURM], env={}, capture_output=True, text=True, check=False)
    assert without.returncode != 0
    assert "SCHEDULER" in without.stderr


def test_the_kubernetes_manifest_fits_the_schema() -> None:
    schema = pytest.importorskip("kubernetes_validate")
    found = list(yaml.safe_load_all(KUBERNETES.read_text(encoding="utf-8")))
    assert [one["kind"] for one in found] == ["Namespace", "Deployment", "Service", "Deployment", "NetworkPolicy"]
    for one in found:
        schema.validate(one, schema.latest_version(), strict=True)
    broken = {**found[1], "spec": {**found[1]["spec"], "replicas": "one"}}
    with pytest.raises(schema.ValidationError):
        schema.validate(broken, schema.latest_version(), strict=True)
