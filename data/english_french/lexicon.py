"""The words: nouns and adjectives with the kinds of things they fit, verbs with their forms.

French forms are written out or regular.
"""

from __future__ import annotations

from dataclasses import dataclass

# Kinds keep sentences sensible: one eats food, invites people, publishes texts.
PERSON, ANIMAL, FOOD, THING, TEXT = "person", "animal", "food", "thing", "text"


@dataclass(frozen=True)
class Noun:
    """`aspirated` marks an h before which nothing is elided: le héros."""

    kind: str
    english: str
    french: str
    gender: str
    english_plural: str = ""
    french_plural: str = ""
    aspirated: bool = False

    def in_english(self, plural: bool) -> str:
        return (self.english_plural or english_plural(self.english)) if plural else self.english

    def in_french(self, plural: bool) -> str:
        return (self.french_plural or self.french + "s") if plural else self.french


@dataclass(frozen=True)
class Adjective:
    """French forms for le, la, les (m), les (f), and for le before a vowel.

    `before` the noun stand beauty, age, goodness and size.
    """

    english: str
    masculine: str
    feminine: str
    masculine_plural: str
    feminine_plural: str
    before: bool
    kinds: frozenset[str]
    before_vowel: str = ""

    def in_french(self, gender: str, plural: bool) -> str:
        if plural:
            return self.masculine_plural if gender == "m" else self.feminine_plural
        return self.masculine if gender == "m" else self.feminine


@dataclass(frozen=True)
class Verb:
    """`present` holds the forms of je, il, nous, vous, ils.

    A verb without object kinds is intransitive; `etre` forms its past with être.
    """

    english: str
    third: str
    past: str
    present: tuple[str, str, str, str, str]
    future: str
    participle: str
    objects: frozenset[str] = frozenset()
    etre: bool = False


def english_plural(word: str) -> str:
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + ("es" if word.endswith(("s", "x", "ch", "sh", "to")) else "s")


def english_third(verb: str) -> str:
    first, _, rest = verb.partition(" ")
    return " ".join([english_plural(first), rest]).strip()


def nouns(kind: str, *rows: str) -> list[Noun]:
    """One noun from each row: english/plural french/plural gender, `*` for an aspirated h; regular plurals left out."""
    made = []
    for row in rows:
        english, french, gender = row.split(" ")
        one, _, many = english.partition("/")
        un, _, des = french.partition("/")
        made.append(Noun(kind, one, un, gender[0], many, des, gender.endswith("*")))
    return made


NOUNS = [
    *nouns(
        PERSON,
        "girl fille f",
        "boy garçon m",
        "man/men homme m",
        "woman/women femme f",
        "teacher professeur m",
        "doctor médecin m",
    ),
    *nouns(
        PERSON,
        "child/children enfant m",
        "friend ami m",
        "neighbor voisin m",
        "engineer ingénieur m",
        "hero/heroes héros/héros m*",
    ),
    *nouns(
        PERSON,
        "queen reine f",
        "king roi m",
        "actress actrice f",
        "actor acteur m",
        "sister sœur f",
        "brother frère m",
        "aunt tante f",
    ),
    *nouns(
        PERSON,
        "uncle oncle m",
        "nurse infirmière f",
        "baker boulanger m",
        "lawyer avocat m",
        "waitress serveuse f",
        "student étudiant m",
    ),
    *nouns(
        ANIMAL,
        "dog chien m",
        "cat chat m",
        "horse cheval/chevaux m",
        "bird oiseau/oiseaux m",
        "owl hibou/hiboux m*",
        "turtle tortue f",
    ),
    *nouns(
        FOOD,
        "apple pomme f",
        "orange orange f",
        "cake gâteau/gâteaux m",
        "egg œuf m",
        "pear poire f",
        "cheese fromage m",
    ),
    *nouns(
        FOOD,
        "tomato tomate f",
        "sandwich sandwich m",
        "cookie biscuit m",
        "salad salade f",
        "strawberry fraise f",
        "onion oignon m",
    ),
    *nouns(
        THING,
        "house maison f",
        "car voiture f",
        "chair chaise f",
        "table table f",
        "bicycle vélo m",
        "hat chapeau/chapeaux m",
    ),
    *nouns(
        THING,
        "umbrella parapluie m",
        "bag sac m",
        "key clé f",
        "lamp lampe f",
        "coat manteau/manteaux m",
        "bottle bouteille f",
    ),
    *nouns(
        THING,
        "boat bateau/bateaux m",
        "tool outil m",
        "computer ordinateur m",
        "toy jouet m",
        "jewel bijou/bijoux m",
        "flower fleur f",
    ),
    *nouns(
        TEXT,
        "book livre m",
        "letter lettre f",
        "newspaper journal/journaux m",
        "novel roman m",
        "story histoire f",
        "poem poème m",
    ),
    *nouns(TEXT, "article article m", "report rapport m"),
]

PLACES = nouns(
    "place", "garden jardin m", "school école f", "market marché m", "station gare f", "hotel hôtel m", "park parc m"
)
PLACES += nouns(
    "place",
    "church église f",
    "museum musée m",
    "library bibliothèque f",
    "office bureau/bureaux m",
    "kitchen cuisine f",
)
PREPOSITIONS = {"in": "dans", "at": "à", "near": "près de", "behind": "derrière", "in front of": "devant"}

LIVING, OBJECTS = frozenset({PERSON, ANIMAL}), frozenset({FOOD, THING, TEXT})
ALL = LIVING | OBJECTS


def adjective(english: str, forms: str, kinds: frozenset[str] | set[str], before: bool = False) -> Adjective:
    """Forms are one word (m: plural -s, feminine -e unless it ends in e), or `m f mp fp` with an optional form before a
    vowel.
    """
    given = forms.split(" ")
    if len(given) == 1:
        m = given[0]
        f = m if m.endswith("e") else m + "e"
        given = [m, f, m if m.endswith("s") else m + "s", f + "s"]
    m, f, mp, fp, vowel = [*given, ""][:5]
    return Adjective(english, m, f, mp, fp, before, frozenset(kinds), vowel)


ADJECTIVES = [
    adjective("small", "petit", ALL - {TEXT}, before=True),
    adjective("big", "grand", {ANIMAL, THING}, before=True),
    adjective("young", "jeune", LIVING, before=True),
    adjective("old", "vieux vieille vieux vieilles vieil", ALL - {FOOD}, before=True),
    adjective("beautiful", "beau belle beaux belles bel", ALL, before=True),
    adjective("new", "nouveau nouvelle nouveaux nouvelles nouvel", {PERSON, THING, TEXT}, before=True),
    adjective("good", "bon bonne bons bonnes", {PERSON, FOOD, TEXT}, before=True),
    adjective("bad", "mauvais", {PERSON, FOOD, TEXT}, before=True),
    adjective("pretty", "joli", {ANIMAL, THING}, before=True),
    adjective("red", "rouge", {ANIMAL, FOOD, THING}),
    adjective("blue", "bleu", {ANIMAL, THING}),
    adjective("green", "vert", {ANIMAL, FOOD, THING}),
    adjective("white", "blanc blanche blancs blanches", {ANIMAL, THING}),
    adjective("black", "noir", {ANIMAL, THING}),
    adjective("heavy", "lourd", {THING}),
    adjective("expensive", "cher chère chers chères", OBJECTS),
    adjective("useful", "utile", {THING, TEXT}),
    adjective("fresh", "frais fraîche frais fraîches", {FOOD}),
    adjective("sweet", "sucré", {FOOD}),
    adjective("interesting", "intéressant", {PERSON, TEXT}),
    adjective("French", "français", OBJECTS | {PERSON}),
    adjective("happy", "heureux heureuse heureux heureuses", {PERSON}),
    adjective("tired", "fatigué", LIVING),
    adjective("intelligent", "intelligent", LIVING),
    adjective("famous", "célèbre", {PERSON, TEXT}),
    adjective("rich", "riche", {PERSON}),
    adjective("sick", "malade", LIVING),
    adjective("serious", "sérieux sérieuse sérieux sérieuses", {PERSON, TEXT}),
    adjective("careful", "prudent", {PERSON}),
]


def forms_er(stem: str) -> tuple[str, str, str, str, str]:
    nous = stem + ("eons" if stem.endswith("g") else "ons")
    return stem + "e", stem + "e", nous, stem + "ez", stem + "ent"


def forms_ir(stem: str) -> tuple[str, str, str, str, str]:
    return stem + "is", stem + "it", stem + "issons", stem + "issez", stem + "issent"


def forms_re(stem: str) -> tuple[str, str, str, str, str]:
    return stem + "s", stem, stem + "ons", stem + "ez", stem + "ent"


def er(
    english: str, past: str, infinitive: str, objects: frozenset[str] | set[str] = frozenset(), **more: bool
) -> Verb:
    stem = infinitive[:-2]
    return Verb(
        english, english_third(english), past, forms_er(stem), infinitive, stem + "é", frozenset(objects), **more
    )


def ir(english: str, past: str, infinitive: str, objects: frozenset[str] | set[str]) -> Verb:
    return Verb(
        english,
        english_third(english),
        past,
        forms_ir(infinitive[:-2]),
        infinitive,
        infinitive[:-1],
        frozenset(objects),
    )


def re_(english: str, past: str, infinitive: str, objects: frozenset[str] | set[str]) -> Verb:
    stem = infinitive[:-2]
    return Verb(english, english_third(english), past, forms_re(stem), infinitive[:-1], stem + "u", frozenset(objects))


def irregular(
    english: str,
    past: str,
    present: str,
    future: str,
    participle: str,
    objects: frozenset[str] | set[str] = frozenset(),
    etre: bool = False,
) -> Verb:
    je, il, nous, vous, ils = present.split(" ")
    return Verb(
        english, english_third(english), past, (je, il, nous, vous, ils), future, participle, frozenset(objects), etre
    )


VERBS = [
    er("eat", "ate", "manger", {FOOD}),
    er("prepare", "prepared", "préparer", {FOOD, TEXT}),
    er("share", "shared", "partager", {FOOD, TEXT}),
    er("taste", "tasted", "goûter", {FOOD}),
    er("carry", "carried", "porter", {THING, ANIMAL}),
    er("find", "found", "trouver", ALL),
    er("draw", "drew", "dessiner", {THING, ANIMAL, PERSON}),
    er("hide", "hid", "cacher", {THING, TEXT, FOOD}),
    er("wash", "washed", "laver", {THING, ANIMAL}),
    er("show", "showed", "montrer", OBJECTS),
    er("repair", "repaired", "réparer", {THING}),
    er("publish", "published", "publier", {TEXT}),
    er("copy", "copied", "copier", {TEXT}),
    er("help", "helped", "aider", LIVING),
    er("invite", "invited", "inviter", {PERSON}),
    er("watch", "watched", "regarder", LIVING),
    er("listen to", "listened to", "écouter", {PERSON}),
    er("thank", "thanked", "remercier", {PERSON}),
    er("greet", "greeted", "saluer", {PERSON}),
    ir("choose", "chose", "choisir", OBJECTS),
    ir("finish", "finished", "finir", {TEXT}),
    re_("lose", "lost", "perdre", {THING, TEXT}),
    re_("hear", "heard", "entendre", LIVING),
    re_("wait for", "waited for", "attendre", {PERSON}),
    irregular("call", "called", "appelle appelle appelons appelez appellent", "appeller", "appelé", LIVING),
    irregular("see", "saw", "vois voit voyons voyez voient", "verr", "vu", ALL),
    irregular("write", "wrote", "écris écrit écrivons écrivez écrivent", "écrir", "écrit", {TEXT}),
    irregular(
        "translate", "translated", "traduis traduit traduisons traduisez traduisent", "traduir", "traduit", {TEXT}
    ),
    irregular("follow", "followed", "suis suit suivons suivez suivent", "suivr", "suivi", LIVING),
    irregular("open", "opened", "ouvre ouvre ouvrons ouvrez ouvrent", "ouvrir", "ouvert", {TEXT}),
    er("sing", "sang", "chanter"),
    er("dance", "danced", "danser"),
    er("work", "worked", "travailler"),
    er("swim", "swam", "nager"),
    er("walk", "walked", "marcher"),
    er("talk", "talked", "parler"),
    er("play", "played", "jouer"),
    er("cry", "cried", "pleurer"),
    irregular("sleep", "slept", "dors dort dormons dormez dorment", "dormir", "dormi"),
    irregular("run", "ran", "cours court courons courez courent", "courr", "couru"),
    irregular("smile", "smiled", "souris sourit sourions souriez sourient", "sourir", "souri"),
    er("arrive", "arrived", "arriver", etre=True),
    er("fall", "fell", "tomber", etre=True),
    er("stay", "stayed", "rester", etre=True),
    irregular("leave", "left", "pars part partons partez partent", "partir", "parti", etre=True),
    irregular("come back", "came back", "reviens revient revenons revenez reviennent", "reviendr", "revenu", etre=True),
]

# Trade takes a price.
TRADE = [
    irregular("buy", "bought", "achète achète achetons achetez achètent", "achèter", "acheté", OBJECTS),
    re_("sell", "sold", "vendre", OBJECTS),
]
REPORTS = {"says": "dit", "thinks": "pense", "knows": "sait"}

AVOIR = ("ai", "a", "avons", "avez", "ont")
ETRE = ("suis", "est", "sommes", "êtes", "sont")
ETAIT = ("étais", "était", "étions", "étiez", "étaient")
FUTURE = ("ai", "a", "ons", "ez", "ont")
ASPIRATED = {form for noun in NOUNS if noun.aspirated for form in (noun.in_french(False), noun.in_french(True))}
