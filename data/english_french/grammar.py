"""The grammar: a structure says what kind of sentence, a random generator fills in the words, and both languages are
written from the same choice.

A structure has six parts. Which split it belongs to depends on three of them, mood, tense and polarity: every two of
the three occur together in training, the three together do not.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache
from typing import TypeVar

from english_french import surface
from english_french.lexicon import (
    ADJECTIVES,
    ALL,
    AVOIR,
    ETAIT,
    ETRE,
    FUTURE,
    NOUNS,
    PERSON,
    PLACES,
    PREPOSITIONS,
    REPORTS,
    TRADE,
    VERBS,
    Adjective,
    Noun,
    Verb,
)

PARTS: dict[str, tuple[str, ...]] = {
    "mood": ("statement", "yes-no", "wh", "reported"),
    "tense": ("present", "past", "future"),
    "polarity": ("yes", "no"),
    "subject": ("pronoun", "bare", "before", "after", "both", "owner", "counted"),
    "predicate": ("intransitive", "quality", "pronoun", "bare", "before", "after", "both", "owner", "counted"),
    "adjunct": ("none", "place", "clock", "date", "weekday", "price"),
}
SPLITS = ("train", "dev", "test")


@dataclass(frozen=True)
class Structure:
    """What kind of sentence it is. `subject` and, for transitive verbs, `predicate` say how a noun phrase is built."""

    mood: str
    tense: str
    polarity: str
    subject: str
    predicate: str
    adjunct: str

    @property
    def core(self) -> tuple[str, str, str]:
        return self.mood, self.tense, self.polarity


@dataclass(frozen=True)
class Pair:
    """One sentence in both languages, and the structure that it was made from."""

    english: str
    french: str
    structure: Structure


@dataclass(frozen=True)
class Phrase:
    """A subject or an object: its words in both languages, and what others must agree with.

    `person` counts je, il, nous, vous, ils.
    """

    english: str
    french: str
    gender: str
    plural: bool
    person: int
    kind: str = PERSON
    pronoun: bool = False


# English, French subject, French object, gender, plural, person.
PRONOUNS = {
    "I": Phrase("I", "je", "m", False, 0, pronoun=True),
    "he": Phrase("he", "il", "m", False, 1, pronoun=True),
    "she": Phrase("she", "elle", "f", False, 1, pronoun=True),
    "we": Phrase("we", "nous", "m", True, 2, pronoun=True),
    "you": Phrase("you", "vous", "m", True, 3, pronoun=True),
    "they": Phrase("they", "ils", "m", True, 4, pronoun=True),
}
OBJECT_PRONOUNS = {
    "him": Phrase("him", "le", "m", False, 1, pronoun=True),
    "her": Phrase("her", "la", "f", False, 1, pronoun=True),
    "them": Phrase("them", "les", "m", True, 4, pronoun=True),
}
DETERMINERS = ("the", "the", "a", "a", "this", "my", "our", "his", "her", "their")
SOUNDS_OF_CONSONANTS = ("useful",)  # written with a vowel, spoken with a consonant: a useful book
PEOPLE = frozenset({PERSON})
Word = TypeVar("Word", bound=Adjective | Noun)
SIDES = {
    "before": (True,),
    "after": (False,),
    "both": (True, False),
}  # where a noun phrase has adjectives: True is before the noun
POSSESSIVES = {"my": ("mon", "ma", "mes"), "his": ("son", "sa", "ses"), "her": ("son", "sa", "ses")}
POSSESSIVES |= {"our": ("notre", "notre", "nos"), "their": ("leur", "leur", "leurs")}


def split_of(structure: Structure) -> str:
    """The split of a structure.

    With two neighbouring residues of four held out, every pair of core parts stays in training.
    """
    mood, tense, polarity = (
        PARTS[name].index(part) for name, part in zip(("mood", "tense", "polarity"), structure.core, strict=True)
    )
    return {2: "dev", 3: "test"}.get((mood + tense + 2 * polarity) % 4, "train")


def possible(structure: Structure) -> bool:
    """Can sentences be made from it? A price needs trade, a date a time that is not now."""
    if structure.adjunct == "price" and structure.predicate in ("intransitive", "quality", "pronoun"):
        return False
    return not (structure.adjunct == "date" and structure.tense == "present")


@cache
def structures(split: str) -> tuple[Structure, ...]:
    """Every possible structure of a split, in a fixed order."""
    every = (Structure(*parts) for parts in itertools.product(*PARTS.values()))
    return tuple(structure for structure in every if possible(structure) and split_of(structure) == split)


def pairs(split: str, count: int, seed: int = 0) -> list[Pair]:
    """`count` different pairs of a split; the same for the same seed. A longer list begins with the shorter one."""
    return list(itertools.islice(stream(split, seed), count))


def stream(split: str, seed: int) -> Iterator[Pair]:
    rng = random.Random(f"{split} {seed}")
    seen: set[str] = set()
    choices = structures(split)
    while True:
        pair = sentence(rng.choice(choices), rng)
        if pair.english not in seen:
            seen.add(pair.english)
            yield pair


def sentence(structure: Structure, rng: random.Random) -> Pair:
    """One sentence of this structure, in both languages."""
    verb = None
    if structure.predicate != "quality":
        verb = rng.choice(verbs_for(structure.predicate, structure.adjunct == "price"))
    subject = subject_phrase(structure, verb, rng)
    negative = structure.polarity == "no"
    if verb is None:
        quality = other_than(subject.english.split(" "), adjectives_for(subject.kind), rng)  # no tired girl is tired
        object_ = Phrase(
            quality.english, quality.in_french(subject.gender, subject.plural), subject.gender, subject.plural, 1
        )
    elif structure.predicate == "intransitive":
        object_ = None
    elif structure.predicate == "pronoun":
        object_ = OBJECT_PRONOUNS[rng.choice(list(OBJECT_PRONOUNS))]
    else:
        object_ = noun_phrase(structure.predicate, verb.objects, rng, negative)
    adverb = adjunct(structure, rng)
    ask = ""
    if structure.mood == "wh":
        ask = rng.choice(asked(structure.adjunct))
    report = (
        (rng.choice(nouns_for("bare", PEOPLE)), rng.choice(list(REPORTS))) if structure.mood == "reported" else None
    )
    english = english_clause(structure, subject, verb, object_, ask)
    words = french_clause(structure, subject, verb, object_, ask)
    if report:
        english = ["the", report[0].english, report[1], "that", *english]
        article = "le" if report[0].gender == "m" else "la"
        words = [article, report[0].french, REPORTS[report[1]], "que", *words]
    asks = structure.mood in ("yes-no", "wh")
    return Pair(
        capital(" ".join(filter(None, [*english, adverb[0]]))) + ("?" if asks else "."),
        capital(surface.joined([*words, adverb[1]])) + (" ?" if asks else "."),
        structure,
    )


def capital(text: str) -> str:
    return text[0].upper() + text[1:]


@cache
def verbs_for(predicate: str, trade: bool) -> list[Verb]:
    """Verbs that take this kind of object; him, her and them are people."""
    if predicate == "intransitive":
        return [verb for verb in VERBS if not verb.objects]
    return [
        verb
        for verb in (TRADE if trade else VERBS + TRADE)
        if (PERSON in verb.objects if predicate == "pronoun" else verb.objects)
    ]


@cache
def adjectives_for(kind: str, sides: tuple[bool, ...] = (True, False)) -> list[Adjective]:
    """Adjectives that fit this kind of thing and stand on one of these sides (True: before the noun)."""
    return [adjective for adjective in ADJECTIVES if kind in adjective.kinds and adjective.before in sides]


@cache
def nouns_for(build: str, kinds: frozenset[str]) -> list[Noun]:
    """Nouns of these kinds that have the adjectives which the noun phrase wants."""
    return [
        noun
        for noun in NOUNS
        if noun.kind in kinds and all(adjectives_for(noun.kind, (side,)) for side in SIDES.get(build, ()))
    ]


def other_than(taken: list[str], choices: list[Word], rng: random.Random) -> Word:
    """A random choice; if its English word is taken, the one that follows it in the list."""
    first = rng.randrange(len(choices))
    return next(word for word in [*choices[first:], *choices[:first]] if word.english not in taken)


def asked(adjunct_kind: str) -> list[str]:
    """Question words whose answer the sentence does not give already."""
    words = ["why"]
    words += [] if adjunct_kind == "place" else ["where"]
    return words if adjunct_kind in ("clock", "date", "weekday") else [*words, "when"]


QUESTION_WORDS = {"why": "pourquoi", "where": "où", "when": "quand"}


# ---- noun phrases ---------------------------------------------------------------------------------------------------


def subject_phrase(structure: Structure, verb: Verb | None, rng: random.Random) -> Phrase:
    if structure.subject == "pronoun":
        agrees = verb is None or (
            verb.etre and structure.tense == "past"
        )  # the French form would depend on who is speaking
        return PRONOUNS[rng.choice(["he", "she", "they"] if agrees else list(PRONOUNS))]
    return noun_phrase(structure.subject, ALL if verb is None else PEOPLE, rng)


def noun_phrase(build: str, kinds: frozenset[str], rng: random.Random, negated_object: bool = False) -> Phrase:
    """A noun phrase: determiner, adjectives in their places, noun. `build` says which of them it has."""
    noun = rng.choice(nouns_for(build, kinds))
    chosen = [rng.choice(adjectives_for(noun.kind, (side,))) for side in SIDES.get(build, ())]
    plural = build == "counted" or rng.random() < 0.4
    if build == "owner":
        return owned(noun, plural, other_than([noun.english], nouns_for("bare", PEOPLE), rng))
    in_front = [a for a in chosen if a.before]
    behind = [a for a in chosen if not a.before]
    adjectives = [form_before(a, noun, plural) for a in in_front]
    head = [*adjectives, noun.in_french(plural), *(a.in_french(noun.gender, plural) for a in behind)]
    english_head = " ".join([*(a.english for a in chosen), noun.in_english(plural)])
    if build == "counted":
        n = rng.randint(2, 20) if rng.random() < 0.5 else rng.randint(21, 99)
        english, determiner = surface.number_in_english(n), surface.number_in_french(n, noun.gender)
    else:
        which = rng.choice(DETERMINERS)
        english = english_determiner(which, english_head, plural, negated_object)
        determiner = french_determiner(which, noun.gender, plural, head[0], bool(in_front), negated_object)
    return Phrase(
        f"{english} {english_head}", " ".join([determiner, *head]), noun.gender, plural, 4 if plural else 1, noun.kind
    )


def owned(noun: Noun, plural: bool, owner: Noun) -> Phrase:
    """The girl's book: le livre de la fille."""
    article = "les" if plural else "le" if noun.gender == "m" else "la"
    of = f"de {'le' if owner.gender == 'm' else 'la'} {owner.french}"
    english = f"the {owner.english}'s {noun.in_english(plural)}"
    return Phrase(
        english, f"{article} {noun.in_french(plural)} {of}", noun.gender, plural, 4 if plural else 1, noun.kind
    )


def form_before(adjective: Adjective, noun: Noun, plural: bool) -> str:
    """Before a masculine noun that starts with a vowel, some adjectives have a form of their own: un bel homme."""
    if adjective.before_vowel and noun.gender == "m" and not plural and surface.starts_with_vowel(noun.french):
        return adjective.before_vowel
    return adjective.in_french(noun.gender, plural)


def english_determiner(which: str, head: str, plural: bool, negated_object: bool) -> str:
    if which == "a":
        if plural:
            return "any" if negated_object else "some"
        return "an" if head[0] in "aeiou" and not head.startswith(SOUNDS_OF_CONSONANTS) else "a"
    return {"this": "these"}.get(which, which) if plural else which


def french_determiner(
    which: str, gender: str, plural: bool, following: str, adjective_follows: bool, negated_object: bool
) -> str:
    vowel = surface.starts_with_vowel(following)
    if which == "the":
        return "les" if plural else "le" if gender == "m" else "la"
    if which == "a":  # no indefinite article survives a negated verb, no `des` an adjective in front
        if negated_object or (plural and adjective_follows):
            return "de"
        return "des" if plural else "un" if gender == "m" else "une"
    if which == "this":
        return "ces" if plural else "cette" if gender == "f" else "cet" if vowel else "ce"
    masculine, feminine, many = POSSESSIVES[which]
    return many if plural else masculine if gender == "m" or vowel else feminine


# ---- clauses --------------------------------------------------------------------------------------------------------


def english_clause(
    structure: Structure, subject: Phrase, verb: Verb | None, object_: Phrase | None, ask: str
) -> list[str]:
    """Words of the English clause: auxiliaries for questions and negation, the full verb otherwise."""
    third = subject.person == 1
    asks = structure.mood in ("yes-no", "wh")
    negation = ["not"] if structure.polarity == "no" else []
    tail = [object_.english] if object_ else []
    if verb is None:
        be = {
            "present": "am" if subject.person == 0 else "is" if third else "are",
            "past": "was" if third else "were",
            "future": "will",
        }
        auxiliary, rest = be[structure.tense], ["be"] if structure.tense == "future" else []
    elif structure.tense == "future" or asks or negation:
        auxiliary = {"present": "does" if third else "do", "past": "did", "future": "will"}[structure.tense]
        rest = [verb.english]
    else:
        return [
            subject.english,
            {"present": verb.third if third else verb.english, "past": verb.past}[structure.tense],
            *tail,
        ]
    if asks:
        return [ask, auxiliary, subject.english, *negation, *rest, *tail]
    return [subject.english, auxiliary, *negation, *rest, *tail]


def finite(structure: Structure, subject: Phrase, verb: Verb | None, clitic: Phrase | None) -> tuple[str, str]:
    """The finite verb and, in the past, the participle with its agreement."""
    person = subject.person
    if verb is None:
        return {"present": ETRE[person], "past": ETAIT[person], "future": "ser" + FUTURE[person]}[structure.tense], ""
    if structure.tense == "present":
        return verb.present[person], ""
    if structure.tense == "future":
        return verb.future + FUTURE[person], ""
    agrees_with = subject if verb.etre else clitic  # with avoir: with an object that stands in front
    ending = (
        "" if agrees_with is None else ("e" if agrees_with.gender == "f" else "") + ("s" if agrees_with.plural else "")
    )
    return (ETRE if verb.etre else AVOIR)[person], verb.participle + ending


def french_clause(
    structure: Structure, subject: Phrase, verb: Verb | None, object_: Phrase | None, ask: str
) -> list[str]:
    """Words of the French clause, elisions still open: subject, ne, object pronoun, verb, pas, participle, object."""
    clitic = object_ if structure.predicate == "pronoun" else None
    form, participle = finite(structure, subject, verb, clitic)
    asks = structure.mood in ("yes-no", "wh")
    inverts = asks and subject.pronoun and subject.french != "je"
    core = surface.inverted(form, subject.french) if inverts else form
    negative = structure.polarity == "no"
    group = ["ne" if negative else "", clitic.french if clitic else "", core, "pas" if negative else "", participle]
    tail = [object_.french] if object_ and not clitic else []
    opening = [QUESTION_WORDS.get(ask, "")] if asks else []
    if asks and not inverts:
        opening.append("est-ce que")
    return [*opening, *([] if inverts else [subject.french]), *group, *tail]


# ---- place, time and price ------------------------------------------------------------------------------------------


def adjunct(structure: Structure, rng: random.Random) -> tuple[str, str]:
    """Words in both languages for where, when or for how much."""
    if structure.adjunct == "place":
        place, preposition = rng.choice(PLACES), rng.choice(list(PREPOSITIONS))
        return (
            f"{preposition} the {place.english}",
            f"{PREPOSITIONS[preposition]} {'le' if place.gender == 'm' else 'la'} {place.french}",
        )
    if structure.adjunct == "clock":
        hour = rng.randint(1, 12)
        if hour == 12:
            return "at noon", "à midi"
        return (
            f"at {surface.number_in_english(hour)} o'clock",
            f"à {surface.number_in_french(hour, 'f')} heure{'s' if hour > 1 else ''}",
        )
    if structure.adjunct == "date":
        first = date(1950, 1, 1) if structure.tense == "past" else date(2030, 1, 1)
        day = (
            first + timedelta(days=rng.randrange(365 * 30))
            if rng.random() < 0.8
            else first.replace(year=first.year + rng.randrange(30))
        )
        return f"on {surface.date_in_english(day)}", f"le {surface.date_in_french(day)}"
    if structure.adjunct == "weekday":
        day_number = rng.randrange(7)
        english, words = surface.weekday("en", day_number), surface.weekday("fr", day_number)
        return (f"on {english}s", f"le {words}") if structure.tense == "present" else (f"on {english}", words)
    if structure.adjunct == "price":
        cents = rng.choice(
            [
                100 * rng.randint(2, 99),
                100 * rng.randint(2, 9) + 50,
                1000 * 100 * rng.randint(1, 9) + 100 * 50 * rng.randint(2, 19),
            ]
        )
        return f"for {surface.price_in_english(cents)}", f"pour {surface.price_in_french(cents)}"
    return "", ""
