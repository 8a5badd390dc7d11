"""Line-aligned files as they come, and two vocabularies."""

from __future__ import annotations

from pathlib import Path

import pytest

from helpers.translation import pairs


def write(folder: Path, **files: bytes) -> Path:
    for name, data in files.items():
        (folder / name.replace("_", ".")).write_bytes(data)
    return folder


def test_line_ends_of_every_system_blank_lines_and_no_break_spaces_are_fine(tmp_path: Path) -> None:
    write(
        tmp_path,
        train_en=b"\xef\xbb\xbfHello.\r\n\r\nHow\xc2\xa0are you?\r\nBye \r\n",
        train_fr="Bonjour.\n\nÇa va\u202f?\nSalut\n".encode(),
    )
    assert pairs.read_pairs(tmp_path) == [("Hello.", "Bonjour."), ("How are you?", "Ça va ?"), ("Bye", "Salut")]


def test_a_pair_with_one_blank_side_is_left_out_and_the_rest_stays_aligned(tmp_path: Path) -> None:
    write(tmp_path, train_en=b"a\n\nc\n", train_fr=b"x\ny\nz")
    assert pairs.read_pairs(tmp_path) == [("a", "x"), ("c", "z")]


def test_signs_that_python_takes_for_line_ends_stay_inside_their_sentence(tmp_path: Path) -> None:
    write(tmp_path, train_en="one\u2028still one\rstill\ntwo\u0085too\n".encode(), train_fr=b"un\ndeux\n")
    assert pairs.read_pairs(tmp_path) == [("one still one still", "un"), ("two too", "deux")]


def test_carriage_returns_alone_end_lines_where_there_is_nothing_else(tmp_path: Path) -> None:
    write(tmp_path, train_en=b"one\rtwo\r", train_fr=b"un\ndeux\n")
    assert pairs.read_pairs(tmp_path) == [("one", "un"), ("two", "deux")]


def test_unequal_line_counts_are_an_error_that_names_both(tmp_path: Path) -> None:
    write(tmp_path, train_en=b"a\nb\nc\n", train_fr=b"x\ny\n")
    with pytest.raises(ValueError, match=r"train\.en has 3 lines, train\.fr has 2: the files are not line-aligned"):
        pairs.read_pairs(tmp_path)


def test_missing_files_and_folders_are_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="COURSE_PAIRS"):
        pairs.read_pairs(tmp_path / "nowhere")
    write(tmp_path, train_en=b"a\n")
    with pytest.raises(FileNotFoundError, match=r"train\.fr is not in .*there is train\.en"):
        pairs.read_pairs(tmp_path)


def test_missing_dev_and_test_sets_are_cut_from_the_end_without_overlap(tmp_path: Path) -> None:
    write(
        tmp_path,
        train_en="".join(f"line {i}\n" for i in range(100)).encode(),
        train_fr="".join(f"ligne {i}\n" for i in range(100)).encode(),
    )
    corpus = pairs.real_corpus(tmp_path)
    assert [len(part) for part in corpus] == [81, 9, 10]
    assert len({source for part in corpus for source, _ in part}) == 100


def test_dev_and_test_files_are_used_under_their_usual_names(tmp_path: Path) -> None:
    write(
        tmp_path,
        train_en=b"a\nb\n",
        train_fr=b"x\ny\n",
        valid_en=b"c\n",
        valid_fr=b"z\n",
        test_en=b"d\n",
        test_fr=b"w\n",
    )
    assert pairs.real_corpus(tmp_path) == ([("a", "x"), ("b", "y")], [("c", "z")], [("d", "w")])


def test_a_file_that_is_not_utf8_is_named_with_its_line(tmp_path: Path) -> None:
    write(tmp_path, train_en=b"a\nb\n", train_fr="un\nété\n".encode("latin-1"))
    with pytest.raises(ValueError, match=r"train\.fr is not UTF-8 \(line 2\)"):
        pairs.read_pairs(tmp_path)


def test_files_without_any_pair_and_files_too_small_to_cut_are_refused(tmp_path: Path) -> None:
    write(tmp_path, train_en=b"\n\n", train_fr=b"\nx\n")
    with pytest.raises(ValueError, match="hold no pair of sentences"):
        pairs.real_corpus(tmp_path)
    write(tmp_path, train_en=b"a\nb\n", train_fr=b"x\ny\n")
    with pytest.raises(ValueError, match="too few pairs to cut"):
        pairs.real_corpus(tmp_path)
    write(tmp_path, train_en=b"a\nb\nc\n", train_fr=b"x\ny\nz\n")
    assert pairs.real_corpus(tmp_path) == ([("a", "x")], [("b", "y")], [("c", "z")])


def test_one_pair_of_files_under_another_name_is_the_training_set(tmp_path: Path) -> None:
    write(tmp_path, test_en=b"t\n", test_fr=b"u\n", dev_en=b"d\n", dev_fr=b"e\n")
    for language in ("en", "fr"):
        (tmp_path / f"TED.en-fr.{language}").write_text(f"{language} a\n")
    assert pairs.real_corpus(tmp_path).train == [("en a", "fr a")]
    write(tmp_path, more_en=b"m\n", more_fr=b"n\n")  # now it is not clear which is meant
    with pytest.raises(FileNotFoundError, match=r"train\.en is not in"):
        pairs.real_corpus(tmp_path)


def test_the_folder_may_be_written_as_people_write_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, train_en=b"a\nb\nc\n", train_fr=b"x\ny\nz\n")
    monkeypatch.setenv("HOME", str(tmp_path.parent))
    monkeypatch.setenv("COURSE_PAIRS", f'"~/{tmp_path.name}" ')
    assert len(pairs.real_corpus(pairs.real_folder()).train) == 1


def test_words_of_the_grammar_come_back_as_they_were() -> None:
    for split in pairs.english_french.SPLITS:
        for pair in pairs.english_french.pairs(split, 3000, seed=5):
            assert pairs.text_of(pairs.words_of(pair.french)) == pair.french
            assert pairs.text_of(pairs.words_of(pair.english)) == pair.english.replace("?", " ?")


def test_vocabulary_encodes_and_decodes() -> None:
    vocabulary = pairs.Vocabulary(["L'ami de la reine rit.", "La reine n'a pas ri."])
    assert vocabulary.tokens[:4] == pairs.SPECIAL
    assert (
        vocabulary.decode([pairs.BEGIN, *vocabulary.encode("La reine rit."), pairs.END, pairs.PAD]) == "La reine rit."
    )
    assert vocabulary.encode("le roi") == [pairs.UNKNOWN] * 2
    assert vocabulary.pieces(vocabulary.encode("L'ami")) == ["l'", "ami"]


def test_subwords_bring_real_text_back_exactly() -> None:
    texts = ["Ça va ? Oui, très bien — merci !", "L'été n'est pas fini."] * 20
    pieces = pairs.Subwords(texts, 120)
    assert len(pieces) <= 120
    for text in texts[:2]:
        assert pieces.decode(pieces.encode(text)) == text
    assert pieces.encode("☃")[-1:] == [pairs.UNKNOWN]
    assert len(pieces.pieces(pieces.encode(texts[0]))) == len(pieces.encode(texts[0]))


def test_known_structures_follow_the_training_pairs() -> None:
    corpus = pairs.grammar_corpus(50, 5)
    extra = pairs.known_structures(10, after=50)
    assert not set(corpus.train) & set(extra)
    assert pairs.grammar_corpus(60, 5).train == corpus.train + extra
