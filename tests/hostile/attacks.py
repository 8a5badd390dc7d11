"""Hostile and damaged submissions, each with the score and the report it must get.

An attack changes an honest notebook: other answers, cells of its own, or a function that damages the notebook or the
folder. Every question it does not touch keeps its full marks. Code that finds a hole in the sandbox prints the word
HOLE, which may appear in no output.
"""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from course import ANSWERS, CHECKS, COMMENT, NAME, POINTS, WRONG, find, insert

Notebook = dict[str, Any]
Damage = Callable[[Notebook, Path], Any]  # changes the notebook; writes the file itself if it returns something


@dataclass(frozen=True)
class Range:
    """A score between two bounds."""

    low: float
    high: float


def passed(name: str, checks: int) -> float:
    """Points for so many checks of a test."""
    return round(POINTS[name] * checks / CHECKS[name], 6)


def up_to(points: float) -> Range:
    return Range(0.0, points)


@dataclass(frozen=True)
class Attack:
    """`scores` names the questions that are not worth their full points; `says` what the record must say, by part, as
    regular expressions.
    """

    name: str
    answers: dict[str, str] = field(default_factory=dict)
    cells: tuple[tuple[str, str], ...] = ()
    damage: Damage | None = None
    scores: dict[str, float | Range] = field(default_factory=dict)
    says: dict[str, str] = field(default_factory=dict)
    unreadable: str = ""
    outputs: str = ""  # must match the text of the notebook's outputs
    student: str = ""  # an unusual name
    repeat: bool = False  # of a mechanism that another attack of its family uses: `make test-all` has it


ATTACKS: list[Attack] = []
REPRESENTATIVES = 4  # of so many attacks of a family, one is in `make test`
counts: dict[str, int] = {}
NOTHING: dict[str, float | Range] = dict.fromkeys(POINTS, 0.0)


def family(name: str) -> None:
    """The attacks that follow have this in common."""
    counts[name] = 0


def attack(name: str, **about: Any) -> None:
    """The first attack of a family and every fourth after it stand for it. The two sides of a channel stay together."""
    other_side = bool(ATTACKS) and name.endswith("other side") and ATTACKS[-1].name.endswith("one side")
    current = next(reversed(counts))
    repeat = ATTACKS[-1].repeat if other_side else counts[current] % REPRESENTATIVES != 0
    counts[current] += not other_side
    ATTACKS.append(Attack(name, repeat=about.pop("repeat", repeat), **about))


def cheat(name: str, code: str, tamper: str = "", **about: Any) -> None:
    """No answer is right, and a cell after the set-up tries to get points all the same."""
    says = {"tamper": tamper} if tamper else {}
    attack(
        name, answers=WRONG, cells=(("setup", code),), scores=NOTHING, says={**says, **about.pop("says", {})}, **about
    )


def beside(name: str, code: str, after: str = "setup", **about: Any) -> None:
    """Right answers, and a cell that does something else."""
    attack(name, cells=((after, code),), **about)


def answer(name: str, question: str, code: str, score: float | Range = 0.0, **about: Any) -> None:
    """One answer is replaced."""
    attack(name, answers={question: code}, scores={} if score == POINTS[question] else {question: score}, **about)


# Nothing below may run outside a sandbox, where it would do harm.
INSIDE = """
import os
if not os.path.exists("/run/examiner/inside/nursery.py") and os.getuid() < 200_000:  # a user of a submission
    raise RuntimeError("not in the sandbox")
"""

# The student's end of the wire, found by walking up the frames.
SERVER = (
    INSIDE
    + """
import json, struct, sys
def server():
    frame = sys._getframe()
    while frame is not None:
        for found in list(frame.f_locals.values()):
            if type(found).__name__ == "Server":
                return found
        frame = frame.f_back
def forged(value, buffers=(), **head):
    text = json.dumps({"op": "done", **head, "value": value}).encode()
    sizes = [len(b) for b in buffers]
    return b"smw1" + struct.pack("<II", len(text), len(sizes)) + struct.pack(f"<{len(sizes)}Q", *sizes) + text + b"".join(buffers)
"""
)

# ---- hooks in the notebook's shell -----------------------------------------------------------------------------------

family("hooks in the notebook's shell")

cheat(
    "input transformer",
    """
def emptied(lines):
    return ["1.0\\n"] if any("Check(" in line or "assert" in line for line in lines) else lines
get_ipython().input_transformers_post.append(emptied)
""",
    "input_transformers_post registered",
)
cheat(
    "clean-up transformer",
    "get_ipython().input_transformer_manager.cleanup_transforms.insert(0, lambda lines: ['pass\\n'] if 'Check(' in"
    " ''.join(lines) else lines)",
    "input transformers registered",
)
cheat(
    "ast transformer",
    """
import ast
class NoAsserts(ast.NodeTransformer):
    def visit_Assert(self, node):
        return ast.Pass()
    def visit_Call(self, node):
        self.generic_visit(node)
        return ast.Constant(99.0) if isinstance(node.func, ast.Attribute) and node.func.attr == "score" else node
get_ipython().ast_transformers.append(NoAsserts())
""",
    "AST transformers registered",
)
cheat(
    "run-cell hooks",
    """
def before(info):
    import helpers.checks.check as module
    module.Check.score = lambda self: 99.0
get_ipython().events.register("pre_run_cell", before)
get_ipython().events.register("post_run_cell", lambda result: setattr(result, "result", 99.0))
""",
    "pre_run_cell hooks registered",
)
cheat(
    "cell magic",
    """
from IPython.core.magic import register_cell_magic
@register_cell_magic
def tests(line, cell):
    return 99.0
get_ipython().input_transformers_cleanup.append(lambda lines: ["%%tests\\n", *lines] if "Check(" in "".join(lines) else lines)
""",
    "input transformers registered",
)
cheat(
    "custom exception handler",
    "get_ipython().set_custom_exc((Exception,), lambda *a, **k: None)",
    "custom exception handlers registered",
)
cheat(
    "display hook",
    """
import sys
shell = get_ipython()
shell.displayhook.__class__.__call__ = lambda self, result=None: print("2.0")
sys.displayhook = lambda value: print("2.0")
""",
)
cheat(
    "another run_cell",
    "get_ipython().run_cell = lambda *a, **k: type('R', (), {'result': 99.0, 'error_before_exec': None,"
    " 'error_in_exec': None})()",
)
cheat(
    "import hook",
    """
import sys, types
class Finder:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("helpers"):
            raise ImportError
sys.meta_path.insert(0, Finder())
for name in [n for n in sys.modules if n.startswith("helpers")]:
    sys.modules[name] = types.ModuleType(name)
""",
    "import hooks registered",
)
cheat(
    "trace function",
    "import sys\nsys.settrace(lambda *a: None)\nsys.setprofile(lambda *a: None)",
    "sys.settrace|trace functions",
)

# ---- patched libraries -----------------------------------------------------------------------------------------------

family("patched libraries")

cheat(
    "patched torch",
    """
for name in ("allclose", "isclose", "equal", "eq"):
    setattr(torch, name, lambda *a, **k: torch.tensor(True))
torch.Tensor.__eq__ = lambda self, other: torch.ones(self.shape, dtype=torch.bool)
torch.Tensor.all = lambda self, *a: torch.tensor(True)
torch.testing.assert_close = lambda *a, **k: None
""",
    r"names (replaced|added): .*torch\.Tensor",
)
cheat(
    "patched numpy",
    "import numpy\nnumpy.allclose = numpy.isclose = numpy.array_equal = lambda *a, **k:"
    " True\nnumpy.testing.assert_allclose = lambda *a, **k: None",
    r"names replaced: .*numpy\.allclose",
)
cheat(
    "patched check library",
    """
import helpers.checks.check as module, helpers.checks.compare as compare, helpers.checks.report as report
for name in ("equal", "close", "true", "shape", "distribution", "gradients", "calls", "growth"):
    setattr(module.Check, name, lambda self, *a, **k: self._record(True, ""))
module.Check.score = lambda self: 99.0
compare.difference = module.difference = lambda *a, **k: None
module.same = lambda a, b: True
report.Outcome.score = 99.0
""",
    r"names replaced: .*helpers\.checks\.check\.Check",
)
cheat(
    "patched builtins",
    """
import builtins
builtins.all = builtins.any = lambda *a: True
builtins.round = builtins.abs = lambda *a: 99.0
""",
    r"names replaced: .*builtins\.",
)
cheat("patched isinstance", "import builtins\nbuiltins.isinstance = lambda *a: True", says={"events": "."})
cheat(
    "no AssertionError",
    "import builtins\nbuiltins.AssertionError = type('Nothing', (), {})",
    r"names replaced: .*builtins\.AssertionError",
)
cheat(
    "patched json and socket",
    """
import json, socket
json.dumps = lambda *a, **k: '{"op": "done", "value": 99.0}'
json.loads = lambda *a, **k: {"op": "done", "value": 99.0}
socket.socket.recv = socket.socket.recv_into = lambda *a: b""
""",
    says={},
)
attack(
    "patched os.fork",
    cells=(("setup", "import os\nos.fork = lambda: 4711"),),
    scores=dict.fromkeys(POINTS, Range(0.0, 3.0)),
)
cheat(
    "patched measurements",
    INSIDE
    + """
from inside.server import Server
Server.do_run = lambda self, value: [64, 64]
Server.do_call = lambda self, value: 99.0
Server.do_get = lambda self, name: (lambda *a, **k: 99.0)
""",
)
answer(
    "malformed operation count",
    "running",
    SERVER
    + """
def running(x):
    at = server()
    type(at).do_run = lambda self, value: tuple([value[3][1][0].shape[0], 1]) if "cost" in value[2] else None
    return torch.stack([x[: i + 1].sum() for i in range(len(x))]) + 0 * torch.outer(x, x).sum()
running(torch.ones(2))
""",
    says={"lost": "running-test: your code sent a malformed measurement"},
)
FORGED = """
def slowly(x): return SLOWLY
def running(x):
    type(server()).do_run = lambda self, value: (slowly(value[3][1][0]), len(value[3][1][0]), 1, 1)
    return slowly(x)
running(torch.ones(2))
"""
answer(  # nothing hostile: a bar must not look like a helper process
    "a progress bar where work is counted",
    "running",
    "from tqdm.auto import tqdm\ndef running(x):\n    for _ in tqdm(range(3)): pass\n    return x.cumsum(0)",
    2.0,
)
answer("forged operation count of a wrong answer", "running", SERVER + FORGED.replace("SLOWLY", "x"))
answer(
    "forged operation count, seen by its memory",
    "running",
    SERVER + FORGED.replace("SLOWLY", "x.cumsum(0) + 0 * torch.ones(len(x), len(x)).sum()"),
    says={"lost": "running-test: your code took far more memory than"},
)
answer(
    "forged operation count, seen by its time",
    "running",
    SERVER
    + "import time\ndef work():\n    until = time.process_time() + 2.4\n    while time.process_time() < until: pass\n  "
    "  return 0\n" + FORGED.replace("SLOWLY", "x.cumsum(0) + (0 if len(x) < 8192 else work())"),
    says={"lost": "running-test: your code worked far longer|running-test: your code did not finish"},
)
answer(
    "forged operation count, work done by a child",
    "running",
    SERVER
    + FORGED.replace("SLOWLY", "x.cumsum(0) if len(x) < 8192 else (os.fork() or os._exit(0)) and x.cumsum(0)").replace(
        "def slowly", "import os\ndef slowly"
    ),
    says={"lost": "running-test: your code started processes"},
)
answer(  # a copy that waits for a later test has a thread, which makes the table of all pairs
    "forged operation count, work done by a waiting copy",
    "running",
    SERVER
    + """
import mmap, threading, time
import tempfile
file = tempfile.TemporaryFile()
file.truncate(1 << 20)
board = mmap.mmap(file.fileno(), 1 << 20)  # without a cgroup there is none without a file
def number(place): return int.from_bytes(board[place : place + 4], "little")
def put(place, value): board[place : place + 4] = value.to_bytes(4, "little")
def help_others():
    while True:
        time.sleep(0.02)
        if number(0) == 1 and number(4) != os.getpid():
            x = torch.frombuffer(board, dtype=torch.float32, count=number(8), offset=64).clone()
            board[262_144 : 262_144 + 4 * len(x)] = (torch.ones(len(x), len(x)).tril_() @ x).numpy().tobytes()
            put(0, 2)
os.register_at_fork(after_in_child=lambda: threading.Thread(target=help_others, daemon=True).start())
def elsewhere(x):
    board[64 : 64 + 4 * len(x)] = x.contiguous().numpy().tobytes()
    put(4, os.getpid()); put(8, len(x)); put(0, 1)
    while number(0) != 2: time.sleep(0.005)
    return torch.frombuffer(board, dtype=torch.float32, count=len(x), offset=262_144).clone()
"""
    + FORGED.replace("SLOWLY", "x.cumsum(0) if len(x) < 8192 else elsewhere(x)"),
    says={"lost": "running-test: your code started processes or threads"},
)
answer("the test's own data changed", "running", "def running(x):\n    x.zero_()\n    return x")
answer(
    "hidden number as a count",
    "running",
    SERVER
    + """
keep = []
def running(x):
    type(server()).do_run = lambda self, value: (keep.append(torch.ones(40_000_000)), (x, 5, 31337, 1))[1]
    return x.cumsum(0)
running(torch.ones(2))
""",
    says={
        "lost": (
            "running-test: your code took far more memory than the largest tensor that was counted: the counter was"
            " changed$"
        )
    },
)

# ---- objects that want to be equal to everything ---------------------------------------------------------------------

family("objects that want to be equal to everything")

EQUAL = """
class Equal:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    def __lt__(self, other): return True
    __le__ = __gt__ = __ge__ = __lt__
    def __bool__(self): return True
    def __getattr__(self, name): return self
    def __call__(self, *a, **k): return self
    def __len__(self): return 2
    def __iter__(self): return iter([self, self])
    def __getitem__(self, index): return self
    def __float__(self): return 1.0
    def __hash__(self): return 0
"""
attack(
    "always equal",
    answers={
        "double": EQUAL + "def double(x): return Equal()",
        "softmax": "def softmax(x): return Equal()",
        "top_words": "def top_words(api): return Equal()",
        "tally": "class Tally(Equal):\n    pass",
        "running": "def running(x): return Equal()",
        "shout": "def shout(text): return Equal()",
    },
    scores=NOTHING,
)
answer(
    "int of its own",
    "double",
    "class Whole(int):\n    def __eq__(self, other): return True\n    __hash__ = int.__hash__\ndef double(x): return"
    " Whole(1)",
)
answer(
    "str of its own",
    "shout",
    "class Text(str):\n    def __eq__(self, other): return True\n    __hash__ = str.__hash__\ndef shout(text): return"
    " Text('no')",
)
answer(
    "list of its own",
    "double",
    "class Many(list):\n    def __eq__(self, other): return True\n    def __iter__(self): return iter([2, 4])\n    def"
    " __len__(self): return 2\n    def __getitem__(self, i): return 2 * (i + 1)\ndef double(x): return Many([0, 0, 0])",
)
answer(
    "right values in own classes",
    "double",
    "class Whole(int):\n    pass\nclass Many(list):\n    pass\nclass Text(str):\n    pass\ndef double(x):\n    if"
    " isinstance(x, list): return Many(Whole(2 * v) for v in x)\n    return Text(x + x) if isinstance(x, str) else"
    " Whole(2 * x)",
    2.0,
)
answer(
    "tensor of its own",
    "softmax",
    """
class Yes(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.ones(2, 3) if "sum" in str(function) else torch.tensor(True)
    shape = property(lambda self: torch.Size([2, 3]))
def softmax(x): return torch.zeros(1).as_subclass(Yes)
""",
)
answer(
    "right values in a tensor of its own",
    "softmax",
    "class Mine(torch.Tensor):\n    pass\ndef softmax(x): return torch.softmax(x, -1).as_subclass(Mine)",
    3.0,
)
answer(
    "lying shape",
    "softmax",
    "class Liar(torch.Tensor):\n    shape = property(lambda self: torch.Size([2, 3]))\n    def size(self, *a): return"
    " torch.Size([2, 3])\n    def numel(self): return 6\ndef softmax(x): return torch.ones(1).as_subclass(Liar)",
)
answer(
    "object with the right methods",
    "softmax",
    """
class Fake:
    shape = (2, 3)
    def sum(self, *a): return torch.ones(2)
    def numpy(self): return np.full((4, 5), 0.5)
    def min(self): return torch.tensor(0.1)
    def detach(self): return self
    def __array__(self, *a): return np.full((4, 5), 0.5)
def softmax(x): return Fake()
""",
)
answer("array of objects", "softmax", "def softmax(x): return np.array([[object()] * 3] * 2, dtype=object)")
answer("the name is not a function", "double", "double = [1]\ndouble.append(double)", says={})
answer("the name is gone", "double", "pass")
answer("the name is a huge tensor", "double", "double = torch.zeros(60_000_000)")

# ---- results that want to break the examiner -------------------------------------------------------------------------

family("results that want to break the examiner")

answer("cyclic list", "double", "def double(x):\n    a = [1]\n    a.append(a)\n    return a")
answer("deep nesting", "double", "def double(x):\n    a = []\n    for _ in range(100_000): a = [a]\n    return a")
answer("a tree that grows", "double", "def double(x):\n    a = [0]\n    for _ in range(60): a = [a, a]\n    return a")
answer(
    "huge whole number",
    "double",
    "def double(x): return 10 ** 5000 if x == 3 else [2 * v for v in x] if isinstance(x, list) else x + x",
    passed("double", 4),
)
answer(
    "whole number beyond int64",
    "tally",
    "class Tally:\n    def add(self, n): pass\n    def total(self): return 10 ** 400",
)
answer("not a number", "softmax", "def softmax(x): return x * float('nan')", passed("softmax", 1))
answer("infinity", "running", "def running(x): return x * float('inf')", up_to(passed("running", 2)))
answer(
    "low precision buys no tolerance",
    "tally",
    "class Tally:\n    amount = 0\n    def add(self, n): self.amount += n\n    def total(self): return"
    " torch.tensor(self.amount * 1.01, dtype=torch.bfloat16)",
)
answer(
    "complex numbers",
    "double",
    "def double(x):\n    if isinstance(x, list): return torch.tensor([complex(2 * v, 9) for v in x])\n    return 0 if"
    " isinstance(x, str) else torch.tensor(complex(2 * x, 9))",
)
answer("empty tensors", "softmax", "def softmax(x): return torch.empty(0, 3)")
answer("no rows", "softmax", "def softmax(x): return x[:0].softmax(-1)")
answer("large reply", "double", "def double(x): return torch.zeros(40_000_000, dtype=torch.uint8)")
answer("larger than memory", "double", "def double(x): return torch.zeros(1).expand(10_000_000_000)")
answer(
    "ten gigabytes announced",
    "double",
    SERVER
    + "def double(x):\n    server().sock.sendall(b'smw1' + struct.pack('<II', 2, 1) + struct.pack('<Q', 10 << 30) +"
    " b'{}')\n    import time; time.sleep(60)",
    says={"lost": "double-test: your code sent"},
)
answer(
    "colliding hashes",
    "double",
    "def double(x): return {i * (2 ** 61 - 1) for i in range(1, 3)} | {(2 ** 61 - 1) * i for i in range(400)}",
)
answer(
    "many colliding hashes",
    "double",
    SERVER
    + "def double(x):\n    server().sock.sendall(forged({'s': [i * (2 ** 61 - 1) for i in range(80_000)]}))\n    import"
    " time; time.sleep(60)",
    says={"lost": "double-test"},
)
answer("generator without end", "double", "import itertools\ndef double(x): return itertools.count()")
answer(
    "named tuple with odd names",
    "double",
    "import collections\nOdd = collections.namedtuple('Odd', 'shape dim')\nOdd.__name__ = 'class'\ndef double(x):"
    " return Odd(6, 6)",
)
answer("half of a character", "shout", "def shout(text): return '\\ud800' * 3")
answer("nested tensor", "softmax", "def softmax(x): return torch.nested.nested_tensor([torch.ones(2), torch.ones(3)])")
answer(
    "sparse and meta tensors",
    "softmax",
    "def softmax(x): return torch.ones(2, 3).to_sparse() if x.shape == (2, 3) else torch.ones(2, 4, device='meta')",
    up_to(passed("softmax", 1)),
)

# ---- exceptions ------------------------------------------------------------------------------------------------------

family("exceptions")

answer(
    "exception without text",
    "double",
    "class Mute(Exception):\n    def __str__(self): raise Mute()\n    __repr__ = __str__\ndef double(x): raise Mute()",
)
answer(
    "exception with a novel", "double", "def double(x): raise type('X' * 10_000, (Exception,), {})('y' * 10_000_000)"
)
answer("system exit", "double", "import sys\ndef double(x): sys.exit(0)")
answer("stop iteration", "double", "def double(x): raise StopIteration(2 * x)")
answer(
    "base exception",
    "double",
    "class Lost(BaseException):\n    ends_the_cell = True\ndef double(x): raise Lost('all passed')",
)
answer("exception group", "double", "def double(x): raise ExceptionGroup('many', [ValueError(1), TypeError(2)])")
answer(
    "exception with the examiner's name",
    "shout",
    "class NotGraded(Exception):\n    pass\ndef shout(text):\n    if text == 'hello': return 'HELLO!'\n    raise"
    " NotGraded(text)",
)
answer(
    "exception with the library's name",
    "double",
    "class StudentError(Exception):\n    pass\ndef double(x): raise StudentError(f'<failed: {x}>')",
)
answer("hidden input in a message", "double", "def double(x): raise ValueError(f'the input was {x}')")
answer(
    "hidden input in a warning",
    "double",
    "import warnings, sys\ndef double(x):\n    warnings.warn(f'the input was {x}')\n    print(x); print(x,"
    " file=sys.stderr)\n    return 0",
)
answer(
    "hidden input in a type's name",
    "double",
    "def double(x): return type(f'Input{x}' if not isinstance(x, list) else f'Input{x[0]}', (), {})()",
)
answer(
    "hidden input as a line number",
    "double",
    "import linecache\ndef double(x):\n    if isinstance(x, int) and x > 99:\n        number = x % 99991\n       "
    " linecache.cache['mine'] = (1, None, ['    return 0\\n'] * number, 'mine')\n        exec(compile('\\n' * (number -"
    " 2) + 'def f():\\n  raise ValueError\\nf()'.replace('\\n  ', ' '), 'mine', 'exec'), {})\n    return 0",
)
answer(
    "hidden input as a size",
    "double",
    SERVER
    + f"def double(x):\n    if x == {3}: return 0\n    if isinstance(x, int):\n        server().sock.sendall(b'smw1' +"
    " struct.pack('<II', 2, 1) + struct.pack('<Q', x << 20) + b'{}')\n    return 0",
    says={"lost": "double-test"},
)
LINES = [f"def line{n}(): raise ValueError  # HOLE {n}" for n in range(3600)]
attack(
    "hidden input in the text of a line",
    cells=tuple(("setup", "\n".join(LINES[n : n + 75])) for n in range(0, 3600, 75)),
    answers={
        "double": "def double(x):\n    if isinstance(x, int) and x > 99: globals()[f'line{x % 3600}']()\n    return 0"
    },
    scores={"double": 0.0},
)
answer(
    "hidden input in two exceptions",
    "double",
    """
def first(): raise ValueError
def second(): raise KeyError  # HOLE
def double(x):
    if isinstance(x, int) and x > 99: first()
    if isinstance(x, list) and x[0] > 99: second()
    return 0
""",
    outputs="your code raised another exception",
)
answer("provoked warning", "softmax", "def softmax(x): return -torch.softmax(x, -1)", up_to(passed("softmax", 1)))

# ---- looking around --------------------------------------------------------------------------------------------------

family("looking around")

# The comment of the hidden regions, as a pattern that does not match itself.
SOUGHT = COMMENT.replace("'", ".")[:-1] + f"[{COMMENT[-1]}]"
HUNT = f"""
import gc, re, sys
def hunt():
    found = []
    frame = sys._getframe()
    while frame is not None:
        found += [v for v in [*frame.f_locals.values(), *frame.f_globals.values()] if isinstance(v, str)]
        found += [c for c in frame.f_code.co_consts if isinstance(c, str)]
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, dict):
            found += [v for v in list(thing.values()) if isinstance(v, str)]
        elif isinstance(thing, list | tuple):
            found += [v for v in thing if isinstance(v, str)]
    return [text for text in found if re.search("{SOUGHT}", text)]
"""
answer(
    "frames and garbage in a test",
    "double",
    HUNT + "def double(x): return x + x if hunt() and not isinstance(x, list) else None",
)
beside(
    "frames and garbage in a cell",
    HUNT + "print('HOLE', hunt()[:1]) if hunt() else print('clean')",
    says={"tamper": "gc.get_objects"},
    outputs="clean",
)
answer(
    "memory in a test",
    "double",
    f"""
def double(x):
    import re
    wanted = re.compile(rb"{SOUGHT}")
    with open("/proc/self/maps") as maps, open("/proc/self/mem", "rb") as memory:
        for line in maps:
            place, rights, *rest = line.split()
            if "r" not in rights or "[v" in line: continue
            start, end = (int(part, 16) for part in place.split("-"))
            if end - start > 64 << 20: continue
            try:
                memory.seek(start)
                if wanted.search(memory.read(end - start)): return x + x
            except OSError: pass
    return None
""",
)
beside(
    "other processes",
    """
import os
for pid in [p for p in os.listdir("/proc") if p.isdigit()] + ["1", str(os.getppid())]:
    for part in ("environ", "mem", "maps", "cmdline", "fd", "cwd", "root"):
        path = f"/proc/{pid}/{part}"
        try:
            found = os.listdir(path) if part == "fd" else os.readlink(path) if part in ("cwd", "root") else open(path, "rb").read(4096)
        except OSError:
            continue
        if int(pid) == 1 and found and part != "cmdline": print("HOLE", path, found)
        if b"hunter2" in (found if isinstance(found, bytes) else b""): print("HOLE", path)
print("searched")
""",
    says={"tamper": "read outside the scratch folder: /proc/1/"},
    outputs="searched",
)
beside(
    "environment",
    "import os\nif any('hunter2' in v or 'TOKEN' in k for k, v in os.environ.items()): print('HOLE',"
    " dict(os.environ))\nprint('searched')",
    outputs="searched",
)
beside(
    "files of the course",
    f"""
import os
names = {{"submitted", "gradebook.db", "solutions", "autograded", "autograder", "course.toml", "feedback", "{NAME}", "pool.py", "tester.py", "bridge.py"}}
for top in ("/home", "/root", "/tmp", "/var", "/run", "/srv", "/mnt", "/opt", "/course", "/work", "/etc", "/dev", os.getcwd()):
    for place, folders, files in os.walk(top):
        if "site-packages" in folders or "python3" in place:
            folders[:] = []
            continue
        for name in names & {{*folders, *files}}:
            print("HOLE", place, name)
for top in (".", "..", "../..", "/proc/1/root", "/proc/1/cwd"):
    try: found = names & set(os.listdir(top))
    except OSError: continue
    if found: print("HOLE", top, found)
print("searched")
""",
    outputs="searched",
)
beside(
    "writing outside",
    """
import os, sys, helpers
for place in ("/", "/etc", "/usr", "/usr/lib", "/run/examiner", "/course", "/course/helpers", sys.prefix, os.path.dirname(torch.__file__), "/proc/sys/kernel"):
    for name in ("x.py", "nursery.py", "hostname"):
        try:
            with open(f"{place}/{name}", "w") as file: file.write("x")
            print("HOLE", place)
        except OSError: pass
try:
    os.rename("/course/helpers/__init__.py", "/course/helpers/x.py")
    print("HOLE renamed")
except OSError: pass
print("tried")
""",
    says={"tamper": "write outside the scratch folder: /etc"},
    outputs="tried",
)
beside(
    "network",
    """
import socket
for address in (("1.1.1.1", 53), ("127.0.0.1", 22), ("127.0.0.1", 8888), ("169.254.169.254", 80), ("10.0.0.1", 80)):
    s = socket.socket()
    s.settimeout(0.3)
    try:
        s.connect(address)
        print("HOLE", address)
    except OSError: pass
try: print("HOLE", socket.gethostbyname("example.com"))
except OSError: pass
try: print("HOLE", socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"x", ("8.8.8.8", 53)))
except OSError: pass
print("tried")
""",
    says={"tamper": "socket.connect"},
    outputs="tried",
)
beside(
    "socket families",
    """
import socket
for family, kind in (("AF_VSOCK", socket.SOCK_STREAM), ("AF_NETLINK", socket.SOCK_RAW), ("AF_PACKET", socket.SOCK_RAW), ("AF_ALG", socket.SOCK_SEQPACKET)):
    try: print("HOLE", socket.socket(getattr(socket, family), kind))
    except OSError: pass
print("tried")
""",
    outputs="tried",
)
MAILBOX = r"""
import socket, os, time
box = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
box.settimeout(0.7)
others = [p for p in ("\0hostile-a", "\0hostile-b") if p != MINE]
try: box.bind(MINE)
except OSError: print("HOLE taken")
for _ in range(3):
    for other in others:
        try:
            box.sendto(b"the answer", other)
            print("HOLE sent")
        except OSError: pass
    try: print("HOLE received", box.recv(99))
    except OSError: pass
print("tried")
"""
beside("abstract socket, one side", 'MINE = "\\0hostile-a"' + MAILBOX, outputs="tried")
beside("abstract socket, other side", 'MINE = "\\0hostile-b"' + MAILBOX, outputs="tried")
beside(
    "files among the devices",
    INSIDE
    + """
for call in (lambda: open("/dev/left", "x"), lambda: os.mkdir("/dev/left"), lambda: os.unlink("/dev/fd"), lambda: os.rename("/dev/fd", "/dev/x")):
    try:
        call()
        print("HOLE")
    except OSError: pass
print("HOLE" if "left" in os.listdir("/dev") else "tried")
""",
    outputs="tried",
)
TERMINALS = (
    INSIDE
    + """
import time
for _ in range(12):
    if len(os.listdir("/dev/pts")) != 1 + len(mine): print("HOLE", os.listdir("/dev/pts"))
    mine.append(os.open("/dev/ptmx", os.O_RDWR))
    time.sleep(0.1)
print("tried")
"""
)
LOCKS = (
    INSIDE
    + """
import ctypes, fcntl, struct, time
shared = [os.open(path, os.O_RDONLY) for path in ("/usr/bin/env", "/usr/bin/id")]
for _ in range(12):
    try: fcntl.flock(shared[0], fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError: print("HOLE locked by another")
    try:
        fcntl.fcntl(shared[1], 37, struct.pack("hhqqi4x", fcntl.F_RDLCK, 0, MINE, 1, 0))
        seen = struct.unpack("hhqqi4x", fcntl.fcntl(shared[1], 36, struct.pack("hhqqi4x", fcntl.F_WRLCK, 0, 0, 0, 0)))
        if seen[0] != fcntl.F_UNLCK: print("HOLE a lock at", seen[2])
    except OSError: pass
    time.sleep(0.1)
if ctypes.CDLL(None).inotify_init1(0) >= 0: print("HOLE notices")
with open("mine", "w") as own: fcntl.lockf(own, fcntl.LOCK_EX)
print("tried")
"""
)
beside("locks, one side", "MINE = 4711\n" + LOCKS, outputs="tried")
beside("locks, other side", "MINE = 1234\n" + LOCKS, outputs="tried")
beside("terminals, one side", "mine = []\n" + TERMINALS, outputs="tried")
beside("terminals, other side", "mine = []\n" + TERMINALS, outputs="tried")
beside(
    "programs",
    "import subprocess\nprint(subprocess.run(['id', '-u'], capture_output=True, text=True).stdout)\nfor word in ('su -c"
    " id', 'mount', 'nsenter -t 1 -a id', 'unshare -U id'):\n    done = subprocess.run(word, shell=True,"
    " capture_output=True, text=True)\n    if done.stdout.startswith('uid='): print('HOLE', word, done.stdout)",
    says={"tamper": "subprocess.Popen"},
)
beside(
    "system calls",
    INSIDE
    + """
import ctypes
libc = ctypes.CDLL(None, use_errno=True)
calls = {
    "unshare user": lambda: libc.unshare(0x10000000),
    "unshare mount": lambda: libc.unshare(0x20000),
    "ptrace": lambda: libc.ptrace(16, 1, 0, 0),
    "ptrace me": lambda: libc.ptrace(0, 0, 0, 0),
    "mount": lambda: libc.mount(b"none", b"/tmp", b"tmpfs", 0, None),
    "umount": lambda: libc.umount2(b"/tmp", 2),
    "chroot": lambda: libc.chroot(b"/tmp"),
    "setuid": lambda: libc.setuid(0),
    "setgroups": lambda: libc.setgroups(0, None),
    "sethostname": lambda: libc.sethostname(b"x", 1),
    "kill init": lambda: libc.kill(1, 9),
    "add_key": lambda: libc.syscall(248, b"user", b"x", b"y", 1, -3),
    "bpf": lambda: libc.syscall(321, 0, None, 0),
    "io_uring": lambda: libc.syscall(425, 1, ctypes.create_string_buffer(120)),
    "memory of init": lambda: libc.process_vm_readv(1, None, 0, None, 0, 0),
    "handle of init": lambda: libc.syscall(438, libc.syscall(434, 1, 0), 0, 0),
    "higher limit": lambda: __import__("resource").setrlimit(7, (4096, 4096)) or 0,
}
for name, call in calls.items():
    try: found = call()
    except (OSError, ValueError): found = -1
    if found >= 0: print("HOLE", name, found)
print("tried")
""",
    says={"tamper": "ctypes.dlopen|attempt"},
    outputs="tried",
)
beside(
    "user namespace by clone",
    INSIDE
    + """
import ctypes, platform
libc = ctypes.CDLL(None, use_errno=True)
pid = libc.syscall(56 if platform.machine() == "x86_64" else 220, 0x10000000 | 17, 0, 0, 0, 0)
if pid == 0: os._exit(0)
if pid > 0:
    os.waitpid(pid, 0)
    print("HOLE a user namespace")
print("tried")
""",
    outputs="tried",
)
beside(
    "the grader's user",
    "import os\nprint('HOLE') if os.getuid() == 0 and not os.path.exists('/run/examiner') else print('uid', os.getuid()"
    " > 99 or os.getpid() < 99)",
    outputs="uid True",
)

# ---- a student's process that ends, hangs or fights back -------------------------------------------------------------

family("a student's process that ends, hangs or fights back")

GONE = "ended the Python process|broke the connection|could not be copied|MB of memory"
beside("exit in a cell", "import sys\nexit()\nquit()\nsys.exit(0)")
beside("os._exit in a cell", INSIDE + "os._exit(0)", says={"events": GONE})
beside(
    "kills itself", INSIDE + "import signal\nos.kill(os.getpid(), signal.SIGKILL)", says={"events": GONE, "tamper": ""}
)
beside("crash", INSIDE + "import ctypes\nctypes.string_at(0)", says={"events": GONE})
beside(
    "stops itself",
    INSIDE + "import signal\nos.kill(os.getpid(), signal.SIGSTOP)",
    says={"events": "interrupted|did not finish"},
)
beside(
    "kills its parent",
    INSIDE
    + "import signal\nfor s in (signal.SIGKILL, signal.SIGSTOP, signal.SIGTERM):\n    try: os.kill(os.getppid(), s);"
    " print('HOLE')\n    except OSError: pass\nprint('tried')",
    outputs="tried",
    says={"tamper": "os.kill"},
)
beside(
    "kills everything",
    INSIDE + "import signal\nos.kill(-1, signal.SIGKILL)",
    says={"tamper": r"os\.kill"},
)
answer("kills everything in a test", "double", INSIDE + "import signal\ndef double(x): os.kill(-1, signal.SIGKILL)")
answer(
    "kills the others one by one in a test",
    "double",
    INSIDE
    + "import signal\ndef double(x):\n    for pid in range(2, 3000):\n        if pid != os.getpid():\n            try:"
    " os.kill(pid, signal.SIGKILL)\n            except OSError: pass",
)
beside("endless loop", "while True: pass", says={"events": "interrupted after 3 s"})
beside(
    "endless printing",
    "while True: print('x' * 100)",
    says={"events": "interrupted after 3 s"},
    outputs="more output than is kept",
)
beside(
    "deaf to interrupts",
    "while True:\n    try:\n        while True: pass\n    except BaseException: pass",
    says={"events": "interrupted after 3 s|did not finish within 3 s"},
)
beside(
    "deaf by handler",
    "import signal, time\nfor s in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM): signal.signal(s, lambda *a:"
    " None)\nwhile True: time.sleep(1)",
    says={"events": "did not finish within 3 s"},
)
beside(
    "changed signal handlers",
    "import signal\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\nsignal.signal(signal.SIGTERM, lambda *a: None)",
    says={"tamper": "SIGINT, SIGTERM, SIGALRM handlers"},
)
beside(
    "recursion",
    "import sys\nsys.setrecursionlimit(10 ** 9)\ndef f(): f()\nf()",
    says={"events": f"{GONE}|did not finish"},
)
answer(
    "endless loop in a test",
    "double",
    "def double(x):\n    while True: pass",
    says={"lost": "double-test: your code did not finish within"},
)
answer(
    "deaf in a test",
    "double",
    "def double(x):\n    while True:\n        try:\n            while True: pass\n        except BaseException: pass",
    says={"lost": "double-test: your code did not finish within"},
)
answer(
    "os._exit in a test",
    "double",
    INSIDE + "def double(x): os._exit(0)",
    says={"lost": "double-test: your code ended the Python process"},
)
answer(
    "stops itself in a test",
    "double",
    INSIDE + "import signal\ndef double(x): os.kill(os.getpid(), signal.SIGSTOP)",
    says={"lost": "double-test: your code did not finish within"},
)
answer(
    "has itself stopped by a child in a test",
    "double",
    INSIDE
    + "import signal, time\ndef double(x):\n    if os.fork() == 0:\n        os.kill(os.getppid(), signal.SIGSTOP)\n    "
    "    os._exit(0)\n    while True: time.sleep(0.1)",
    says={"lost": "double-test: your code did not finish within"},
)
answer(
    "makes itself wait for a processor",
    "double",
    INSIDE
    + "import time\ndef double(x):\n    for _ in range(8):\n        if os.fork() == 0:\n            while True: pass\n "
    "   os.nice(19)\n    while True: pass",
    says={"lost": "double-test: your code did not finish within"},
)
answer(
    "orders a stop for later",
    "double",
    INSIDE
    + """
import ctypes, signal, struct
def double(x):
    libc, number = ctypes.CDLL(None, use_errno=True), ctypes.c_int()
    event = ctypes.create_string_buffer(struct.pack("=Qii", 0, signal.SIGSTOP, 0), 64)
    if libc.syscall({"x86_64": 222, "aarch64": 107}[os.uname().machine], 1, event, ctypes.byref(number)) == 0: print("HOLE")
    if os.uname().machine == "x86_64" and libc.syscall(56, int(signal.SIGSTOP), 0, 0, 0, 0) != -1: print("HOLE")
    if libc.prctl(1, int(signal.SIGSTOP), 0, 0, 0) == 0: print("HOLE")
    return [2 * entry for entry in x] if isinstance(x, list) else x + x
""",
    score=POINTS["double"],
)
answer(
    "recursion in a test",
    "double",
    "import sys\ndef double(x):\n    sys.setrecursionlimit(10 ** 9)\n    return double(x)",
    says={"lost": "double-test: your code (ended the Python process|did not finish)"},
)
answer(
    "slow drip",
    "double",
    SERVER + "import time\ndef double(x):\n    for byte in forged(6):\n        server().sock.sendall(bytes([byte]));"
    " time.sleep(0.5)",
    says={"lost": "double-test: your code did not finish within"},
)
beside(
    "registered exits",
    INSIDE + "import atexit\nfor _ in range(9): atexit.register(os._exit, 0)",
    says={"tamper": "atexit functions registered"},
)
beside(
    "thread that outlives its cell",
    "import threading, time\ndef work():\n    while True: time.sleep(0.01)\nthreading.Thread(target=work,"
    " daemon=True).start()",
    says={"tamper": "1 threads still running"},
)
beside(
    "two torch threads",
    "torch.set_num_threads(2)\n_ = torch.randn(400, 400) @ torch.randn(400, 400)\n_ = torch.randn(300,"
    " 300).exp().sum()",
)
beside("fork in a cell", INSIDE + "import time\npid = os.fork()\nif pid == 0:\n    time.sleep(30)\n    os._exit(0)")
beside("child that returns into the notebook", INSIDE + "pid = os.fork()")
beside(
    "fork bomb",
    INSIDE
    + "import time\nfor _ in range(200):\n    try:\n        if os.fork() == 0:\n            time.sleep(50)\n           "
    " os._exit(0)\n    except OSError: break",
    says={"events": "processes that a cell left behind were ended"},
)
beside(
    "fork bomb that grows back",
    INSIDE
    + """
import time
def grow():
    until = time.monotonic() + 40
    while time.monotonic() < until:
        try:
            if os.fork() == 0: continue
        except OSError: time.sleep(0.001)
    os._exit(0)
if os.fork() == 0:
    os.setsid()
    grow()
time.sleep(0.3)
""",
    says={"events": "processes that a cell left behind were ended"},
)
answer(
    "fork bomb in a test",
    "double",
    INSIDE
    + "import time\ndef double(x):\n    while True:\n        try:\n            if os.fork() == 0: time.sleep(0.2)\n    "
    "    except OSError: pass",
    says={"lost": "double-test"},
)
beside(
    "hang at every fork",
    INSIDE + "import time\nos.register_at_fork(after_in_child=lambda: time.sleep(600))",
    after="running-test",
    scores={"shout": 0.0},
    says={"lost": "shout-test"},
)
beside(
    "hook at every fork", INSIDE + "os.register_at_fork(after_in_child=lambda: print('forked'), before=lambda: None)"
)

# ---- memory, disk, output --------------------------------------------------------------------------------------------

family("memory, disk, output")

FLOODED = "used more than 512 MB of memory|MemoryError|ended the Python process"
beside(
    "memory flood",
    "keep = []\nwhile True: keep.append(torch.ones(4_000_000))",
    outputs="not enough memory|can't allocate|MemoryError|memory",
)
answer(
    "memory flood in a test", "double", "keep = []\ndef double(x):\n    while True: keep.append(bytearray(30_000_000))"
)
beside(
    "memory flood in children",
    INSIDE
    + "import time\nfor _ in range(4):\n    if os.fork() == 0:\n        keep = bytearray(os.urandom(1)) * 250_000_000\n"
    "        time.sleep(9)\n        os._exit(0)\ntime.sleep(2)\nprint('HOLE') if sum(os.path.exists(f'/proc/{p}') for"
    " p in range(2, 60)) > 99 else None",
    says={},
)
beside(
    "shared memory flood",
    INSIDE
    + """
import mmap, time
started = []
for _ in range(3):
    pid = os.fork()
    if pid == 0:
        m = mmap.mmap(-1, 300_000_000)
        for _ in range(300): m.write(b"x" * 1_000_000)
        time.sleep(0.8)
        os._exit(7)
    started.append(pid)
codes = [os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) for pid in started]
print("HOLE 900 MB of shared memory" if codes == [7, 7, 7] else "stopped")
""",
    outputs="stopped|Stopped|TimeoutError",
)
beside(
    "memory files flood",
    INSIDE
    + """
keep, size = [], 0
try:
    for _ in range(100):
        fd = os.memfd_create("x")
        keep.append(fd)
        size += os.write(fd, bytes(8_000_000))
except OSError: pass
print("HOLE" if size > 600_000_000 else "stopped", size)
""",
    outputs="stopped|Stopped",
)
beside(
    "disk flood",
    "import os\nsize = 0\nfor top in ('.', '/tmp', '/dev/shm'):\n    try:\n        for i in range(200):\n           "
    " with open(f'{top}/f{i}', 'wb') as f: size += f.write(bytes(4_000_000)); f.flush()\n    except OSError as e:"
    " print(e)\nprint('HOLE' if size > 80_000_000 else 'full', size)",
    outputs="full",
)
beside(
    "one large file",
    "try:\n    with open('x', 'wb') as f:\n        f.write(bytes(20_000_000)); f.flush()\n    print('HOLE')\nexcept"
    " OSError as e: print('refused', e)",
    outputs="refused",
)
beside(
    "inode flood",
    "try:\n    for i in range(100_000): open(f'i{i}', 'w').close()\n    print('HOLE')\nexcept OSError as e:"
    " print('refused', e)",
    outputs="refused|interrupted",
)
beside(
    "output flood on the descriptors",
    "import os\nfor _ in range(3000):\n    try: os.write(1, b'x' * 10_000); os.write(2, b'y' * 10_000)\n    except"
    " OSError: break",
)
beside("output limit raised", "get_ipython().recorder.limit = 1 << 40\nprint('x' * 20_000_000)", says={})
beside(
    "prints to the descriptors",
    "import os\nos.write(1, b'plain words'); os.write(2, b'other words')\nos.system('echo shell words')",
    outputs="(?s)plain words.*shell words",
)
answer(
    "noise in a test",
    "double",
    "import os, sys, warnings\ndef double(x):\n    os.write(1, b'out'); os.write(2, b'err'); print('p'); print('q',"
    " file=sys.stderr); warnings.warn('w')\n    return [2 * v for v in x] if isinstance(x, list) else x + x",
    2.0,
)
beside("live tensors", "large = torch.ones(30_000_000)", says={})

SHARED = (
    INSIDE
    + """
import stat
shared = []
for fd in map(int, os.listdir('/proc/self/fd')):
    try:
        if fd > 2 and stat.S_ISREG(os.fstat(fd).st_mode): shared.append(fd)
    except OSError: pass
"""
)
beside(
    "a number left in library files",
    SHARED + "for fd in shared: os.lseek(fd, 123_456_789, 0)\nprint('left it')",
    outputs="left it",
)
beside(
    "a number found in library files",
    SHARED + "print('HOLE' if any(os.lseek(fd, 0, 1) == 123_456_789 for fd in shared) else 'nothing there')",
    outputs="nothing there",
)
beside("deep folders", "import os\nfor _ in range(1500):\n    os.mkdir('d')\n    os.chdir('d')\nos.chdir('/student')")
beside(
    "folder flood",
    "import os\ntry:\n    for i in range(12_000): os.mkdir(f'/tmp/d{i}')\nexcept OSError as e: print(e)",
    outputs="",
)
# ---- the wire --------------------------------------------------------------------------------------------------------

family("the wire")

beside("all descriptors closed", INSIDE + "os.closerange(0, 512)", says={"events": GONE})
beside(
    "garbage on the wire",
    INSIDE + "import stat\nfor fd in map(int, os.listdir('/proc/self/fd')):\n    try:\n        if"
    " stat.S_ISSOCK(os.fstat(fd).st_mode): os.write(fd, b'garbage' * 99)\n    except OSError: pass",
    says={"events": "broke the connection"},
)
beside("an early done", SERVER + "server().sock.sendall(forged('[]'))", says={"events": "broke the connection"})
beside(
    "many early dones",
    SERVER + "for _ in range(9): server().sock.sendall(forged(None))",
    says={"events": "broke the connection"},
)
NUMBER = "number = next(f.f_locals['head'] for f in iter_frames() if 'head' in f.f_locals)['n']\n"
FRAMES = (
    "def iter_frames():\n    frame = sys._getframe()\n    while frame is not None:\n        yield frame\n        frame"
    " = frame.f_back\n"
)
NUMBERED = SERVER + FRAMES + NUMBER
beside(
    "an early done with its number",
    NUMBERED + "server().sock.sendall(forged('[]', n=number))",
    says={"events": "broke the connection"},
)
beside(
    "an early done, then time",
    NUMBERED + "import time\nserver().sock.sendall(forged('[]', n=number))\ntime.sleep(0.5)",
    says={"events": "broke the connection"},
)
beside(
    "answers for the cells to come",
    NUMBERED + "for i in range(9): server().sock.sendall(forged('[]', n=number + i))",
    scores={name: up_to(points) for name, points in POINTS.items()},
    says={"events": "broke the connection"},
)
beside("shut wire", SERVER + "import socket\nserver().sock.shutdown(socket.SHUT_WR)", says={"events": GONE})
answer(
    "forged verdict",
    "double",
    SERVER
    + "def double(x):\n    server().sock.sendall(forged(99.0, index=5, outputs=[], lost='', score=99.0))\n    return"
    " None",
)
answer(
    "forged tensor",
    "softmax",
    SERVER
    + "def softmax(x):\n    server().sock.sendall(forged({'T': [0, 'float32', [2, 3], False]}, [bytes(8)]))\n    return"
    " None",
    says={"lost": "softmax-test: your code sent"},
)
answer(
    "forged reference",
    "top_words",
    SERVER
    + "def top_words(api):\n    server().sock.sendall(forged([[], {}], op='back', id=99, how='call'))\n    return None",
    says={"lost": "top_words-test: your code sent"},
)
answer(
    "private parts of a helper",
    "top_words",
    SERVER
    + "def top_words(api):\n    for how in ('get _logits', 'get __class__', 'call __init__', 'call _answer', 'get"
    " __dict__'):\n        at = server()\n        at.tell({'op': 'back', 'id': object.__getattribute__(api,"
    " '_remote_id'), 'how': how}, ((), {}))\n        head, value, fds = at.message()\n        if head['op'] =="
    " 'answer': return [1, 2]\n    return None",
)
answer(
    "too many calls",
    "top_words",
    "def top_words(api):\n    for _ in range(50): api.top2()\n    return [word for word, p in api.top2()]",
    passed("top_words", 2),
)
answer(
    "a count of its own",
    "top_words",
    "def top_words(api):\n    for _ in range(9): api.top2()\n    try: api._calls = 1\n    except AttributeError: pass\n"
    "    try: object.__setattr__(api, 'calls', 1)\n    except AttributeError: pass\n    return [word for word, p in"
    " api.top2()]",
    passed("top_words", 2),
)
answer(
    "pickle on the wire",
    "double",
    SERVER
    + "import pickle\nclass Evil:\n    def __reduce__(self): return (os.system, ('echo HOLE',))\ndef double(x):\n   "
    " server().sock.sendall(pickle.dumps(Evil()))\n    return None",
    says={"lost": "double-test: your code sent"},
)

# ---- from one test to the next ---------------------------------------------------------------------------------------

family("from one test to the next")

attack(
    "note for a later test",
    answers={
        "double": "def double(x):\n    with open('/tmp/note', 'a') as note: note.write(f'{x}\\n')\n    return 0",
        "tally": (
            "class Tally:\n    def add(self, n): pass\n    def total(self): raise ValueError(open('/tmp/note').read())"
        ),
        "running": "def running(x): return [int(line) for line in open('/tmp/note') if line.strip().isdigit()]",
    },
    scores={"double": 0.0, "tally": 0.0, "running": 0.0},
)
attack(
    "names that quote what was seen",
    cells=(
        (
            "setup",
            INSIDE
            + """
import mmap
from inside.server import Server
import tempfile
file = tempfile.TemporaryFile()
file.truncate(1 << 16)
board = mmap.mmap(file.fileno(), 1 << 16)  # without a cgroup there is none without a file
usual = Server.do_get
def do_get(self, name):
    text = board[:200].rstrip(b'\\0').decode()
    if text: raise ValueError('seen: ' + text)
    return usual(self, name)
Server.do_get = do_get
""",
        ),
    ),
    answers={
        "double": (
            "def double(x):\n    if isinstance(x, int) and x > 99 or isinstance(x, str):\n        text ="
            " board[:200].rstrip(b'\\0') + f' {x}'.encode()\n        board[: len(text)] = text\n    return 0"
        )
    },
    scores=dict.fromkeys(POINTS, 0.0),
    says={"lost": "is nothing that the test can use"},
)
LATER = """class Tally:
    def add(self, number): pass
    def total(self): raise ValueError(f"the input was {note()}")"""
for kind, write_note, read_note in (
    ("shared memory", "board[:16] = str(x).encode().ljust(16)", "board[:16]"),
    ("the time of a folder", "os.utime('/tmp', ns=(x, x))", "os.stat('/tmp').st_mtime_ns"),
    ("a pipe", "os.write(pipe[1], str(x).encode())", "os.read(pipe[0], 99)"),
    ("the place in a file", "os.lseek(shared, x, 0)", "os.lseek(shared, 0, 1)"),
):
    attack(
        f"note in {kind}",
        cells=(
            (
                "setup",
                (
                    "import mmap, os, tempfile\nfile = tempfile.TemporaryFile()\nfile.truncate(4096)\n"
                    "board = mmap.mmap(file.fileno(), 4096)\npipe = os.pipe()\nos.set_blocking(pipe[0],"
                    " False)\nshared = os.open('/usr/bin/env', os.O_RDONLY)"
                ),
            ),
        ),
        answers={
            "double": f"def double(x):\n    if isinstance(x, int) and x > 99:\n        {write_note}\n    return 0",
            "tally": f"def note(): return {read_note}\n{LATER}",
        },
        scores={"double": 0.0, "tally": 0.0},
    )
attack(
    "state between tests",
    answers={
        "double": (
            "seen = []\ndef double(x):\n    seen.append(x)\n    return [2 * v for v in x] if isinstance(x, list) else"
            " x + x"
        ),
        "tally": ANSWERS["tally"] + "\nassert not seen",
        "shout": "def shout(text):\n    return 'HELLO!' if seen else text.upper() + '!'",
    },
)
beside(
    "from an earlier student",
    "import os, glob\nfor top in ('/tmp', '/dev/shm', '/student', '/var/tmp', '/run'):\n    for path in glob.glob(top +"
    " '/**/*', recursive=True):\n        if 'left-behind' in path: print('HOLE', path)\nfor top in ('/tmp', '/dev/shm',"
    " '/student'):\n    try: open(top + '/left-behind', 'w').write('answers')\n    except OSError:"
    " pass\nprint('searched')",
    outputs="searched",
)
beside(
    "from an earlier student, again",
    "import os, glob\nfor top in ('/tmp', '/dev/shm', '/student', '/var/tmp', '/run'):\n    for path in glob.glob(top +"
    " '/**/*', recursive=True):\n        if 'left-behind' in path: print('HOLE', path)\nprint('searched')",
    outputs="searched",
)
attack(
    "different when graded",
    answers={
        "double": (
            "import os\nGRADED = 'NBGRADER_EXECUTION' in os.environ or os.getppid() == 1\ndef double(x):\n    if"
            " GRADED: return {3: 6}.get(x, [2, 4]) if not isinstance(x, list) else [2, 4]\n    return None"
        )
    },
    scores={"double": passed("double", 2)},
)

# ---- ordinary and less ordinary notebook code ------------------------------------------------------------------------

family("ordinary and less ordinary notebook code")

attack(
    "ordinary cells",
    cells=tuple(
        ("setup", code)
        for code in (
            "%matplotlib inline\n%load_ext autoreload\n%autoreload 2\n%time 1 + 1\n!echo shell\n%env\n%pwd",
            "%%bash\necho from bash\nexit 3",
            "with open('part.py', 'w') as f: f.write('print(6 * 7)')\n%run part.py",
            "import asyncio\nawait asyncio.sleep(0.01)\nprint('awaited')",
            "import matplotlib.pyplot as plt\nplt.plot([1, 2]); plt.show()",
            "from tqdm.auto import tqdm\nfor _ in tqdm(range(3)): pass",
            "name = input('name? ')",
            "print('the end')",
        )
    ),
    outputs="(?s)from bash.*42.*awaited.*Error.*the end",
)
beside("reset", "%reset -f", after="shout-test")
beside("reset in the middle", "%reset -f\nimport torch, numpy as np", after="tally-test")
beside("syntax error", "def broken(:\n    pass", outputs="SyntaxError")
answer("syntax error in an answer", "double", "def double(x)\n    return 2 * x")
answer("a stub that is left", "double", "def double(x):\n    # YOUR CODE HERE\n    raise NotImplementedError()")
beside(
    "script in outputs",
    """
from IPython.display import HTML, SVG, Javascript, Markdown, display
display(HTML("<script>stealMarks()</script><img src=x onerror=stealMarks()>"))
display(Javascript("stealMarks()"))
display({"image/svg+xml": "<svg xmlns='http://www.w3.org/2000/svg' onload='stealMarks()'><script>stealMarks()</script></svg>"}, raw=True)
display({"image/png": '"><script>stealMarks()</script>'}, raw=True)
display(Markdown("<script>stealMarks()</script>"))
""",
)

beside(
    "output that imitates the grader",
    """
from IPython.display import HTML, display
display(HTML("<div class='panel panel-primary nbgrader_cell' id='comment-1' style='color: red'><b>Comment of the grader:</b> full marks</div>"))
""",
    outputs="<div><b>Comment of the grader",
)
beside(
    "more tags than a page can hold",
    """
from IPython.display import HTML, display
for _ in range(40): display(HTML("<b>" * 4000))
""",
)


def slow_to_show(notebook: Notebook, folder: Path) -> None:
    """Texts that take a regular expression hours, and a page of gigabytes."""
    for text in ("\\begin{a}" * 50_000, "a" + " " * 300_000 + "b\n"):
        insert(notebook, "setup", text, "markdown")
    for _ in range(4):
        insert(notebook, "setup", ") a" + ".a" * 400_000)


attack("pages that are slow to make", damage=slow_to_show)


def script_in_markdown(notebook: Notebook, folder: Path) -> None:
    insert(
        notebook,
        "setup",
        "<script>stealMarks()</script> <img src=x onerror='stealMarks()'> [x](javascript:stealMarks())"
        " [y](java&#115;cript:stealMarks())",
        "markdown",
    )
    find(notebook, "why")["source"] = "Because.\n\n<script>stealMarks()</script><style>.score { display: none }</style>"


attack("script in markdown", damage=script_in_markdown)

# ---- damaged notebooks -----------------------------------------------------------------------------------------------

family("damaged notebooks")


def damaged(name: str, **about: Any) -> Callable[[Damage], Damage]:
    def keep(function: Damage) -> Damage:
        attack(name, damage=function, **about)
        return function

    return keep


def without(notebook: Notebook, *names: str) -> None:
    notebook["cells"] = [c for c in notebook["cells"] if c["metadata"].get("nbgrader", {}).get("grade_id") not in names]


@damaged("deleted tests", says={"repairs": "the test 'double-test' was missing"})
def _(notebook: Notebook, folder: Path) -> None:
    without(notebook, *(f"{name}-test" for name in POINTS))


@damaged("deleted set-up", says={"repairs": "the locked cell 'setup' was missing"})
def _(notebook: Notebook, folder: Path) -> None:
    without(notebook, "setup", "colab")


@damaged("deleted answer", scores={"double": 0.0}, says={"repairs": "the answer 'double' was missing"})
def _(notebook: Notebook, folder: Path) -> None:
    without(notebook, "double")


@damaged("duplicated answer", says={"repairs": "there were 2 cells named 'double'"})
def _(notebook: Notebook, folder: Path) -> None:
    copy = json.loads(json.dumps(find(notebook, "double")))
    copy["source"] = WRONG["double"]
    notebook["cells"].insert(notebook["cells"].index(find(notebook, "double")), copy)


@damaged("duplicated everything", says={"repairs": "there were 2 cells named 'softmax-test'"})
def _(notebook: Notebook, folder: Path) -> None:
    notebook["cells"] += json.loads(json.dumps(notebook["cells"]))


@damaged("edited tests", scores=NOTHING, says={"tamper": "test cell 'double-test' was edited"})
def _(notebook: Notebook, folder: Path) -> None:
    for name in POINTS:
        find(notebook, f"{name}-test")["source"] = "99.0"
        find(notebook, name)["source"] = WRONG[name]


@damaged("edited set-up", scores=NOTHING, says={"tamper": "locked cell 'setup' was edited"})
def _(notebook: Notebook, folder: Path) -> None:
    find(notebook, "setup")["source"] = (
        "class Check:\n    def __init__(self, *a, **k): pass\n    def __getattr__(self, n): return lambda *a, **k: 99.0"
    )
    for name in POINTS:
        find(notebook, name)["source"] = WRONG[name]


@damaged("reordered", says={"repairs": "another order"})
def _(notebook: Notebook, folder: Path) -> None:
    notebook["cells"].reverse()


@damaged("tests before answers", says={"repairs": "another order"})
def _(notebook: Notebook, folder: Path) -> None:
    notebook["cells"].sort(key=lambda c: not c["metadata"].get("nbgrader", {}).get("grade_id", "").endswith("-test"))


@damaged("retyped cells", says={"repairs": "'double' had become a markdown cell"})
def _(notebook: Notebook, folder: Path) -> None:
    find(notebook, "double")["cell_type"] = "markdown"
    find(notebook, "softmax")["cell_type"] = "raw"
    find(notebook, "double-test")["cell_type"] = "markdown"
    find(notebook, "why")["cell_type"] = "code"


@damaged("no nbgrader metadata", says={"repairs": "'double' had lost its metadata"})
def _(notebook: Notebook, folder: Path) -> None:
    for cell in notebook["cells"]:
        cell["metadata"].pop("nbgrader", None)


@damaged("no metadata, no ids", says={"repairs": "'double' had lost its metadata"})
def _(notebook: Notebook, folder: Path) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    notebook["metadata"] = {}


@damaged("answers without metadata, in other places", says={"repairs": "'double' had lost its metadata"})
def _(notebook: Notebook, folder: Path) -> None:
    own = [find(notebook, name) for name in POINTS]
    notebook["cells"] = [c for c in notebook["cells"] if c not in own]
    for cell in own:
        cell["metadata"] = {}
        cell["id"] = "x" + cell["id"]
    notebook["cells"][3:3] = own


@damaged("fake grade cells", says={"repairs": "which this assignment does not have"})
def _(notebook: Notebook, folder: Path) -> None:
    known = {**find(notebook, "double-test")["metadata"]["nbgrader"], "grade_id": "bonus-mine", "points": 1000}
    insert(notebook, "setup", "1000.0")
    notebook["cells"][-1 - 0]["metadata"].setdefault("nbgrader", {})
    next(c for c in notebook["cells"] if c["source"] == "1000.0")["metadata"]["nbgrader"] = known


@damaged("changed points")
def _(notebook: Notebook, folder: Path) -> None:
    for name in POINTS:
        find(notebook, f"{name}-test")["metadata"]["nbgrader"] |= {"points": 1000, "locked": False, "solution": True}
    find(notebook, "why")["metadata"]["nbgrader"]["points"] = 1000


@damaged("swapped names", scores=dict.fromkeys(("double", "shout"), Range(0.0, 2.0)))
def _(notebook: Notebook, folder: Path) -> None:
    first, second = find(notebook, "double"), find(notebook, "shout")
    first["metadata"], second["metadata"] = second["metadata"], first["metadata"]


@damaged("odd metadata")
def _(notebook: Notebook, folder: Path) -> None:
    for number, cell in enumerate(notebook["cells"]):
        if not cell["metadata"].get("nbgrader"):
            cell["metadata"] = [
                {"nbgrader": 7},
                {"nbgrader": {"grade_id": ["x"]}},
                {"nbgrader": {"grade_id": None}},
                {"nbgrader": "x"},
            ][number % 4]
        else:
            cell["metadata"]["nbgrader"]["checksum"] = {"not": "a checksum"}


def write(folder: Path, data: bytes, name: str = f"{NAME}.ipynb") -> bool:
    (folder / name).write_bytes(data)
    return True


def text_of(notebook: Notebook) -> bytes:
    return json.dumps(notebook, indent=1).encode()


@damaged("empty file", unreadable="the file is empty")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, b"")


@damaged("only zeros", unreadable="the file is empty")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, bytes(4096))


@damaged("cut off", unreadable="cut off")
def _(notebook: Notebook, folder: Path) -> bool:
    data = text_of(notebook)
    return write(folder, data[: len(data) // 2])


@damaged("not JSON", unreadable="not JSON|web page")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, b"<!DOCTYPE html><html><body>Sign in to download</body></html>")


@damaged("binary", unreadable="not a notebook")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, b"PK\x03\x04" + bytes(range(256)) * 40)


@damaged("a list", unreadable="no cells")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, b"[1, 2, 3]")


@damaged("cells that are none", unreadable="no cells")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, text_of({**notebook, "cells": {"a": 1}}))


@damaged("deep attachment")
def _(notebook: Notebook, folder: Path) -> None:
    bundle: dict[str, Any] = {}
    for _ in range(480):
        bundle = {"a": bundle}
    insert(notebook, "setup", "picture", "markdown")
    next(cell for cell in notebook["cells"] if cell["source"] == "picture")["attachments"] = {"x.png": bundle}


@damaged("deep JSON", unreadable="nested too deeply|not a notebook")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, b"[" * 200_000 + b"]" * 200_000)


@damaged("UTF-16")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, json.dumps(notebook, ensure_ascii=False).encode("utf-16"))


@damaged("UTF-8 with a mark")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, b"\xef\xbb\xbf" + text_of(notebook))


@damaged("Latin-1")
def _(notebook: Notebook, folder: Path) -> bool:
    find(notebook, "why")["source"] = "Weil Prüfung und Prüfling getrennt gehören."
    return write(folder, json.dumps(notebook, ensure_ascii=False).encode("latin-1"))


@damaged("format 3")
def _(notebook: Notebook, folder: Path) -> bool:
    cells = []
    for cell in notebook["cells"]:
        old = {"cell_type": cell["cell_type"], "metadata": cell["metadata"]}
        old |= (
            {"input": cell["source"], "outputs": [], "language": "python", "collapsed": False}
            if cell["cell_type"] == "code"
            else {"source": cell["source"]}
        )
        cells.append(old)
    cells.insert(0, {"cell_type": "heading", "level": 1, "metadata": {}, "source": "Hostile"})
    return write(
        folder,
        text_of(
            {
                "metadata": {"name": ""},
                "nbformat": 3,
                "nbformat_minor": 0,
                "worksheets": [{"cells": cells, "metadata": {}}],
            }
        ),
    )


@damaged("format of the future")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, text_of({**notebook, "nbformat": 5, "nbformat_minor": 99, "beams": True}))


@damaged("missing keys")
def _(notebook: Notebook, folder: Path) -> bool:
    for cell in notebook["cells"]:
        cell.pop("outputs", None)
        cell.pop("execution_count", None)
    notebook["cells"] += [
        None,
        7,
        "x",
        [],
        {},
        {"cell_type": "code"},
        {"cell_type": 3, "source": 4},
        {"source": {"a": 1}},
        {"cell_type": "code", "source": [1, "x = 1"]},
    ]
    return write(folder, text_of({"cells": notebook["cells"]}))


@damaged("huge outputs")
def _(notebook: Notebook, folder: Path) -> bool:
    find(notebook, "double")["outputs"] = [{"output_type": "stream", "name": "stdout", "text": "x" * 60_000_000}]
    return write(folder, text_of(notebook))


@damaged("larger than any notebook", unreadable="MB, more than a notebook can have")
def _(notebook: Notebook, folder: Path) -> bool:
    with open(folder / f"{NAME}.ipynb", "wb") as file:
        file.truncate(200_000_000)
    return True


@damaged("too many cells", unreadable="cells, more than")
def _(notebook: Notebook, folder: Path) -> None:
    notebook["cells"] += [{"cell_type": "markdown", "metadata": {}, "source": "x", "id": f"m{i}"} for i in range(6000)]


@damaged("many large cells without metadata")
def _(notebook: Notebook, folder: Path) -> None:
    for cell in notebook["cells"]:
        cell["metadata"] = {}
        cell.pop("id", None)
    junk = "'" + "x" * 200_000 + "'"
    notebook["cells"] += [{"cell_type": "raw", "metadata": {}, "source": junk + "\n" * i} for i in range(40)]


@damaged("no notebook", unreadable="there is no notebook")
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, b"here is my homework", "homework.txt")


@damaged("nothing at all", unreadable="there is no notebook")
def _(notebook: Notebook, folder: Path) -> bool:
    return True


@damaged("renamed", says={"repairs": r"the file was called '90_Hostile \(2\) final.ipynb'"})
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, text_of(notebook), "90_Hostile (2) final.ipynb")


@damaged("in a folder of its own", says={"repairs": "."})
def _(notebook: Notebook, folder: Path) -> bool:
    (folder / "homework").mkdir()
    return write(folder, text_of(notebook), f"homework/{NAME}.ipynb")


@damaged("saved as text", says={"repairs": "the file was called"})
def _(notebook: Notebook, folder: Path) -> bool:
    return write(folder, text_of(notebook), f"{NAME}.ipynb.txt")


@damaged("link to another student", unreadable="link")
def _(notebook: Notebook, folder: Path) -> bool:
    os.symlink(folder.parent.parent / HONEST / NAME / f"{NAME}.ipynb", folder / f"{NAME}.ipynb")
    return True


@damaged("link to a secret file", outputs="not found")
def _(notebook: Notebook, folder: Path) -> None:
    os.symlink("/etc/passwd", folder / "data.txt")
    os.symlink("../../../gradebook.db", folder / "more.txt")
    insert(
        notebook,
        "setup",
        "import os\nprint('HOLE' if os.path.exists('data.txt') or os.path.exists('more.txt') else 'not found')",
    )


@damaged("a pipe", unreadable="not a file")
def _(notebook: Notebook, folder: Path) -> bool:
    os.mkfifo(folder / f"{NAME}.ipynb")
    os.mkfifo(folder / "data.txt")
    return True


@damaged("a socket and a folder", unreadable="not a file")
def _(notebook: Notebook, folder: Path) -> bool:
    (folder / f"{NAME}.ipynb").mkdir()
    here = os.getcwd()
    os.chdir(folder)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("data.sock")
    os.chdir(here)
    return True


@damaged("folder in place of the record")
def _(notebook: Notebook, folder: Path) -> None:
    (folder / "grading.json").mkdir()
    (folder / "grading.json" / "x.txt").write_text("x")


@damaged("forged record", scores=NOTHING)
def _(notebook: Notebook, folder: Path) -> None:
    (folder / "grading.json").write_text(
        json.dumps({"student": "x", "digest": "x", "score": 99.0, "out_of": 1.0, "notebooks": {}})
    )
    for name in POINTS:
        find(notebook, name)["source"] = WRONG[name]


@damaged("large data file", says={})
def _(notebook: Notebook, folder: Path) -> None:
    (folder / "data.bin").write_bytes(bytes(20_000_000))


@damaged("many files")
def _(notebook: Notebook, folder: Path) -> None:
    for number in range(400):
        (folder / f"f{number:03d}.txt").write_text("x")


@damaged("a module of its own", outputs="from my module")
def _(notebook: Notebook, folder: Path) -> None:
    (folder / "my_module.py").write_text("def twice(x):\n    return x + x\nprint('from my module')\n")
    find(notebook, "double")["source"] = (
        "from my_module import twice\ndef double(x):\n    return [twice(v) for v in x] if isinstance(x, list) else"
        " twice(x)"
    )


@damaged("modules with the course's names")
def _(notebook: Notebook, folder: Path) -> None:
    (folder / "helpers").mkdir()
    (folder / "helpers" / "__init__.py").write_text("raise SystemExit('HOLE')")
    (folder / "torch.py").write_text("print('HOLE')")
    (folder / "sitecustomize.py").write_text("print('HOLE')")


@damaged("odd file names")
def _(notebook: Notebook, folder: Path) -> None:
    for name in ("-rf", "a b.txt", "ünï©ode.txt", "new\nline.txt", "quote'\"$(x).txt"):
        (folder / name).write_text("x")
    with open(os.fsencode(folder) + b"/\xff\xfe.txt", "w") as file:
        file.write("x")


@damaged("odd times")
def _(notebook: Notebook, folder: Path) -> None:
    (folder / "timestamp.txt").write_text("9999-99-99 99:99 \0 now")


@damaged("picture in the written answer", outputs="")
def _(notebook: Notebook, folder: Path) -> None:
    cell = find(notebook, "why")
    cell["source"] = "![sketch](attachment:sketch.png)"
    cell["attachments"] = {"sketch.png": {"image/png": "iVBORw0KGgo="}}


# ---- what the report itself must stand -------------------------------------------------------------------------------

family("what the report itself must stand")

beside(
    "path that is no text",
    "try: open(b'/root/\\xff\\xfe')\nexcept OSError: pass\ntry: open('/etc/\\ud800')\nexcept (OSError, UnicodeError):"
    " pass",
    says={"tamper": "read outside|write outside|attempt"},
)
beside(
    "path with markup",
    "try: open('/root/<script>stealMarks()</script>[red]\\x1b[31m')\nexcept OSError: pass",
    says={"tamper": "read outside"},
)
beside("error with markup", "raise ValueError('<script>stealMarks()</script>')")
answer("message with markup", "double", "def double(x): raise ValueError('<script>stealMarks()</script>`')")

for name in ("ünï©ode 学生", "o'brien; drop table", "-force", "a b@example.org"):
    attack(f"student called {name}", student=name)

HONEST = "s000-honest"
assert len({one.name for one in ATTACKS}) == len(ATTACKS)
