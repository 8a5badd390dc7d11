"""Surface rules: French elision, contraction and inversion; numbers, dates and money as each language writes them."""

from __future__ import annotations

import unicodedata
from datetime import date
from functools import cache

from babel.dates import format_date, get_day_names
from babel.numbers import format_currency
from num2words import num2words

from english_french.lexicon import ASPIRATED

ELIDED = {"je", "ne", "de", "le", "la", "que"}
NEVER_ELIDED_BEFORE = ASPIRATED | {"onze", "huit"}
CONTRACTED = {("à", "le"): "au", ("à", "les"): "aux", ("de", "le"): "du", ("de", "les"): "des"}


@cache
def starts_with_vowel(word: str) -> bool:
    """Does this word sound as if it began with a vowel? A mute h does; an aspirated one does not."""
    first = unicodedata.normalize("NFD", word[:1].lower().replace("œ", "o"))[:1]
    return first in set("aeiouyh") and word.split(" ")[0].split("-")[0] not in NEVER_ELIDED_BEFORE


def joined(words: list[str]) -> str:
    """A sentence from words: je ai → j'ai, de le hôtel → de l'hôtel, à le marché → au marché."""
    words = [word for phrase in words if phrase for word in phrase.split(" ")]
    made: list[str] = []
    for word in reversed(words):  # from the right, so that `de le hôtel` elides its article before it could contract
        if made and word in ELIDED and starts_with_vowel(made[0]):
            made[0] = f"{word[:-1]}'{made[0]}"
        elif made and (word, made[0]) in CONTRACTED:
            made[0] = CONTRACTED[word, made[0]]
        else:
            made.insert(0, word)
    return " ".join(made)


def inverted(verb: str, pronoun: str) -> str:
    """Verb and pronoun in a question: mange-t-elle, vend-il, mangez-vous."""
    link = "-t-" if pronoun in ("il", "elle") and verb[-1] in "ae" else "-"
    return f"{verb}{link}{pronoun}"


@cache
def number_in_french(n: int, gender: str) -> str:
    """A number in words; one agrees: vingt et une pommes."""
    words = str(num2words(n, lang="fr"))
    return words + "e" if gender == "f" and words.split(" ")[-1].split("-")[-1] == "un" else words


@cache
def date_in_french(day: date) -> str:
    text = str(format_date(day, "d MMMM y", locale="fr"))
    return text.replace("1 ", "1er ", 1) if day.day == 1 else text


@cache
def price_in_french(cents: int) -> str:
    """As French writes money, with a decimal comma and the sign behind; plain spaces, as the loader gives them."""
    text = format_currency(
        cents / 100, "EUR", locale="fr_FR", format="#,##0.00 ¤" if cents % 100 else "#,##0 ¤", currency_digits=False
    )
    return str(text).replace("\u202f", " ").replace("\u00a0", " ")


@cache
def price_in_english(cents: int) -> str:
    return str(
        format_currency(
            cents / 100, "EUR", locale="en_US", format="¤#,##0.00" if cents % 100 else "¤#,##0", currency_digits=False
        )
    )


@cache
def number_in_english(n: int) -> str:
    return str(num2words(n))


@cache
def date_in_english(day: date) -> str:
    return str(format_date(day, "MMMM d, y", locale="en"))


@cache
def weekday(locale: str, number: int) -> str:
    """Name of a day, counted from Monday = 0."""
    return str(get_day_names("wide", locale=locale)[number])
