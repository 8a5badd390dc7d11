"""Sentences from WikiText's own files, from plain text and from the addresses; batches that lose nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.attention_experiments import sentences

LINES = [
    "",
    "= A made @-@ up title =",
    "",
    'The first sentence is <unk> . The second one , " quoted words . " said someone ! And a third',
    "= = A section = =",
    'Two plus two = four . " Really ? " " Yes . "',
]
WIKI = "".join(f" {line} \n" for line in LINES)  # as distributed: a blank before and after


def write(folder: Path, pattern: str) -> Path:
    for part in ("train", "valid", "test"):
        (folder / pattern.format(part)).write_text(WIKI.replace("first", part), encoding="utf-8")
    return folder


@pytest.mark.parametrize("pattern", ["wiki.{}.tokens", "wiki.{}.raw"])
def test_wikitext_files_are_read_as_they_are(tmp_path: Path, pattern: str) -> None:
    corpus = sentences.from_folder(write(tmp_path, pattern))
    assert [" ".join(sentence) for sentence in corpus.train] == [
        "The train sentence is <unk> .",
        'The second one , " quoted words . "',
        "said someone !",
        "And a third",
        "Two plus two = four .",
        '" Really ? "',
        '" Yes . "',
    ]
    assert corpus.valid[0][1] == "valid"
    assert corpus.test[0][1] == "test"


@pytest.mark.parametrize("pattern", ["{}.txt", "wiki.{}.txt"])
def test_wikitext_saved_as_txt_is_not_cut_again(tmp_path: Path, pattern: str) -> None:
    write(tmp_path, pattern)
    for path in tmp_path.iterdir():
        path.write_text(
            path.read_text(encoding="utf-8") + " A well @-@ made thing costs 1 @,@ 000 . \n",
            encoding="utf-8-sig",
            newline="\r\n",
        )
    corpus = sentences.from_folder(tmp_path)
    assert corpus.train[0] == ["The", "train", "sentence", "is", "<unk>", "."]
    assert corpus.train[-1] == ["A", "well", "@-@", "made", "thing", "costs", "1", "@,@", "000", "."]


def test_a_large_corpus_may_be_read_in_part(tmp_path: Path) -> None:
    folder = write(tmp_path, "wiki.{}.tokens")
    assert sentences.corpus(folder, most=3).train == sentences.corpus(folder).train[:3]


def test_files_may_lie_in_the_folder_that_an_archive_makes(tmp_path: Path) -> None:
    inner = tmp_path / "wikitext-2"
    inner.mkdir()
    write(inner, "wiki.{}.tokens")
    assert len(sentences.corpus(tmp_path).train) == 7


def test_plain_text_is_cut_into_words_and_marks(tmp_path: Path) -> None:
    for part in ("train", "dev", "test"):
        (tmp_path / f"{part}.txt").write_text(
            "Mr. Smith paid $3.50 in the U.S.A. today. It's well-made!\n\n", encoding="utf-8-sig"
        )
    corpus = sentences.from_folder(tmp_path)
    assert corpus.valid == [
        ["Mr.", "Smith", "paid", "$", "3.50", "in", "the", "U.S.A.", "today", "."],
        ["It's", "well-made", "!"],
    ]


def test_a_folder_without_the_files_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"wiki\.train\.tokens"):
        sentences.from_folder(tmp_path)
    with pytest.raises(FileNotFoundError, match="not a folder"):
        sentences.from_folder(tmp_path / "nowhere")


def test_whole_addresses_are_held_out() -> None:
    corpus = sentences.from_addresses(since=2000)
    assert min(map(len, (corpus.train, corpus.valid, corpus.test))) > 100
    assert not any("[" in sentence for sentence in corpus.train)


def test_the_vocabulary_has_the_most_frequent_words_and_unknown_for_the_rest() -> None:
    vocabulary = sentences.Vocabulary([["b", "a", "b", "<unk>"], ["c", "a", "b"]], size=6)
    assert vocabulary.words == ["<pad>", "<unk>", "<s>", "</s>", "b", "a"]
    assert vocabulary.encode(["a", "zebra", "b"]) == [2, 5, 1, 4, 3]
    assert vocabulary.decode([2, 5, 1, 4, 3, 0, 0]) == "a <unk> b"
    assert len(vocabulary) == 6


def test_a_batch_shifts_targets_pads_and_cuts() -> None:
    x, y = sentences.batch([[2, 7, 8, 9, 3], [2, 5, 3]], limit=3)
    assert x.tolist() == [[2, 7, 8], [2, 5, 0]]
    assert y.tolist() == [[7, 8, 9], [5, 3, -1]]  # the first is cut: its end mark is no target


@pytest.mark.parametrize("seed", [None, 3])
def test_batches_hold_every_sentence_once(seed: int | None) -> None:
    rows = [[2, *([10 + n] * (1 + n % 7)), 3] for n in range(45)]
    made = sentences.batches(rows, 4, limit=100, seed=seed)
    assert sorted(int(row[1]) for x, _ in made for row in x) == list(range(10, 55))
    assert sum(int((y >= 0).sum()) for _, y in made) == sum(len(row) - 1 for row in rows)
    again = sentences.batches(rows, 4, limit=100, seed=seed)
    assert all(a[0].equal(b[0]) for a, b in zip(made, again, strict=True))


def test_another_seed_gives_another_order() -> None:
    rows = [[2, 10 + n, 3] for n in range(45)]
    first, second = (sentences.batches(rows, 4, limit=100, seed=seed) for seed in (1, 2))
    assert any(not a[0].equal(b[0]) for a, b in zip(first, second, strict=True))
