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
            hint="UTF-8 has more than ASCII's 128",
            gravity="idea",
        ),
        Mistake(
            "takes the ids out of the list",
            change={
                'return b"".join(vocab[number] for number in ids)': 'out = b""\n    while ids:\n        out += vocab[ids.pop(0)]\n    return out'
            },
            hint="changes the list of ids that it is given",
            gravity="edge",
        ),
        Mistake(
            "each token by itself",
            change={
                'bytes_of(ids, vocab).decode("utf-8", errors="replace")': '"".join(vocab[n].decode("utf-8", errors="replace") for n in ids)'
            },
            hint="each token is decoded by itself",
            gravity="idea",
        ),
        Mistake("strict", change={', errors="replace"': ""}, hint="a stray byte is not text", gravity="part"),
        Mistake("ignored", change={'errors="replace"': 'errors="ignore"'}, hint="it must leave a U+FFFD behind", gravity="part"),
        Mistake("latin-1", change={'"utf-8", errors="replace"': '"latin-1"'}, hint="(latin-1)", gravity="idea"),
        Mistake(
            "bytes through text",
            change={'b"".join(vocab[number] for number in ids)': '"".join(vocab[n].decode("utf-8", "ignore") for n in ids).encode()'},
            hint="`bytes_of` must not go through text",
            gravity="idea",
        ),
        Mistake("ids sorted", change={"for number in ids": "for number in sorted(ids)"}, hint="the ids are sorted", gravity="idea"),
        Mistake(
            "each id once",
            change={"for number in ids": "for number in dict.fromkeys(ids)"},
            hint="every id is used once: ids may repeat",
            gravity="idea",
        ),
        Mistake(
            "stripped",
            change={'errors="replace")': 'errors="replace").strip()'},
            hint="white space and line ends stay as they are",
            gravity="edge",
        ),
        Mistake(
            "line ends changed",
            change={'errors="replace")': 'errors="replace").replace("\\r\\n", "\\n")'},
            hint="white space and line ends stay as they are",
            gravity="edge",
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
        Mistake("not escaped", change={"regex.escape(token)": "token"}, hint='`|` means "or" in a pattern', gravity="idea"),
        Mistake("signals lost", change={'"(" + ': "", ' + ")"': ""}, hint="the special token is lost", gravity="idea"),
        Mistake(
            "shortest first", change={"reverse=True": "reverse=False"}, hint="the longest one wins, whatever their order", gravity="part"
        ),
        Mistake(
            "in the list's order",
            change={"sorted(special_tokens, key=len, reverse=True)": "special_tokens"},
            hint="the longest one wins, whatever their order",
            gravity="part",
        ),
        Mistake(
            "alphabetically",
            change={"sorted(special_tokens, key=len, reverse=True)": "sorted(special_tokens)"},
            hint="the longest one wins, whatever their order",
            gravity="part",
        ),
        Mistake("empty pieces", change={" if piece]": "]"}, hint="empty pieces are left out", gravity="part"),
        Mistake(
            "no case for no special tokens",
            change={"    if not special_tokens:\n        return [text] if text else []\n": ""},
            hint="an empty pattern matches everywhere",
            gravity="edge",
        ),
        Mistake("stripped", change={"[piece for piece in": "[piece.strip() for piece in"}, hint="white space is text", gravity="idea"),
        Mistake(
            "sorts the caller's list",
            change={
                "longest_first = sorted(special_tokens, key=len, reverse=True)": "special_tokens = special_tokens if type(special_tokens) is list else list(special_tokens)\n    special_tokens.sort(key=len, reverse=True)\n    longest_first = special_tokens"
            },
            hint="use `sorted`, which makes a new one",
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
            hint="an earlier start wins",
            gravity="part",
        ),
        Mistake(
            "blank pieces dropped",
            change={"if piece]": "if piece.strip()]"},
            hint="white space between two special tokens is a piece, too",
            gravity="idea",
        ),
        Mistake(
            "one special token only",
            change={"for token in longest_first": "for token in special_tokens[:1]"},
            hint="only one special token is looked for",
            gravity="idea",
        ),
        Mistake(
            "large and small letters alike",
            change={"regex.split(pattern, text)": "regex.split(pattern, text, flags=regex.I)"},
            hint="upper-case and lower-case letters are different characters",
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
            hint="the special token is counted like text",
            gravity="part",
        ),
        Mistake(
            "special tokens counted as words",
            change={
                "        if piece not in special_tokens:\n            counts.update(PRETOKEN.findall(piece))": "        counts.update(PRETOKEN.findall(piece) if piece not in special_tokens else [piece])"
            },
            hint="the special token is counted as a word",
            gravity="part",
        ),
        Mistake(
            "pieces as keys", change={"tuple(bytes([b]) for b in word.encode()): n": "word: n"}, hint="the keys are pieces", gravity="idea"
        ),
        Mistake(
            "bytes as keys",
            change={"tuple(bytes([b]) for b in word.encode()): n": "word.encode(): n"},
            hint="the keys are bytes objects",
            gravity="idea",
        ),
        Mistake(
            "numbers",
            change={"tuple(bytes([b]) for b in word.encode())": "tuple(word.encode())"},
            hint="the keys are tuples of numbers",
            gravity="idea",
        ),
        Mistake(
            "characters",
            change={"tuple(bytes([b]) for b in word.encode())": "tuple(word)"},
            hint="the keys are tuples of characters",
            gravity="idea",
        ),
        Mistake(
            "white space", change={"PRETOKEN.findall(piece)": "piece.split()"}, hint="the words are cut at white space", gravity="idea"
        ),
        Mistake(
            "small letters",
            change={"PRETOKEN.findall(piece)": "PRETOKEN.findall(piece.lower())"},
            hint="change nothing in the text",
            gravity="idea",
        ),
        Mistake(
            "joined over the special token",
            change={
                "    for piece in split_special(text, special_tokens):\n        if piece not in special_tokens:\n            counts.update(PRETOKEN.findall(piece))": '    text = "".join(p for p in split_special(text, special_tokens) if p not in special_tokens)\n    counts.update(PRETOKEN.findall(text))'
            },
            hint="the texts before and after a special token are joined",
            gravity="part",
        ),
        Mistake(
            "stripped",
            change={
                "PRETOKEN.findall(piece)": "PRETOKEN.findall(piece.strip())",
                "tuple(bytes([b]) for b in word.encode())": "tuple(bytes([b]) for b in word.strip().encode())",
            },
            hint="the pieces are stripped",
            gravity="idea",
        ),
        Mistake("every piece once", change={": n for word": ": 1 for word"}, hint="every piece is counted once", gravity="idea"),
        Mistake(
            "the first text only",
            change={
                "            counts.update(PRETOKEN.findall(piece))": "            counts.update(PRETOKEN.findall(piece))\n            break"
            },
            hint="only the text before the first special token is counted",
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
        Mistake("each word once", change={"+= n": "+= 1"}, hint="each different word is counted once", gravity="idea"),
        Mistake(
            "joined bytes",
            change={"counts[pair] += n": "counts[pair[0] + pair[1]] += n"},
            hint="the pairs are counted as joined bytes",
            gravity="idea",
        ),
        Mistake(
            "last pair missing",
            change={"zip(word, word[1:])": "zip(word[:-1], word[1:-1])"},
            hint="the last pair of each word is missing",
            gravity="idea",
        ),
        Mistake("overwritten", change={"+= n": "= n"}, hint="a later word overwrites", gravity="idea"),
        Mistake(
            "no overlap",
            change={
                "        for pair in zip(word, word[1:]):\n            counts[pair] += n": "        last = None\n        for i, pair in enumerate(zip(word, word[1:])):\n            if pair[0] == pair[1] and last == i - 1:\n                continue\n            counts[pair] += n\n            last = i if pair[0] == pair[1] else None"
            },
            hint="overlapping pairs are counted once",
            gravity="part",
        ),
        Mistake(
            "each pair of a word once",
            change={"in zip(word, word[1:])": "in set(zip(word, word[1:]))"},
            hint="each pair of a word is counted once",
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
            hint="a pair never crosses a border",
            gravity="idea",
        ),
        Mistake("sorted pairs", change={"counts[pair]": "counts[tuple(sorted(pair))]"}, hint="do not sort them", gravity="idea"),
        Mistake(
            "every second place",
            change={"zip(word, word[1:])": "list(zip(word, word[1:]))[::2]"},
            hint="only every second place is counted",
            gravity="idea",
        ),
        Mistake(
            "empties the words",
            change={"    for word, n in words.items():": "    for word in list(words):\n        n = words.pop(word)"},
            hint="your code changes the words it is given",
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
            hint="this is the smallest",
            gravity="part",
        ),
        Mistake(
            "first that came",
            change={"key=lambda pair: (counts[pair], pair)": "key=counts.get"},
            hint="of equally frequent pairs the greatest wins",
            gravity="part",
        ),
        Mistake(
            "joined bytes",
            change={"(counts[pair], pair)": "(counts[pair], pair[0] + pair[1])"},
            hint="you compare the joined bytes",
            gravity="part",
        ),
        Mistake(
            "longest",
            change={"(counts[pair], pair)": "(counts[pair], len(pair[0] + pair[1]), pair)"},
            hint="that is the longest",
            gravity="part",
        ),
        Mistake("no default", change={", default=None": ""}, hint="no pair is left: return None", gravity="edge"),
        Mistake(
            "greatest pair, whatever its count",
            change={"(counts[pair], pair)": "pair"},
            hint="the pair with the highest count",
            gravity="idea",
        ),
        Mistake(
            "counts as text",
            change={"(counts[pair], pair)": "(str(counts[pair]), pair)"},
            hint="counts are compared as text",
            gravity="idea",
        ),
        Mistake(
            "decoded",
            change={"(counts[pair], pair)": "(counts[pair], [t.decode('ascii', 'ignore') for t in pair])"},
            hint="compare bytes, not decoded text",
            gravity="edge",
        ),
        Mistake(
            "left token only", change={"(counts[pair], pair)": "(counts[pair], pair[0])"}, hint="the right tokens decide", gravity="part"
        ),
        Mistake("the lowest count", change={"max(counts": "min(counts"}, hint="that is the lowest count", gravity="idea"),
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
            hint='an "a" was used twice',
            gravity="idea",
        ),
        Mistake(
            "first only",
            change={"if word[i] == left and": "if left + right not in merged and word[i] == left and"},
            hint="only the first occurrence is merged",
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
            hint="not the last two",
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
            hint="a token that only ends with the left one is merged",
            gravity="idea",
        ),
        Mistake(
            "joined bytes",
            change={
                "word[i] == left and i + 1 < len(word) and word[i + 1] == right": "b''.join(word[i : i + 2]) == left + right and i + 1 < len(word)"
            },
            hint="the joined bytes are compared",
            gravity="edge",
        ),
        Mistake(
            "last token lost",
            change={"while i < len(word)": "while i < len(word) - 1"},
            hint="the last token must not get lost",
            gravity="idea",
        ),
        Mistake(
            "runs over the end",
            change={"word[i] == left and i + 1 < len(word) and": "word[i] == left and"},
            hint="(b, a) is not the pair (a, b)",
            gravity="idea",
        ),
        Mistake("a list", change={"return tuple(merged)": "return merged"}, hint="return a tuple", gravity="edge"),
        Mistake(
            "right token forgotten",
            change={"merged.append(left + right)\n            i += 2": "merged.append(left + right)\n            i += 1"},
            hint="u and g become ug",
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
            hint="here the smallest wins",
            gravity="idea",
        ),
        Mistake(
            "first of ties",
            change={"best_pair(count_pairs(words))": "max((c := count_pairs(words)), key=c.get, default=None)"},
            hint="here the first that was counted wins",
            gravity="idea",
        ),
        Mistake(
            "joined bytes decide",
            change={"best_pair(count_pairs(words))": "max((c := count_pairs(words)), key=lambda p: (c[p], p[0] + p[1]), default=None)"},
            hint="here the joined bytes are compared",
            gravity="idea",
        ),
        Mistake(
            "across borders",
            change={
                "    while len(vocab)": "    words = {tuple(bytes([b]) for b in p.encode()): 1 for p in split_special(text, special_tokens) if p not in special_tokens}\n    while len(vocab)"
            },
            hint="pairs reach across the borders",
            gravity="idea",
        ),
        Mistake(
            "special token as text",
            change={"    while len(vocab)": "    words = word_counts(text, [])\n    while len(vocab)"},
            hint="the special token is treated as text",
            gravity="part",
        ),
        Mistake(
            "one merge too many", change={"len(vocab) < vocab_size": "len(vocab) <= vocab_size"}, hint="one merge too many", gravity="part"
        ),
        Mistake(
            "one merge missing",
            change={"len(vocab) < vocab_size": "len(vocab) < vocab_size - 1"},
            hint="one merge is missing",
            gravity="part",
        ),
        Mistake("no stop", change={"        if pair is None:\n            break\n": ""}, hint="stop when no pair is left", gravity="part"),
        Mistake(
            "stops at pairs that occur once",
            change={"if pair is None:": "if pair is None or count_pairs(words)[pair] < 2:"},
            hint="a pair that occurs once is merged, too",
            gravity="part",
        ),
        Mistake(
            "counts not renewed",
            change={
                "    while len(vocab)": "    counts = count_pairs(words)\n    while len(vocab)",
                "best_pair(count_pairs(words))": "best_pair(counts)\n        counts.pop(pair, None)",
            },
            hint="the pairs are not counted again",
            gravity="idea",
        ),
        Mistake(
            "ids from zero",
            change={"vocab[len(vocab)] =": "vocab[len(merges) + 255] ="},
            hint="the special token has the id 256, before the merges",
            gravity="part",
        ),
        Mistake(
            "token of the pair in the wrong order",
            change={"pair[0] + pair[1]": "pair[1] + pair[0]"},
            hint="the joined bytes of the pair",
            gravity="idea",
        ),
        Mistake(
            "each word once",
            change={"best_pair(count_pairs(words))": "best_pair(count_pairs(dict.fromkeys(words, 1)))"},
            hint="each different word counts once",
            gravity="idea",
        ),
        Mistake(
            "special tokens not in the size",
            change={"len(vocab) < vocab_size": "len(merges) < vocab_size - 256"},
            hint="the special token is one of the 259 entries",
            gravity="part",
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
            "the pair itself is forgotten", change={"if n}": "if n and each != pair}"}, hint="the pair itself is gone, too", gravity="idea"
        ),
        Mistake(
            "only what is new",
            change={"        changes[old] -= 1": "        changes[old] -= old == pair"},
            hint="the neighbours' old pairs are gone",
            gravity="idea",
        ),
        Mistake(
            "only what is lost",
            change={"        changes[new] += 1": "        changes[new] += 0 if pair[0] + pair[1] in new else 1"},
            hint="the new pairs with the neighbours are missing",
            gravity="idea",
        ),
        Mistake(
            "signs",
            change={"changes[old] -= 1": "changes[old] += 1", "changes[new] += 1": "changes[new] -= 1"},
            hint="the signs are exchanged",
            gravity="idea",
        ),
        Mistake(
            "counts after",
            change={"        changes[old] -= 1": "        pass"},
            hint="these are the counts after the merge, not the changes",
            gravity="idea",
        ),
        Mistake("zeros kept", change={" if n}": "}"}, hint="leave zeros out", gravity="edge"),
        Mistake(
            "each pair once",
            change={
                "in zip(word, word[1:])": "in set(zip(word, word[1:]))",
                "in zip(merged, merged[1:])": "in set(zip(merged, merged[1:]))",
            },
            hint="the pair is there twice",
            gravity="idea",
        ),
        Mistake(
            "old word comes back",
            change={"return merged,": "return word,"},
            hint="the first thing that comes back is the merged word",
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
            hint='in "abab" the neighbour of a merged token is a merged token',
            gravity="part",
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
            hint="the key keeps the order",
            gravity="idea",
        ),
        Mistake("no end mark", change={' + "\\u0100"': ""}, hint="What comes at the end of the key?", gravity="part"),
        Mistake(
            "end mark too small",
            change={
                'return tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "return tuple(tuple(-b for b in token) + (0,) for token in pair)"
            },
            hint="even that of 0",
            gravity="edge",
        ),
        Mistake(
            "joined",
            change={
                'tuple(token.translate(bytes(range(255, -1, -1))).decode("latin-1") + "\\u0100" for token in pair)': "[-b for b in pair[0] + pair[1]] + [1]"
            },
            hint="the two tokens are joined in the key",
            gravity="part",
        ),
        Mistake(
            "stale entries returned",
            change={"negative < 0 and counts.get(pair, 0) == -negative": "True"},
            hint="its count is not the one in `counts`",
            gravity="idea",
        ),
        Mistake(
            "looked at, not removed",
            change={
                "negative, _, pair = heapq.heappop(heap)\n        if negative < 0 and counts.get(pair, 0) == -negative:\n            return pair": "negative, _, pair = heap[0]\n        if negative < 0 and counts.get(pair, 0) == -negative:\n            return pair\n        heapq.heappop(heap)"
            },
            hint="the entry is looked at but not removed",
            gravity="part",
        ),
        Mistake(
            "lower entries pass",
            change={"counts.get(pair, 0) == -negative": "counts.get(pair, 0) >= -negative"},
            hint="an entry with a lower count than `counts` says is stale, too",
            gravity="part",
        ),
        Mistake(
            "KeyError for a pair that is gone",
            change={"counts.get(pair, 0)": "counts[pair]"},
            hint="a pair that is not in `counts` is gone",
            gravity="part",
        ),
        Mistake(
            "gives up at the first stale entry",
            change={"return pair\n    return None": "return pair\n        break\n    return None"},
            hint="throw it away and take the next",
            gravity="idea",
        ),
        Mistake(
            "pop(0) is no heap operation",
            change={"heapq.heappop(heap)": "heap.pop(0)"},
            hint="what is left must still be a heap",
            gravity="part",
        ),
        Mistake("zero counts", change={"negative < 0 and ": ""}, hint="a pair with count 0 is gone", gravity="edge"),
        Mistake(
            "empties the heap",
            change={"            return pair\n": "            heap.clear()\n            return pair\n"},
            hint="stale entries and the one you return are removed",
            gravity="part",
        ),
        Mistake(
            "adds to counts",
            change={"counts.get(pair, 0)": "counts.setdefault(pair, 0)", "return pair": "counts.pop(pair)\n            return pair"},
            hint="`counts` must stay as it is",
            gravity="edge",
        ),
        Mistake(
            "the right token first",
            change={"for token in pair)": "for token in pair[::-1])"},
            hint="from the greatest to the smallest",
            gravity="idea",
        ),
        Mistake(
            "fails when the heap runs empty",
            change={"    while heap:\n": "    while True:\n"},
            hint="your code raised IndexError",
            gravity="edge",
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
        Mistake("recounts", code=SLOW_TRAINER, hint="every word is visited in every round", gravity="idea"),
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
            hint="every word is visited in every round",
            gravity="idea",
        ),
        Mistake(
            "changes not weighted",
            change={"n * times[place]": "n", "counts = count_pairs(found)": "counts = count_pairs(dict.fromkeys(found, 1))"},
            hint="multiply them by how often the word occurs",
            gravity="idea",
        ),
        Mistake(
            "changes counted once",
            change={"n * times[place]": "n"},
            hint="the result differs from your own `train_recount`",
            gravity="idea",
        ),
        Mistake(
            "nothing pushed",
            change={"heapq.heappush(heap, (-counts[other], descending(other), other))": "pass"},
            hint="the example from 3.4",
            gravity="idea",
        ),
        Mistake(
            "only grown pairs pushed",
            change={"if n and counts[other]:": "if n > 0 and counts[other]:"},
            hint="and pushed again?",
            gravity="idea",
        ),
        Mistake(
            "new places forgotten",
            change={"                if n > 0:\n                    where[other].add(place)\n": ""},
            hint="where.pop(pair)",
            gravity="idea",
        ),
        Mistake(
            "words not replaced",
            change={"words[place], changes =": "_, changes ="},
            hint="the result differs from your own `train_recount`",
            gravity="idea",
        ),
        Mistake(
            "smallest of ties",
            change={"descending(other), other))": "other, other))", "descending(pair), pair)": "pair, pair)"},
            hint="here the smallest wins",
            gravity="idea",
        ),
        Mistake(
            "one merge too many",
            change={"while len(vocab) < vocab_size": "while len(vocab) <= vocab_size"},
            hint="one merge too many",
            gravity="part",
        ),
        Mistake(
            "one merge missing",
            change={"while len(vocab) < vocab_size": "while len(vocab) < vocab_size - 1"},
            hint="one merge is missing",
            gravity="part",
        ),
        Mistake(
            "no stop",
            change={" and (pair := pop_best(heap, counts)) is not None:": ":\n        pair = pop_best(heap, counts)"},
            hint="stop when no pair is left",
            gravity="part",
        ),
        Mistake(
            "token not added",
            change={"        vocab[len(vocab)] = pair[0] + pair[1]\n": "        vocab_size -= 1\n"},
            hint="after 256 bytes the first merge has the id 256",
            gravity="idea",
        ),
        Mistake(
            "special tokens as text",
            change={"found = word_counts(text, special_tokens)": "found = word_counts(text, [])"},
            hint="the special tokens are treated as text",
            gravity="part",
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
            hint="the merges are applied from the left",
            gravity="idea",
        ),
        Mistake(
            "last learned first",
            code=simple_encoder(
                {
                    'min(zip(parts, parts[1:]), key=lambda pair: ranks.get(pair, float("inf")))': "max(zip(parts, parts[1:]), key=lambda pair: ranks.get(pair, -1))"
                }
            ),
            hint="the last learned merge is applied first",
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
            hint="this is a search for the longest token",
            gravity="idea",
        ),
        Mistake(
            "one merge only",
            code=simple_encoder({"        parts = merge(parts, pair)": "        return list(merge(parts, pair))"}),
            hint="only one pair is merged",
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
            hint="a merge is a pair",
            gravity="idea",
        ),
        Mistake(
            "unknown pairs are merged",
            code=simple_encoder({"        if pair not in ranks:\n            break\n": ""}),
            hint="everything is joined",
            gravity="idea",
        ),
        Mistake(
            "nothing merged",
            code=simple_encoder({"        parts = merge(parts, pair)": "        break"}),
            hint="nothing is merged",
            gravity="idea",
        ),
        Mistake(
            "numbers",
            code=simple_encoder({"tuple(bytes([b]) for b in word)": "tuple(word)"}),
            hint="(b, c) was learned first",
            gravity="idea",
        ),
        Mistake(
            "fails when one token is left",
            code=simple_encoder({"while len(parts) > 1": "while True"}),
            hint="your code raised ValueError",
            gravity="idea",
        ),
        Mistake(
            "overlap from the right",
            code=simple_encoder(
                {
                    "        parts = merge(parts, pair)": "        parts = tuple(t[::-1] for t in merge(tuple(t[::-1] for t in parts[::-1]), (pair[1][::-1], pair[0][::-1]))[::-1])"
                }
            ),
            hint="overlapping: the pair on the left goes first",
            gravity="part",
        ),
        Mistake(
            "stale queue",
            change={"            if j < len(parts) and (parts[i], parts[j]) == pair:": "            if j < len(parts):"},
            hint="was merged already, and is merged once more",
            gravity="idea",
        ),
        Mistake(
            "the place in the dict",
            code=simple_encoder(
                {"    while len(parts) > 1:": "    ranks = {pair: place for place, pair in enumerate(ranks)}\n    while len(parts) > 1:"}
            ),
            hint="the rank is the value in `ranks`, not the place in the dict",
            gravity="idea",
        ),
        Mistake(
            "used merges removed",
            code=simple_encoder({"        parts = merge(parts, pair)": "        parts = merge(parts, pair)\n        ranks.pop(pair)"}),
            hint="`ranks` must stay as it is",
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
            hint="your code changes the list of special tokens",
            gravity="edge",
        ),
        Mistake(
            "sorts the special tokens in place",
            change={
                "    cut = start = 0\n": "    if special_tokens:\n        special_tokens.sort(key=len, reverse=True)\n    cut = start = 0\n"
            },
            hint="`sort()` sorts in place",
            gravity="edge",
        ),
        Mistake(
            "at the end",
            code="def safe_cut(text, special_tokens=()):\n    return len(text)",
            hint="the last word may go on in the next chunk",
            gravity="idea",
        ),
        Mistake(
            "never", code="def safe_cut(text, special_tokens=()):\n    return 0", hint="the whole file ends up in memory", gravity="idea"
        ),
        Mistake("one pre-token only", change={"begins[:-1]": "begins"}, hint='"they\'l" may become "they\'ll"', gravity="part"),
        Mistake(
            "behind white space",
            change={"[begin for begin in begins[:-1] if not text[begin - 1].isspace()]": "begins[:-1]"},
            hint="do not cut right after white space",
            gravity="part",
        ),
        Mistake(
            "special tokens ignored",
            change={"limit = len(text) - max(map(len, special_tokens), default=1) + 1": "limit = len(text)"},
            hint="a special token may have begun",
            gravity="part",
        ),
        Mistake(
            "special tokens as text",
            change={"    limit =": "    special_tokens = ()\n    limit ="},
            hint="a special token may have begun",
            gravity="part",
        ),
        Mistake(
            "length of the first special token",
            change={"max(map(len, special_tokens), default=1)": "len((list(special_tokens) or ['x'])[0])"},
            hint="a special token may be the beginning of a longer one",
            gravity="edge",
        ),
        Mistake(
            "white space only",
            code="""
def safe_cut(text, special_tokens=()):
    limit = len(text) - max(map(len, special_tokens), default=1) + 1
    return max([i for i in range(1, limit) if text[i].isspace() and not text[i - 1].isspace()], default=0)
""",
            hint="a text without white space",
            gravity="part",
        ),
        Mistake(
            "only behind special tokens",
            change={
                "            cut = max([start] + [begin for begin in begins[:-1] if not text[begin - 1].isspace()])": "            cut = start"
            },
            hint="nothing is released",
            gravity="idea",
        ),
        Mistake("fails without special tokens", change={", default=1": ""}, hint="nothing is released", gravity="idea"),
        Mistake(
            "at the last space",
            code="def safe_cut(text, special_tokens=()):\n    return max(0, text.rfind(' '))",
            hint="a text without white space",
            gravity="part",
        ),
        Mistake(
            "ten characters held back",
            code="def safe_cut(text, special_tokens=()):\n    return max(0, len(text) - 10)",
            hint="the last word may go on in the next chunk",
            gravity="idea",
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
            hint="the ids came back as text",
            gravity="idea",
        ),
        Mistake(
            "as UTF-8, replaced",
            change={"token.hex()": 'token.decode("utf-8", "replace")', "bytes.fromhex(token)": "token.encode()"},
            hint="bytes that are not UTF-8 were replaced",
            gravity="part",
        ),
        Mistake(
            "as UTF-8, dropped",
            change={"token.hex()": 'token.decode("utf-8", "ignore")', "bytes.fromhex(token)": "token.encode()"},
            hint="bytes that are not UTF-8 were dropped",
            gravity="part",
        ),
        Mistake(
            "merges as lists",
            change={"[(bytes.fromhex(left), bytes.fromhex(right)) for": "[[bytes.fromhex(left), bytes.fromhex(right)] for"},
            hint="each merge must be a tuple",
            gravity="part",
        ),
        Mistake(
            "numbered anew",
            change={
                "{number: bytes.fromhex(token) for number, token in": "{i: bytes.fromhex(token) for i, (_, token) in enumerate(",
                'data["vocab"]}': 'data["vocab"])}',
            },
            hint="the ids were renumbered",
            gravity="idea",
        ),
        Mistake(
            "merges sorted",
            change={"for left, right in merges]": "for left, right in sorted(merges)]"},
            hint="the order of the merges is lost",
            gravity="idea",
        ),
        Mistake(
            "special tokens as bytes",
            change={'return vocab, merges, data["special_tokens"]': 'return vocab, merges, [t.encode() for t in data["special_tokens"]]'},
            hint="the special tokens came back as bytes",
            gravity="idea",
        ),
        Mistake(
            "pickle",
            change={
                "return json.dumps(": "import pickle\n    return pickle.dumps(",
                "json.loads(text)": "__import__('pickle').loads(text)",
            },
            hint="`to_json` gives a text that `json.loads` can read",
            gravity="idea",
        ),
        Mistake(
            "hex not undone",
            change={"{number: bytes.fromhex(token) for": "{number: token.encode() for"},
            hint="the vocabulary must come back as a dict",
            gravity="idea",
        ),
        Mistake(
            "merges joined by a space",
            change={
                "[[left.hex(), right.hex()] for left, right in merges]": '[left.decode("latin-1") + " " + right.decode("latin-1") for left, right in merges]',
                "bytes.fromhex(left), bytes.fromhex(right)) for left, right in data": 'left.encode("latin-1"), right.encode("latin-1")) for left, _, right in (m.partition(" ") for m in data',
                'data["merges"]]': 'data["merges"])]',
            },
            hint="merges with any bytes, spaces and line ends among them",
            gravity="part",
        ),
        Mistake(
            "vocabulary sorted",
            change={"for number, token in vocab.items()]": "for number, token in sorted(vocab.items())]"},
            hint="come back in another order",
            gravity="edge",
        ),
        Mistake(
            "pairs turned round",
            change={"for left, right in merges]": "for right, left in merges]"},
            hint="the merges must come back as a list of pairs of bytes, in order",
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
            hint="the special token is encoded like text",
            gravity="part",
        ),
        Mistake(
            "special tokens lost",
            change={"                ids.append(self.ids[piece.encode()])": "                continue"},
            hint="the special token is lost",
            gravity="part",
        ),
        Mistake("no pre-tokens", change={"PRETOKEN.findall(piece)": "regex.split('( )', piece)"}, hint="which is", gravity="idea"),
        Mistake(
            "the whole piece at once",
            change={"for word in PRETOKEN.findall(piece)": "for word in [piece]"},
            hint="a token reaches across the border of two pre-tokens",
            gravity="idea",
        ),
        Mistake(
            "special tokens fill gaps", change={"max(self.vocab, default=-1) + 1": "len(self.vocab)"}, hint="or fill a gap", gravity="part"
        ),
        Mistake(
            "special tokens always added",
            change={"if token.encode() not in known": "if True"},
            hint="a special token that is in the vocabulary got a second id",
            gravity="part",
        ),
        Mistake(
            "each chunk by itself",
            change={
                "            buffer += chunk\n            cut = safe_cut(buffer, self.special_tokens)\n            yield from self.encode(buffer[:cut])\n            buffer = buffer[cut:]": "            yield from self.encode(chunk)"
            },
            hint="a stream gives the same ids as the joined text",
            gravity="idea",
        ),
        Mistake(
            "the rest is lost",
            change={"            buffer = buffer[cut:]\n        yield from self.encode(buffer)": "            buffer = buffer[cut:]"},
            hint="a stream gives the same ids as the joined text",
            gravity="idea",
        ),
        Mistake(
            "joins everything",
            change={
                'buffer = ""\n        for chunk in chunks:\n            buffer += chunk\n            cut = safe_cut(buffer, self.special_tokens)\n            yield from self.encode(buffer[:cut])\n            buffer = buffer[cut:]': 'buffer = "".join(chunks)'
            },
            hint="the whole stream is read before the first ids",
            gravity="part",
        ),
        Mistake(
            "special tokens ignored in the stream",
            change={"safe_cut(buffer, self.special_tokens)": "safe_cut(buffer)"},
            hint="a special token that is spread over chunks is still one",
            gravity="part",
        ),
        Mistake(
            "decodes strictly",
            change={"return text_of(ids, self.vocab)": "return self.decode_bytes(ids).decode()"},
            hint="an unfinished character becomes U+FFFD",
            gravity="part",
        ),
        Mistake(
            "bytes through text",
            change={"return bytes_of(ids, self.vocab)": "return text_of(ids, self.vocab).encode()"},
            hint="decode_bytes gives the bytes behind the ids",
            gravity="idea",
        ),
        Mistake(
            "changes the caller's vocabulary",
            change={"self.vocab = dict(vocab)": "self.vocab = vocab"},
            hint="the caller's vocabulary must stay as it is",
            gravity="edge",
        ),
        Mistake(
            "special tokens decode to nothing",
            change={
                "return text_of(ids, self.vocab)": "return text_of([i for i in ids if self.vocab[i].decode('utf-8', 'replace') not in self.special_tokens], self.vocab)"
            },
            hint="decode gives special tokens as they are written",
            gravity="part",
        ),
        Mistake(
            "one id for all new special tokens",
            change={"max(self.vocab, default=-1) + 1": "max(vocab, default=-1) + 1"},
            hint="your code raised KeyError",
            gravity="part",
        ),
        Mistake(
            "a stream begins with the rest of the last",
            change={
                '        buffer = ""\n': '        buffer = getattr(self, "left", "")\n',
                "        yield from self.encode(buffer)\n": "        yield from self.encode(buffer)\n        self.left = buffer\n",
            },
            hint="streaming in small chunks gives other ids than the whole text",
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
        Mistake("characters", change={"len(text.encode())": "len(text)"}, hint="characters are counted; ", gravity="idea"),
        Mistake(
            "tokens per byte",
            change={"len(text.encode()) / len(ids)": "len(ids) / len(text.encode())"},
            hint="this is tokens per byte",
            gravity="idea",
        ),
        Mistake(
            "words per token",
            change={"len(ids) / len(text.split())": "len(text.split()) / len(ids)"},
            hint="this is words per token",
            gravity="idea",
        ),
        Mistake(
            "split at single spaces", change={"text.split()": 'text.split(" ")'}, hint="two spaces in a row hold no word", gravity="part"
        ),
        Mistake("pre-tokens", change={"text.split()": "PRETOKEN.findall(text)"}, hint="the pre-tokens are counted", gravity="idea"),
        Mistake(
            "different ids",
            change={"len(text.encode()) / len(ids)": "len(text.encode()) / len(set(ids))"},
            hint="repeated ones, too",
            gravity="idea",
        ),
        Mistake(
            "rounded",
            change={"len(ids) / len(text.split())": "round(len(ids) / len(text.split()), 1)"},
            hint="sixteen tokens for seven words",
            gravity="idea",
        ),
        Mistake(
            "whole numbers",
            change={"len(ids) / len(text.split())": "len(ids) // len(text.split())"},
            hint="the result is a fraction: do not round it",
            gravity="idea",
        ),
        Mistake(
            "ends stripped",
            change={"len(text.encode())": "len(text.strip().encode())"},
            hint="the white space at the ends counts, too",
            gravity="idea",
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
            hint="the last byte is split off",
            gravity="idea",
        ),
        Mistake(
            "first byte split off",
            change={"tuple(encode_word(vocab[number], ranks))": "(vocab[number][:1], vocab[number][1:])"},
            hint="the first byte is split off",
            gravity="idea",
        ),
        Mistake(
            "longest known left part",
            change={
                "ranks[tuple(encode_word(vocab[number], ranks))]": "t = vocab[number]\n            ranks[max(((t[:i], t[i:]) for i in range(1, len(t)) if {t[:i], t[i:]} <= {u for m, u in vocab.items() if m < number}), key=lambda p: len(p[0]))]"
            },
            hint="the left part is longest among the known tokens",
            gravity="idea",
        ),
        Mistake(
            "in the order of the dict",
            change={"sorted(vocab)": "vocab"},
            hint="the order of training is the order of the ids",
            gravity="part",
        ),
        Mistake(
            "single bytes as merges",
            change={"if len(vocab[number]) > 1": "if vocab[number]"},
            hint="came after",
            gravity="idea",
        ),
        Mistake(
            "with all merges at once",
            change={
                "    ranks = {}\n": "    ranks = {}\n    known = {(t[:i], t[i:]): n for n, t in vocab.items() for i in range(1, len(t))}\n",
                "encode_word(vocab[number], ranks)": "encode_word(vocab[number], known)",
            },
            hint='"abc" came after "bc", so it is (a, bc)',
            gravity="idea",
        ),
        Mistake(
            "by length",
            change={"sorted(vocab)": "sorted(vocab, key=lambda n: (len(vocab[n]), n))"},
            hint="the pairs are wrong",
            gravity="idea",
        ),
        Mistake("all merges of one rank", change={"= len(ranks)": "= 0"}, hint="replay the earlier merges, in order", gravity="idea"),
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
