"""Training plans carried out: the GPU path runs here on a pretended device, whose tensors live on the CPU."""

import pytest
import torch
from torch.nn import functional as F

from helpers.gpt import devices
from helpers.gpt.devices import Device, Plan
from helpers.kit import training
from helpers.kit.training import TableModel

CPU = Device("cpu", "CPU", bfloat16=True)
PRETENDED = [
    Device("cuda", "pretended new card", bfloat16=True, place="cpu"),
    Device("cuda", "pretended old card", place="cpu"),
    Device("mps", "pretended Apple GPU", place="cpu"),
]
BATCHES = [(torch.tensor([[0, 1, 2]]), torch.tensor([[1, 2, 0]])) for _ in range(5)]


def loss_of(logits: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten())


def run(device: Device, plan: Plan = Plan()) -> devices.Run:  # noqa: B008  a frozen value
    torch.manual_seed(0)
    return devices.fit(TableModel(torch.randn(3, 3)), loss_of, BATCHES, [0.1] * 5, device, plan)


def test_the_table_of_this_machine_begins_with_its_cpu() -> None:
    table = devices.found()
    assert table[0].kind == "cpu"
    assert all(device.is_gpu for device in table[1:])


def test_probing_finds_cuda_and_its_number_type(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "card")
    for capability, has in [((7, 5), False), ((8, 0), True), ((9, 0), True)]:
        monkeypatch.setattr(torch.cuda, "get_device_capability", lambda capability=capability: capability)
        assert devices.found()[1] == Device("cuda", "card", bfloat16=has)


def test_probing_finds_mps(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert [device.kind for device in devices.found()] == ["cpu", "mps"]


def test_without_a_gpu_there_is_one_run_and_a_message_that_says_what_to_do() -> None:
    runs, message = devices.side_by_side(run, [CPU])
    assert len(runs) == 1
    assert "no GPU" in message
    assert "Colab" in message
    assert message in devices.report(runs, message)


@pytest.mark.parametrize("gpu", PRETENDED, ids=lambda device: device.name)
def test_with_a_gpu_both_run_the_same_steps_side_by_side(gpu: Device) -> None:
    runs, message = devices.side_by_side(run, [CPU, gpu])
    assert [entry.device.name for entry in runs] == ["CPU", gpu.name]
    assert runs[0].losses == runs[1].losses
    assert len(runs[1].losses) == 5
    assert gpu.name in message
    assert "differ by at most 0.0e+00" in message
    assert gpu.name in devices.report(runs, message)


def test_fit_without_switches_is_the_plain_loop() -> None:
    torch.manual_seed(0)
    model = TableModel(torch.randn(3, 3))
    optimizer = training.make_optimizer(model)
    for group in optimizer.param_groups:
        group["lr"] = 0.1
    losses = []
    for x, y in BATCHES:
        loss = loss_of(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    assert run(CPU).losses == pytest.approx(losses)


@pytest.mark.parametrize(
    "plan", [Plan("bfloat16"), Plan("float16", scaler=True, pinned=True), Plan(scaler=True)], ids=str
)
def test_every_switch_gives_nearly_the_same_losses(plan: Plan) -> None:
    assert run(PRETENDED[1], plan).losses == pytest.approx(run(CPU).losses, abs=0.02)


def test_autocast_computes_products_in_the_plan_s_type() -> None:
    a = torch.ones(2, 2)
    for plan, dtype in [(Plan(), torch.float32), (Plan("bfloat16"), torch.bfloat16), (Plan("float16"), torch.float16)]:
        with devices.autocast(PRETENDED[0], plan):
            assert (a @ a).dtype == dtype


def test_an_unknown_device_or_type_is_refused() -> None:
    with pytest.raises(ValueError, match="choose one of cpu, cuda, mps"):
        Device("tpu", "?")
    with pytest.raises(ValueError, match="float16"):
        Plan("float8")
