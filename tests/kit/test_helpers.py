"""What notebooks import besides the checks."""

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from types import SimpleNamespace

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest
import seaborn as sns
import torch
from matplotlib.colors import to_rgb

from helpers.attention import widgets
from helpers.attention.four_keys import KEYS
from helpers.gpt import devices
from helpers.kit import colab, plots
from helpers.kit import seeding as device
from helpers.kit.scale import pick, scale

mpl.use("Agg")


def test_scale_follows_the_switch_and_grading_is_always_smoke(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.delenv("COURSE_SCALE", raising=False)
    assert scale() == "laptop"
    monkeypatch.setenv("COURSE_SCALE", "gpu")
    assert pick(smoke=1, laptop=2, gpu=3) == 3
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert pick(smoke=1, laptop=2, gpu=3) == 1
    monkeypatch.delenv("NBGRADER_EXECUTION")
    monkeypatch.setenv("COURSE_SCALE", "huge")
    with pytest.raises(ValueError, match="smoke, laptop, gpu"):
        scale()


@pytest.mark.parametrize(
    ("cuda", "mps", "asked", "expected"),
    [
        (True, True, "", "cuda"),
        (False, True, "", "cpu"),  # a Mac: its GPU must be asked for
        (False, True, "mps", "mps"),
        (False, False, "", "cpu"),
        (True, False, "cpu", "cpu"),
    ],
)
def test_a_mac_s_gpu_is_used_only_if_asked_for(
    cuda: bool, mps: bool, asked: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setenv("COURSE_DEVICE", asked)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert device.device().type == expected
    if not cuda:  # a card that is not there has no name
        assert devices.chosen(devices.found()).kind == expected


def test_a_device_that_is_not_there_is_refused_and_grading_does_not_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NBGRADER_EXECUTION", raising=False)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    for asked in ("mps", "tpu"):
        monkeypatch.setenv("COURSE_DEVICE", asked)
        with pytest.raises(ValueError, match=f"{asked}.*this machine has cpu"):
            device.device()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert device.device().type == "cpu"


def test_seed_repeats_everything() -> None:
    device.seed(7)
    first = (torch.rand(1).item(), np.random.rand())
    device.seed(7)
    assert (torch.rand(1).item(), np.random.rand()) == first


def test_nothing_is_installed_where_nothing_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(colab.subprocess, "run", lambda *args, **kwargs: pytest.fail("pip was called"))
    colab.ready()
    colab.ready("numpy", "torch>=2")


def test_only_what_is_missing_is_installed_and_torch_is_pinned(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = {}

    def pip(command: list[str], **options: object) -> SimpleNamespace:
        seen["command"] = command
        seen["pins"] = Path(command[command.index("--constraint") + 1]).read_text()
        return SimpleNamespace(returncode=0, stderr="")

    monkeypatch.setattr(colab.subprocess, "run", pip)
    colab.ready("a-package-nobody-has>=1", "numpy")
    assert seen["command"][-1] == "a-package-nobody-has>=1"
    assert "numpy" not in seen["command"]
    assert f"torch=={metadata.version('torch')}" in seen["pins"]


def test_a_failed_installation_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        colab.subprocess,
        "run",
        lambda *args, **kwargs: SimpleNamespace(returncode=1, stderr="x\nERROR: no route to host"),
    )
    with pytest.raises(RuntimeError, match="no route to host"):
        colab.ready("a-package-nobody-has")


def test_requirements_of_the_course_leave_the_extras_out() -> None:
    names = {colab.name_of(line) for line in colab.required()}
    assert {"torch", "seaborn", "ipywidgets"} <= names
    assert not names & {"nbgrader", "jupyterlab", "pytest"}


def test_the_style_that_is_written_out_is_seaborn_s() -> None:
    def settings() -> dict[str, object]:
        ours = {name: value for name, value in mpl.rcParams.items() if name != "image.cmap"}
        return ours | {
            "axes.prop_cycle": [to_rgb(color) for color in mpl.rcParams["axes.prop_cycle"].by_key()["color"]]
        }

    with mpl.rc_context():
        mpl.rcdefaults()
        sns.set_theme(style="whitegrid", palette="colorblind", rc={"figure.dpi": 100, "axes.titlesize": 12})
        theirs = settings()
        mpl.rcdefaults()
        plots.use_course_style()
        assert settings() == theirs


def test_heatmap_labels_its_axes_and_shows_small_numbers() -> None:
    ax = plots.heatmap(torch.eye(3), title="one each")
    assert (ax.get_xlabel(), ax.get_ylabel(), ax.get_title()) == ("key", "query", "one each")
    assert "1.00" in [text.get_text() for text in ax.texts]
    assert len(plots.heatmap(torch.rand(30, 30)).texts) == 0
    assert [text.get_text() for text in plots.heatmap(torch.tensor([[3, 40]])).texts] == [
        "3",
        "40",
    ]  # counts are no fractions
    plt.close("all")


def test_curves_draw_means_with_a_band_and_name_every_series() -> None:
    ax = plots.curves({"a": ([1, 2], [[1.0, 3.0], [3.0, 5.0]]), "b": ([1, 2], [0.0, 1.0])}, "step", "loss", log_x=True)
    assert ax.lines[0].get_ydata().tolist() == [2.0, 4.0]
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a", "b"]
    assert len(ax.collections) == 1
    assert ax.lines[0].get_linestyle() != ax.lines[1].get_linestyle()
    plt.close("all")


def test_a_logarithmic_axis_without_powers_of_ten_has_plain_labels() -> None:
    ax = plots.curves({"a": ([1, 2, 3], [181.0, 185.0, 192.0])}, "step", "perplexity", log_y=True)
    ax.figure.canvas.draw()
    labels = [label.get_text() for label in ax.get_yticklabels(which="minor")]
    assert "190" in labels
    assert not [label for label in labels if "times" in label]
    plt.close("all")


def test_widget_shows_its_first_state_without_scripts_and_has_an_id_of_its_own() -> None:
    first, second = widgets.drag_query(KEYS).data, widgets.drag_query(KEYS).data
    weights = (KEYS @ torch.tensor([0.6, 0.3, 0.2])).softmax(0)
    for weight in weights.tolist():
        assert f"{weight:.3f}" in first
    assert "@" not in first.replace("@media", "")
    assert first != second
