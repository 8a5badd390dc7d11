"""Wrong answers that the tests of 06-tokenization must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

# Two functions share a cell in `decode`, `queue` and `json`: the right one, to go with one that is wrong.
BYTES_OF = """
def bytes_of(ids, vocab):
    return b"".join(vocab[number] for number in ids)
"""
SLOW_TRAINER = """
def train_bpe(text, vocab_size, special_tokens=()):
    return train_recount(text, vocab_size, special_tokens)
"""

SIMPLE_ENCODER = """
def encode_word(word, ranks):
    parts = tuple(bytes([b]) for b in word)
    while len(parts) > 1:
        pair = min(zip(parts, parts[1:]), key=lambda pair: ranks.get(pair, float("inf")))
        if pair not in ranks:
            break
        parts = merge(parts, pair)
    return list(parts)
"""


def simple_encoder(change: dict[str, str]) -> str:
    """The encoder that most people write, with some text changed."""
    code = SIMPLE_ENCODER
    for old, new in change.items():
        assert old in code, old
        code = code.replace(old, new)
    return code


VARIANTS = {
    "decode": [
        Mistake(
            "ASCII",
            change={'"utf-8", errors="replace"': '"ascii", errors="replace"'},
            says="text_of reads ASCII: UTF-8 has more than ASCII's 128 characters. Decode as UTF-8",
            gravity="idea",
        ),
        Mistake(
            "takes the ids out of the list",
            change={
                'return b"".join(vocab[number] for number in ids)': 'out = b""\n    while ids:\n        out += vocab[ids.pop(0)]\n    return out'
            },
            says="`bytes_of` takes the ids out of the list that it is given: the caller's list is empty afterwards",
            gravity="edge",
        ),
        Mistake(
            "each token by itself",
            change={
                'bytes_of(ids, vocab).decode("utf-8", errors="replace")': '"".join(vocab[n].decode("utf-8", errors="replace") for n in ids)'
            },
            says="each token is decoded by itself: a character that is spread over two tokens is lost. Join first",
            gravity="idea",
        ),
        Mistake(
            "strict",
            change={', errors="replace"': ""},
            says="text_of fails on a stray byte, which is not text: it becomes one U+FFFD, and decoding goes on",
            gravity="part",
        ),
        Mistake(
            "ignored",
            change={'errors="replace"': 'errors="ignore"'},
            says="the stray byte was dropped: it must leave a U+FFFD behind, or the damage is invisible",
            gravity="part",
        ),
        Mistake(
            "latin-1",
            change={'"utf-8", errors="replace"': '"latin-1"'},
            says="every byte became its own character (latin-1): decode as UTF-8",
            gravity="idea",
        ),
        Mistake(
            "bytes through text",
            change={'b"".join(vocab[number] for number in ids)': '"".join(vocab[n].decode("utf-8", "ignore") for n in ids).encode()'},
            says="bytes that are not UTF-8 are dropped: `bytes_of` must not go through text",
            gravity="idea",
        ),
        Mistake(
            "ids sorted",
            change={"for number in ids": "for number in sorted(ids)"},
            says="the ids are sorted: keep them in the order in which they come",
            gravity="idea",
        ),
        Mistake(
            "each id once",
            change={"for number in ids": "for number in dict.fromkeys(ids)"},
            says="every id is used once: ids may repeat",
            gravity="idea",
        ),
        Mistake(
            "stripped",
            change={'errors="replace")': 'errors="replace").strip()'},
            says="text_of strips the text: white space at the ends stays as it is",
            gravity="edge",
        ),
        Mistake(
            "line ends changed",
            change={'errors="replace")': 'errors="replace").replace("\\r\\n", "\\n")'},
            says="text_of changes line ends: they stay as they are",
            gravity="edge",
        ),
        Mistake(
            "ids as bytes",
            change={"vocab[number] for number in ids": "bytes([number]) if number < 256 else vocab[number] for number in ids"},
            says="small ids are taken for bytes: an id is not a byte, look each one up in `vocab`",
            gravity="idea",
        ),
        Mistake(
            "bytes through text, replaced",
            change={'b"".join(vocab[number] for number in ids)': '"".join(vocab[n].decode("utf-8", "replace") for n in ids).encode()'},
            says="bytes that are not UTF-8 are replaced: `bytes_of` must not go through text",
            gravity="idea",
        ),
        Mistake(
            "escapes",
            change={'errors="replace"': 'errors="backslashreplace"'},
            says="stray bytes are written out as escapes such as \\xc3: each becomes U+FFFD",
            gravity="part",
        ),
        Mistake(
            "one U+FFFD for everything",
            code=BYTES_OF
            + """
def text_of(ids, vocab):
    try:
        return bytes_of(ids, vocab).decode("utf-8")
    except UnicodeDecodeError:
        return "\\ufffd"
""",
            says="one stray byte makes the whole text one U+FFFD: only what is not UTF-8 is replaced",
            gravity="part",
        ),
        Mistake(
            "each token by itself, failures replaced",
            code=BYTES_OF
            + """
def text_of(ids, vocab):
    out = ""
    for number in ids:
        try:
            out += vocab[number].decode()
        except UnicodeDecodeError:
            out += "\\ufffd"
    return out
""",
            says="each token is decoded by itself: a character that is spread over two tokens is lost. Join first",
            gravity="idea",
        ),
        Mistake(
            "tokens reversed",
            change={"for number in ids": "for number in reversed(ids)"},
            says="bytes_of: the tokens come in reverse order",
            gravity="idea",
        ),
        Mistake(
            "spaces between",
            change={'b"".join': 'b" ".join'},
            says="bytes_of: there are spaces between the tokens: put them side by side",
            gravity="idea",
        ),
        Mistake(
            "ids taken for bytes",
            change={'b"".join(vocab[number] for number in ids)': "bytes(number % 256 for number in ids)"},
            says="bytes_of: the ids are taken for bytes: look each one up in `vocab`",
            gravity="idea",
        ),
        Mistake(
            "text for bytes",
            change={'b"".join(vocab[number] for number in ids)': '"".join(str(vocab[number]) for number in ids)'},
            says="bytes_of: the tokens are written out as text: join the bytes themselves",
            gravity="idea",
        ),
        Right(
            "a loop",
            code="""
def bytes_of(ids, vocab):
    result = bytearray()
    for number in ids:
        result += vocab[number]
    return bytes(result)

def text_of(ids, vocab):
    return str(bytes_of(ids, vocab), "utf-8", "replace")
""",
        ),
        Right(
            "an incremental decoder",
            code=BYTES_OF
            + """
import codecs

def text_of(ids, vocab):
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    return "".join(decoder.decode(vocab[number]) for number in ids) + decoder.decode(b"", True)
""",
        ),
    ],
    "split-special": [
        Mistake(
            "stripped and dropped",
            change={
                "[piece for piece in regex.split(pattern, text) if piece]": "[p.strip() for p in regex.split(pattern, text) if p.strip()]"
            },
            says="white space is text: do not strip it, and a piece of white space is a piece, too",
            gravity="idea",
        ),
        Mistake(
            "not escaped",
            change={"regex.escape(token)": "token"},
            says='`|` means "or" in a pattern: escape the special token',
            gravity="idea",
        ),
        Mistake(
            "signals lost",
            change={'"(" + ': "", ' + ")"': ""},
            says="the special token is lost: put the pattern into brackets, so that it is kept",
            gravity="idea",
        ),
        Mistake(
            "shortest first",
            change={"reverse=True": "reverse=False"},
            says="a shorter special token is tried before a longer one: where several start at the same place, the longest one wins",
            gravity="part",
        ),
        Mistake(
            "in the list's order",
            change={"sorted(special_tokens, key=len, reverse=True)": "special_tokens"},
            says="the special tokens are tried in the order of the list: where several start at the same place, the longest one wins",
            gravity="part",
        ),
        Mistake(
            "alphabetically",
            change={"sorted(special_tokens, key=len, reverse=True)": "sorted(special_tokens)"},
            says="a shorter special token is tried before a longer one: where several start at the same place, the longest one wins",
            gravity="part",
        ),
        Mistake("empty pieces", change={" if piece]": "]"}, says="the empty pieces are still in the list: leave them out", gravity="part"),
        Mistake(
            "no case for no special tokens",
            change={"    if not special_tokens:\n        return [text] if text else []\n": ""},
            says="without special tokens the text is cut everywhere: an empty pattern matches between any two characters",
            gravity="edge",
        ),
        Mistake(
            "stripped",
            change={"[piece for piece in": "[piece.strip() for piece in"},
            says="white space is text: do not strip the pieces",
            gravity="idea",
        ),
        Mistake(
            "sorts the caller's list",
            change={
                "longest_first = sorted(special_tokens, key=len, reverse=True)": "special_tokens = special_tokens if type(special_tokens) is list else list(special_tokens)\n    special_tokens.sort(key=len, reverse=True)\n    longest_first = special_tokens"
            },
            says="your code sorts the caller's list: use `sorted`, which makes a new one",
            gravity="edge",
        ),
        Mistake(
            "one special token at a time",
            code="""
def split_special(text, special_tokens):
    pieces = [text]
    for token in sorted(special_tokens, key=len, reverse=True):
        pieces = [part for piece in pieces for part in (regex.split("(" + regex.escape(token) + ")", piece) if piece not in special_tokens else [piece])]
    return [piece for piece in pieces if piece]
""",
            says="the special tokens are cut out one after the other: search from left to right for all of them at once, so that an earlier start wins",
            gravity="part",
        ),
        Mistake(
            "blank pieces dropped",
            change={"if piece]": "if piece.strip()]"},
            says="pieces of white space are dropped: white space between two special tokens is a piece, too",
            gravity="idea",
        ),
        Mistake(
            "one special token only",
            change={"for token in longest_first": "for token in special_tokens[:1]"},
            says="only one special token is looked for: the list may hold several",
            gravity="idea",
        ),
        Mistake(
            "large and small letters alike",
            change={"regex.split(pattern, text)": "regex.split(pattern, text, flags=regex.I)"},
            says="the pattern ignores case: upper-case and lower-case letters are different characters",
            gravity="idea",
        ),
        Mistake(
            "only the first occurrence",
            code="""
def split_special(text, special_tokens):
    pieces = [text]
    for token in sorted(special_tokens, key=len, reverse=True):
        pieces = [part for piece in pieces for part in ([piece] if piece in special_tokens else piece.partition(token))]
    return [piece for piece in pieces if piece]
""",
            says="only the first occurrence of a special token is cut out: each of them is a separate piece",
            gravity="idea",
        ),
        Mistake(
            "runs are one piece",
            change={
                '"(" + "|".join(regex.escape(token) for token in longest_first) + ")"': '"((?:" + "|".join(regex.escape(token) for token in longest_first) + ")+)"'
            },
            says="special tokens in a row are one piece here: each is a piece by itself",
            gravity="part",
        ),
        Mistake(
            "an empty text is a piece",
            change={"return [text] if text else []": "return [text]"},
            says="without special tokens an empty text gives one empty piece: an empty text has no pieces",
            gravity="edge",
        ),
        Mistake(
            "every piece once",
            change={
                "return [piece for piece in regex.split(pattern, text) if piece]": "return list(dict.fromkeys(piece for piece in regex.split(pattern, text) if piece))"
            },
            says="pieces that occur twice are kept once: the pieces, joined, must give the text",
            gravity="idea",
        ),
        Mistake(
            "escapes the bar only",
            change={"regex.escape(token)": 'token.replace("|", "\\\\|")'},
            says="only `|` is escaped: other signs, such as `.`, `(` and `*`, mean something in a pattern, too. Use `regex.escape`",
            gravity="idea",
        ),
        Right(
            "without regex",
            code="""
def split_special(text, special_tokens):
    pieces, plain, i = [], "", 0
    while i < len(text):
        token = max((t for t in special_tokens if text.startswith(t, i)), key=len, default="")
        if token:
            pieces += [plain, token]
            plain = ""
        else:
            plain += text[i]
        i += len(token) or 1
    return [piece for piece in [*pieces, plain] if piece]
""",
        ),
        Right(
            "finditer",
            code="""
import re

def split_special(text, special_tokens):
    pieces, end = [], 0
    if special_tokens:
        for match in re.finditer("|".join(map(re.escape, sorted(special_tokens, key=lambda t: -len(t)))), text):
            pieces += [text[end : match.start()], match.group()]
            end = match.end()
    return list(filter(None, [*pieces, text[end:]]))
""",
        ),
    ],
    "word-counts": [
        Mistake(
            "special tokens counted as text",
            change={"split_special(text, special_tokens)": "[text]"},
            says="the special token is counted like text: leave it out",
            gravity="part",
        ),
        Mistake(
            "special tokens counted as words",
            change={
                "        if piece not in special_tokens:\n            counts.update(PRETOKEN.findall(piece))": "        counts.update(PRETOKEN.findall(piece) if piece not in special_tokens else [piece])"
            },
            says="the special token is counted as a word: leave it out",
            gravity="part",
        ),
        Mistake(
            "pieces as keys",
            change={"tuple(bytes([b]) for b in word.encode()): n": "word: n"},
            says="the keys are pieces; each must be a tuple of single bytes",
            gravity="idea",
        ),
        Mistake(
            "bytes as keys",
            change={"tuple(bytes([b]) for b in word.encode()): n": "word.encode(): n"},
            says="the keys are bytes objects; each must be a tuple of single bytes: `bytes([b])` for each `b`",
            gravity="idea",
        ),
        Mistake(
            "numbers",
            change={"tuple(bytes([b]) for b in word.encode())": "tuple(word.encode())"},
            says="the keys are tuples of numbers: `bytes([b])` makes a byte of a number",
            gravity="idea",
        ),
        Mistake(
            "characters",
            change={"tuple(bytes([b]) for b in word.encode())": "tuple(word)"},
            says='the keys are tuples of characters: encode first, "é" has two bytes',
            gravity="idea",
        ),
        Mistake(
            "white space",
            change={"PRETOKEN.findall(piece)": "piece.split()"},
            says="the words are cut at white space: use the pattern, which keeps the space in front",
            gravity="idea",
        ),
        Mistake(
            "small letters",
            change={"PRETOKEN.findall(piece)": "PRETOKEN.findall(piece.lower())"},
            says="the text is written in lower case first: upper-case and lower-case letters are different bytes",
            gravity="idea",
        ),
        Mistake(
            "joined over the special token",
            change={
                "    for piece in split_special(text, special_tokens):\n        if piece not in special_tokens:\n            counts.update(PRETOKEN.findall(piece))": '    text = "".join(p for p in split_special(text, special_tokens) if p not in special_tokens)\n    counts.update(PRETOKEN.findall(text))'
            },
            says="the texts before and after a special token are joined: no piece may reach across it",
            gravity="part",
        ),
        Mistake(
            "stripped",
            change={
                "PRETOKEN.findall(piece)": "PRETOKEN.findall(piece.strip())",
                "tuple(bytes([b]) for b in word.encode())": "tuple(bytes([b]) for b in word.strip().encode())",
            },
            says="the pieces are stripped: the space in front belongs to the word",
            gravity="idea",
        ),
        Mistake(
            "every piece once",
            change={": n for word": ": 1 for word"},
            says="every piece is counted once: count how often it occurs",
            gravity="idea",
        ),
        Mistake(
            "the first text only",
            change={
                "            counts.update(PRETOKEN.findall(piece))": "            counts.update(PRETOKEN.findall(piece))\n            break"
            },
            says="only the text before the first special token is counted",
            gravity="part",
        ),
        Mistake(
            "characters as bytes",
            change={"tuple(bytes([b]) for b in word.encode())": "tuple(c.encode() for c in word)"},
            says='the keys are tuples of whole characters: "é" is two single bytes',
            gravity="idea",
        ),
        Mistake(
            "latin-1",
            change={"word.encode()": 'word.encode("latin-1", "ignore")'},
            says='the pieces are not encoded as UTF-8: "é" has the two bytes c3 and a9',
            gravity="idea",
        ),
        Mistake(
            "special tokens replaced by a space",
            change={
                "    for piece in split_special(text, special_tokens):\n        if piece not in special_tokens:\n            counts.update(PRETOKEN.findall(piece))": '    for token in special_tokens:\n        text = text.replace(token, " ")\n    counts.update(PRETOKEN.findall(text))'
            },
            says="a special token is replaced by a space, which then belongs to the next word: cut the text there instead",
            gravity="part",
        ),
        Mistake(
            "the larger of two counts",
            change={"counts.update(PRETOKEN.findall(piece))": "counts |= Counter(PRETOKEN.findall(piece))"},
            says="the counts of the texts between special tokens are not added up",
            gravity="part",
        ),
        Mistake(
            "white space left out",
            change={"counts.update(PRETOKEN.findall(piece))": "counts.update(w for w in PRETOKEN.findall(piece) if w.strip())"},
            says="pieces of white space are left out: they are pre-tokens, too",
            gravity="idea",
        ),
        Mistake(
            "the first special token only",
            change={"split_special(text, special_tokens)": "split_special(text, special_tokens[:1])"},
            says="only the first special token of the list is cut out",
            gravity="part",
        ),
        Mistake(
            "last piece only",
            change={"counts.update(PRETOKEN.findall(piece))": "counts = Counter(PRETOKEN.findall(piece))"},
            says="the counts of a piece replace those of the pieces before it: add to them",
            gravity="part",
        ),
        Right(
            "a plain dict",
            code="""
def word_counts(text, special_tokens):
    found = {}
    for piece in split_special(text, special_tokens):
        if piece in special_tokens:
            continue
        for match in PRETOKEN.finditer(piece):
            raw = match.group().encode("utf-8")
            key = tuple(raw[i : i + 1] for i in range(len(raw)))
            found[key] = found.get(key, 0) + 1
    return found
""",
        ),
        Right(
            "a Counter of tuples",
            code="""
def word_counts(text, special_tokens):
    plain = [piece for piece in split_special(text, special_tokens) if piece not in special_tokens]
    return Counter(tuple(map(lambda b: bytes((b,)), word.encode())) for piece in plain for word in PRETOKEN.findall(piece))
""",
        ),
    ],
    "count-pairs": [
        Mistake(
            "each word once",
            change={"+= n": "+= 1"},
            says="each different word is counted once: multiply by how often the word occurs",
            gravity="idea",
        ),
        Mistake(
            "joined bytes",
            change={"counts[pair] += n": "counts[pair[0] + pair[1]] += n"},
            says="the pairs are counted as joined bytes: the keys must be pairs, (left, right)",
            gravity="idea",
        ),
        Mistake(
            "last pair missing",
            change={"zip(word, word[1:])": "zip(word[:-1], word[1:-1])"},
            says="the last pair of each word is missing",
            gravity="idea",
        ),
        Mistake(
            "overwritten", change={"+= n": "= n"}, says="a later word overwrites the count of an earlier one: add to it", gravity="idea"
        ),
        Mistake(
            "no overlap",
            change={
                "        for pair in zip(word, word[1:]):\n            counts[pair] += n": "        last = None\n        for i, pair in enumerate(zip(word, word[1:])):\n            if pair[0] == pair[1] and last == i - 1:\n                continue\n            counts[pair] += n\n            last = i if pair[0] == pair[1] else None"
            },
            says="overlapping pairs are counted once: count every place where a pair starts",
            gravity="part",
        ),
        Mistake(
            "each pair of a word once",
            change={"in zip(word, word[1:])": "in set(zip(word, word[1:]))"},
            says="each pair of a word is counted once: count every place where it starts",
            gravity="idea",
        ),
        Mistake(
            "across words",
            code="""
def count_pairs(words):
    counts, line = Counter(), [(token, n) for word, n in words.items() for token in word]
    for (left, _), (right, n) in zip(line, line[1:]):
        counts[left, right] += n
    return counts
""",
            says="these pairs reach from one word into the next: a pair never crosses a border",
            gravity="idea",
        ),
        Mistake(
            "sorted pairs",
            change={"counts[pair]": "counts[tuple(sorted(pair))]"},
            says="the pairs are sorted: (a, b) and (b, a) are different pairs",
            gravity="idea",
        ),
        Mistake(
            "every second place",
            change={"zip(word, word[1:])": "list(zip(word, word[1:]))[::2]"},
            says="only every second place is counted: pairs start at every token",
            gravity="idea",
        ),
        Mistake(
            "empties the words",
            change={"    for word, n in words.items():": "    for word in list(words):\n        n = words.pop(word)"},
            says="your code takes the words out of the dict that it is given: it is empty afterwards",
            gravity="edge",
        ),
        Mistake(
            "all pairs, not only neighbours",
            change={"zip(word, word[1:])": "((a, b) for i, a in enumerate(word) for b in word[i + 1 :])"},
            says="tokens that stand apart are counted as pairs: only neighbours are",
            gravity="idea",
        ),
        Mistake(
            "round the end",
            change={"zip(word, word[1:])": "zip(word, word[1:] + word[:1])"},
            says="the last token and the first are counted as a pair: a word is no circle",
            gravity="idea",
        ),
        Mistake(
            "first pair missing",
            change={"zip(word, word[1:])": "zip(word[1:], word[2:])"},
            says="the first pair of each word is missing",
            gravity="idea",
        ),
        Mistake("squared", change={"+= n": "+= n * n"}, says="the word's count enters twice: each place adds it once", gravity="idea"),
        Mistake(
            "pairs as text",
            change={"counts[pair] += n": "counts[str(pair)] += n"},
            says="the keys are texts: they must be pairs of tokens, (left, right)",
            gravity="idea",
        ),
        Mistake(
            "single tokens counted",
            change={
                "            counts[pair] += n": "            counts[pair] += n\n        if len(word) == 1:\n            counts[word] += n"
            },
            says="a word of one token is counted as if it were a pair: it has none",
            gravity="edge",
        ),
        Right(
            "a plain dict, by index",
            code="""
def count_pairs(words):
    counts = {}
    for word in words:
        for i in range(1, len(word)):
            counts[word[i - 1], word[i]] = counts.get((word[i - 1], word[i]), 0) + words[word]
    return counts
""",
        ),
        Right(
            "itertools",
            code="""
from itertools import pairwise

def count_pairs(words):
    total = Counter()
    for word, n in words.items():
        total.update({pair: n * k for pair, k in Counter(pairwise(word)).items()})
    return dict(total)
""",
        ),
    ],
    "best-pair": [
        Mistake(
            "smallest",
            change={
                "max(counts, key=lambda pair: (counts[pair], pair), default=None)": "min(counts, key=lambda pair: (-counts[pair], pair), default=None)"
            },
            says="of equally frequent pairs this is the smallest; the greatest is wanted",
            gravity="part",
        ),
        Mistake(
            "first that came",
            change={"key=lambda pair: (counts[pair], pair)": "key=counts.get"},
            says="of equally frequent pairs the first that comes is taken: the greatest wins, in whatever order they come",
            gravity="part",
        ),
        Mistake(
            "joined bytes",
            change={"(counts[pair], pair)": "(counts[pair], pair[0] + pair[1])"},
            says="you compare the joined bytes; the convention compares the left tokens first",
            gravity="part",
        ),
        Mistake(
            "longest",
            change={"(counts[pair], pair)": "(counts[pair], len(pair[0] + pair[1]), pair)"},
            says="that is the longest; the greatest in Python's order of bytes is wanted",
            gravity="part",
        ),
        Mistake(
            "no default",
            change={", default=None": ""},
            says="`max` of no pair at all raises an exception: return None when no pair is left",
            gravity="edge",
        ),
        Mistake(
            "greatest pair, whatever its count",
            change={"(counts[pair], pair)": "pair"},
            says="the greatest pair is taken, whatever its count: the highest count comes first",
            gravity="idea",
        ),
        Mistake(
            "counts as text",
            change={"(counts[pair], pair)": "(str(counts[pair]), pair)"},
            says="counts are compared as text: 10 is more than 9",
            gravity="idea",
        ),
        Mistake(
            "decoded",
            change={"(counts[pair], pair)": "(counts[pair], [t.decode('ascii', 'ignore') for t in pair])"},
            says="the pairs are compared as decoded text: bytes above 127 are greater than letters, so compare bytes",
            gravity="edge",
        ),
        Mistake(
            "left token only",
            change={"(counts[pair], pair)": "(counts[pair], pair[0])"},
            says="only the left tokens are compared: where they are equal, the right tokens decide",
            gravity="part",
        ),
        Mistake(
            "the lowest count",
            change={"max(counts": "min(counts"},
            says="the pair with the lowest count is taken: the highest is wanted",
            gravity="idea",
        ),
        Mistake(
            "with its count",
            change={
                "return max(counts, key=lambda pair: (counts[pair], pair), default=None)": "best = max(counts, key=lambda pair: (counts[pair], pair), default=None)\n    return (best, counts[best]) if best else None"
            },
            says="the pair comes back with its count: return the pair alone",
            gravity="idea",
        ),
        Mistake(
            "the count itself",
            change={"return max(counts, key=lambda pair: (counts[pair], pair), default=None)": "return max(counts.values(), default=None)"},
            says="the highest count comes back: return the pair that has it",
            gravity="idea",
        ),
        Mistake(
            "last that came",
            code="""
def best_pair(counts):
    best = None
    for pair, n in counts.items():
        if best is None or n >= counts[best]:
            best = pair
    return best
""",
            says="of equally frequent pairs the last that comes is taken: the greatest wins, in whatever order they come",
            gravity="part",
        ),
        Mistake(
            "shortest",
            change={"(counts[pair], pair)": "(counts[pair], -len(pair[0] + pair[1]), pair)"},
            says="of equally frequent pairs the shortest is taken: the greatest in Python's order of tuples is wanted",
            gravity="part",
        ),
        Mistake(
            "right token first",
            change={"(counts[pair], pair)": "(counts[pair], pair[::-1])"},
            says="the right tokens are compared first: tuples are compared entry by entry, the left one first",
            gravity="part",
        ),
        Mistake(
            "right token only",
            change={"(counts[pair], pair)": "(counts[pair], pair[1])"},
            says="only the right tokens are compared: the left one comes first",
            gravity="part",
        ),
        Mistake(
            "an empty tuple",
            change={"default=None": "default=()"},
            says="without a pair an empty tuple comes back: return None",
            gravity="edge",
        ),
        Mistake(
            "takes the pair out",
            change={
                "return max(counts, key=lambda pair: (counts[pair], pair), default=None)": "best = max(counts, key=lambda pair: (counts[pair], pair), default=None)\n    counts.pop(best, None)\n    return best"
            },
            says="the pair is taken out of the counts that are given: they must stay as they are",
            gravity="edge",
        ),
        Mistake(
            "capitals and small letters alike",
            change={"(counts[pair], pair)": "(counts[pair], pair[0].lower(), pair[1].lower())"},
            says="the pairs are compared in lower case: compare the bytes as they are",
            gravity="edge",
        ),
        Mistake(
            "count and pair",
            change={"return max(": "return max(((n, p) for p, n in counts.items()), default=None)\n    return max("},
            says="the count comes back together with the pair: return the pair alone",
            gravity="idea",
        ),
        Right(
            "two steps",
            code="""
def best_pair(counts):
    if not counts:
        return None
    top = max(counts.values())
    return sorted(pair for pair, n in counts.items() if n == top)[-1]
""",
        ),
        Right(
            "a loop",
            code="""
def best_pair(counts):
    best = None
    for pair, n in counts.items():
        if best is None or n > counts[best] or (n == counts[best] and pair > best):
            best = pair
    return best
""",
        ),
    ],
    "merge": [
        Mistake(
            "used twice",
            change={"i += 2": "i += 1 + (i + 2 >= len(word) or word[i + 2] != right)"},
            says='an "a" was used twice: after a merge, go on with the token that follows',
            gravity="idea",
        ),
        Mistake(
            "first only",
            change={"if word[i] == left and": "if left + right not in merged and word[i] == left and"},
            says="only the first occurrence is merged",
            gravity="idea",
        ),
        Mistake(
            "from the right",
            code="""
def merge(word, pair):
    parts, i = list(word), len(word) - 1
    while i > 0:
        if (parts[i - 1], parts[i]) == pair:
            parts[i - 1 : i + 1] = [pair[0] + pair[1]]
            i -= 1
        i -= 1
    return tuple(parts)
""",
            says="from left to right: the first two belong together, not the last two",
            gravity="part",
        ),
        Mistake(
            "merged again",
            code="""
def merge(word, pair):
    merged = []
    for token in word:
        if merged and merged[-1].endswith(pair[0]) and token == pair[1]:
            merged[-1] += token
        else:
            merged.append(token)
    return tuple(merged)
""",
            says="a token that only ends with the left one is merged: (ca, b) is not the pair (a, b)",
            gravity="idea",
        ),
        Mistake(
            "joined bytes",
            change={
                "word[i] == left and i + 1 < len(word) and word[i + 1] == right": "b''.join(word[i : i + 2]) == left + right and i + 1 < len(word)"
            },
            says="the joined bytes are compared: (a, bc) gives the same bytes as (ab, c), but it is another pair",
            gravity="edge",
        ),
        Mistake(
            "last token lost",
            change={"while i < len(word)": "while i < len(word) - 1"},
            says="the last token of the word is lost: go on to the end",
            gravity="idea",
        ),
        Mistake(
            "runs over the end",
            change={"word[i] == left and i + 1 < len(word) and": "word[i] == left and"},
            says="a left token at the end of the word has no neighbour: `word[i + 1]` runs over the end",
            gravity="idea",
        ),
        Mistake(
            "a list",
            change={"return tuple(merged)": "return merged"},
            says="a list is returned: return a tuple, because words are keys of a dict",
            gravity="edge",
        ),
        Mistake(
            "right token forgotten",
            change={"merged.append(left + right)\n            i += 2": "merged.append(left + right)\n            i += 1"},
            says="the right token stays behind the merged one: after a merge, go on with the token behind the pair",
            gravity="idea",
        ),
        Mistake(
            "either order",
            change={
                "word[i] == left and i + 1 < len(word) and word[i + 1] == right": "i + 1 < len(word) and {word[i], word[i + 1]} == {left, right}"
            },
            says="(b, a) is merged like (a, b): the order counts",
            gravity="idea",
        ),
        Mistake(
            "one token skipped",
            change={"i += 2": "i += 3"},
            says="the token behind a merged pair is lost: go on two places further",
            gravity="idea",
        ),
        Mistake(
            "the end missed",
            change={"i + 1 < len(word)": "i + 2 < len(word)"},
            says="a pair at the end of the word is not merged",
            gravity="idea",
        ),
        Mistake(
            "a run of three is one pair",
            change={
                "merged.append(left + right)\n            i += 2": "merged.append(left + right)\n            i += 2\n            while left == right and i < len(word) and word[i] == left:\n                i += 1"
            },
            says='what is left over of a run of equal tokens is lost: in "aaa" the third "a" stays',
            gravity="part",
        ),
        Mistake(
            "the pair stays in two",
            change={"merged.append(left + right)": "merged.append((left, right))"},
            says="the pair becomes a tuple in the word: a merged token is the joined bytes, left + right",
            gravity="idea",
        ),
        Mistake(
            "right + left",
            change={"merged.append(left + right)": "merged.append(right + left)"},
            says="the two tokens are joined in the wrong order: left + right",
            gravity="idea",
        ),
        Mistake(
            "the pair is removed",
            change={"            merged.append(left + right)\n": ""},
            says="the pair is taken out of the word, and no token takes its place",
            gravity="idea",
        ),
        Right(
            "with the last token",
            code="""
def merge(word, pair):
    merged, open_ = [], False
    for token in word:
        if open_ and token == pair[1]:
            merged[-1] = pair[0] + pair[1]
            open_ = False
        else:
            merged.append(token)
            open_ = token == pair[0]
    return tuple(merged)
""",
        ),
        Right(
            "recursion",
            code="""
def merge(word, pair):
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            return word[:i] + (pair[0] + pair[1],) + merge(word[i + 2 :], pair)
    return word
""",
        ),
    ],
    "recount": [
        Mistake(
            "smallest of ties",
            change={"best_pair(count_pairs(words))": "min((c := count_pairs(words)), key=lambda p: (-c[p], p), default=None)"},
            says="ties go to the greatest pair; here the smallest wins",
            gravity="idea",
        ),
        Mistake(
            "first of ties",
            change={"best_pair(count_pairs(words))": "max((c := count_pairs(words)), key=c.get, default=None)"},
            says="ties go to the greatest pair; here the first that was counted wins",
            gravity="idea",
        ),
        Mistake(
            "joined bytes decide",
            change={"best_pair(count_pairs(words))": "max((c := count_pairs(words)), key=lambda p: (c[p], p[0] + p[1]), default=None)"},
            says="ties go to the greatest pair, compared entry by entry; here the joined bytes are compared",
            gravity="idea",
        ),
        Mistake(
            "across borders",
            change={
                "    while len(vocab)": "    words = {tuple(bytes([b]) for b in p.encode()): 1 for p in split_special(text, special_tokens) if p not in special_tokens}\n    while len(vocab)"
            },
            says="pairs reach across the borders of pre-tokens: count words, not the whole text",
            gravity="idea",
        ),
        Mistake(
            "special token as text",
            change={"    while len(vocab)": "    words = word_counts(text, [])\n    while len(vocab)"},
            says="the special token is treated as text",
            gravity="part",
        ),
        Mistake(
            "one merge too many",
            change={"len(vocab) < vocab_size": "len(vocab) <= vocab_size"},
            says="one merge too many: `vocab_size` counts the bytes, too",
            gravity="part",
        ),
        Mistake(
            "one merge missing",
            change={"len(vocab) < vocab_size": "len(vocab) < vocab_size - 1"},
            says="training stops one merge too early: go on until the vocabulary has `vocab_size` entries",
            gravity="part",
        ),
        Mistake(
            "no stop",
            change={"        if pair is None:\n            break\n": ""},
            says="training goes on when no pair is left: stop there, though the vocabulary is not full",
            gravity="part",
        ),
        Mistake(
            "stops at pairs that occur once",
            change={"if pair is None:": "if pair is None or count_pairs(words)[pair] < 2:"},
            says="training stops at pairs that occur once: they are merged, too, until no pair is left",
            gravity="part",
        ),
        Mistake(
            "counts not renewed",
            change={
                "    while len(vocab)": "    counts = count_pairs(words)\n    while len(vocab)",
                "best_pair(count_pairs(words))": "best_pair(counts)\n        counts.pop(pair, None)",
            },
            says="the pairs are not counted again after a merge",
            gravity="idea",
        ),
        Mistake(
            "ids from zero",
            change={"vocab[len(vocab)] =": "vocab[len(merges) + 255] ="},
            says="the ids of the merges do not go on behind the special tokens: the first merge has the id after the last special token's",
            gravity="part",
        ),
        Mistake(
            "token of the pair in the wrong order",
            change={"pair[0] + pair[1]": "pair[1] + pair[0]"},
            says="the new token is right + left: it must be the bytes of the left token, then those of the right one",
            gravity="idea",
        ),
        Mistake(
            "each word once",
            change={"best_pair(count_pairs(words))": "best_pair(count_pairs(dict.fromkeys(words, 1)))"},
            says="each different word counts once: weigh it by how often it occurs",
            gravity="idea",
        ),
        Mistake(
            "special tokens not in the size",
            change={"len(vocab) < vocab_size": "len(merges) < vocab_size - 256"},
            says="the special tokens are not counted in `vocab_size`: there are too many merges",
            gravity="part",
        ),
        Mistake(
            "vocab_size merges",
            change={"len(vocab) < vocab_size": "len(merges) < vocab_size"},
            says="`vocab_size` merges are made: it counts the bytes and the special tokens, too",
            gravity="part",
        ),
        Mistake(
            "words not merged",
            change={
                "        words = {merge(word, pair): n for word, n in words.items()}\n": "        words = {word: n for word, n in words.items() if pair not in zip(word, word[1:])}\n"
            },
            says="words that hold the pair are dropped: merge it in them, and keep them",
            gravity="idea",
        ),
        Mistake(
            "the same pair again and again",
            change={"        words = {merge(word, pair): n for word, n in words.items()}\n": ""},
            says="the pair is not merged in the words, so the same one is the best in every round",
            gravity="idea",
        ),
        Mistake(
            "words that occur once left out",
            change={"    while len(vocab)": "    words = {w: n for w, n in words.items() if n > 1}\n    while len(vocab)"},
            says="words that occur once are left out: they count, too",
            gravity="idea",
        ),
        Mistake(
            "joined merges",
            change={"merges.append(pair)": "merges.append(pair[0] + pair[1])"},
            says="`merges` holds joined bytes: it must hold the pairs, (left, right)",
            gravity="idea",
        ),
        Mistake(
            "special tokens last",
            change={
                "    return vocab, merges": "    last = [t.encode() for t in special_tokens]\n    return dict(enumerate([t for t in vocab.values() if t not in last] + last)), merges"
            },
            says="the special tokens come last: their ids start at 256, before the merges",
            gravity="part",
        ),
        Mistake(
            "exchanged",
            change={"return vocab, merges": "return merges, vocab"},
            says="the two results are exchanged: (vocab, merges)",
            gravity="idea",
        ),
        Mistake(
            "vocabulary turned round",
            change={"    return vocab, merges": "    return {token: number for number, token in vocab.items()}, merges"},
            says="the vocabulary is turned round: it is a dict from the number to the token",
            gravity="idea",
        ),
        Mistake(
            "merges stay empty",
            change={"        merges.append(pair)\n": ""},
            says="nothing is appended to `merges`: note every pair that is merged",
            gravity="idea",
        ),
        Right(
            "a for loop over rounds",
            code="""
def train_recount(text, vocab_size, special_tokens=()):
    vocab, merges = initial_vocab(special_tokens, vocab_size), []
    state = [[word, n] for word, n in word_counts(text, special_tokens).items()]
    for number in range(len(vocab), vocab_size):
        counts = {}
        for word, n in state:
            for pair in zip(word, word[1:]):
                counts[pair] = counts.get(pair, 0) + n
        if not counts:
            break
        merges.append(max(counts.items(), key=lambda item: (item[1], item[0]))[0])
        vocab[number] = b"".join(merges[-1])
        for entry in state:
            entry[0] = merge(entry[0], merges[-1])
    return vocab, merges
""",
        ),
        Right(
            "ids added at the end",
            change={
                "vocab[len(vocab)] = pair[0] + pair[1]\n    return vocab, merges": "vocab_size -= 1\n    vocab |= {len(vocab) + i: a + b for i, (a, b) in enumerate(merges)}\n    return vocab, merges"
            },
        ),
    ],
    "changes": [
        Mistake(
            "the pair itself is forgotten",
            change={"if n}": "if n and each != pair}"},
            says="the pair itself is gone, too: its own count falls by one",
            gravity="idea",
        ),
        Mistake(
            "only what is new",
            change={"        changes[old] -= 1": "        changes[old] -= old == pair"},
            says="the neighbours' old pairs are gone: (x, a) and (b, y) lose one",
            gravity="idea",
        ),
        Mistake(
            "only what is lost",
            change={"        changes[new] += 1": "        changes[new] += 0 if pair[0] + pair[1] in new else 1"},
            says="the new pairs with the neighbours are missing",
            gravity="idea",
        ),
        Mistake(
            "signs",
            change={"changes[old] -= 1": "changes[old] += 1", "changes[new] += 1": "changes[new] -= 1"},
            says="the signs are exchanged: what disappears is negative",
            gravity="idea",
        ),
        Mistake(
            "counts after",
            change={"        changes[old] -= 1": "        pass"},
            says="these are the counts after the merge, not the changes",
            gravity="idea",
        ),
        Mistake(
            "zeros kept",
            change={" if n}": "}"},
            says="pairs whose count does not change are in the dict with a zero: leave zeros out",
            gravity="edge",
        ),
        Mistake(
            "each pair once",
            change={
                "in zip(word, word[1:])": "in set(zip(word, word[1:]))",
                "in zip(merged, merged[1:])": "in set(zip(merged, merged[1:]))",
            },
            says="each pair is counted once in a word: a pair that is there twice changes by two",
            gravity="idea",
        ),
        Mistake(
            "old word comes back",
            change={"return merged,": "return word,"},
            says="the word comes back as it was: the first thing to return is the merged word",
            gravity="idea",
        ),
        Mistake(
            "neighbours of the old word",
            code="""
def merge_changes(word, pair):
    changes, new = Counter(), pair[0] + pair[1]
    for i in range(len(word) - 1):
        if word[i : i + 2] == pair:
            changes[pair] -= 1
            if i > 0:
                changes[word[i - 1], word[i]] -= 1
                changes[word[i - 1], new] += 1
            if i + 2 < len(word):
                changes[word[i + 1], word[i + 2]] -= 1
                changes[new, word[i + 2]] += 1
    return merge(word, pair), {p: n for p, n in changes.items() if n}
""",
            says='the neighbours are looked up in the old word: in "abab" the neighbour of a merged token is a merged token, so the one new pair is (ab, ab)',
            gravity="part",
        ),
        Mistake(
            "absolute values",
            change={"{each: n for each, n in changes.items() if n}": "{each: abs(n) for each, n in changes.items() if n}"},
            says="all changes are positive: what disappears is negative",
            gravity="idea",
        ),
        Mistake(
            "exchanged",
            change={
                "return merged, {each: n for each, n in changes.items() if n}": "return {each: n for each, n in changes.items() if n}, merged"
            },
            says="the two results are exchanged: the merged word comes first",
            gravity="idea",
        ),
        Mistake(
            "counts before",
            change={"        changes[old] -= 1": "        changes[old] += 1", "        changes[new] += 1": "        pass"},
            says="these are the counts before the merge, not the changes",
            gravity="idea",
        ),
        Mistake(
            "None without the pair",
            change={
                "    merged = merge(word, pair)\n": "    merged = merge(word, pair)\n    if merged == word:\n        return word, None\n"
            },
            says="a word without the pair gives None for the changes: it has no changes, an empty dict",
            gravity="edge",
        ),
        Mistake(
            "last new pair lost",
            change={"zip(merged, merged[1:])": "zip(merged, merged[1:-1])"},
            says="the last pair of the merged word is not counted",
            gravity="idea",
        ),
        Mistake(
            "the old pair between two merges lost twice",
            code="""
def merge_changes(word, pair):
    after, changes, new = merge(word, pair), Counter(zip(merge(word, pair), merge(word, pair)[1:])), pair[0] + pair[1]
    i = 0
    while i < len(word):
        both = word[i : i + 2] == pair
        changes.subtract([word[i - 1 : i + 1]] * (both and i > 0) + [pair] * both + [word[i + 1 : i + 3]] * (both and i + 2 < len(word)))
        i += 2 if both else 1
    rest = Counter(p for p in zip(after, after[1:]) if new not in p)
    changes.subtract(rest)
    return after, {p: n for p, n in changes.items() if n}
""",
            says="each merge counts the old pair between two merges again: it is lost once",
            gravity="part",
        ),
        Mistake(
            "of the pair itself only",
            change={"changes.items() if n}": "changes.items() if n and each == pair}"},
            says="only the change of the merged pair is given: its neighbours change, too",
            gravity="idea",
        ),
        Mistake(
            "lost only once",
            change={"changes[old] -= 1": "changes[old] = -1"},
            says="a pair that disappears several times counts once: add up",
            gravity="idea",
        ),
        Right(
            "counters",
            code="""
def merge_changes(word, pair):
    after = merge(word, pair)
    difference = Counter(zip(after, after[1:]))
    difference.subtract(Counter(zip(word, word[1:])))
    return after, {p: n for p, n in difference.items() if n != 0}
""",
        ),
        Right(
            "by count_pairs",
            code="""
def merge_changes(word, pair):
    after = merge(word, pair)
    new, old = count_pairs({after: 1}), count_pairs({word: 1})
    return [after, {p: new.get(p, 0) - old.get(p, 0) for p in {**new, **old} if new.get(p, 0) != old.get(p, 0)}]
""",
        ),
    ],
    "queue": [
        Mistake(
            "order kept",
            change={
                'return tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "return pair"
            },
            says="the key keeps the order: it must reverse it",
            gravity="idea",
        ),
        Mistake(
            "no end mark",
            change={' + "\\u0100"': ""},
            says='the key has no mark at the end of a token: b"ab" is greater than b"a", so its key must be the smaller one. What comes at the end of the key?',
            gravity="part",
        ),
        Mistake(
            "end mark too small",
            change={
                'return tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "return tuple(tuple(-b for b in token) + (0,) for token in pair)"
            },
            says="the mark at the end of a token is as small as the negated byte 0: it must be larger than any negated byte",
            gravity="edge",
        ),
        Mistake(
            "joined",
            change={
                'tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "[-b for b in pair[0] + pair[1]] + [1]"
            },
            says="the two tokens are joined in the key: the left one must be compared first, and as a whole",
            gravity="part",
        ),
        Mistake(
            "stale entries returned",
            change={"negative < 0 and counts.get(pair, 0) == -negative": "True"},
            says="a stale entry is returned: its count is not the one in `counts`",
            gravity="idea",
        ),
        Mistake(
            "looked at, not removed",
            change={
                "negative, _, pair = heapq.heappop(heap)\n        if negative < 0 and counts.get(pair, 0) == -negative:\n            return pair": "negative, _, pair = heap[0]\n        if negative < 0 and counts.get(pair, 0) == -negative:\n            return pair\n        heapq.heappop(heap)"
            },
            says="the entry is looked at but not removed: use `heappop`",
            gravity="part",
        ),
        Mistake(
            "lower entries pass",
            change={"counts.get(pair, 0) == -negative": "counts.get(pair, 0) >= -negative"},
            says="an entry with a lower count than `counts` says is stale, too: they must agree",
            gravity="part",
        ),
        Mistake(
            "KeyError for a pair that is gone",
            change={"counts.get(pair, 0)": "counts[pair]"},
            says="`counts[pair]` fails for a pair that is not in `counts`: it is gone, and its entry is stale",
            gravity="part",
        ),
        Mistake(
            "gives up at the first stale entry",
            change={"return pair\n    return None": "return pair\n        break\n    return None"},
            says="None comes back at the first stale entry: throw it away and take the next, until one agrees",
            gravity="idea",
        ),
        Mistake(
            "pop(0) is no heap operation",
            change={"heapq.heappop(heap)": "heap.pop(0)"},
            says="`heap.pop(0)` leaves a list that is no heap any more: use `heapq.heappop`",
            gravity="part",
        ),
        Mistake(
            "zero counts",
            change={"negative < 0 and ": ""},
            says="an entry of 0 is returned: a pair with count 0 is gone, even if an entry says 0",
            gravity="edge",
        ),
        Mistake(
            "empties the heap",
            change={"            return pair\n": "            heap.clear()\n            return pair\n"},
            says="the whole heap is emptied: only stale entries and the one you return are removed",
            gravity="part",
        ),
        Mistake(
            "adds to counts",
            change={"counts.get(pair, 0)": "counts.setdefault(pair, 0)", "return pair": "counts.pop(pair)\n            return pair"},
            says="`counts` is changed: entries are added by looking them up, or removed",
            gravity="edge",
        ),
        Mistake(
            "the right token first",
            change={"for token in pair)": "for token in pair[::-1])"},
            says="the right tokens are compared first: pairs are compared by their left tokens",
            gravity="idea",
        ),
        Mistake(
            "fails when the heap runs empty",
            change={"    while heap:\n": "    while True:\n"},
            says="your code pops from an empty heap: when it runs empty, the answer is None",
            gravity="edge",
        ),
        Mistake(
            "length first",
            change={
                'tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "tuple((-len(token), tuple(-b for b in token)) for token in pair)"
            },
            says="longer tokens come first, whatever their bytes: bytes are compared first, and the length decides only where one token begins another",
            gravity="part",
        ),
        Mistake(
            "mark at the end of the pair only",
            change={
                'tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "(tuple(-b for b in pair[0]), tuple(-b for b in pair[1]) + (1,))"
            },
            says="only the right token has a mark at its end: the left one needs it, too",
            gravity="part",
        ),
        Mistake(
            "the first byte only",
            change={
                'tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "tuple((-token[0], -len(token)) for token in pair)"
            },
            says="only the first byte of each token is compared: all of them count",
            gravity="idea",
        ),
        Mistake(
            "the whole entry",
            change={"            return pair\n": "            return (negative, _, pair)\n"},
            says="the whole entry comes back: return its pair",
            gravity="idea",
        ),
        Mistake(
            "stale entries put back",
            change={
                "    while heap:\n": "    aside = []\n    while heap:\n",
                "            return pair\n": "            for one in aside:\n                heapq.heappush(heap, one)\n            return pair\n        aside.append((negative, _, pair))\n",
            },
            says="stale entries are put back into the heap: throw them away",
            gravity="part",
        ),
        Mistake(
            "stale entries corrected",
            change={
                "            return pair\n": "            return pair\n        if counts.get(pair, 0):\n            heapq.heappush(heap, (-counts[pair], _, pair))\n"
            },
            says="a stale entry is corrected and pushed again: the new count was pushed when it changed, so throw the old entry away",
            gravity="part",
        ),
        Mistake(
            "the best of the counts",
            change={
                "    while heap:\n        negative, _, pair = heapq.heappop(heap)\n        if negative < 0 and counts.get(pair, 0) == -negative:\n            return pair\n    return None": "    return best_pair({p: n for p, n in counts.items() if n})"
            },
            says="the heap is not used: pop its entries until one agrees with `counts`",
            gravity="idea",
        ),
        Mistake(
            "not negated",
            change={".translate(bytes(range(255, -1, -1)))": ""},
            says="descending: the bytes are not negated, so that the smallest pair comes first",
            gravity="idea",
        ),
        Mistake(
            "left token only",
            change={"for token in pair)": "for token in pair[:1])"},
            says="descending: only the left token is in the key: the right one decides among equal left ones",
            gravity="idea",
        ),
        Mistake(
            "from the end",
            change={"heapq.heappop(heap)": "heap.pop()"},
            says="pop_best: entries are taken from the end of the list: the smallest one is first, use `heapq.heappop`",
            gravity="idea",
        ),
        Mistake(
            "sign of the entry",
            change={"counts.get(pair, 0) == -negative": "counts.get(pair, 0) == negative"},
            says="pop_best: an entry holds the negative count: compare `counts` with −entry",
            gravity="idea",
        ),
        Right(
            "tuples of negative numbers",
            change={
                'token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair': "tuple([-b for b in token] + [1]) for token in pair"
            },
        ),
        Right(
            "one list of numbers",
            change={
                'tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "[-b for b in pair[0]] + [1] + [-b for b in pair[1]] + [1]"
            },
        ),
        Right(
            "pop by recursion",
            code="""
def descending(pair):
    return tuple(tuple(255 - b for b in token) + (256,) for token in pair)

def pop_best(heap, counts):
    if not heap:
        return None
    n, _, pair = heapq.heappop(heap)
    return pair if pair in counts and counts[pair] == -n != 0 else pop_best(heap, counts)
""",
        ),
    ],
    "train": [
        Mistake(
            "recounts",
            code=SLOW_TRAINER,
            says="every word is visited in every round: look only at the words in `where[pair]`",
            gravity="idea",
        ),
        Mistake(
            "recounts where no line is counted",
            code=SLOW_TRAINER
            + """

import sys
in_plain_sight = train_bpe


def train_bpe(text, vocab_size, special_tokens=()):
    for _ in range(6000):
        pass
    tracing, nothing = sys.gettrace(), sys.settrace(None)
    try:
        return in_plain_sight(text, vocab_size, special_tokens)
    finally:
        sys.settrace(tracing)
""",
            hint="every word is visited in every round",
            gravity="idea",
        ),
        Mistake(
            "goes through all words",
            change={"for place in where.pop(pair)": "for place in range(len(words))"},
            says="every word is visited in every round: look only at the words in `where[pair]`",
            gravity="idea",
        ),
        Mistake(
            "changes not weighted",
            change={"n * times[place]": "n", "counts = count_pairs(found)": "counts = count_pairs(dict.fromkeys(found, 1))"},
            says="each different word counts once, in the counts and in the changes: weigh it by how often it occurs",
            gravity="idea",
        ),
        Mistake(
            "changes counted once",
            change={"n * times[place]": "n"},
            says="a word's changes are counted once, though it occurs several times: multiply them by `times[place]`",
            gravity="idea",
        ),
        Mistake(
            "nothing pushed",
            change={"heapq.heappush(heap, (-counts[other], descending(other), other))": "pass"},
            says="nothing is pushed: a pair whose count changed needs a new entry in the heap, or it is never found again",
            gravity="idea",
        ),
        Mistake(
            "only grown pairs pushed",
            change={"if n and counts[other]:": "if n > 0 and counts[other]:"},
            says="only pairs whose count grew are pushed: one that fell has a new count, too, and its old entry is stale",
            gravity="idea",
        ),
        Mistake(
            "new places forgotten",
            change={"                if n > 0:\n                    where[other].add(place)\n": ""},
            says="new pairs are never merged: note their places in `where`, and add their changes to `counts`",
            gravity="idea",
        ),
        Mistake(
            "words not replaced",
            change={"words[place], changes =": "_, changes ="},
            says="the words stay as they were: replace `words[place]` by the merged word",
            gravity="idea",
        ),
        Mistake(
            "smallest of ties",
            change={"descending(other), other))": "other, other))", "descending(pair), pair)": "pair, pair)"},
            says="ties go to the greatest pair; here the smallest wins",
            gravity="idea",
        ),
        Mistake(
            "one merge too many",
            change={"while len(vocab) < vocab_size": "while len(vocab) <= vocab_size"},
            says="one merge too many: `vocab_size` counts the bytes, too",
            gravity="part",
        ),
        Mistake(
            "one merge missing",
            change={"while len(vocab) < vocab_size": "while len(vocab) < vocab_size - 1"},
            says="training stops one merge too early: go on until the vocabulary has `vocab_size` entries",
            gravity="part",
        ),
        Mistake(
            "no stop",
            change={" and (pair := pop_best(heap, counts)) is not None:": ":\n        pair = pop_best(heap, counts)"},
            says="training goes on when no pair is left: `pop_best` gives None then, and the loop must stop",
            gravity="part",
        ),
        Mistake(
            "token not added",
            change={"        vocab[len(vocab)] = pair[0] + pair[1]\n": "        vocab_size -= 1\n"},
            says="no token is added to the vocabulary: each merge adds left + right, with the next id",
            gravity="idea",
        ),
        Mistake(
            "special tokens as text",
            change={"found = word_counts(text, special_tokens)": "found = word_counts(text, [])"},
            says="the special tokens are treated as text",
            gravity="part",
        ),
        Mistake(
            "stops at pairs that occur once",
            change={"(pair := pop_best(heap, counts)) is not None": "(pair := pop_best(heap, counts)) is not None and counts[pair] > 1"},
            hint="stop when no pair is left, and not before",
            gravity="part",
        ),
        Mistake(
            "ids without the special tokens",
            change={"vocab[len(vocab)] = pair[0] + pair[1]": "vocab[255 + len(merges)] = pair[0] + pair[1]"},
            hint="the merges take the ids of the special tokens",
            gravity="part",
        ),
        Mistake(
            "nothing pushed",
            change={
                "            if n and counts[other]:\n                heapq.heappush(heap, (-counts[other], descending(other), other))\n": ""
            },
            says="no new entries are pushed: every old entry goes stale, and the heap runs empty",
            gravity="idea",
        ),
        Mistake(
            "counts stay",
            change={"            counts[other] += n\n": ""},
            says="new pairs are never merged: note their places in `where`, and add their changes to `counts`",
            gravity="idea",
        ),
        Right(
            "the maximum without a heap",
            change={"(pair := pop_best(heap, counts))": "(pair := best_pair({p: n for p, n in counts.items() if n}))"},
        ),
        Right(
            "places found in the words' own pairs",
            code="""
def train_bpe(text, vocab_size, special_tokens=()):
    vocab, merges = initial_vocab(special_tokens, vocab_size), []
    words = [[list(word), n] for word, n in word_counts(text, special_tokens).items()]
    counts, where = Counter(), {}
    for i, (word, n) in enumerate(words):
        for pair in zip(word, word[1:]):
            counts[pair] += n
            where.setdefault(pair, set()).add(i)
    heap = [(-n, [[-b for b in t] + [1] for t in p], p) for p, n in counts.items()]
    heapq.heapify(heap)
    while len(vocab) < vocab_size:
        best = pop_best(heap, counts)
        if best is None:
            break
        touched = set()
        for i in list(where[best]):
            word, n = words[i]
            for pair in zip(word, word[1:]):
                counts[pair] -= n
                touched.add(pair)
            words[i][0] = word = list(merge(tuple(word), best))
            for pair in zip(word, word[1:]):
                counts[pair] += n
                touched.add(pair)
                where.setdefault(pair, set()).add(i)
        for pair in touched:
            if counts[pair]:
                heapq.heappush(heap, (-counts[pair], [[-b for b in t] + [1] for t in pair], pair))
        merges.append(best)
        vocab[len(vocab)] = best[0] + best[1]
    return vocab, merges
""",
        ),
    ],
    "encode-word": [
        Mistake(
            "from the left",
            code=simple_encoder(
                {
                    'min(zip(parts, parts[1:]), key=lambda pair: ranks.get(pair, float("inf")))': "next((p for p in zip(parts, parts[1:]) if p in ranks), None)"
                }
            ),
            says="the merges are applied from the left, whatever their rank",
            gravity="idea",
        ),
        Mistake(
            "last learned first",
            code=simple_encoder(
                {
                    'min(zip(parts, parts[1:]), key=lambda pair: ranks.get(pair, float("inf")))': "max(zip(parts, parts[1:]), key=lambda pair: ranks.get(pair, -1))"
                }
            ),
            says="the last learned merge is applied first: the lowest rank goes first",
            gravity="idea",
        ),
        Mistake(
            "longest token",
            code="""
def encode_word(word, ranks):
    known, parts, i = {a + b for a, b in ranks}, [], 0
    while i < len(word):
        j = next((j for j in range(len(word), i + 1, -1) if word[i:j] in known), i + 1)
        parts.append(word[i:j])
        i = j
    return parts
""",
            says="this is a search for the longest token: merges must be replayed in order",
            gravity="idea",
        ),
        Mistake(
            "one merge only",
            code=simple_encoder({"        parts = merge(parts, pair)": "        return list(merge(parts, pair))"}),
            says="only one pair is merged: repeat until nothing is left to merge",
            gravity="idea",
        ),
        Mistake(
            "joined bytes",
            code=simple_encoder(
                {
                    "    while len(parts) > 1:": "    ranks = {a + b: r for (a, b), r in ranks.items()}\n    while len(parts) > 1:",
                    "ranks.get(pair, ": "ranks.get(pair[0] + pair[1], ",
                    "if pair not in ranks": "if pair[0] + pair[1] not in ranks",
                }
            ),
            says="a merge is a pair: (ab, c) is not (a, bc), though it would give the same bytes",
            gravity="idea",
        ),
        Mistake(
            "unknown pairs are merged",
            code=simple_encoder({"        if pair not in ranks:\n            break\n": ""}),
            says="everything is joined: only pairs in `ranks` may be merged",
            gravity="idea",
        ),
        Mistake(
            "nothing merged",
            code=simple_encoder({"        parts = merge(parts, pair)": "        break"}),
            says="nothing is merged",
            gravity="idea",
        ),
        Mistake(
            "numbers",
            code=simple_encoder({"tuple(bytes([b]) for b in word)": "tuple(word)"}),
            says="the parts of the word are numbers, so no pair is found: start from single bytes, `bytes([b])`",
            gravity="idea",
        ),
        Mistake(
            "fails when one token is left",
            code=simple_encoder({"while len(parts) > 1": "while True"}),
            says="your code looks for a pair when one token is left, and there is none: stop there",
            gravity="idea",
        ),
        Mistake(
            "overlap from the right",
            code=simple_encoder(
                {
                    "        parts = merge(parts, pair)": "        parts = tuple(t[::-1] for t in merge(tuple(t[::-1] for t in parts[::-1]), (pair[1][::-1], pair[0][::-1]))[::-1])"
                }
            ),
            says="overlapping pairs are merged from the right: the pair on the left goes first",
            gravity="part",
        ),
        Mistake(
            "stale queue",
            change={"            if j < len(parts) and (parts[i], parts[j]) == pair:": "            if j < len(parts):"},
            says='"b" was merged already, and is merged once more: the joined tokens must give the word',
            gravity="idea",
        ),
        Mistake(
            "the place in the dict",
            code=simple_encoder(
                {"    while len(parts) > 1:": "    ranks = {pair: place for place, pair in enumerate(ranks)}\n    while len(parts) > 1:"}
            ),
            says="the rank is the value in `ranks`, not the place in the dict",
            gravity="idea",
        ),
        Mistake(
            "used merges removed",
            code=simple_encoder({"        parts = merge(parts, pair)": "        parts = merge(parts, pair)\n        ranks.pop(pair)"}),
            says="merges are taken out of `ranks` when they are used: the caller's dict must stay as it is",
            gravity="edge",
        ),
        Mistake(
            "the longest pair first",
            code=simple_encoder(
                {
                    'min(zip(parts, parts[1:]), key=lambda pair: ranks.get(pair, float("inf")))': "max(zip(parts, parts[1:]), key=lambda pair: (pair in ranks, len(pair[0] + pair[1])))"
                }
            ),
            says="the pair that gives the longest token is merged first: the lowest rank goes first",
            gravity="idea",
        ),
        Mistake(
            "rank 0 is false",
            code=simple_encoder({'ranks.get(pair, float("inf"))': '(ranks.get(pair) or float("inf"))'}),
            says="the merge with the rank 0 is taken for unknown: 0 is a rank, too",
            gravity="idea",
        ),
        Mistake(
            "the last merge never",
            code=simple_encoder({"if pair not in ranks:": "if pair not in ranks or ranks[pair] >= len(ranks) - 1:"}),
            says="the last merge of the list is never applied",
            gravity="idea",
        ),
        Mistake(
            "joined tokens",
            code=simple_encoder({"return list(parts)": 'return b" ".join(parts)'}),
            says="the tokens are joined into one bytes object: return a list of them",
            gravity="idea",
        ),
        Mistake(
            "each merge once",
            code=simple_encoder(
                {
                    "    while len(parts) > 1:": "    ranks = dict(ranks)\n    while len(parts) > 1:",
                    "        parts = merge(parts, pair)": "        i = [i for i in range(len(parts) - 1) if parts[i : i + 2] == pair][0]\n        parts = parts[:i] + (pair[0] + pair[1],) + parts[i + 2 :]\n        del ranks[pair]",
                }
            ),
            says="each merge is applied at one place only: merge every occurrence",
            gravity="idea",
        ),
        Mistake(
            "one empty token",
            code=simple_encoder({"    while len(parts)": '    parts = parts or (b"",)\n    while len(parts)'}),
            says="an empty word gives one empty token: it has none",
            gravity="edge",
        ),
        Mistake(
            "remembered by the word",
            code="SEEN = {}\n"
            + simple_encoder(
                {
                    "    parts = tuple(": "    if word in SEEN:\n        return SEEN[word]\n    parts = tuple(",
                    "return list(parts)": "return SEEN.setdefault(word, list(parts))",
                }
            ),
            says="the result is remembered by the word alone: with other ranks it is another one",
            gravity="edge",
        ),
        Right("the whole word for every merge", code=simple_encoder({})),
        Right(
            "through the list of merges",
            code="""
def encode_word(word, ranks):
    parts = tuple(bytes([b]) for b in word)
    for pair in sorted(ranks, key=ranks.get):
        parts = merge(parts, pair)
    return list(parts)
""",
        ),
        Right(
            "one place at a time",
            code="""
def encode_word(word, ranks):
    parts = [word[i : i + 1] for i in range(len(word))]
    while True:
        found = [(ranks[pair], i) for i, pair in enumerate(zip(parts, parts[1:])) if pair in ranks]
        if not found:
            return tuple(parts)
        i = min(found)[1]
        parts[i : i + 2] = [parts[i] + parts[i + 1]]
""",
        ),
    ],
    "safe-cut": [
        Mistake(
            "the caller's list sorted",
            change={
                "limit = len(text)": "if isinstance(special_tokens, list):\n        special_tokens.sort(key=len)\n    limit = len(text)"
            },
            hint="your code changes the list of special tokens: `sort()` sorts in place, `sorted(…)` makes a new list",
            gravity="edge",
        ),
        Mistake(
            "sorts the special tokens in place",
            change={
                "    cut = start = 0\n": "    if special_tokens:\n        special_tokens.sort(key=len, reverse=True)\n    cut = start = 0\n"
            },
            hint="your code changes the list of special tokens: `sort()` sorts in place, `sorted(…)` makes a new list",
            gravity="edge",
        ),
        Mistake(
            "at the end",
            code="def safe_cut(text, special_tokens=()):\n    return len(text)",
            says="the cut is at the end of the text: the last word may go on in the next chunk",
            gravity="idea",
        ),
        Mistake(
            "never",
            code="def safe_cut(text, special_tokens=()):\n    return 0",
            says="nothing is released: that way the whole file ends up in memory",
            gravity="idea",
        ),
        Mistake(
            "one pre-token only",
            change={"begins[:-1]": "begins"},
            says='only the last pre-token is held back: "they\'l" may become "they\'ll", so the last two can change',
            gravity="part",
        ),
        Mistake(
            "behind white space",
            change={"[begin for begin in begins[:-1] if not text[begin - 1].isspace()]": "begins[:-1]"},
            says="the cut may come right after white space: at the end of a text it is one pre-token, before a word it may be two",
            gravity="part",
        ),
        Mistake(
            "special tokens ignored",
            change={"limit = len(text) - max(map(len, special_tokens), default=1) + 1": "limit = len(text)"},
            says="nothing is held back for a special token that has begun: hold back the last L − 1 characters",
            gravity="part",
        ),
        Mistake(
            "special tokens as text",
            change={"    limit =": "    special_tokens = ()\n    limit ="},
            says="the special tokens are treated as text: one that has begun must be held back, and one that is complete is a safe place",
            gravity="part",
        ),
        Mistake(
            "length of the first special token",
            change={"max(map(len, special_tokens), default=1)": "len((list(special_tokens) or ['x'])[0])"},
            says="L is the length of the first special token: it is that of the longest one",
            gravity="edge",
        ),
        Mistake(
            "white space only",
            code="""
def safe_cut(text, special_tokens=()):
    limit = len(text) - max(map(len, special_tokens), default=1) + 1
    return max([i for i in range(1, limit) if text[i].isspace() and not text[i - 1].isspace()], default=0)
""",
            says="the cut is at white space only: a text without any is held back as a whole",
            gravity="part",
        ),
        Mistake(
            "only behind special tokens",
            change={
                "            cut = max([start] + [begin for begin in begins[:-1] if not text[begin - 1].isspace()])": "            cut = start"
            },
            says="only special tokens are safe places here: ordinary text is held back as a whole",
            gravity="idea",
        ),
        Mistake(
            "fails without special tokens",
            change={", default=1": ""},
            says="your code fails without special tokens: take L = 1 then",
            gravity="idea",
        ),
        Mistake(
            "at the last space",
            code="def safe_cut(text, special_tokens=()):\n    return max(0, text.rfind(' '))",
            says="the cut is at the last space, whatever is there: a text without spaces is held back as a whole, and a special token may have begun",
            gravity="part",
        ),
        Mistake(
            "ten characters held back",
            code="def safe_cut(text, special_tokens=()):\n    return max(0, len(text) - 10)",
            says="a fixed number of characters is held back: the cut may be inside a word",
            gravity="idea",
        ),
        Mistake(
            "at the limit",
            change={
                "            begins = [found.start() for found in PRETOKEN.finditer(text, start, min(end, limit))]\n            cut = max([start] + [begin for begin in begins[:-1] if not text[begin - 1].isspace()])": "            cut = min(end, limit)"
            },
            says="the cut is at `limit`, wherever that is: cut at the beginning of a pre-token",
            gravity="idea",
        ),
        Mistake(
            "before the special token",
            change={"            cut = end\n": "            cut = start\n"},
            says="the cut is before a complete special token: its end is safe",
            gravity="part",
        ),
        Mistake(
            "spaces only",
            change={"text[begin - 1].isspace()": 'text[begin - 1] == " "'},
            says="only the space is taken for white space: line ends and tabs are, too",
            gravity="part",
        ),
        Mistake(
            "places in the piece",
            change={"PRETOKEN.finditer(text, start, min(end, limit))": "PRETOKEN.finditer(piece)"},
            says="the places are counted from the beginning of the piece: count from the beginning of the text",
            gravity="part",
        ),
        Mistake(
            "L too small by one",
            change={"default=1) + 1": "default=1) + 2"},
            says="too little is held back for a special token, by one character: it may have begun in the last L − 1",
            gravity="edge",
        ),
        Mistake(
            "limit one too early",
            change={"default=1) + 1": "default=1)"},
            says="one character too many is held back: what starts before len(text) − (L − 1) is certain",
            gravity="edge",
        ),
        Right(
            "the whole list of pieces",
            code="""
def safe_cut(text, special_tokens=()):
    longest = max([len(token) for token in special_tokens] or [1])
    sure, place, good = len(text) - longest + 1, 0, [0]
    for piece in split_special(text, special_tokens):
        if place < sure:
            good.append(place)
            if piece in special_tokens:
                good.append(place + len(piece))
            else:
                inner, at = [], place
                for word in PRETOKEN.findall(piece[: sure - place]):
                    inner.append(at)
                    at += len(word)
                good += [p for p in inner[1:-1] if not text[p - 1].isspace()]
        place += len(piece)
    return max(good)
""",
        ),
        Right("one pre-token more", change={"begins[:-1]": "begins[:-2]"}),
    ],
    "json": [
        Mistake(
            "text keys",
            change={
                "[[number, token.hex()] for number, token in vocab.items()]": "{number: token.hex() for number, token in vocab.items()}",
                'in data["vocab"]}': 'in data["vocab"].items()}',
            },
            says="the ids came back as text: JSON's keys are always strings. Make them numbers",
            gravity="idea",
        ),
        Mistake(
            "as UTF-8, replaced",
            change={"token.hex()": 'token.decode("utf-8", "replace")', "bytes.fromhex(token)": "token.encode()"},
            says="bytes that are not UTF-8 were replaced: most tokens are not text by themselves. Use hex or latin-1",
            gravity="part",
        ),
        Mistake(
            "as UTF-8, dropped",
            change={"token.hex()": 'token.decode("utf-8", "ignore")', "bytes.fromhex(token)": "token.encode()"},
            says="bytes that are not UTF-8 were dropped: use hex or latin-1",
            gravity="part",
        ),
        Mistake(
            "merges as lists",
            change={"[(bytes.fromhex(left), bytes.fromhex(right)) for": "[[bytes.fromhex(left), bytes.fromhex(right)] for"},
            hint="each merge must be a tuple: it becomes the key of a dict, and a list cannot",
            gravity="part",
        ),
        Mistake(
            "numbered anew",
            change={
                "{number: bytes.fromhex(token) for number, token in": "{i: bytes.fromhex(token) for i, (_, token) in enumerate(",
                'data["vocab"]}': 'data["vocab"])}',
            },
            says="the ids were renumbered: keep them, even if there are gaps",
            gravity="idea",
        ),
        Mistake(
            "merges sorted",
            change={"for left, right in merges]": "for left, right in sorted(merges)]"},
            says="the order of the merges is lost: it is the most important part",
            gravity="idea",
        ),
        Mistake(
            "special tokens as bytes",
            change={'return vocab, merges, data["special_tokens"]': 'return vocab, merges, [t.encode() for t in data["special_tokens"]]'},
            says="the special tokens came back as bytes: they are str",
            gravity="idea",
        ),
        Mistake(
            "pickle",
            change={
                "return json.dumps(": "import pickle\n    return pickle.dumps(",
                "json.loads(text)": "__import__('pickle').loads(text)",
            },
            says="the text is no JSON: `to_json` gives a text that `json.loads` can read",
            gravity="idea",
        ),
        Mistake(
            "hex not undone",
            change={"{number: bytes.fromhex(token) for": "{number: token.encode() for"},
            says="the tokens come back as the letters of their hex form: undo it with `bytes.fromhex`",
            gravity="idea",
        ),
        Mistake(
            "merges joined by a space",
            change={
                "[[left.hex(), right.hex()] for left, right in merges]": '[left.decode("latin-1") + " " + right.decode("latin-1") for left, right in merges]',
                "bytes.fromhex(left), bytes.fromhex(right)) for left, right in data": 'left.encode("latin-1"), right.encode("latin-1")) for left, _, right in (m.partition(" ") for m in data',
                'data["merges"]]': 'data["merges"])]',
            },
            says="the two tokens of a merge are joined by a space: tokens may hold spaces themselves, so the merge cannot be taken apart again",
            gravity="part",
        ),
        Mistake(
            "vocabulary sorted",
            change={"for number, token in vocab.items()]": "for number, token in sorted(vocab.items())]"},
            says="the vocabulary comes back sorted by its ids: keep its order",
            gravity="edge",
        ),
        Mistake(
            "pairs turned round",
            change={"for left, right in merges]": "for right, left in merges]"},
            says="the two tokens of each merge are exchanged: (left, right)",
            gravity="idea",
        ),
        Mistake(
            "special tokens lost",
            change={'return vocab, merges, data["special_tokens"]': "return vocab, merges, []"},
            says="the special tokens are lost",
            gravity="idea",
        ),
        Mistake(
            "vocabulary turned round",
            change={
                '{number: bytes.fromhex(token) for number, token in data["vocab"]}': '{bytes.fromhex(token): number for number, token in data["vocab"]}'
            },
            says="the vocabulary comes back turned round: it is a dict from the number to the token",
            gravity="idea",
        ),
        Mistake(
            "special tokens sorted",
            change={"list(special_tokens)": "sorted(set(special_tokens))"},
            says="the special tokens come back sorted: keep their order",
            gravity="edge",
        ),
        Mistake(
            "special tokens in ASCII",
            change={"list(special_tokens)": '[t.encode("ascii", "ignore").decode() for t in special_tokens]'},
            says="characters beyond ASCII are dropped from the special tokens: JSON holds any character",
            gravity="edge",
        ),
        Mistake(
            "special tokens as a tuple",
            change={'merges, data["special_tokens"]': 'merges, tuple(data["special_tokens"])'},
            hint="the special tokens must come back as a list",
            gravity="edge",
        ),
        Mistake(
            "another code page",
            change={"token.hex()": 'token.decode("cp1252", "replace")', "bytes.fromhex(token)": 'token.encode("cp1252", "replace")'},
            says="cp1252 has no character for some bytes: use hex or latin-1",
            gravity="part",
        ),
        Mistake(
            "merges as a dict",
            change={
                "[[left.hex(), right.hex()] for left, right in merges]": "{left.hex(): right.hex() for left, right in merges}",
                'in data["merges"]]': 'in data["merges"].items()]',
            },
            says="the merges are kept as a dict: of several with the same left token only the last is left",
            gravity="part",
        ),
        Mistake(
            "in a global variable",
            code="""
KEPT = {}

def to_json(vocab, merges, special_tokens):
    KEPT["parts"] = (dict(vocab), list(merges), list(special_tokens))
    return json.dumps([])

def from_json(text):
    json.loads(text)
    return KEPT["parts"]
""",
            says="from_json gives what was written last, whatever its text says: everything must be in the text",
            gravity="idea",
        ),
        Right(
            "latin-1",
            change={
                "token.hex()": 'token.decode("latin-1")',
                "left.hex()": 'left.decode("latin-1")',
                "right.hex()": 'right.decode("latin-1")',
                "bytes.fromhex(token)": 'token.encode("latin-1")',
                "bytes.fromhex(left)": 'left.encode("latin-1")',
                "bytes.fromhex(right)": 'right.encode("latin-1")',
            },
        ),
        Right(
            "lists of numbers, a list of three parts",
            code="""
def to_json(vocab, merges, special_tokens):
    return json.dumps([{k: list(v) for k, v in vocab.items()}, [[list(a), list(b)] for a, b in merges], special_tokens])

def from_json(text):
    vocab, merges, special_tokens = json.loads(text)
    return {int(k): bytes(v) for k, v in vocab.items()}, [(bytes(a), bytes(b)) for a, b in merges], special_tokens
""",
        ),
    ],
    "tokenizer": [
        Mistake(
            "special tokens as text",
            change={"split_special(text, self.special_tokens):\n            if": "[text]:\n            if"},
            says="the special token is encoded like text: split at the special tokens first",
            gravity="part",
        ),
        Mistake(
            "special tokens lost",
            change={"                ids.append(self.ids[piece.encode()])": "                continue"},
            says="the special token is lost: it has an id, too",
            gravity="part",
        ),
        Mistake(
            "no pre-tokens",
            change={"PRETOKEN.findall(piece)": "regex.split('( )', piece)"},
            says="the pieces are cut at spaces: use `PRETOKEN`, where the space belongs to the word behind it",
            gravity="idea",
        ),
        Mistake(
            "the whole piece at once",
            change={"for word in PRETOKEN.findall(piece)": "for word in [piece]"},
            says="a token reaches across the border of two pre-tokens: encode each pre-token by itself",
            gravity="idea",
        ),
        Mistake(
            "special tokens fill gaps",
            change={"max(self.vocab, default=-1) + 1": "len(self.vocab)"},
            says="a new special token must not take an id that is in use, or fill a gap: go on after the largest id",
            gravity="part",
        ),
        Mistake(
            "special tokens always added",
            change={"if token.encode() not in known": "if True"},
            says="a special token that is in the vocabulary got a second id: keep the first",
            gravity="part",
        ),
        Mistake(
            "each chunk by itself",
            change={
                "            buffer += chunk\n            cut = safe_cut(buffer, self.special_tokens)\n            yield from self.encode(buffer[:cut])\n            buffer = buffer[cut:]": "            yield from self.encode(chunk)"
            },
            says="each chunk is encoded by itself: what may still change is kept in a buffer until more text has come",
            gravity="idea",
        ),
        Mistake(
            "the rest is lost",
            change={"            buffer = buffer[cut:]\n        yield from self.encode(buffer)": "            buffer = buffer[cut:]"},
            says="what is left in the buffer at the end of the stream is lost: encode it, too",
            gravity="idea",
        ),
        Mistake(
            "joins everything",
            change={
                'buffer = ""\n        for chunk in chunks:\n            buffer += chunk\n            cut = safe_cut(buffer, self.special_tokens)\n            yield from self.encode(buffer[:cut])\n            buffer = buffer[cut:]': 'buffer = "".join(chunks)'
            },
            says="the whole stream is read before the first ids come out: encode what is safe after every chunk, and `yield`",
            gravity="part",
        ),
        Mistake(
            "special tokens ignored in the stream",
            change={"safe_cut(buffer, self.special_tokens)": "safe_cut(buffer)"},
            says="a special token that is spread over chunks is still one: pass the special tokens to `safe_cut`",
            gravity="part",
        ),
        Mistake(
            "decodes strictly",
            change={"return text_of(ids, self.vocab)": "return self.decode_bytes(ids).decode()"},
            says="`decode` fails on bytes that are not UTF-8: an unfinished character becomes U+FFFD",
            gravity="part",
        ),
        Mistake(
            "bytes through text",
            change={"return bytes_of(ids, self.vocab)": "return text_of(ids, self.vocab).encode()"},
            says="`decode_bytes` goes through text: bytes that are not UTF-8 are lost",
            gravity="idea",
        ),
        Mistake(
            "changes the caller's vocabulary",
            change={"self.vocab = dict(vocab)": "self.vocab = vocab"},
            says="the caller's vocabulary must stay as it is: add special tokens to a copy",
            gravity="edge",
        ),
        Mistake(
            "special tokens decode to nothing",
            change={
                "return text_of(ids, self.vocab)": "return text_of([i for i in ids if self.vocab[i].decode('utf-8', 'replace') not in self.special_tokens], self.vocab)"
            },
            says="`decode` leaves special tokens out: it gives them as they are written",
            gravity="part",
        ),
        Mistake(
            "one id for all new special tokens",
            change={"max(self.vocab, default=-1) + 1": "max(vocab, default=-1) + 1"},
            says="all new special tokens get the same id: each comes after the largest id so far",
            gravity="part",
        ),
        Mistake(
            "a stream begins with the rest of the last",
            change={
                '        buffer = ""\n': '        buffer = getattr(self, "left", "")\n',
                "        yield from self.encode(buffer)\n": "        yield from self.encode(buffer)\n        self.left = buffer\n",
            },
            says="a stream begins with what the last one left in the buffer: every stream starts with an empty one",
            gravity="idea",
        ),
        Mistake(
            "a list in place of a generator",
            change={
                "            yield from self.encode(buffer[:cut])\n": "            out += self.encode(buffer[:cut])\n",
                '        buffer = ""\n': '        buffer, out = "", []\n',
                "        yield from self.encode(buffer)": "        return out + self.encode(buffer)",
            },
            says="the whole stream is read before the first ids come out: encode what is safe after every chunk, and `yield`",
            gravity="part",
        ),
        Mistake(
            "cut at spaces",
            change={"            cut = safe_cut(buffer, self.special_tokens)\n": '            cut = buffer.rfind(" ") + 1\n'},
            says="the buffer is cut behind a space, which belongs to the next word: use `safe_cut`",
            gravity="idea",
        ),
        Mistake(
            "lists of ids",
            change={
                "            yield from self.encode(buffer[:cut])\n": "            yield self.encode(buffer[:cut])\n",
                "        yield from self.encode(buffer)": "        yield self.encode(buffer)",
            },
            says="the stream gives lists of ids: it gives the ids one by one, with `yield from`",
            gravity="idea",
        ),
        Mistake(
            "each id decoded by itself",
            change={"return text_of(ids, self.vocab)": 'return "".join(text_of([i], self.vocab) for i in ids)'},
            says="each id is decoded by itself: a character that is spread over tokens is lost",
            gravity="idea",
        ),
        Mistake(
            "decoded text stripped",
            change={"return text_of(ids, self.vocab)": "return text_of(ids, self.vocab).strip()"},
            says="the decoded text is stripped: white space at its ends is text",
            gravity="idea",
        ),
        Mistake(
            "the first free id",
            change={"max(self.vocab, default=-1) + 1": "min(set(range(len(self.vocab) + 1)) - set(self.vocab))"},
            says="new special tokens fill gaps in the ids: go on after the largest",
            gravity="part",
        ),
        Mistake(
            "buffer never emptied",
            change={"            buffer = buffer[cut:]\n": ""},
            says="text that was encoded stays in the buffer and is encoded again: keep only the rest, `buffer[cut:]`",
            gravity="idea",
        ),
        Mistake(
            "small letters",
            change={"PRETOKEN.findall(piece)": "PRETOKEN.findall(piece.lower())"},
            says="the text is written in lower case: change nothing in it",
            gravity="idea",
        ),
        Mistake(
            "text stripped",
            change={
                "split_special(text, self.special_tokens):\n            if": "split_special(text.strip(), self.special_tokens):\n            if"
            },
            says="the text is stripped: white space at its ends has ids, too",
            gravity="idea",
        ),
        Mistake(
            "pieces stripped",
            change={"PRETOKEN.findall(piece)": "piece.split()"},
            says="the pieces are cut at white space, which is lost: use `PRETOKEN`",
            gravity="idea",
        ),
        Mistake(
            "ids in tuples",
            change={"ids += self.word_ids(word)": "ids.append(self.word_ids(word))"},
            says="the ids of a word stay together as one entry: add them one by one, `ids += …`",
            gravity="idea",
        ),
        Right(
            "streams by pre-tokens",
            change={
                "            cut = safe_cut(buffer, self.special_tokens)\n": "            cut = safe_cut(buffer, tuple(self.special_tokens))\n            if not cut:\n                continue\n"
            },
        ),
        Right(
            "comprehensions",
            change={
                "        ids = []\n        for piece in split_special(text, self.special_tokens):\n            if piece in self.special_tokens:\n                ids.append(self.ids[piece.encode()])\n            else:\n                for word in PRETOKEN.findall(piece):\n                    ids += self.word_ids(word)\n        return ids": "        return [n for piece in split_special(text, self.special_tokens) for word in ([piece] if piece in self.special_tokens else PRETOKEN.findall(piece))\n                for n in ([self.ids[word.encode()]] if piece in self.special_tokens else self.word_ids(word))]",
                "return bytes_of(ids, self.vocab)": "return b''.join(map(self.vocab.get, ids))",
            },
        ),
    ],
    "measures": [
        Mistake(
            "characters",
            change={"len(text.encode())": "len(text)"},
            says='characters are counted; "é" has two bytes, and an emoji four',
            gravity="idea",
        ),
        Mistake(
            "tokens per byte",
            change={"len(text.encode()) / len(ids)": "len(ids) / len(text.encode())"},
            says="this is tokens per byte: divide the other way round",
            gravity="idea",
        ),
        Mistake(
            "words per token",
            change={"len(ids) / len(text.split())": "len(text.split()) / len(ids)"},
            says="this is words per token: divide the other way round",
            gravity="idea",
        ),
        Mistake(
            "split at single spaces",
            change={"text.split()": 'text.split(" ")'},
            says="two spaces in a row hold no word between them, and line ends separate words: use `text.split()` without an argument",
            gravity="part",
        ),
        Mistake(
            "pre-tokens",
            change={"text.split()": "PRETOKEN.findall(text)"},
            says="the pre-tokens are counted: here words are what white space separates",
            gravity="idea",
        ),
        Mistake(
            "different ids",
            change={"len(text.encode()) / len(ids)": "len(text.encode()) / len(set(ids))"},
            says="different ids are counted: every token counts, repeated ones, too",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={"len(ids) / len(text.split())": "round(len(ids) / len(text.split()), 1)"},
            says="the tokens per word are rounded: give the fraction as it is",
            gravity="idea",
        ),
        Mistake(
            "whole numbers",
            change={"len(ids) / len(text.split())": "len(ids) // len(text.split())"},
            says="the result is a fraction: do not round it",
            gravity="idea",
        ),
        Mistake(
            "ends stripped",
            change={"len(text.encode())": "len(text.strip().encode())"},
            says="the white space at the ends counts, too: change nothing in the text",
            gravity="idea",
        ),
        Mistake(
            "bits",
            change={"len(text.encode()) / len(ids)": "8 * len(text.encode()) / len(ids)"},
            says="bits are counted: a byte is one, not eight",
            gravity="idea",
        ),
        Mistake(
            "UTF-16",
            change={"len(text.encode())": 'len(text.encode("utf-16-le"))'},
            says="the bytes of UTF-16 are counted: tokens are made of UTF-8",
            gravity="idea",
        ),
        Mistake(
            "bytes without white space",
            change={"len(text.encode())": 'len("".join(text.split()).encode())'},
            says="every byte of the text counts, white space, too",
            gravity="idea",
        ),
        Mistake(
            "whole bytes",
            change={"len(text.encode()) / len(ids)": "len(text.encode()) // len(ids)"},
            says="bytes_per_token is a fraction: do not round it",
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={"len(text.encode()) / len(ids)": "len(text.encode())"},
            says="that is the number of bytes; divide by the number of tokens",
            gravity="idea",
        ),
        Mistake(
            "different words",
            change={"text.split()": "set(text.split())"},
            says="different words are counted: a word that occurs twice counts twice",
            gravity="idea",
        ),
        Mistake(
            "letters only",
            change={"text.split()": 'regex.findall(r"\\w+", text)'},
            says="words are cut at apostrophes and signs: here they are what white space separates",
            gravity="idea",
        ),
        Mistake(
            "characters for words", change={"len(text.split())": "len(text)"}, says="characters are counted, not words", gravity="idea"
        ),
        Mistake(
            "spaces for words",
            change={"len(text.split())": 'text.count(" ")'},
            says="the spaces are counted: there is one more word than spaces",
            gravity="idea",
        ),
        Mistake(
            "different ids for words",
            change={"len(ids) / len(text.split())": "len(set(ids)) / len(text.split())"},
            says="fertility: different ids are counted: every token counts, repeated ones, too",
            gravity="idea",
        ),
        Mistake(
            "spaces only",
            change={"text.split()": '[w for w in text.split(" ") if w]'},
            says="only spaces separate words here: line ends and tabs do, too. Use `text.split()` without an argument",
            gravity="part",
        ),
        Right(
            "numpy",
            code="""
import numpy as np

def bytes_per_token(text, ids):
    return np.float64(len(bytes(text, "utf-8"))) / np.size(ids)

def fertility(text, ids):
    return np.size(ids) / np.float64(len(regex.findall(r"\\S+", text)))
""",
        ),
        Right(
            "sums", change={"len(text.encode())": "sum(len(c.encode()) for c in text)", "len(text.split())": "sum(1 for _ in text.split())"}
        ),
    ],
    "bonus-recover": [
        Mistake(
            "last byte split off",
            change={"tuple(encode_word(vocab[number], ranks))": "(vocab[number][:-1], vocab[number][-1:])"},
            says="the last byte is split off: encode the token with the merges so far",
            gravity="idea",
        ),
        Mistake(
            "first byte split off",
            change={"tuple(encode_word(vocab[number], ranks))": "(vocab[number][:1], vocab[number][1:])"},
            says="the first byte is split off: encode the token with the merges so far",
            gravity="idea",
        ),
        Mistake(
            "longest known left part",
            change={
                "ranks[tuple(encode_word(vocab[number], ranks))]": "t = vocab[number]\n            ranks[max(((t[:i], t[i:]) for i in range(1, len(t)) if {t[:i], t[i:]} <= {u for m, u in vocab.items() if m < number}), key=lambda p: len(p[0]))]"
            },
            says="the tokens are cut where the left part is longest among the known tokens: several cuts can be possible, and only replaying the merges gives the right one",
            gravity="idea",
        ),
        Mistake(
            "in the order of the dict",
            change={"sorted(vocab)": "vocab"},
            says="the tokens are taken in the order of the dict: the order of training is the order of the ids",
            gravity="part",
        ),
        Mistake(
            "single bytes as merges",
            change={"if len(vocab[number]) > 1": "if vocab[number]"},
            says="single bytes are taken for merges, too: only tokens of several bytes are",
            gravity="idea",
        ),
        Mistake(
            "with all merges at once",
            change={
                "    ranks = {}\n": "    ranks = {}\n    known = {(t[:i], t[i:]): n for n, t in vocab.items() for i in range(1, len(t))}\n",
                "encode_word(vocab[number], ranks)": "encode_word(vocab[number], known)",
            },
            says="every way to cut every token counts as a merge from the start: encode each token with the merges that were found before it",
            gravity="idea",
        ),
        Mistake(
            "by length",
            change={"sorted(vocab)": "sorted(vocab, key=lambda n: (len(vocab[n]), n))"},
            says="the tokens are taken by their length: the order of training is the order of the ids",
            gravity="idea",
        ),
        Mistake(
            "all merges of one rank",
            change={"= len(ranks)": "= 0"},
            says="all merges have one rank: each merge found gets the next one",
            gravity="idea",
        ),
        Mistake(
            "shortest known left part",
            change={
                "ranks[tuple(encode_word(vocab[number], ranks))]": "t = vocab[number]\n            ranks[min(((t[:i], t[i:]) for i in range(1, len(t)) if {t[:i], t[i:]} <= {u for m, u in vocab.items() if m < number}), key=lambda p: len(p[0]))]"
            },
            says="the tokens are cut where the left part is shortest among the known tokens: several cuts can be possible, and only replaying the merges gives the right one",
            gravity="idea",
        ),
        Mistake(
            "in the middle",
            change={
                "tuple(encode_word(vocab[number], ranks))": "(vocab[number][: len(vocab[number]) // 2], vocab[number][len(vocab[number]) // 2 :])"
            },
            says="each token is cut in the middle: encode it with the merges so far, and two tokens are left",
            gravity="idea",
        ),
        Mistake(
            "latest known parts",
            change={
                "ranks[tuple(encode_word(vocab[number], ranks))]": "t, known = vocab[number], {v: k for k, v in vocab.items() if k < number}\n            ranks[max(((t[:i], t[i:]) for i in range(1, len(t)) if t[:i] in known and t[i:] in known), key=lambda p: max(known[p[0]], known[p[1]]))]"
            },
            says="the cut with the newest part is taken: only replaying the merges says which one it was",
            gravity="idea",
        ),
        Mistake(
            "joined merges",
            change={"return list(ranks)": "return [a + b for a, b in ranks]"},
            says="the merges are joined bytes: each is a pair, (left, right)",
            gravity="idea",
        ),
        Mistake(
            "bytes taken out",
            change={
                "    return list(ranks)": "    for number in list(vocab):\n        if len(vocab[number]) == 1:\n            del vocab[number]\n    return list(ranks)"
            },
            says="the single bytes are taken out of the vocabulary that is given: it must stay as it is",
            gravity="edge",
        ),
        Mistake(
            "merges of the last call",
            code="""
RANKS = {}

def recover_merges(vocab):
    for number in sorted(vocab):
        if len(vocab[number]) > 1:
            RANKS.setdefault(tuple(encode_word(vocab[number], RANKS)), len(RANKS))
    return list(RANKS)
""",
            says="the merges of an earlier call are still there: start with none in every call",
            gravity="idea",
        ),
        Mistake(
            "the dict",
            change={"return list(ranks)": "return ranks"},
            says="a dict comes back: return the list of its merges",
            gravity="idea",
        ),
        Right(
            "merges as a list",
            code="""
def recover_merges(vocab):
    merges = []
    for _, token in sorted(vocab.items()):
        parts = tuple(bytes([b]) for b in token)
        for pair in merges if len(parts) > 1 else ():
            if len(parts) > 2:
                parts = merge(parts, pair)
        if len(parts) > 1:
            merges.append(parts)
    return merges
""",
        ),
        Right("lists of parts", change={"return list(ranks)": "return [list(pair) for pair in ranks]"}),
    ],
}
