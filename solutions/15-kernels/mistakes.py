"""Wrong answers that the tests of 15-kernels must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

OUTSIDE = "is the mask missing?"
RACE = "a race: "

VARIANTS = {
    "count-first": [
        Mistake(
            "the matrix passes twice",
            change={"numbers += 4 * T * T": "numbers += 2 * T * T"},
            hint="with the matrix: 8 × 8 numbers also go through memory four times. What is written, what is read?",
            gravity="idea",
        ),
        Mistake(
            "three arrays",
            change={"numbers = 4 * T * D": "numbers = 3 * T * D"},
            hint="without the matrix: Q, K, V and O, 8 × 2 numbers each, 2 bytes a number",
            gravity="idea",
        ),
        Mistake(
            "one product",
            change={"return 4 * T * T * D /": "return 2 * T * T * D /"},
            hint="two products of 8 · 8 · 2 terms, two FLOP a term: 512 FLOP for 128 bytes",
            gravity="idea",
        ),
        Mistake(
            "bytes per FLOP",
            change={"return 4 * T * T * D / attention_bytes(T, D, b, matrix)": "return attention_bytes(T, D, b, matrix) / (4 * T * T * D)"},
            hint="two products of 8 · 8 · 2 terms, two FLOP a term: 512 FLOP for 128 bytes",
            gravity="idea",
        ),
        Mistake(
            "numbers, not bytes",
            change={"return numbers * b": "return numbers"},
            hint="without the matrix: Q, K, V and O, 8 × 2 numbers each, 2 bytes a number",
            gravity="idea",
        ),
        Mistake(
            "the faster side decides",
            change={"min(P, I * W)": "max(P, I * W)"},
            hint="the slower side decides: 4 FLOP a byte, 10 bytes a second; then the peak",
            gravity="idea",
        ),
        Right(
            "in one line",
            change={
                "    numbers = 4 * T * D\n    if matrix:\n        numbers += 4 * T * T\n    return numbers * b": "    return 4 * b * T * (D + (T if matrix else 0))"
            },
        ),
        Right("sorted", change={"min(P, I * W)": "sorted((P, I * W))[0]"}),
    ],
    "add": [
        Mistake("no masks", change={", mask=inside": ""}, hint=OUTSIDE, gravity="part"),
        Mistake("no mask on the store", change={"total, mask=inside": "total"}, hint=OUTSIDE, gravity="part"),
        Mistake("every program at the beginning", change={"tl.program_id(0) * BLOCK + ": ""}, hint=RACE, gravity="idea"),
        Mistake("the end included", change={"places < n": "places <= n"}, hint=OUTSIDE, gravity="part"),
        Mistake(
            "x twice",
            change={"tl.load(y + places, mask=inside)": "tl.load(x + places, mask=inside)"},
            hint="two blocks of 16: program 1 starts at number 16. Does every program add its own block?",
            gravity="idea",
        ),
        Mistake(
            "grid rounded down",
            change={"triton.cdiv(a.numel(), 64)": "max(a.numel() // 64, 1)"},
            hint="add: 135 numbers need three programs of 64, of which the last is not full: is the grid rou",
            gravity="part",
        ),
        Mistake(
            "length as a constant",
            change={"inside = places < n": "inside = places < 32"},
            hint="eight blocks of 32: the sum is wrong",
            gravity="idea",
        ),
        Right("other given", change={"tl.load(x + places, mask=inside)": "tl.load(x + places, mask=inside, other=0.0)"}),
        Right(
            "base address moved",
            change={
                "    places = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)\n": "    start = tl.program_id(0) * BLOCK\n    places = start + tl.arange(0, BLOCK)\n"
            },
        ),
    ],
    "softmax": [
        Mistake(
            "other is 0",
            change={'other=float("-inf")': "other=0.0"},
            hint="five equal numbers in a block of 8 have the weight 1/5 each",
            gravity="part",
        ),
        Mistake(
            "no other",
            change={', other=float("-inf")': ""},
            hint="five equal numbers in a block of 8 have the weight 1/5 each",
            gravity="part",
        ),
        Mistake(
            "no maximum",
            change={"tl.exp(numbers - tl.max(numbers, axis=0))": "tl.exp(numbers)"},
            hint="scores of 200 overflow: subtract the row's largest number before exp",
            gravity="edge",
        ),
        Mistake(
            "not divided", change={"weights / tl.sum(weights, axis=0)": "weights"}, hint="scores 0 and log 3 give 1 : 3", gravity="idea"
        ),
        Mistake(
            "rows as wide as the block", change={"tl.program_id(0) * columns": "tl.program_id(0) * BLOCK"}, hint=OUTSIDE, gravity="part"
        ),
        Mistake(
            "read twice",
            change={"tl.max(numbers, axis=0)": 'tl.max(tl.load(x + row + places, mask=inside, other=float("-inf")), axis=0)'},
            hint="a number is loaded or stored more than once: keep the row in a block",
            gravity="part",
        ),
        Mistake(
            "no mask on the store", change={"tl.sum(weights, axis=0), mask=inside": "tl.sum(weights, axis=0)"}, hint=OUTSIDE, gravity="part"
        ),
        Right(
            "exp2",
            change={"tl.exp(numbers - tl.max(numbers, axis=0))": "tl.exp2((numbers - tl.max(numbers, axis=0)) * 1.4426950408889634)"},
        ),
        Right(
            "masked by where",
            change={
                'numbers = tl.load(x + row + places, mask=inside, other=float("-inf"))': 'numbers = tl.where(inside, tl.load(x + row + places, mask=inside), float("-inf"))'
            },
        ),
    ],
    "matmul": [
        Mistake(
            "one step only",
            change={"range(0, K, BK)": "range(0, BK, BK)"},
            hint="ones times ones over 32 terms is 32, in two steps of 16: is there a loop over K",
            gravity="idea",
        ),
        Mistake(
            "the last step replaces",
            change={"total += tl.dot": "total = tl.dot"},
            hint="ones times ones over 32 terms is 32, in two steps of 16: is there a loop over K",
            gravity="idea",
        ),
        Mistake(
            "b transposed",
            change={"b + inner[:, None] * N + columns[None, :]": "b + inner[:, None] + columns[None, :] * K"},
            hint="ones times ones over 32 terms is 32, in two steps of 16: is there a loop over K",
            gravity="idea",
        ),
        Mistake(
            "terms beyond the end",
            change={"mask=(rows[:, None] < M) & (inner[None, :] < K), other=0.0": "mask=rows[:, None] < M, other=0.0"},
            hint=OUTSIDE,
            gravity="part",
        ),
        Mistake(
            "undefined beyond the end",
            change={", other=0.0": ""},
            hint="18 terms in steps of 16: mask rows, columns and terms beyond the end, and let them count a",
            gravity="part",
        ),
        Mistake(
            "no mask on the store",
            change={"total, mask=(rows[:, None] < M) & (columns[None, :] < N)": "total"},
            hint=OUTSIDE,
            gravity="part",
        ),
        Mistake(
            "tiles exchanged",
            change={"tl.program_id(0) * BM": "tl.program_id(1) * BM", "tl.program_id(1) * BN": "tl.program_id(0) * BN"},
            hint="ones times ones over 32 terms is 32, in two steps of 16: is there a loop over K",
            gravity="idea",
        ),
        Mistake(
            "columns only",
            change={"(1 / BM + 1 / BN)": "(1 / BN)"},
            hint="2 × 2 tiles; each reads 16 rows and 16 columns of 32 numbers, 4 bytes a number",
            gravity="idea",
        ),
        Mistake(
            "numbers, not bytes",
            change={"4 * M * N * K": "M * N * K"},
            hint="2 × 2 tiles; each reads 16 rows and 16 columns of 32 numbers, 4 bytes a number",
            gravity="idea",
        ),
        Right(
            "accumulator handed over",
            change={'total += tl.dot(left, right, input_precision="ieee")': 'total = tl.dot(left, right, total, input_precision="ieee")'},
        ),
        Right(
            "steps counted",
            change={
                "for start in range(0, K, BK):\n        inner = start + tl.arange(0, BK)": "for step in range(0, tl.cdiv(K, BK)):\n        inner = step * BK + tl.arange(0, BK)"
            },
        ),
    ],
    "merge": [
        Mistake(
            "sums added",
            change={"first[1] * (first[0] - finite).exp() + second[1] * (second[0] - finite).exp()": "first[1] + second[1]"},
            hint="2 · 2 + 1 · 4 = 8 = l e^m with e^m = 4: both sums are brought to the new maximum",
            gravity="idea",
        ),
        Mistake(
            "exponentials exchanged",
            change={"first[1] * (first[0]": "second[1] * (first[0]", "second[1] * (second[0]": "first[1] * (second[0]"},
            hint="2 · 2 + 1 · 4 = 8 = l e^m with e^m = 4: both sums are brought to the new maximum",
            gravity="idea",
        ),
        Mistake(
            "NaN of nothing",
            change={"torch.where(m == -torch.inf, 0.0, m)": "m"},
            hint="two parts without scores: −∞ − (−∞) is NaN. Subtract something finite there",
            gravity="edge",
        ),
        Mistake(
            "e to the maximum",
            change={"finite = torch.where(m == -torch.inf, 0.0, m)": "finite = torch.zeros_like(m)"},
            hint="2 · 2 + 1 · 4 = 8 = l e^m with e^m = 4: both sums are brought to the new maximum",
            gravity="idea",
        ),
        Mistake(
            "only the first is rescaled",
            change={"second[1] * (second[0] - finite).exp()": "second[1]"},
            hint="the merged pair represents the wrong sum of exponentials: which sum is multiplied by which exponential?",
            gravity="idea",
        ),
        Mistake(
            "the sum of the maxima",
            change={"torch.maximum(first[0], second[0])": "first[0] + second[0]"},
            hint="the larger of the two maxima is the maximum",
            gravity="idea",
        ),
        Right(
            "by logaddexp",
            change={
                "    return m, first[1] * (first[0] - finite).exp() + second[1] * (second[0] - finite).exp()": "    return m, torch.nan_to_num((torch.logaddexp(first[0] + first[1].log(), second[0] + second[1].log()) - finite).exp())"
            },
        ),
        Right("clamped", change={"torch.where(m == -torch.inf, 0.0, m)": "m.clamp(min=-1e30)"}),
    ],
    "flash": [
        Mistake(
            "no mask on K and V",
            change={
                "(k + at, mask=columns[:, None] < T, other=0.0)": "(k + at)",
                "(v + at, mask=columns[:, None] < T, other=0.0)": "(v + at)",
            },
            hint=OUTSIDE,
            gravity="part",
        ),
        Mistake("no mask on K", change={"(k + at, mask=columns[:, None] < T, other=0.0)": "(k + at)"}, hint=OUTSIDE, gravity="part"),
        Mistake("no mask on V", change={"(v + at, mask=columns[:, None] < T, other=0.0)": "(v + at)"}, hint=OUTSIDE, gravity="part"),
        Mistake(
            "V undefined beyond the end",
            change={"(v + at, mask=columns[:, None] < T, other=0.0)": "(v + at, mask=columns[:, None] < T)"},
            hint="the last block is not full: keys beyond the end must have the weight 0, and nothing beyond",
            gravity="part",
        ),
        Mistake("no mask on Q", change={"(q + places, mask=rows[:, None] < T, other=0.0)": "(q + places)"}, hint=OUTSIDE, gravity="part"),
        Mistake(
            "no mask on the store",
            change={"mixed / total[:, None], mask=rows[:, None] < T": "mixed / total[:, None]"},
            hint=OUTSIDE,
            gravity="part",
        ),
        Mistake(
            "no mask on the log-sum-exp", change={"top + tl.log(total), mask=rows < T": "top + tl.log(total)"}, hint=OUTSIDE, gravity="part"
        ),
        Mistake(
            "keys beyond the end weighed",
            change={'        scores = tl.where(columns[None, :] < T, scores, float("-inf"))\n': ""},
            hint="the last block is not full: keys beyond the end must have the weight 0, and nothing beyond",
            gravity="part",
        ),
        Mistake(
            "scores beyond the end are 0",
            change={'scores, float("-inf"))': "scores, 0.0)"},
            hint="the last block is not full: keys beyond the end must have the weight 0, and nothing beyond",
            gravity="part",
        ),
        Mistake(
            "scale as a constant",
            change={'input_precision="ieee") * scale': 'input_precision="ieee") * 0.25'},
            hint="half of the weight is on key 20, in the second block, 1/62 on key 3: 8/2 + 62/62 = 5",
            gravity="idea",
        ),
        Mistake(
            "no scale",
            change={'input_precision="ieee") * scale': 'input_precision="ieee")'},
            hint="the scores are not multiplied by the argument `scale`",
            gravity="idea",
        ),
        Mistake(
            "length as a constant",
            change={"range(0, T, BN)": "range(0, 32, BN)"},
            hint="only the first block of keys counts",
            gravity="idea",
        ),
        Mistake(
            "maximum starts at 0",
            change={'top = tl.full((BM,), float("-inf"), tl.float32)': "top = tl.zeros((BM,), tl.float32)"},
            hint="one query has scores around −200, the next around 200: each has its own running maximum, w",
            gravity="edge",
        ),
        Mistake(
            "no maximum",
            change={
                "tl.maximum(top, tl.max(scores, axis=1))": "tl.zeros((BM,), tl.float32)",
                'top = tl.full((BM,), float("-inf"), tl.float32)': "top = tl.zeros((BM,), tl.float32)",
            },
            hint="scores of ±200: every row has its own running maximum, which starts at minus infinity",
            gravity="edge",
        ),
        Mistake(
            "one maximum for the block",
            change={"tl.maximum(top, tl.max(scores, axis=1))": "tl.maximum(top, tl.max(scores))"},
            hint="one query has scores around −200, the next around 200: each has its own running maximum, w",
            gravity="edge",
        ),
        Mistake(
            "the block's maximum only",
            change={
                "tl.maximum(top, tl.max(scores, axis=1))": "tl.max(scores, axis=1)",
                "old = tl.exp(top - new_top)": "old = tl.minimum(tl.exp(top - new_top), 1.0)",
            },
            hint="two heads, two blocks of queries, two of keys: the output is wrong by more than 1e-4",
            gravity="idea",
        ),
        Mistake(
            "accumulator in float16",
            change={
                'mixed = mixed * old[:, None] + tl.dot(weights, values, input_precision="ieee")': 'mixed = (mixed * old[:, None] + tl.dot(weights, values, input_precision="ieee")).to(tl.float16).to(tl.float32)'
            },
            hint="two heads, two blocks of queries, two of keys: the output is wrong by more than 1e-4",
            gravity="idea",
        ),
        Mistake(
            "products in float16",
            change={"tl.dot(weights, values": "tl.dot(weights.to(tl.float16), values.to(tl.float16)"},
            hint="two heads, two blocks of queries, two of keys: the output is wrong by more than 1e-4",
            gravity="idea",
        ),
        Mistake(
            "the output is not rescaled",
            change={"mixed = mixed * old[:, None] +": "mixed = mixed +"},
            hint="half of the weight is on key 20, in the second block, 1/62 on key 3: 8/2 + 62/62 = 5",
            gravity="idea",
        ),
        Mistake(
            "the sum is not rescaled",
            change={"total = total * old +": "total = total +"},
            hint="half of the weight is on key 20, in the second block, 1/62 on key 3: 8/2 + 62/62 = 5",
            gravity="idea",
        ),
        Mistake(
            "rescaled the wrong way",
            change={"old = tl.exp(top - new_top)": "old = tl.exp(tl.minimum(new_top - top, 80.0))"},
            hint="half of the weight is on key 20, in the second block, 1/62 on key 3: 8/2 + 62/62 = 5",
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={"mixed / total[:, None]": "mixed"},
            hint="the output is not divided by the sum of the weights",
            gravity="idea",
        ),
        Mistake(
            "divided by the last block's sum",
            change={"total = total * old + tl.sum(weights, axis=1)": "total = tl.sum(weights, axis=1)"},
            hint="half of the weight is on key 20, in the second block, 1/62 on key 3: 8/2 + 62/62 = 5",
            gravity="idea",
        ),
        Mistake(
            "every head is the first", change={"head = tl.program_id(1) * T": "head = tl.program_id(1) * 0"}, hint=RACE, gravity="idea"
        ),
        Mistake(
            "one block size for both",
            change={"columns = start + tl.arange(0, BN)": "columns = start + tl.arange(0, BM)"},
            hint="the log-sum-exp of a row is m + log l, of the scaled scores",
            gravity="part",
        ),
        Mistake(
            "steps of BM",
            change={"range(0, T, BN)": "range(0, T, BM)"},
            hint="the log-sum-exp of a row is m + log l, of the scaled scores",
            gravity="part",
        ),
        Mistake(
            "the last block left out",
            change={"range(0, T, BN)": "range(0, T - BN + 1, BN)"},
            hint="the last block is not full: keys beyond the end must have the weight 0, and nothing beyond",
            gravity="part",
        ),
        Mistake(
            "the maximum for the log-sum-exp",
            change={"top + tl.log(total)": "top"},
            hint="32 scores of 0: the log-sum-exp is log 32 = m + log l",
            gravity="part",
        ),
        Mistake(
            "log-sum-exp without the maximum",
            change={"top + tl.log(total)": "tl.log(total)"},
            hint="the log-sum-exp of a row is m + log l, of the scaled scores",
            gravity="part",
        ),
        Mistake(
            "queries loaded in every step",
            change={
                "        scores = tl.dot(queries": "        queries = tl.load(q + places, mask=rows[:, None] < T, other=0.0)\n        scores = tl.dot(queries"
            },
            hint="a program loads its queries once, and each key and value once: something is loaded again, ",
            gravity="part",
        ),
        Mistake(
            "keys for values",
            change={"tl.load(v + at": "tl.load(k + at"},
            hint="the weights are applied to the keys: apply them to the values",
            gravity="idea",
        ),
        Mistake(
            "normalised in every step",
            change={
                "        top = new_top\n": "        mixed = mixed / total[:, None]\n        total = total / total\n        top = new_top\n"
            },
            hint="half of the weight is on key 20, in the second block, 1/62 on key 3: 8/2 + 62/62 = 5",
            gravity="idea",
        ),
        Mistake("two programs for one block", change={"tl.program_id(0) * BM": "tl.program_id(0) // 2 * BM"}, hint=RACE, gravity="idea"),
        Right(
            "base addresses", change={"(head + columns)[:, None] * D + width[None, :]": "head * D + columns[:, None] * D + width[None, :]"}
        ),
        Right("exp2", change={"tl.exp(scores - new_top[:, None])": "tl.exp2((scores - new_top[:, None]) * 1.4426950408889634)"}),
        Right(
            "accumulator handed over",
            change={
                'mixed * old[:, None] + tl.dot(weights, values, input_precision="ieee")': 'tl.dot(weights, values, mixed * old[:, None], input_precision="ieee")'
            },
        ),
        Right(
            "keys loaded transposed",
            change={
                "at = (head + columns)[:, None] * D + width[None, :]": "at = (head + columns)[:, None] * D + width[None, :]\n        across = (head + columns)[None, :] * D + width[:, None]",
                "tl.load(k + at, mask=columns[:, None] < T, other=0.0)": "tl.load(k + across, mask=columns[None, :] < T, other=0.0)",
                "tl.trans(keys)": "keys",
            },
        ),
    ],
    "causal": [
        Mistake(
            "no mask",
            change={
                "(columns[None, :] <= rows[:, None]) & (columns[None, :] < T)": "columns[None, :] < T",
                "end = tl.minimum(T, (tl.program_id(0) + 1) * BM)": "end = T",
            },
            hint="there is no causal mask: a query sees later keys",
            gravity="idea",
        ),
        Mistake(
            "a query does not see itself",
            change={"columns[None, :] <= rows[:, None]": "columns[None, :] < rows[:, None]", 'scores, float("-inf"))': "scores, -1e9)"},
            hint="equal scores: query t mixes values 0 … t, whose mean is t/2",
            gravity="idea",
        ),
        Mistake(
            "masked blocks computed and thrown away",
            change={"end = tl.minimum(T, (tl.program_id(0) + 1) * BM)": "end = T"},
            hint="two blocks of queries need 1 + 2 blocks of keys and of values: load no others",
            gravity="part",
        ),
        Mistake(
            "the end a block too early",
            change={"(tl.program_id(0) + 1) * BM": "tl.program_id(0) * BM + 1"},
            hint="unequal blocks or a last block that is not full: where does the loop over keys end?",
            gravity="part",
        ),
        Mistake(
            "the end a block too late",
            change={"(tl.program_id(0) + 1) * BM": "(tl.program_id(0) + 2) * BM"},
            hint="two blocks of queries need 1 + 2 blocks of keys and of values: load no others",
            gravity="part",
        ),
        Mistake(
            "the end in blocks of keys",
            change={"(tl.program_id(0) + 1) * BM": "(tl.program_id(0) + 1) * BN"},
            hint="unequal blocks or a last block that is not full: where does the loop over keys end?",
            gravity="part",
        ),
        Mistake(
            "no maximum with the length",
            change={"(k + at, mask=columns[:, None] < T, other=0.0)": "(k + at)"},
            hint=OUTSIDE,
            gravity="part",
        ),
        Right(
            "end counted in blocks",
            change={"range(0, end, BN):\n        columns = start + ": "range(0, tl.cdiv(end, BN)):\n        columns = start * BN + "},
        ),
        Right(
            "mask of the causal kind only",
            change={"(columns[None, :] <= rows[:, None]) & (columns[None, :] < T)": "columns[None, :] <= rows[:, None]"},
        ),
    ],
    "delta": [
        Mistake(
            "summed over the queries",
            change={".sum(-1)": ".sum(-2)"},
            hint="1 · 3 + 2 · 4 = 11 and 6: multiply elementwise, and sum over the width",
            gravity="idea",
        ),
        Mistake(
            "mean",
            change={".sum(-1)": ".mean(-1)"},
            hint="1 · 3 + 2 · 4 = 11 and 6: multiply elementwise, and sum over the width",
            gravity="idea",
        ),
        Mistake(
            "not summed",
            change={".sum(-1)": ""},
            hint="the shape of the result is wrong: read the docstring once more, axis by axis",
            gravity="idea",
        ),
        Mistake(
            "a matrix product",
            change={"(d_out * out).sum(-1)": "(d_out @ out.mT).sum(-1)"},
            hint="1 · 3 + 2 · 4 = 11 and 6: multiply elementwise, and sum over the width",
            gravity="idea",
        ),
        Mistake(
            "only the output",
            change={"d_out * out": "out * out"},
            hint="1 · 3 + 2 · 4 = 11 and 6: multiply elementwise, and sum over the width",
            gravity="idea",
        ),
        Right("einsum", change={"(d_out * out).sum(-1)": 'torch.einsum("htd,htd->ht", d_out, out)'}),
        Right("diagonal", change={"(d_out * out).sum(-1)": "(d_out @ out.mT).diagonal(dim1=-2, dim2=-1)"}),
    ],
    "backward": [
        Mistake(
            "dQ by load, add and store",
            change={
                'tl.atomic_add(dq + places, tl.dot(d_scores, keys, input_precision="ieee"), mask=rows[:, None] < T)': 'tl.store(dq + places, tl.load(dq + places, mask=rows[:, None] < T, other=0.0) + tl.dot(d_scores, keys, input_precision="ieee"), mask=rows[:, None] < T)'
            },
            hint=RACE,
            gravity="part",
        ),
        Mistake("dQ stored", change={"tl.atomic_add(dq": "tl.store(dq"}, hint=RACE, gravity="part"),
        Mistake("no delta", change={" - shift[:, None])": ")"}, hint="dK = scale · dSᵀ Q with dS = P ∘ (dP − δ)", gravity="idea"),
        Mistake(
            "no log-sum-exp",
            change={"scores - norm[:, None]": "scores"},
            hint="32 queries give each key the weight 1/32, and dO is 1: dV = Pᵀ dO = 1. Are all blocks of queries summed?",
            gravity="idea",
        ),
        Mistake(
            "the scale only once",
            change={" - shift[:, None]) * scale": " - shift[:, None])"},
            hint="dK = scale · dSᵀ Q with dS = P ∘ (dP − δ)",
            gravity="idea",
        ),
        Mistake(
            "weights not transposed",
            change={"tl.dot(tl.trans(weights), pull": "tl.dot(weights, pull"},
            hint="your code raised an exception",
            gravity="idea",
        ),
        Mistake(
            "the last block of queries only",
            change={"d_values += tl.dot": "d_values = tl.dot"},
            hint="32 queries give each key the weight 1/32, and dO is 1: dV = Pᵀ dO = 1. Are all blocks of queries summed?",
            gravity="idea",
        ),
        Mistake(
            "keys for queries",
            change={"tl.dot(tl.trans(d_scores), queries": "tl.dot(tl.trans(d_scores), keys"},
            hint="your code raised an exception",
            gravity="idea",
        ),
        Mistake(
            "queries beyond the end weighed",
            change={
                "(rows[:, None] < T) & (columns[None, :] < T), weights, 0.0": "columns[None, :] < T, weights, 0.0",
                "norm = tl.load(lse + head + rows, mask=rows < T, other=0.0)": "norm = tl.load(lse + head + rows, mask=rows < T)",
            },
            hint="a last block that is not full: queries and keys beyond the end have no weight",
            gravity="part",
        ),
        Mistake("no mask on the store", change={"d_values, mask=columns[:, None] < T": "d_values"}, hint=OUTSIDE, gravity="part"),
        Right(
            "weights masked by the scores",
            change={
                "weights = tl.exp(scores - norm[:, None])": 'weights = tl.exp(tl.where(columns[None, :] < T, scores, float("-inf")) - norm[:, None])'
            },
        ),
        Right(
            "scale at the end",
            change={
                " - shift[:, None]) * scale": " - shift[:, None])",
                'd_keys += tl.dot(tl.trans(d_scores), queries, input_precision="ieee")': 'd_keys += scale * tl.dot(tl.trans(d_scores), queries, input_precision="ieee")',
                "tl.atomic_add(dq + places, tl.dot(d_scores": "tl.atomic_add(dq + places, scale * tl.dot(d_scores",
            },
        ),
    ],
    "linear": [
        Mistake(
            "no mask in the chunk",
            change={"        scores = tl.where(inside[:, None] >= inside[None, :], scores, 0.0)\n": ""},
            hint="all products are 1: position t sums t + 1 values",
            gravity="idea",
        ),
        Mistake(
            "without the diagonal",
            change={"inside[:, None] >= inside[None, :]": "inside[:, None] > inside[None, :]"},
            hint="all products are 1: position t sums t + 1 values",
            gravity="idea",
        ),
        Mistake(
            "no state",
            change={' + tl.dot(queries, state, input_precision="ieee")': ""},
            hint="all products are 1: position t sums t + 1 values",
            gravity="idea",
        ),
        Mistake(
            "the state replaced", change={"state += ": "state = "}, hint="four chunks: the output differs from tril(Q Kᵀ) V", gravity="idea"
        ),
        Mistake(
            "the state updated first",
            change={
                "        scores = tl.dot(queries": '        state += tl.dot(tl.trans(keys), values, input_precision="ieee")\n        scores = tl.dot(queries',
                '        state += tl.dot(tl.trans(keys), values, input_precision="ieee")\n    ': "    ",
            },
            hint="all products are 1: position t sums t + 1 values",
            gravity="idea",
        ),
        Mistake(
            "values times keys",
            change={"tl.dot(tl.trans(keys), values": "tl.dot(tl.trans(values), keys"},
            hint="four chunks: the output differs from tril(Q Kᵀ) V",
            gravity="idea",
        ),
        Mistake(
            "no mask on the load", change={"(k + places, mask=rows[:, None] < T, other=0.0)": "(k + places)"}, hint=OUTSIDE, gravity="part"
        ),
        Right(
            "state handed over",
            change={
                'state += tl.dot(tl.trans(keys), values, input_precision="ieee")': 'state = tl.dot(tl.trans(keys), values, state, input_precision="ieee")'
            },
        ),
        Right("rows compared", change={"inside[:, None] >= inside[None, :]": "rows[:, None] >= rows[None, :]"}),
    ],
    "cross-entropy": [
        Mistake(
            "the logit for the loss",
            change={"top + tl.log(total) - chosen": "-chosen"},
            hint="the target has 5 of 8, then 1 of 4: the loss is lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "the sign",
            change={"top + tl.log(total) - chosen": "chosen - top - tl.log(total)"},
            hint="the target has 5 of 8, then 1 of 4: the loss is lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "without the maximum in the end",
            change={"top + tl.log(total) - chosen": "tl.log(total) - chosen"},
            hint="the target has 5 of 8, then 1 of 4: the loss is lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "softmax for the gradient",
            change={" - tl.where(places == y, 1.0, 0.0)": ""},
            hint="the gradient is softmax(z), minus one at the target",
            gravity="part",
        ),
        Mistake(
            "the gradient is not divided",
            change={"weights / total - ": "weights - "},
            hint="the gradient is softmax(z), minus one at the target",
            gravity="part",
        ),
        Mistake(
            "other is 0",
            change={'other=float("-inf")': "other=0.0"},
            hint="37 logits in a block of 64: lanes beyond the end must have the weight 0",
            gravity="part",
        ),
        Mistake(
            "no maximum",
            change={"top = tl.max(z, axis=0)": "top = tl.max(z, axis=0) * 0.0"},
            hint="logits of 200 overflow: subtract the row's largest before exp",
            gravity="edge",
        ),
        Mistake(
            "read twice",
            change={"tl.max(z, axis=0)": 'tl.max(tl.load(logits + row * V + places, mask=places < V, other=float("-inf")), axis=0)'},
            hint="the logits are loaded more than once",
            gravity="part",
        ),
        Right("the target's logit loaded", change={"tl.sum(tl.where(places == y, z, 0.0), axis=0)": "tl.load(logits + row * V + y)"}),
        Right(
            "the gradient by where",
            change={"weights / total - tl.where(places == y, 1.0, 0.0)": "tl.where(places == y, weights / total - 1.0, weights / total)"},
        ),
    ],
    "bonus-split": [
        Mistake(
            "keys beyond the end weighed",
            change={
                'tl.where(columns < T, tl.sum(keys * query[None, :], axis=1) * scale, float("-inf"))': "tl.sum(keys * query[None, :], axis=1) * scale"
            },
            hint="m is the largest scaled score of the part",
            gravity="idea",
        ),
        Mistake(
            "divided in every part",
            change={"tl.sum(weights[:, None] * values, axis=0)": "tl.sum(weights[:, None] * values, axis=0) / tl.sum(weights, axis=0)"},
            hint="o = Σ exp(s − m) v over the part, not divided",
            gravity="idea",
        ),
        Mistake("no scale", change={"axis=1) * scale": "axis=1)"}, hint="m is the largest scaled score of the part", gravity="idea"),
        Mistake("every part at the same place", change={"part = head * splits + split": "part = head * splits"}, hint=RACE, gravity="idea"),
        Mistake(
            "parts averaged",
            change={"(share[..., None] * o).sum(1) / (share * l).sum(1, keepdim=True)": "(o / l[..., None]).mean(1)"},
            hint="weights 1 and 3: (1 · 4 + 3 · 8) / 4 = 7. Rescale both o and l to one maximum",
            gravity="idea",
        ),
        Mistake(
            "no maximum in the end",
            change={"(m - m.amax(1, keepdim=True)).exp()": "m.exp()"},
            hint="the same scores plus 300 overflow: exponentiate only differences from the largest maximum",
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={" / (share * l).sum(1, keepdim=True)": ""},
            hint="weights 1 and 3: (1 · 4 + 3 · 8) / 4 = 7. Rescale both o and l to one maximum",
            gravity="idea",
        ),
        Right(
            "a loop over the parts",
            change={
                "    return (share[..., None] * o).sum(1) / (share * l).sum(1, keepdim=True)": "    top = sum(share[:, s, None] * o[:, s] for s in range(o.shape[1]))\n    return top / sum(share[:, s, None] * l[:, s, None] for s in range(o.shape[1]))"
            },
        ),
        Right(
            "by softmax",
            change={
                "    share = (m - m.amax(1, keepdim=True)).exp()\n    return (share[..., None] * o).sum(1) / (share * l).sum(1, keepdim=True)": "    share = (m + l.log()).softmax(1)\n    return (share[..., None] * o / l[..., None]).sum(1)"
            },
        ),
    ],
}
