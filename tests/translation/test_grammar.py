"""The English–French grammar: correct French, the same in every run, and a split that needs composition."""

from __future__ import annotations

import itertools
import random
import re
from datetime import date

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from helpers.translation.pairs import english_french as ef

# After helpers.translation.pairs, which finds the package in a checkout.
from english_french import grammar, lexicon, surface  # isort: skip

VOWEL = "aeiouyâêîôûéèàëïœh"
SAMPLE = {split: ef.pairs(split, 4000, seed=7) for split in ef.SPLITS}
EVERY = [pair for part in SAMPLE.values() for pair in part]
ASPIRATED = {"héros", "hibou", "hiboux", "huit", "onze"}


def clause(french: str, **parts: str) -> ef.Structure:
    return ef.Structure(
        **{
            "mood": "statement",
            "tense": "present",
            "polarity": "yes",
            "subject": "bare",
            "predicate": "bare",
            "adjunct": "none",
            **parts,
        }
    )


# ---- surface --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["je", "ai", "vu", "le", "homme"], "j'ai vu l'homme"),
        (["près de", "le hôtel"], "près de l'hôtel"),
        (["près de", "le marché"], "près du marché"),
        (["à", "le marché"], "au marché"),
        (["à", "la école"], "à l'école"),
        (["le", "héros", "de", "le", "hibou"], "le héros du hibou"),
        (["que", "elle", "ne", "a", "pas"], "qu'elle n'a pas"),
        (["que", "huit", "amis"], "que huit amis"),
        (["que", "onze", "amis"], "que onze amis"),
        (["ne", "la", "a", "pas"], "ne l'a pas"),
        (["de", "œufs"], "d'œufs"),
    ],
)
def test_words_are_elided_and_contracted(words: list[str], text: str) -> None:
    assert surface.joined(words) == text


@pytest.mark.parametrize(
    ("n", "gender", "words"),
    [
        (21, "f", "vingt et une"),
        (21, "m", "vingt et un"),
        (71, "f", "soixante et onze"),
        (80, "f", "quatre-vingts"),
        (81, "f", "quatre-vingt-une"),
        (1, "f", "une"),
    ],
)
def test_numbers_agree(n: int, gender: str, words: str) -> None:
    assert surface.number_in_french(n, gender) == words


def test_dates_and_money_are_written_as_each_language_writes_them() -> None:
    assert surface.date_in_french(date(2024, 3, 1)) == "1er mars 2024"
    assert surface.date_in_french(date(2024, 8, 11)) == "11 août 2024"
    assert surface.date_in_english(date(2024, 3, 1)) == "March 1, 2024"
    assert (surface.price_in_english(125_000), surface.price_in_french(125_000)) == ("€1,250", "1 250 €")
    assert (surface.price_in_english(450), surface.price_in_french(450)) == ("€4.50", "4,50 €")


def test_inversion_keeps_vowels_apart() -> None:
    assert [
        surface.inverted(*pair)
        for pair in [("mange", "elle"), ("a", "il"), ("vend", "il"), ("mangez", "vous"), ("ont", "ils")]
    ] == [
        "mange-t-elle",
        "a-t-il",
        "vend-il",
        "mangez-vous",
        "ont-ils",
    ]


# ---- sentences ------------------------------------------------------------------------------------------------------


def test_no_sentence_misses_an_elision_or_has_a_wrong_one() -> None:
    missed = re.compile(rf"\b(?:je|ne|de|le|la|que) (?=[{VOWEL}])(\w+)", re.I)
    made = re.compile(r"\b(?:[jndl]|qu)'(\w+)", re.I)
    for pair in EVERY:
        for match in missed.finditer(pair.french):
            assert match[1].lower() in ASPIRATED, pair.french
        for match in made.finditer(pair.french):
            assert match[1][0].lower() in VOWEL, pair.french
            assert match[1].lower() not in ASPIRATED, pair.french
        assert not re.search(r"\b(de|à) les?\b", pair.french), pair.french


def test_sentences_are_tidy() -> None:
    for pair in EVERY:
        for text in (pair.english, pair.french):
            assert "  " not in text
            assert text == text.strip()
            assert text[0].isupper() or text[0] == "À"
            assert not re.search(r"\s[.,]", text)
        asks = pair.structure.mood in ("yes-no", "wh")
        assert pair.english.endswith("?") == asks
        assert pair.french.endswith(" ?" if asks else "."), pair.french


def test_negation_has_two_words_in_french_and_no_indefinite_article_behind_it() -> None:
    for pair in EVERY:
        negative = pair.structure.polarity == "no"
        assert (" pas" in pair.french) == negative, pair.french
        assert bool(re.search(r"\bn(e |')", pair.french, re.I)) == negative, pair.french
        assert (" not" in pair.english) == negative, pair.english
        if negative:
            assert not re.search(r" pas (\w+(é|i|u|t) )?(un|une|des) ", pair.french), pair.french


def test_questions_use_est_ce_que_or_inversion() -> None:
    for pair in EVERY:
        if pair.structure.mood in ("yes-no", "wh"):
            inverted = re.search(r"-(je|il|elle|nous|vous|ils)\b", pair.french)
            assert ("st-ce qu" in pair.french) != bool(inverted), pair.french
        assert not re.search(r"[ae]-(il|elle)\b", pair.french), pair.french


def test_english_articles_go_by_sound() -> None:
    texts = [pair.english.lower() for pair in EVERY]
    assert not any(re.search(r"\ban useful\b|\ban [^aeiou]|\ba [aeio]|\ba u(?!seful)", text) for text in texts)
    assert any(re.search(r"\ba useful\b", text) for text in texts)
    assert any(re.search(r"\ban (umbrella|uncle)\b", text) for text in texts)


def test_nobody_owns_his_like_and_no_tired_girl_is_tired() -> None:
    for pair in EVERY:
        assert not re.search(r"\b(\w+)'s \1s?\b", pair.english), pair.english
        if pair.structure.predicate == "quality":
            words = [
                word for word in re.findall(r"\w+", pair.english) if word in {a.english for a in lexicon.ADJECTIVES}
            ]
            assert len(words) == len(set(words)), pair.english


def test_dates_say_1er() -> None:
    assert not any(re.search(r"\ble 1 \w", pair.french) for pair in EVERY)
    assert any(" 1er " in pair.french for pair in EVERY)


BUILDS = st.sampled_from(["bare", "before", "after", "both", "owner", "counted"])
KINDS = st.sampled_from([frozenset({kind}) for kind in sorted(lexicon.ALL)])
FORMS = {form: noun for noun in lexicon.NOUNS for form in (noun.in_french(False), noun.in_french(True))}


@settings(max_examples=300, deadline=None)
@given(build=BUILDS, kinds=KINDS, seed=st.integers(0, 10**6), negated=st.booleans())
def test_articles_and_adjectives_agree_and_stand_in_their_places(
    build: str, kinds: frozenset[str], seed: int, negated: bool
) -> None:
    try:
        phrase = grammar.noun_phrase(build, kinds, random.Random(seed), negated)
    except IndexError:  # no noun of this kind has such adjectives
        assert not grammar.nouns_for(build, kinds)
        return
    words = phrase.french.split(" ")
    place = next(i for i, word in enumerate(words) if word in FORMS)
    noun = FORMS[words[place]]
    assert noun.gender == phrase.gender
    assert words[place] == noun.in_french(phrase.plural)
    articles = {
        "m": {"le", "un", "ce", "cet", "mon", "son", "notre", "leur"},
        "f": {"la", "une", "cette", "ma", "sa", "notre", "leur", "mon", "son"},
    }
    many = {"les", "des", "ces", "mes", "ses", "nos", "leurs"}
    if build != "counted":
        assert words[0] in (many if phrase.plural else articles[phrase.gender]) | {"de"}
    for i, word in enumerate(words):
        for adjective in lexicon.ADJECTIVES:
            known = {adjective.in_french(g, n) for g in "mf" for n in (False, True)} | {adjective.before_vowel}
            if i != place and i > 0 and build != "owner" and word in known:
                assert (i < place) == adjective.before
                assert word in {adjective.in_french(phrase.gender, phrase.plural), adjective.before_vowel}


@pytest.mark.parametrize(
    ("noun", "adjective", "plural", "form"),
    [
        ("homme", "beautiful", False, "bel"),
        ("homme", "beautiful", True, "beaux"),
        ("héros", "old", False, "vieux"),
        ("avocat", "new", False, "nouvel"),
        ("actrice", "new", False, "nouvelle"),
    ],
)
def test_some_adjectives_have_a_form_before_vowels(noun: str, adjective: str, plural: bool, form: str) -> None:
    (word,) = [a for a in lexicon.ADJECTIVES if a.english == adjective]
    assert grammar.form_before(word, FORMS[noun], plural) == form


def test_participles_agree_with_the_subject_of_etre_and_with_an_object_in_front() -> None:
    rng = random.Random(0)
    seen = set()
    for _ in range(3000):
        pair = ef.sentence(
            clause("", tense="past", subject="pronoun", predicate=rng.choice(["intransitive", "pronoun"])), rng
        )
        for opening, ending in {"Elle est ": r"(ée|ie|ue)", "Ils sont ": r"(és|is|us)", "Il est ": r"(é|i|u)"}.items():
            if pair.french.startswith(opening):
                assert re.search(rf"{ending}\.$", pair.french), pair.french
                seen.add(opening)
        if re.search(r"\b(she|he|they|I|we|you) \w+( \w+)? (him|her|them)\.$", pair.english, re.I):
            whom = pair.english.split(" ")[-1][:-1]
            assert (
                re.search({"him": "[^es]", "her": "e", "them": "s"}[whom] + r"\.$", pair.french)
                or "pris." in pair.french
            ), pair.french
            seen.add(whom)
    assert seen == {"Elle est ", "Ils sont ", "Il est ", "him", "her", "them"}


def test_both_sides_are_the_same_in_every_run_and_longer_lists_begin_with_shorter_ones() -> None:
    assert ef.pairs("train", 300, seed=3) == ef.pairs("train", 500, seed=3)[:300]
    assert ef.pairs("train", 300, seed=3) != ef.pairs("train", 300, seed=4)
    first = ef.pairs("train", 2, seed=0)
    assert [pair.english for pair in first] == [pair.english for pair in ef.pairs("train", 2, seed=0)]


def test_one_english_sentence_has_one_translation() -> None:
    known: dict[str, str] = {}
    for pair in EVERY:
        assert known.setdefault(pair.english, pair.french) == pair.french


@pytest.mark.slow
def test_there_are_a_hundred_thousand_different_pairs() -> None:
    made = ef.pairs("train", 100_000)
    assert len({(pair.english, pair.french) for pair in made}) == 100_000


# ---- the split ------------------------------------------------------------------------------------------------------


def test_held_out_structures_are_new_but_every_two_of_their_core_parts_are_known() -> None:
    cores = {split: {structure.core for structure in ef.structures(split)} for split in ef.SPLITS}
    assert sum(map(len, cores.values())) == 24
    assert not cores["train"] & (cores["dev"] | cores["test"])
    assert not cores["dev"] & cores["test"]
    for split in ("dev", "test"):
        for core in cores[split]:
            for i, j in itertools.combinations(range(3), 2):
                assert any(known[i] == core[i] and known[j] == core[j] for known in cores["train"]), core


def test_every_part_of_a_structure_occurs_in_every_split() -> None:
    for split in ef.SPLITS:
        for name, parts in ef.PARTS.items():
            assert {getattr(structure, name) for structure in ef.structures(split)} == set(parts)


def test_no_sentence_is_in_two_splits() -> None:
    english = {split: {pair.english for pair in part} for split, part in SAMPLE.items()}
    for one, other in itertools.combinations(ef.SPLITS, 2):
        assert not english[one] & english[other]
    for split, part in SAMPLE.items():
        assert all(ef.split_of(pair.structure) == split for pair in part)


def test_the_words_of_held_out_sentences_are_known() -> None:
    words = {
        side: {w for pair in ef.pairs("train", 20_000) for w in re.findall(r"\w+", getattr(pair, side))}
        for side in ("english", "french")
    }
    for side, known in words.items():
        found = [
            word
            for split in ("dev", "test")
            for pair in SAMPLE[split]
            for word in re.findall(r"\w+", getattr(pair, side))
        ]
        unknown = [
            word for word in found if word not in known and word.lower() not in known and word.capitalize() not in known
        ]
        assert len(unknown) < 0.001 * len(found), unknown[:10]
