"""What surrounds the translation notebook, and its BLEU against sacreBLEU."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
import torch
from conftest import ROOT
from hypothesis import given, settings
from hypothesis import strategies as st

from autograder.authoring import source
from helpers import translation
from helpers.kit import models
from helpers.translation import pairs

NOTEBOOK = ROOT / "solutions" / "12-translation" / "12-translation.py"


def solved(*names: str) -> dict[str, Any]:
    """Names that the notebook's set-up cell and these exercises of its solution define."""
    scope: dict[str, Any] = {}
    for cell in source.read(Path(NOTEBOOK)):
        if cell.kind == "code" and cell.grade_id in ("setup", *names):
            exec(cell.source, scope)
    return scope


BLEU: Callable[[list[str], list[str]], float] = solved("matches", "bleu")["bleu"]
BEAM: Callable[..., tuple[list[int], float]] = solved("beam")["beam_search"]
WORDS = st.sampled_from(
    [
        "le",
        "la",
        "chat",
        "l'ami",
        "n'a",
        "pas",
        "1er",
        "12,50",
        "€",
        "3.5",
        "fin.",
        "Quoi ?",
        "«oui»",
        "a-t-il",
        "9-10",
        "&amp;",
        "x",
    ]
)
SENTENCES = st.lists(WORDS, max_size=12).map(" ".join)
ANYTHING = st.text(st.characters(codec="utf-8", exclude_categories=("Cs",)), max_size=30)


@settings(max_examples=400, deadline=None)
@given(st.lists(st.tuples(SENTENCES, SENTENCES), min_size=1, max_size=6))
def test_bleu_equals_sacrebleu_on_words_that_overlap(rows: list[tuple[str, str]]) -> None:
    ours, theirs = [a for a, _ in rows], [b for _, b in rows]
    assert BLEU(ours, theirs) == pytest.approx(sacrebleu.corpus_bleu(ours, [theirs]).score, abs=1e-6)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.tuples(ANYTHING, ANYTHING, st.booleans()), min_size=1, max_size=4))
def test_bleu_equals_sacrebleu_on_any_text(rows: list[tuple[str, str, bool]]) -> None:
    ours, theirs = [a for a, _, _ in rows], [a + b if join else b for a, b, join in rows]
    assert BLEU(ours, theirs) == pytest.approx(sacrebleu.corpus_bleu(ours, [theirs]).score, abs=1e-6)


@settings(max_examples=400, deadline=None)
@given(st.one_of(ANYTHING, SENTENCES, st.text("ab,.-'09&;quot<skiped>\n ", max_size=40)))
def test_words_are_cut_as_sacrebleu_cuts_them(text: str) -> None:
    cut = sacrebleu.tokenizers.tokenizer_13a.Tokenizer13a()
    assert translation.tokenize_13a(text) == cut(text.rstrip()).split()


def test_batches_cover_every_pair_once_per_pass_and_repeat_with_their_seed() -> None:
    data = [([4] * (1 + i % 7), [5 + i] * (1 + i % 5)) for i in range(23)]
    made = list(translation.Batches(data, 4, 6, seed=1))
    assert sorted(target[0] for _, targets in made for target in targets) == list(range(5, 28))
    again = list(translation.Batches(data, 4, 6, seed=1))
    assert all(torch.equal(a[0], b[0]) and a[1] == b[1] for a, b in zip(made, again, strict=True))
    assert len(list(translation.Batches(data, 4, 15))) == 15
    with pytest.raises(ValueError, match="no pairs"):
        translation.Batches([], 4, 1)


def test_chains_answer_by_their_tables_and_refuse_what_is_no_prefix() -> None:
    table = torch.rand(3, 4, 4)
    table = table / table.sum(-1, keepdim=True)
    chain = translation.TimedChain(table)
    first = chain.log_probabilities(torch.tensor([[1], [1]]))
    assert torch.allclose(first.exp(), table[0, 1].double().expand(2, 4))
    late = chain.log_probabilities(torch.tensor([[1, 3, 0, 2, 3]]))
    assert torch.allclose(late.exp(), table[2, 3].double()[None])
    assert (chain.calls, chain.most_rows) == (2, 2)
    for bad in (torch.tensor([1]), torch.tensor([[2]]), torch.tensor([[1.0]]), torch.tensor([[1, 9]])):
        with pytest.raises(ValueError, match="prefix"):
            chain.log_probabilities(bad)
    rows = translation.RowChains(table)
    assert torch.allclose(rows.log_probabilities(torch.tensor([[1, 2]] * 3)).exp(), table[:, 2].double())
    with pytest.raises(ValueError, match="keep one row for each"):
        rows.log_probabilities(torch.tensor([[1]]))


def test_the_notebooks_translator_is_the_kits() -> None:
    scope = solved("masks", "cross-attention", "decoder-block", "translator", "parameters")
    model = scope["Translator"](11, 13, 8, 2, 2)
    assert models.parameters(model) == scope["parameter_count"](11, 13, 8, 2)
    form: dict[str, Any] = {"width": 8, "heads": 2, "layers": 2, "positions": "sinusoidal"}
    assert models.parameters(
        models.Translator(models.Shape(11, **form), models.Shape(13, tied=True, **form))
    ) == models.parameters(model)


def test_cross_maps_are_distributions_over_the_source_and_leave_the_mode() -> None:
    scope = solved("masks", "cross-attention", "decoder-block", "translator")
    model = scope["Translator"](11, 13, 8, 2, 3)
    model.train()
    maps = translation.cross_maps(model, torch.tensor([4, 5, 6]), torch.tensor([1, 7, 8, 9]))
    assert maps.shape == (3, 2, 4, 3)
    assert torch.allclose(maps.sum(-1), torch.ones(3, 2, 4))
    assert model.training


def test_alignment_counts_nouns_that_look_at_their_translation() -> None:
    source_words, produced = ["the", "cat", "sees", "the", "car"], ["le", "chat", "voit", "la", "voiture", "</s>"]
    weights = torch.zeros(6, 5)
    weights[1, 1] = weights[4, 0] = 1.0
    assert translation.alignment_share(weights, source_words, produced) == (1, 2)
    assert translation.alignment_share(weights[:3], [*source_words[:3], "a", "cat"], produced[:3]) == (
        0,
        0,
    )  # twice in the source: no telling


def test_the_sources_sizes_stand_in_the_notebook() -> None:
    text = NOTEBOOK.read_text()
    for layers, heads, width, dropout, epochs in [
        (4, 8, 256, 0.1, 10),
        (4, 8, 256, 0.1, 30),
        (6, 6, 384, 0.2, 30),
        (6, 8, 512, 0.35, 30),
    ]:
        assert (
            f'{{"layers": {layers}, "heads": {heads}, "width": {width}, "dropout": {dropout}, "epochs": {epochs}}}'
            in text
        )


def test_the_sentences_that_are_shown_hold_no_word_that_training_lacks() -> None:
    cell = next(cell.source for cell in source.read(Path(NOTEBOOK)) if "chosen = [" in cell.source)
    chosen = eval(cell[cell.index("chosen = [") + len("chosen = ") : cell.index("]", cell.index("chosen = [")) + 1])
    assert len(chosen) == 3
    words = pairs.Vocabulary(english for english, _ in pairs.grammar_corpus(20_000, 1).train)
    for sentence in chosen:
        assert pairs.UNKNOWN not in words.encode(sentence), sentence


def test_pairs_that_are_too_long_are_left_out() -> None:
    words = pairs.Vocabulary(["a b c d"])
    assert translation.encoded([("a b", "c"), ("a b c", "d")], words, words, longest=2) == [([4, 5], [6])]


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([4, 5]), st.integers(1, 4), st.sampled_from([0.0, 0.6, 1.0, 1.5]))
def test_a_beam_as_wide_as_all_candidates_is_exhaustive_search(seed: int, V: int, limit: int, alpha: float) -> None:
    chances = torch.rand(limit, V, V, generator=torch.Generator().manual_seed(seed), dtype=torch.float64) ** 3 + 1e-4
    chances /= chances.sum(-1, keepdim=True)
    best, best_score = [0], -math.inf
    for n in range(1, limit + 1):
        for row in itertools.product(range(V), repeat=n):
            if pairs.END in row[:-1] or (row[-1] != pairs.END and n < limit):
                continue
            total = sum(
                math.log(chances[t, last, token])
                for t, (last, token) in enumerate(zip((pairs.BEGIN, *row), row, strict=False))
            )
            if total / n**alpha > best_score:
                best, best_score = [token for token in row if token != pairs.END], total / n**alpha
    tokens, score = BEAM(translation.TimedChain(chances).log_probabilities, V**limit, limit, alpha)
    assert tokens == best
    assert score == pytest.approx(best_score, abs=1e-5)


def test_part_9_trains_on_files_as_they_come(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A byte-order mark, carriage returns, a blank and a very long line, typographic signs: the notebook's own cell
    goes through.
    """
    lines = [(f"“Well,” I said — it’s {i}!", f"« Bon », ai-je dit – c’est {i}\u202f!") for i in range(300)]
    lines[7], lines[290] = ("", "Rien."), ("word " * 3000, "mot " * 3000)  # the second one falls into the test set
    (tmp_path / "talks.en").write_bytes(("\ufeff" + "\r\n".join(a for a, _ in lines) + "\r\n").encode())
    (tmp_path / "talks.fr").write_bytes("\n".join(b for _, b in lines).encode())
    monkeypatch.setenv("COURSE_SCALE", "smoke")
    monkeypatch.setenv("COURSE_PAIRS", str(tmp_path))
    marks = (
        "corpus = pairs.grammar_corpus",
        "english_words =",
        "def train_translator",
        "def translate(",
        "def judged(",
        "real_settings =",
    )
    parts = (
        "teacher-forcing",
        "masks",
        "cross-attention",
        "decoder-block",
        "translator",
        "smoothing",
        "noam",
        "greedy",
        "beam",
        "matches",
        "bleu",
    )
    scope: dict[str, Any] = {}
    for cell in source.read(Path(NOTEBOOK)):
        if cell.kind == "code" and (cell.grade_id in ("setup", *parts) or any(mark in cell.source for mark in marks)):
            exec(cell.source, scope)
    said = capsys.readouterr().out
    assert "200 pairs" in said
    assert [row["run"] for row in scope["real_rows"]] == ["a few steps"]
    assert 0 <= scope["real_rows"][0]["BLEU"] <= 100
