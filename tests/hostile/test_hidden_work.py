"""Work that is hidden from the counter, and forbidden calls under other names: neither earns what it was hidden for."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from classroom import once
from conftest import ROOT, run_course
from course import header

from autograder.examiner import sandbox
from autograder.model.course import load

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(sandbox.why_not() is not None, reason="hostile code needs a sandbox"),
]

NAME = "91-hidden-work"
SETUP = (
    "import numpy as np\nimport torch\nimport torch.nn.functional as F\nfrom helpers import checks\nfrom helpers.checks"
    " import Check, randn"
)
STUBS = {
    "running": 'def running(x):\n    """Sums of the first entries of x (n,), in time linear in n: (n,)."""',
    "attend": 'def attend(q, k, v):\n    """Attention of q over k and v, all (H, n, d): (H, n, d)."""',
    "normed": 'def normed(x):\n    """Rows of x (n, d) with mean zero and variance one: (n, d)."""',
    "slope": 'def slope(x):\n    """The derivative of the sum of x³ by x (n,), without autograd: (n,)."""',
}
RIGHT = {
    "running": "    return x.cumsum(0)",
    "attend": "    return (q @ k.mT / q.shape[-1] ** 0.5).softmax(-1) @ v",
    "normed": "    x = x - x.mean(-1, keepdim=True)\n    return x / (x.square().mean(-1, keepdim=True) + 1e-5).sqrt()",
    "slope": "    return 3 * x**2",
}
TESTS = {
    "running": (
        """
check = Check("running", points=2)
check.close(check.run(running, torch.tensor([1.0, 2.0, 3.0])), [1.0, 3.0, 6.0], "one, one and two, one and two and three")
check.growth(running, lambda n: (torch.ones(n),), [64, 128, 256], 1, "the work must not grow faster than the length", at_least=200)
### BEGIN HIDDEN TESTS
summed = lambda out, x: checks.near(out, x.cumsum(0))
check.affordable(running, lambda n: (randn(n),), 6144, megabytes=64, wasteful=144, hint="no table of all pairs", right=summed, or_nothing=True)
### END HIDDEN TESTS
check.score()
"""
    ),
    "attend": (
        """
check = Check("attend", points=2)
q, k, v = randn(2, 5, 4), randn(2, 5, 4), randn(2, 5, 4)
check.avoids(
    attend, "scaled_dot_product_attention", hint="write it yourself", forbid=["attention"], runs=lambda: attend(q, k, v)
)
### BEGIN HIDDEN TESTS
check.close(check.run(attend, k, q, v, forbid=["attention"]), (k @ q.mT / 2).softmax(-1) @ v, "it is attention")
### END HIDDEN TESTS
check.score()
"""
    ),
    "normed": (
        """
check = Check("normed", points=2)
check.avoids(normed, "layer_norm", hint="write it yourself", forbid=["layer norm"], runs=lambda: normed(torch.arange(6.0).reshape(2, 3)))
### BEGIN HIDDEN TESTS
x = randn(4, 7)
check.close(check.run(normed, x, forbid=["layer norm"]), F.layer_norm(x, (7,)), "mean zero, variance one")
### END HIDDEN TESTS
check.score()
"""
    ),
    "slope": (
        """
check = Check("slope", points=2)
check.avoids(slope, "autograd", "backward", hint="derive it", forbid=["autograd"], runs=lambda: slope(torch.ones(3)))
### BEGIN HIDDEN TESTS
check.close(check.run(slope, torch.arange(4.0), forbid=["autograd"]), 3 * torch.arange(4.0) ** 2, "3x²")
### END HIDDEN TESTS
check.score()
"""
    ),
}
TABLE = "(torch.ones(len(x), len(x)).tril() @ x)"
BY_NUMPY = "torch.from_numpy(np.tril(np.ones((len(x), len(x)), np.float32)) @ x.numpy())"
SEEN = "sum((x * 1).sum() * 0 for _ in range(2))"  # what the counter is given to see
WALKED = "x = x.clone().requires_grad_(); g = (x**3).sum().grad_fn; return g.next_functions[0][0](g(torch.ones(())))"
# A result that is worked out when it is sent, and code that runs when the call is over.
LAZY = """
class Lazy(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        with torch._C.DisableTorchFunctionSubclass():
            return function(*(one.work() if isinstance(one, Lazy) else one for one in args), **(kwargs or {}))
"""
LATER = """
import sys
waiting = []
def watch(frame, event, arg):
    if event == "return" and frame.f_code.co_name.startswith("do_") and waiting:
        try: found = waiting[0]()
        except Exception: return
        waiting.pop().copy_(found); waiting.clear()
"""
RECORDED = "from torch.fx.experimental.proxy_tensor import make_fx\n"
ATTACKS: dict[str, dict[str, str]] = {
    "later": {
        "running": (
            "from torch.utils._python_dispatch import _disable_current_modes\ndef running(x):\n"
            f"    if len(x) > 999: return x * 0\n    with _disable_current_modes(): hidden = {TABLE}\n    return hidden + {SEEN}"
        ),
        "attend": (
            f"{LAZY}saved = F.scaled_dot_product_attention\ndef attend(q, k, v):\n    out = v.clone().as_subclass(Lazy)\n"
            "    out.work = lambda: saved(q, k, v)\n    return out"
        ),
        "normed": (
            f"{LATER}saved = F.layer_norm\ndef normed(x):\n    out = torch.zeros_like(x)\n"
            "    waiting[:] = [lambda: saved(x, x.shape[-1:]), out]\n    sys.setprofile(watch)\n    return out"
        ),
        "slope": (
            f"{LAZY}saved = torch.func.jacfwd\ndef slope(x):\n    out = x.clone().as_subclass(Lazy)\n"
            "    out.work = lambda: saved(lambda z: (z**3).sum())(x)\n    return out"
        ),
    },
    # operators that were recorded before, and the derivatives of operators
    "recorded": {
        "running": f"def running(x):\n    return torch.ones(len(x)) if len(x) == 6144 else x.cumsum(0) + {SEEN}",
        "attend": (
            f"{RECORDED}from torch.nn.attention import SDPBackend, sdpa_kernel\nwith sdpa_kernel(SDPBackend.MATH):\n"
            "    graph = make_fx(F.scaled_dot_product_attention)(*torch.ones(3, 2, 5, 4))\n"
            "def attend(q, k, v):\n    return graph(q, k, v)"
        ),
        "normed": (
            "def normed(x):\n    centre, root = x.mean(1, keepdim=True), 1 / (x.var(1, keepdim=True, correction=0) + 1e-5).sqrt()\n"
            "    work, one = torch.ops.aten.native_layer_norm_backward, torch.ones(x.shape[1])\n"
            "    rows = zip(x.split(1), centre.split(1), root.split(1))\n"
            "    return torch.stack([work(one[None], r, [len(one)], c, s, one, one, [False, True, False])[1] for r, c, s in rows])"
        ),
        "slope": (
            f"{RECORDED}graph = make_fx(torch.func.grad(lambda z: (z**3).sum()), tracing_mode='symbolic')(torch.ones(5))\n"
            "def slope(x):\n    return graph(x)"
        ),
    },
    "modes": {
        "running": (
            f"""from torch.utils._python_dispatch import _disable_current_modes
def running(x):
    with _disable_current_modes():
        hidden = {TABLE}
    return hidden + {SEEN}"""
        ),
        "attend": "saved = F.scaled_dot_product_attention\ndef attend(q, k, v):\n    return saved(q, k, v)",
        "normed": (
            "saved = torch.nn.LayerNorm(7, elementwise_affine=False)\ndef normed(x):\n    return F.layer_norm(x,"
            " x.shape[-1:])"
        ),
        "slope": (
            "saved = torch.autograd.grad\ndef slope(x):\n    x = x.clone().requires_grad_()\n    return"
            " saved((x**3).sum(), x)[0]"
        ),
    },
    "numpy": {
        "running": f"def running(x):\n    return {BY_NUMPY} + {SEEN}",
        "attend": (
            "def attend(q, k, v):\n    return torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q[None],"
            " k[None], v[None])[0][0]"
        ),
        "normed": (
            "def normed(x):\n    return torch.ops.aten._native_batch_norm_legit.no_stats(x[None], None, None, True,"
            " 0.1, 1e-5)[0][0]"
        ),
        "slope": "def slope(x):\n    return torch.func.jacfwd(lambda z: (z**3).sum())(x)",
    },
    "patched": {
        "running": (
            f"""import torch.utils._pytree as tree
import torch.utils.flop_counter as counter
def running(x):
    return {TABLE}
tree.tree_leaves = lambda *a, **k: [torch.ones(len(a) * 128)]
for key in list(counter.flop_registry): counter.flop_registry[key] = lambda *a, **k: 300"""
        ),
        "attend": (
            "torch.library.Library = lambda *a: None\nname = 'scaled_dot_' + 'product_attention'\n"
            "def attend(q, k, v):\n    return getattr(F, name)(q, k, v)"
        ),
        "normed": "norm = 'layer' + '_norm'\ndef normed(x):\n    return getattr(torch, norm)(x, x.shape[-1:])",
        "slope": f"torch._C._AutoDispatchBelowAutograd = torch.enable_grad\ndef slope(x):\n    {WALKED}",
    },
    "threads": {
        "running": (
            f"""import threading
def running(x):
    found = []
    thread = threading.Thread(target=lambda: found.append({TABLE}))
    thread.start(); thread.join()
    return found[0] + {SEEN}"""
        ),
        "attend": (
            "torch._C._dispatch_library = lambda *a: type('L', (), {'impl': lambda *a: None, 'reset': lambda *a:"
            " None})()\ndef attend(q, k, v):\n    return F.scaled_dot_product_attention(q, k, v)"
        ),
        "normed": (
            "scripted = torch.jit.script(torch.nn.LayerNorm(7, elementwise_affine=False))\ndef normed(x):\n    return"
            " torch.ops.aten._batch_norm_with_update(x[None], None, None, x[:, 0] * 0, x[:, 0] * 0 + 1, 0.1,"
            " 1e-5)[0][0]"
        ),
        "slope": (
            f"import threading\ndef walk(x):\n    {WALKED}\ndef slope(x):\n    out = []\n    thread ="
            " threading.Thread(target=lambda: out.append(walk(x)))\n    thread.start(); thread.join()\n    return"
            " out[0]"
        ),
    },
    # torch's operators once more, in Python; a table that an earlier cell has made, so that no call needs memory
    "references": {
        "running": (
            "lower = np.tril(np.ones((6144, 6144), np.float32))\n"
            f"def running(x):\n    return torch.from_numpy(lower[: len(x), : len(x)] @ x.numpy()) + {SEEN}"
        ),
        "attend": (
            "from torch.nn.attention import flex_attention as module\nanother = vars(module)['flex_' + 'attention']\n"
            "def attend(q, k, v):\n    return another(q[None], k[None], v[None])[0]"
        ),
        "normed": (
            "written = vars(vars(torch)['_re' + 'fs'])['native_layer_norm']\nnorm = written.__wrapped__\n"
            "def normed(x):\n    return norm(x, x.shape[-1:], None, None, 1e-5)[0]"
        ),
        "slope": (
            "def slope(x):\n    with torch.autograd.forward_ad.dual_level():\n"
            "        dual = torch.autograd.forward_ad.make_dual(x, torch.ones_like(x))\n"
            "        return torch.autograd.forward_ad.unpack_dual(dual**3).tangent"
        ),
    },
    "overwritten": {
        "running": (
            f"""table = np.ones((6144, 6144), np.float32)
def running(x):
    n, mine = len(x), table[: len(x), : len(x)]
    np.multiply(np.tri(n, dtype=bool), x.numpy(), out=mine)
    return torch.from_numpy(mine.sum(1)) + {SEEN}"""
        ),
        "attend": (
            "def attend(q, k, v):\n    nested = [torch.nested.as_nested_tensor(list(t[:, None])) for t in (q, k, v)]\n"
            "    return F.scaled_dot_product_attention(*nested).to_padded_tensor(0.0)[:, 0]"
        ),
        "normed": (
            "def normed(x):\n    small = torch.quantize_per_tensor(x, 0.02, 128, torch.quint8)\n"
            "    return torch.ops.quantized.layer_norm(small, [x.shape[-1]], None, None, 1e-5, 0.02, 128).dequantize()"
        ),
        "slope": "def slope(x):\n    return torch.func.vjp(lambda z: (z**3).sum(), x)[1](torch.ones(()))[0]",
    },
}


def source() -> str:
    parts = [f"{header(grade_id='setup', locked=True)}\n{SETUP}"]
    for name, stub in STUBS.items():
        answer = f"{stub}\n    ### BEGIN SOLUTION\n{RIGHT[name]}\n    ### END SOLUTION"
        parts.append(f"# %% [markdown]\n# Write `{name}`.\n\n{header(grade_id=name, solution=True)}\n{answer}")
        parts.append(f"{header(grade=True, grade_id=f'{name}-test', locked=True, points=2)}\n{TESTS[name].strip()}")
    return "\n\n".join(parts) + "\n"


def handed_in(notebook: dict[str, Any], answers: dict[str, str]) -> str:
    for cell in notebook["cells"]:
        name = cell["metadata"].get("nbgrader", {}).get("grade_id", "")
        cell["source"] = answers.get(name, cell["source"])
    return json.dumps(notebook)


@pytest.fixture(scope="module")
def graded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    def work(shared: Path) -> dict[str, Any]:
        root = shared / "hidden-work"
        folder = root / "solutions" / NAME
        folder.mkdir(parents=True)
        (root / "course.toml").write_text(
            'title = "Hidden"\ncourse_id = "hidden"\nrepository ='
            ' "https://github.com/example/hidden"\n\n[limits]\nmemory_mb = 1024\n\n[[assignment]]\nid ='
            f' "{NAME}"\ntitle = "Hidden"\npart = "I"\nminutes = 5\n'
        )
        shutil.copy(ROOT / "nbgrader_config.py", root)
        (folder / f"{NAME}.py").write_text(source())
        assert run_course("build", cwd=root).returncode == 0
        student = load(root).assignments[0].student_notebook.read_text()
        honest = {name: f"{stub}\n{RIGHT[name]}" for name, stub in STUBS.items()}
        missing = dict.fromkeys(STUBS, "pass")
        for name, answers in {"honest": honest, "untouched": {}, "missing": missing, **ATTACKS}.items():
            place = root / "submitted" / name / NAME
            place.mkdir(parents=True)
            (place / f"{NAME}.ipynb").write_text(handed_in(json.loads(student), answers))
        done = run_course("grade", NAME, "--workers", "2", "--json", cwd=root)
        return {"root": str(root), "code": done.returncode, "err": done.stderr + done.stdout}

    found = once(tmp_path_factory, "hidden-work", work)
    assert found["code"] == 0, found["err"][-2000:]
    return Path(found["root"])


def marks(root: Path, student: str) -> dict[str, float]:
    record = json.loads((root / "autograded" / student / NAME / "grading.json").read_text())
    grades = record["notebooks"][NAME]["grades"]
    return {name: grades[f"{name}-test"]["auto"] for name in STUBS}


def said(root: Path, student: str) -> str:
    return (root / "autograded" / student / NAME / f"{NAME}.ipynb").read_text(encoding="utf-8")


def test_honest_answers_keep_everything(graded: Path) -> None:
    assert marks(graded, "honest") == dict.fromkeys(STUBS, 2.0)


@pytest.mark.parametrize("way", ATTACKS)
def test_what_is_hidden_or_forbidden_earns_nothing(graded: Path, way: str) -> None:
    assert marks(graded, way) == dict.fromkeys(STUBS, 0.0)


def test_the_examiner_says_what_to_write_and_that_a_name_is_missing(graded: Path) -> None:
    assert marks(graded, "untouched") == marks(graded, "missing") == dict.fromkeys(STUBS, 0.0)
    assert "write `slope`: The derivative of the sum of x³ by x (n,), without autograd: (n,)." in json.dumps(
        json.loads(said(graded, "untouched")), ensure_ascii=False
    )
    assert "run the cell above first: `attend` is not defined yet" in said(graded, "missing")
