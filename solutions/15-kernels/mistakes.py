"""Wrong answers that the tests of 15-kernels must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

OUTSIDE = "numbers outside of"
RACE = "a race: "

VARIANTS = {
    "count-first": [
        Mistake(
            "always without the matrix",
            change={"if matrix:": "if False:"},
            says="the argument `matrix` is not used: the T × T matrix also goes through memory",
            gravity="idea",
        ),
        Mistake(
            "the matrix passes three times",
            change={"numbers += 4 * T * T": "numbers += 3 * T * T"},
            says="the matrix passes three times here: it is written, read, written and read again",
            gravity="idea",
        ),
        Mistake(
            "the flag inverted", change={"if matrix:": "if not matrix:"}, says="the two cases of `matrix` are exchanged", gravity="idea"
        ),
        Mistake("memory alone", change={"min(P, I * W)": "I * W"}, says="the peak is missing: beyond P / W the speed is P", gravity="idea"),
        Mistake(
            "both sides added",
            change={"min(P, I * W)": "1 / (1 / P + 1 / (I * W))"},
            says="the times of both sides are added: they overlap, and the slower one decides",
            gravity="idea",
        ),
        Mistake(
            "the matrix passes twice",
            change={"numbers += 4 * T * T": "numbers += 2 * T * T"},
            says="the matrix is counted twice: it is written, read, written and read again, four times in all",
            gravity="idea",
        ),
        Mistake(
            "three arrays",
            change={"numbers = 4 * T * D": "numbers = 3 * T * D"},
            says="one array is missing: Q, K and V are read, and O is written",
            gravity="idea",
        ),
        Mistake(
            "one product",
            change={"return 4 * T * T * D /": "return 2 * T * T * D /"},
            says="only one of the two products is counted: the scores, and the weights times V",
            gravity="idea",
        ),
        Mistake(
            "bytes per FLOP",
            change={"return 4 * T * T * D / attention_bytes(T, D, b, matrix)": "return attention_bytes(T, D, b, matrix) / (4 * T * T * D)"},
            says="the ratio is turned over: the intensity is FLOP per byte",
            gravity="idea",
        ),
        Mistake(
            "numbers, not bytes",
            change={"return numbers * b": "return numbers"},
            says="these are numbers, not bytes: multiply by b",
            gravity="idea",
        ),
        Mistake(
            "the faster side decides",
            change={"min(P, I * W)": "max(P, I * W)"},
            says="the faster side decides here: the slower one limits the speed, so take the smaller number",
            gravity="idea",
        ),
        Mistake(
            "matrix once",
            change={"4 * T * T\n    return": "T * T\n    return"},
            says="the matrix is counted once: it is written, read, written and read again, four times in all",
            gravity="idea",
        ),
        Mistake(
            "bits", change={"return numbers * b": "return numbers * b * 8"}, says="these are bits: a number has b bytes", gravity="idea"
        ),
        Mistake(
            "matrix always",
            change={"if matrix:": "if True:"},
            says="the matrix is counted even where it does not go through memory: look at `matrix`",
            gravity="idea",
        ),
        Mistake(
            "divided by W",
            change={"I * W": "I / W"},
            says="the intensity is divided by W: multiply, FLOP a byte times bytes a second",
            gravity="idea",
        ),
        Mistake(
            "W over I",
            change={"I * W": "W / I"},
            says="W is divided by the intensity: multiply, FLOP a byte times bytes a second",
            gravity="idea",
        ),
        Mistake(
            "sum of both", change={"min(P, I * W)": "P + I * W"}, says="the two speeds are added: the slower side decides", gravity="idea"
        ),
        Mistake(
            "FLOP of four products",
            change={"4 * T * T * D /": "8 * T * T * D /"},
            says="four products are counted: there are two, the scores and the weights times V",
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
        Mistake(
            "torch's sum",
            change={
                "    out = torch.empty_like(a)\n    add_kernel[(triton.cdiv(a.numel(), 64),)](a, b, out, a.numel(), BLOCK=64)\n    return out": "    return a + b"
            },
            hint="add: the sum is the kernel's work",
            gravity="idea",
        ),
        Mistake("every program one number on", change={"tl.program_id(0) * BLOCK": "tl.program_id(0)"}, hint="a race: ", gravity="idea"),
        Mistake(
            "blocks of 64",
            change={"tl.program_id(0) * BLOCK": "tl.program_id(0) * 64"},
            says="program i begins at number 64 i: use BLOCK",
            gravity="idea",
        ),
        Mistake(
            "one program",
            change={"(triton.cdiv(a.numel(), 64),)": "(1,)"},
            says="add: only one program is launched: it adds 64 numbers",
            gravity="idea",
        ),
        Mistake(
            "the first axis",
            change={"(triton.cdiv(a.numel(), 64),)": "(triton.cdiv(len(a), 64),)"},
            says="add: the programs are counted by the first axis: use the number of all numbers",
            gravity="idea",
        ),
        Mistake("into a", change={"torch.empty_like(a)": "a"}, hint="your code changes its input in place", gravity="edge"),
        Mistake("no masks", change={", mask=inside": ""}, hint=OUTSIDE, gravity="part"),
        Mistake("no mask on the store", change={"total, mask=inside": "total"}, hint=OUTSIDE, gravity="part"),
        Mistake("every program at the beginning", change={"tl.program_id(0) * BLOCK + ": ""}, hint=RACE, gravity="idea"),
        Mistake("the end included", change={"places < n": "places <= n"}, hint=OUTSIDE, gravity="part"),
        Mistake(
            "x twice",
            change={"tl.load(y + places, mask=inside)": "tl.load(x + places, mask=inside)"},
            says="x is added to itself: the second block is loaded from y",
            gravity="idea",
        ),
        Mistake(
            "grid rounded down",
            change={"triton.cdiv(a.numel(), 64)": "max(a.numel() // 64, 1)"},
            says="add: the number of programs is rounded down, so the last block is lost: round up with `triton.cdiv`",
            gravity="part",
        ),
        Mistake(
            "length as a constant",
            change={"inside = places < n": "inside = places < 32"},
            says="the length is a constant: use the argument `n`",
            gravity="idea",
        ),
        Mistake("subtracted", change={") + tl.load(y": ") - tl.load(y"}, says="the second number is subtracted: add", gravity="idea"),
        Mistake("multiplied", change={") + tl.load(y": ") * tl.load(y"}, says="the numbers are multiplied: add", gravity="idea"),
        Mistake(
            "mask one short",
            change={"places < n": "places < n - 1"},
            says="the mask ends one number too early: n − 1 is the last number, places < n",
            gravity="idea",
        ),
        Mistake(
            "one launch only",
            change={"triton.cdiv(a.numel(), 64)": "1"},
            says="add: one program is launched: it adds only the first 64 numbers",
            gravity="idea",
        ),
        Mistake(
            "n is the number of rows",
            change={"out, a.numel(), BLOCK": "out, len(a), BLOCK"},
            says="add: n is the number of rows: it is the number of all numbers, `a.numel()`",
            gravity="idea",
        ),
        Mistake(
            "grid rounded down",
            change={"triton.cdiv(a.numel(), 64)": "a.numel() // 64"},
            says="add: the grid is rounded down, so that the last block is never added: use `triton.cdiv`",
            gravity="part",
        ),
        Mistake(
            "flat result",
            change={"torch.empty_like(a)": "torch.empty(a.numel())"},
            says="add: the result is flat: it has the shape of a",
            gravity="idea",
        ),
        Mistake("nothing returned", change={"    return out\n": ""}, says="add: nothing comes back: return the result", gravity="idea"),
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
            "logarithms",
            change={"weights / tl.sum(weights, axis=0)": "tl.log(weights / tl.sum(weights, axis=0))"},
            says="these are the logarithms of the weights",
            gravity="idea",
        ),
        Mistake(
            "a moderate other",
            change={'float("-inf")': "-20.0"},
            says="lanes beyond the end get a score that is too large: `other` must be minus infinity",
            gravity="part",
        ),
        Mistake(
            "other is 0",
            change={'other=float("-inf")': "other=0.0"},
            says="lanes beyond the end get a score of 0 and take part in the sum: `other` must be minus infinity",
            gravity="part",
        ),
        Mistake(
            "no other",
            change={', other=float("-inf")': ""},
            says="lanes beyond the end are undefined without `other`: minus infinity keeps them out of the maximum and the sum",
            gravity="part",
        ),
        Mistake(
            "no maximum",
            change={"tl.exp(numbers - tl.max(numbers, axis=0))": "tl.exp(numbers)"},
            says="scores of 200 overflow: subtract the row's largest number before exp",
            gravity="edge",
        ),
        Mistake(
            "not divided",
            change={"weights / tl.sum(weights, axis=0)": "weights"},
            says="the weights are not divided by their sum",
            gravity="idea",
        ),
        Mistake(
            "rows as wide as the block", change={"tl.program_id(0) * columns": "tl.program_id(0) * BLOCK"}, hint=OUTSIDE, gravity="part"
        ),
        Mistake(
            "read twice",
            change={"tl.max(numbers, axis=0)": 'tl.max(tl.load(x + row + places, mask=inside, other=float("-inf")), axis=0)'},
            says="the row is loaded twice: keep it in a block",
            gravity="part",
        ),
        Mistake(
            "no mask on the store", change={"tl.sum(weights, axis=0), mask=inside": "tl.sum(weights, axis=0)"}, hint=OUTSIDE, gravity="part"
        ),
        Mistake(
            "sign of the exponent",
            change={"tl.exp(numbers - tl.max(numbers, axis=0))": "tl.exp(tl.max(numbers, axis=0) - numbers)"},
            says="the exponent has the wrong sign: it is the number minus the largest",
            gravity="idea",
        ),
        Mistake(
            "no exponential",
            change={"tl.exp(numbers - tl.max(numbers, axis=0))": "numbers - tl.max(numbers, axis=0)"},
            says="the exponential is missing",
            gravity="idea",
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
            "products in float16",
            change={"tl.dot(left, right, ": "tl.dot(left.to(tl.float16), right.to(tl.float16), "},
            says="the tiles are rounded to float16 before the product: keep float32",
            gravity="idea",
        ),
        Mistake(
            "steps of BM",
            change={"range(0, K, BK)": "range(0, K, BM)"},
            says="the loop over K goes in steps of BM: its blocks have BK terms",
            gravity="idea",
        ),
        Mistake(
            "the last step left out",
            change={"range(0, K, BK)": "range(0, K - BK + 1, BK)"},
            says="a last block of terms that is not full is left out: the loop ends at K",
            gravity="part",
        ),
        Mistake(
            "square tiles",
            change={"(1 / BM + 1 / BN)": "(2 / BM)"},
            says="matmul_bytes: BN is not used: tiles need not be square",
            gravity="idea",
        ),
        Mistake(
            "every number once",
            change={"4 * M * N * K * (1 / BM + 1 / BN)": "4 * (M * K + K * N)"},
            says="matmul_bytes: every number is counted once: each tile reads its rows and columns anew",
            gravity="idea",
        ),
        Mistake(
            "one step only",
            change={"range(0, K, BK)": "range(0, BK, BK)"},
            says="only the first BK terms are summed: go through K in a loop",
            gravity="idea",
        ),
        Mistake(
            "the last step replaces",
            change={"total += tl.dot": "total = tl.dot"},
            says="every step replaces the sum: add the products up",
            gravity="idea",
        ),
        Mistake(
            "b transposed",
            change={"b + inner[:, None] * N + columns[None, :]": "b + inner[:, None] + columns[None, :] * K"},
            says="b is read as if it were transposed: row `inner` of b begins at inner · N",
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
            says="what lies beyond the end is undefined without `other`, and spoils the sum: let it count as 0",
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
            says="the two program ids are exchanged: the first counts tiles of rows, the second tiles of columns",
            gravity="idea",
        ),
        Mistake(
            "columns only",
            change={"(1 / BM + 1 / BN)": "(1 / BN)"},
            says="matmul_bytes: only one of the two inputs is counted: the rows of a and the columns of b are both read",
            gravity="idea",
        ),
        Mistake(
            "numbers, not bytes",
            change={"4 * M * N * K": "M * N * K"},
            says="matmul_bytes: these are numbers: a float32 has 4 bytes",
            gravity="idea",
        ),
        Mistake(
            "width of a",
            change={"rows[:, None] * K + inner": "rows[:, None] * M + inner"},
            says="a row of a begins at a multiple of M: it has K numbers",
            gravity="idea",
        ),
        Mistake(
            "always the first terms",
            change={"inner = start + ": "inner = "},
            says="every step loads the first BK terms again: add `start` to the terms",
            gravity="idea",
        ),
        Mistake(
            "bytes of rows only",
            change={"(1 / BM + 1 / BN)": "(1 / BM)"},
            says="matmul_bytes: only one of the two sides is counted: rows of a and columns of b are read",
            gravity="idea",
        ),
        Mistake(
            "bytes times the sides",
            change={"(1 / BM + 1 / BN)": "(BM + BN)"},
            says="matmul_bytes: the sides of a tile multiply: larger tiles read less, M N K (1/BN + 1/BM)",
            gravity="idea",
        ),
        Mistake(
            "bytes over the area",
            change={"(1 / BM + 1 / BN)": "(1 / (BM * BN))"},
            says="matmul_bytes: this is divided by the area of a tile: a tile reads BM + BN rows and columns, M N K (1/BN + 1/BM)",
            gravity="idea",
        ),
        Mistake(
            "bytes without tiles",
            change={"(1 / BM + 1 / BN)": "2"},
            says="matmul_bytes: this is what is read without tiles: a number that is loaded is used BM or BN times",
            gravity="idea",
        ),
        Mistake(
            "bytes over the sum",
            change={"(1 / BM + 1 / BN)": "2 / (BM + BN)"},
            says="matmul_bytes: this is divided by BM + BN: it is M N K (1/BN + 1/BM)",
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
            "larger sum",
            change={"first[1] * (first[0] - finite).exp() + second[1] * (second[0] - finite).exp()": "torch.maximum(first[1], second[1])"},
            says="the larger of the two sums is taken: bring both to the new maximum and add",
            gravity="idea",
        ),
        Mistake(
            "exponent turned over",
            change={"(first[0] - finite).exp()": "(finite - first[0]).exp()"},
            says="the exponent is turned over: a sum is multiplied by e to its own maximum minus the new one",
            gravity="idea",
        ),
        Mistake(
            "smaller maximum",
            change={"torch.maximum(first[0], second[0])": "torch.minimum(first[0], second[0])"},
            says="the smaller maximum is taken: the new maximum is the larger of the two",
            gravity="idea",
        ),
        Mistake(
            "sums added",
            change={"first[1] * (first[0] - finite).exp() + second[1] * (second[0] - finite).exp()": "first[1] + second[1]"},
            says="the sums are added as they are: first bring both to the new maximum",
            gravity="idea",
        ),
        Mistake(
            "exponentials exchanged",
            change={"first[1] * (first[0]": "second[1] * (first[0]", "second[1] * (second[0]": "first[1] * (second[0]"},
            says="the exponentials are exchanged: each sum is multiplied by that of its own maximum",
            gravity="idea",
        ),
        Mistake(
            "NaN of nothing",
            change={"torch.where(m == -torch.inf, 0.0, m)": "m"},
            says="two parts without scores: −∞ − (−∞) is NaN. Subtract something finite there",
            gravity="edge",
        ),
        Mistake(
            "e to the maximum",
            change={"finite = torch.where(m == -torch.inf, 0.0, m)": "finite = torch.zeros_like(m)"},
            says="both sums are multiplied by e to their own maximum: multiply by e to the difference from the new one",
            gravity="idea",
        ),
        Mistake(
            "only the first is rescaled",
            change={"second[1] * (second[0] - finite).exp()": "second[1]"},
            says="only the first sum is brought to the new maximum: the second may need it, too",
            gravity="idea",
        ),
        Mistake(
            "the sum of the maxima",
            change={"torch.maximum(first[0], second[0])": "first[0] + second[0]"},
            says="the maxima are added: the new maximum is the larger of the two",
            gravity="idea",
        ),
        Mistake(
            "exponentials divided",
            change={
                "(first[0] - finite).exp()": "first[0].exp() / finite.exp()",
                "(second[0] - finite).exp()": "second[0].exp() / finite.exp()",
            },
            says="e to the maxima themselves overflows: exponentiate only differences from the new maximum",
            gravity="edge",
        ),
        Mistake(
            "mean of the maxima",
            change={"torch.maximum(first[0], second[0])": "(first[0] + second[0]) / 2"},
            says="the maxima are averaged: the new maximum is the larger of the two",
            gravity="idea",
        ),
        Mistake(
            "second maximum",
            change={"torch.maximum(first[0], second[0])": "second[0].clone()"},
            says="the second maximum is always taken: the new maximum is the larger of the two",
            gravity="part",
        ),
        Mistake(
            "first maximum",
            change={"torch.maximum(first[0], second[0])": "first[0].clone()"},
            says="the first maximum is always taken: the new maximum is the larger of the two",
            gravity="idea",
        ),
        Mistake(
            "sums multiplied", change={").exp() + second": ").exp() * second"}, says="the two sums are multiplied: add them", gravity="idea"
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
            says="values beyond the end are undefined without `other`: a weight of 0 times NaN is NaN",
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
            says="keys beyond the end get a score of 0, and so a weight: set their scores to minus infinity",
            gravity="part",
        ),
        Mistake(
            "scores beyond the end are 0",
            change={'scores, float("-inf"))': "scores, 0.0)"},
            says="keys beyond the end get a score of 0, and so a weight: set their scores to minus infinity",
            gravity="part",
        ),
        Mistake(
            "scale as a constant",
            change={'input_precision="ieee") * scale': 'input_precision="ieee") * 0.25'},
            says="the scale is a constant of your own: multiply by the argument `scale`",
            gravity="idea",
        ),
        Mistake(
            "no scale",
            change={'input_precision="ieee") * scale': 'input_precision="ieee")'},
            says="the scores are not multiplied by the argument `scale`",
            gravity="idea",
        ),
        Mistake(
            "length as a constant",
            change={"range(0, T, BN)": "range(0, 32, BN)"},
            says="the loop over the keys ends at a constant: it ends at T",
            gravity="idea",
        ),
        Mistake(
            "maximum starts at 0",
            change={'top = tl.full((BM,), float("-inf"), tl.float32)': "top = tl.zeros((BM,), tl.float32)"},
            says="the running maximum starts at 0: rows whose scores are all far below 0 lose everything. Start at minus infinity",
            gravity="edge",
        ),
        Mistake(
            "no maximum",
            change={
                "tl.maximum(top, tl.max(scores, axis=1))": "tl.zeros((BM,), tl.float32)",
                'top = tl.full((BM,), float("-inf"), tl.float32)': "top = tl.zeros((BM,), tl.float32)",
            },
            says="no maximum is subtracted: scores of 200 overflow",
            gravity="edge",
        ),
        Mistake(
            "one maximum for the block",
            change={"tl.maximum(top, tl.max(scores, axis=1))": "tl.maximum(top, tl.max(scores))"},
            says="one maximum is used for all rows of the block: every row has its own",
            gravity="edge",
        ),
        Mistake(
            "the block's maximum only",
            change={
                "tl.maximum(top, tl.max(scores, axis=1))": "tl.max(scores, axis=1)",
                "old = tl.exp(top - new_top)": "old = tl.minimum(tl.exp(top - new_top), 1.0)",
            },
            says="the maximum of the last block replaces the running one: take the larger of the two",
            gravity="idea",
        ),
        Mistake(
            "accumulator in float16",
            change={
                'mixed = mixed * old[:, None] + tl.dot(weights, values, input_precision="ieee")': 'mixed = (mixed * old[:, None] + tl.dot(weights, values, input_precision="ieee")).to(tl.float16).to(tl.float32)'
            },
            says="the accumulator is rounded to float16 in every step: keep it in float32",
            gravity="edge",
        ),
        Mistake(
            "products in float16",
            change={"tl.dot(weights, values": "tl.dot(weights.to(tl.float16), values.to(tl.float16)"},
            says="weights and values are rounded to float16 before the product: keep float32",
            gravity="edge",
        ),
        Mistake(
            "the output is not rescaled",
            change={"mixed = mixed * old[:, None] +": "mixed = mixed +"},
            says="the output is not brought to the new maximum: multiply it by exp(top − new_top), as the sum",
            gravity="idea",
        ),
        Mistake(
            "the sum is not rescaled",
            change={"total = total * old +": "total = total +"},
            says="the sum is not brought to the new maximum: multiply it by exp(top − new_top), as the output",
            gravity="idea",
        ),
        Mistake(
            "rescaled the wrong way",
            change={"old = tl.exp(top - new_top)": "old = tl.exp(tl.minimum(new_top - top, 80.0))"},
            says="the factor of the old sums is turned over: it is exp(top − new_top), which is at most 1",
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={"mixed / total[:, None]": "mixed"},
            says="the output is not divided by the sum of the weights",
            gravity="idea",
        ),
        Mistake(
            "divided by the last block's sum",
            change={"total = total * old + tl.sum(weights, axis=1)": "total = tl.sum(weights, axis=1)"},
            says="the sum holds only the last block: add to it what earlier blocks gave",
            gravity="idea",
        ),
        Mistake(
            "every head is the first", change={"head = tl.program_id(1) * T": "head = tl.program_id(1) * 0"}, hint=RACE, gravity="idea"
        ),
        Mistake(
            "one block size for both",
            change={"columns = start + tl.arange(0, BN)": "columns = start + tl.arange(0, BM)"},
            says="a block of keys has BM keys here: it has BN",
            gravity="part",
        ),
        Mistake(
            "steps of BM",
            change={"range(0, T, BN)": "range(0, T, BM)"},
            says="the loop goes through the keys in steps of BM: their blocks have BN keys",
            gravity="part",
        ),
        Mistake(
            "the last block left out",
            change={"range(0, T, BN)": "range(0, T - BN + 1, BN)"},
            says="a last block of keys that is not full is left out: the loop ends at T",
            gravity="part",
        ),
        Mistake(
            "the maximum for the log-sum-exp",
            change={"top + tl.log(total)": "top"},
            says="the log of the sum is missing in the log-sum-exp: it is m + log l",
            gravity="part",
        ),
        Mistake(
            "log-sum-exp without the maximum",
            change={"top + tl.log(total)": "tl.log(total)"},
            says="the maximum is missing in the log-sum-exp: it is m + log l",
            gravity="part",
        ),
        Mistake(
            "queries loaded in every step",
            change={
                "        scores = tl.dot(queries": "        queries = tl.load(q + places, mask=rows[:, None] < T, other=0.0)\n        scores = tl.dot(queries"
            },
            says="the queries are loaded again in every step: load them once, before the loop",
            gravity="part",
        ),
        Mistake(
            "keys for values",
            change={"tl.load(v + at": "tl.load(k + at"},
            says="the weights are applied to the keys: apply them to the values",
            gravity="idea",
        ),
        Mistake(
            "normalised in every step",
            change={
                "        top = new_top\n": "        mixed = mixed / total[:, None]\n        total = total / total\n        top = new_top\n"
            },
            says="the output is divided in every step: divide once, at the end",
            gravity="idea",
        ),
        Mistake("two programs for one block", change={"tl.program_id(0) * BM": "tl.program_id(0) // 2 * BM"}, hint=RACE, gravity="idea"),
        Mistake(
            "sum for its logarithm",
            change={"top + tl.log(total)": "top + total"},
            says="the log-sum-exp lacks the logarithm: it is m + log l",
            gravity="part",
        ),
        Mistake(
            "the sum itself",
            change={"top + tl.log(total)": "total"},
            says="the sum is stored in place of the log-sum-exp: it is m + log l",
            gravity="part",
        ),
        Mistake("scaled twice", change={"* scale\n": "* scale * scale\n"}, says="the scores are scaled twice", gravity="idea"),
        Mistake(
            "divided by the scale", change={"* scale\n": "/ scale\n"}, says="the scores are divided by `scale`: multiply", gravity="idea"
        ),
        Mistake(
            "rescaled the wrong way",
            change={"tl.exp(top - new_top)": "tl.exp(new_top - top)"},
            says="the exponent of the rescaling has the wrong sign: it is exp(top − new_top)",
            gravity="idea",
        ),
        Mistake(
            "output not added up",
            change={"mixed = mixed * old[:, None] + tl.dot": "mixed = tl.dot"},
            says="each block replaces the output: add to it",
            gravity="idea",
        ),
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
            "reversed",
            change={"columns[None, :] <= rows[:, None]": "columns[None, :] >= rows[:, None]"},
            says="the mask is reversed: a query sees the keys after it",
            gravity="idea",
        ),
        Mistake(
            "one later",
            change={"columns[None, :] <= rows[:, None]": "columns[None, :] <= rows[:, None] + 1"},
            says="a query sees the key after its own",
            gravity="idea",
        ),
        Mistake(
            "places in the block",
            change={"columns[None, :] <= rows[:, None]": "columns[None, :] - start <= rows[:, None] - tl.program_id(0) * BM"},
            says="the mask compares places within the blocks: compare the numbers of query and key in the whole sequence",
            gravity="idea",
        ),
        Mistake(
            "scores of 0",
            change={'scores, float("-inf"))': "scores, 0.0)"},
            says="masked scores are set to 0, which is a score like any other: set them to minus infinity",
            gravity="idea",
        ),
        Mistake(
            "no scale",
            change={'input_precision="ieee") * scale': 'input_precision="ieee")'},
            says="the scores are not multiplied by the argument `scale`",
            gravity="idea",
        ),
        Mistake(
            "no mask",
            change={
                "(columns[None, :] <= rows[:, None]) & (columns[None, :] < T)": "columns[None, :] < T",
                "end = tl.minimum(T, (tl.program_id(0) + 1) * BM)": "end = T",
            },
            says="there is no causal mask: a query sees later keys",
            gravity="idea",
        ),
        Mistake(
            "a query does not see itself",
            change={"columns[None, :] <= rows[:, None]": "columns[None, :] < rows[:, None]", 'scores, float("-inf"))': "scores, -1e9)"},
            says="a query does not see its own key: key t is for query t",
            gravity="idea",
        ),
        Mistake(
            "masked blocks computed and thrown away",
            change={"end = tl.minimum(T, (tl.program_id(0) + 1) * BM)": "end = T"},
            says="blocks of keys that no query may see are loaded and computed: end the loop at the block's last query",
            gravity="part",
        ),
        Mistake(
            "the end a block too early",
            change={"(tl.program_id(0) + 1) * BM": "tl.program_id(0) * BM + 1"},
            says="the loop over the keys ends too early: the block's last query sees keys up to itself",
            gravity="part",
        ),
        Mistake(
            "the end a block too late",
            change={"(tl.program_id(0) + 1) * BM": "(tl.program_id(0) + 2) * BM"},
            says="the loop over the keys goes one block too far",
            gravity="part",
        ),
        Mistake(
            "the end in blocks of keys",
            change={"(tl.program_id(0) + 1) * BM": "(tl.program_id(0) + 1) * BN"},
            says="the end of the loop is counted in blocks of BN keys: the queries have blocks of BM",
            gravity="part",
        ),
        Mistake(
            "no maximum with the length",
            change={"(k + at, mask=columns[:, None] < T, other=0.0)": "(k + at)"},
            hint=OUTSIDE,
            gravity="part",
        ),
        Mistake(
            "lse without the logarithm",
            change={"top + tl.log(total)": "top + total"},
            says="the log-sum-exp lacks the logarithm: it is m + log l",
            gravity="idea",
        ),
        Mistake(
            "output not rescaled",
            change={"mixed * old[:, None]": "mixed"},
            says="the output is not brought to the new maximum: multiply it by exp(top − new_top)",
            gravity="idea",
        ),
        Mistake(
            "sum not rescaled",
            change={"total * old": "total"},
            says="the sum is not brought to the new maximum: multiply it by exp(top − new_top)",
            gravity="idea",
        ),
        Mistake(
            "without itself",
            change={"columns[None, :] <= rows[:, None]": "columns[None, :] < rows[:, None]"},
            says="a query does not see itself: key t counts for query t",
            gravity="idea",
        ),
        Mistake(
            "not masked",
            change={"(columns[None, :] <= rows[:, None]) & ": ""},
            says="there is no causal mask: query t also sees keys after t",
            gravity="idea",
        ),
        Mistake(
            "own block left out",
            change={"(tl.program_id(0) + 1) * BM": "tl.program_id(0) * BM"},
            says="the loop ends before the program's own block: its queries see keys there, too",
            gravity="idea",
        ),
        Mistake(
            "not divided",
            change={"mixed / total[:, None]": "mixed"},
            says="the output is not divided by the sum of the weights",
            gravity="idea",
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
        Mistake("difference", change={"d_out * out": "d_out - out"}, says="the two are subtracted: multiply elementwise", gravity="idea"),
        Mistake("in place", change={"(d_out * out)": "d_out.mul_(out)"}, hint="your code changes its input in place", gravity="edge"),
        Mistake(
            "summed over the queries",
            change={".sum(-1)": ".sum(-2)"},
            says="the sum runs over the queries: sum over the width, the last axis",
            gravity="idea",
        ),
        Mistake(
            "mean",
            change={".sum(-1)": ".mean(-1)"},
            says="this is a mean over the width: take the sum",
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
            says="every query is multiplied with every other: multiply elementwise",
            gravity="idea",
        ),
        Mistake(
            "only the output",
            change={"d_out * out": "out * out"},
            says="this is the squared output: multiply it by its gradient",
            gravity="idea",
        ),
        Mistake("no sum", change={".sum(-1)": ""}, says="the products are not summed: sum over the width", gravity="idea"),
        Mistake(
            "sum over heads",
            change={".sum(-1)": ".sum(0)"},
            says="the sum runs over the heads: sum over the width, the last axis",
            gravity="idea",
        ),
        Mistake("added", change={"(d_out * out)": "(d_out + out)"}, says="gradient and output are added: multiply them", gravity="idea"),
        Mistake("sign", change={"return (": "return -("}, says="the sign is wrong", gravity="idea"),
        Mistake(
            "axis kept",
            change={".sum(-1)": ".sum(-1, keepdim=True)"},
            says="the width stays as an axis of length 1: the result has the shape (H, T)",
            gravity="idea",
        ),
        Right("einsum", change={"(d_out * out).sum(-1)": 'torch.einsum("htd,htd->ht", d_out, out)'}),
        Right("diagonal", change={"(d_out * out).sum(-1)": "(d_out @ out.mT).diagonal(dim1=-2, dim2=-1)"}),
    ],
    "backward": [
        Mistake("delta added", change={"- shift[:, None]": "+ shift[:, None]"}, says="δ is added: dS = P ∘ (dP − δ)", gravity="idea"),
        Mistake(
            "the last block in dK",
            change={"d_keys += ": "d_keys = "},
            says="only the last block of queries counts in dK: add them all up",
            gravity="idea",
        ),
        Mistake(
            "dK and dV exchanged",
            change={"tl.store(dk + at, d_keys": "tl.store(dk + at, d_values", "tl.store(dv + at, d_values": "tl.store(dv + at, d_keys"},
            says="dK and dV are exchanged",
            gravity="idea",
        ),
        Mistake(
            "dQ without scale",
            change={"tl.dot(d_scores, keys, input": "tl.dot(d_scores / scale, keys, input"},
            says="the scale is missing in dQ",
            gravity="part",
        ),
        Mistake(
            "no dQ",
            change={'        tl.atomic_add(dq + places, tl.dot(d_scores, keys, input_precision="ieee"), mask=rows[:, None] < T)\n': ""},
            says="dQ stays zero: every program adds its part, with `tl.atomic_add`",
            gravity="part",
        ),
        Mistake(
            "scores without scale",
            change={'tl.trans(keys), input_precision="ieee") * scale': 'tl.trans(keys), input_precision="ieee")'},
            says="the scores are not scaled before the log-sum-exp is subtracted",
            gravity="idea",
        ),
        Mistake(
            "dQ by load, add and store",
            change={
                'tl.atomic_add(dq + places, tl.dot(d_scores, keys, input_precision="ieee"), mask=rows[:, None] < T)': 'tl.store(dq + places, tl.load(dq + places, mask=rows[:, None] < T, other=0.0) + tl.dot(d_scores, keys, input_precision="ieee"), mask=rows[:, None] < T)'
            },
            hint=RACE,
            gravity="part",
        ),
        Mistake("dQ stored", change={"tl.atomic_add(dq": "tl.store(dq"}, hint=RACE, gravity="part"),
        Mistake("no delta", change={" - shift[:, None])": ")"}, says="δ is not subtracted: dS = P ∘ (dP − δ)", gravity="idea"),
        Mistake(
            "no log-sum-exp",
            change={"scores - norm[:, None]": "scores"},
            says="the log-sum-exp is not subtracted: P = exp(scores − lse)",
            gravity="idea",
        ),
        Mistake(
            "the scale only once",
            change={" - shift[:, None]) * scale": " - shift[:, None])"},
            says="the scale is missing in dK and dQ: the scores were multiplied by it",
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
            says="only the last block of queries counts in dV: add them all up",
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
            says="queries beyond the end get a weight: set it to 0",
            gravity="part",
        ),
        Mistake("no mask on the store", change={"d_values, mask=columns[:, None] < T": "d_values"}, hint=OUTSIDE, gravity="part"),
        Mistake(
            "P not multiplied",
            change={"d_scores = weights * ": "d_scores = "},
            says="the weights are missing in dS: dS = P ∘ (dP − δ)",
            gravity="idea",
        ),
        Mistake(
            "first queries only",
            change={"range(0, T, BM)": "range(0, BM, BM)"},
            says="only the first block of queries counts: go through all of them",
            gravity="idea",
        ),
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
            "the mask reversed",
            change={">= inside[None, :]": "<= inside[None, :]"},
            says="the mask of a chunk is reversed: a position sees later ones",
            gravity="idea",
        ),
        Mistake(
            "exponentials",
            change={"scores, 0.0)": "tl.exp(scores), 0.0)"},
            says="there is no exponential in linear attention: the products themselves are the weights",
            gravity="idea",
        ),
        Mistake(
            "the last chunk left out",
            change={"range(0, T, C)": "range(0, T - C + 1, C)"},
            says="a last chunk that is not full is left out: the loop ends at T",
            gravity="part",
        ),
        Mistake(
            "no mask in the chunk",
            change={"        scores = tl.where(inside[:, None] >= inside[None, :], scores, 0.0)\n": ""},
            says="inside a chunk a position sees later ones: mask the scores",
            gravity="idea",
        ),
        Mistake(
            "without the diagonal",
            change={"inside[:, None] >= inside[None, :]": "inside[:, None] > inside[None, :]"},
            says="a position does not see itself: keep the diagonal of the mask",
            gravity="idea",
        ),
        Mistake(
            "no state",
            change={' + tl.dot(queries, state, input_precision="ieee")': ""},
            says="the past before the chunk is missing: add Q S, the queries times the state",
            gravity="idea",
        ),
        Mistake(
            "the state replaced", change={"state += ": "state = "}, says="the state holds only the last chunk: add to it", gravity="idea"
        ),
        Mistake(
            "the state updated first",
            change={
                '        state += tl.dot(tl.trans(keys), values, input_precision="ieee")\n': "",
                "        scores = tl.dot(queries": '        state += tl.dot(tl.trans(keys), values, input_precision="ieee")\n        scores = tl.dot(queries',
            },
            says="the state is updated before it is read, so the chunk counts twice: add it at the end of the step",
            gravity="idea",
        ),
        Mistake(
            "values times keys",
            change={"tl.dot(tl.trans(keys), values": "tl.dot(tl.trans(values), keys"},
            says="the state is transposed: it is Kᵀ V",
            gravity="idea",
        ),
        Mistake(
            "no mask on the load", change={"(k + places, mask=rows[:, None] < T, other=0.0)": "(k + places)"}, hint=OUTSIDE, gravity="part"
        ),
        Mistake(
            "scaled",
            change={"        mixed = tl.dot(scores": "        scores = scores * 0.25\n        mixed = tl.dot(scores"},
            says="the scores are multiplied by a number: there is no scale here",
            gravity="idea",
        ),
        Mistake(
            "first chunk only",
            change={"range(0, T, C)": "range(0, C, C)"},
            says="only the first chunk is computed: go through the whole sequence",
            gravity="idea",
        ),
        Mistake(
            "minus infinity",
            change={"scores, 0.0)": 'scores, float("-inf"))'},
            says="masked products are set to minus infinity: there is no softmax here, so they are 0",
            gravity="idea",
        ),
        Mistake(
            "state only",
            change={'tl.dot(scores, values, input_precision="ieee") + tl.dot(queries': "tl.dot(queries"},
            says="only the state counts: the chunk itself is missing, its masked scores times V",
            gravity="idea",
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
            "the target one off", change={"places == y": "places == y + 1"}, says="the logit beside the target is taken", gravity="idea"
        ),
        Mistake(
            "a mean",
            change={"top + tl.log(total) - chosen": "(top + tl.log(total) - chosen) / V"},
            says="the loss is divided by V: every row has its own loss, lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "the first target",
            change={"tl.load(targets + row)": "tl.load(targets)"},
            says="every row gets the first target: row i has its own",
            gravity="idea",
        ),
        Mistake(
            "the gradient's sign",
            change={"weights / total - tl.where(places == y, 1.0, 0.0)": "tl.where(places == y, 1.0, 0.0) - weights / total"},
            says="the gradient has the wrong sign: it is softmax(z) − e_y",
            gravity="part",
        ),
        Mistake(
            "logarithm of base 2",
            change={"tl.log(total)": "tl.log2(total)"},
            says="this is the logarithm of base 2: the loss has the natural one",
            gravity="idea",
        ),
        Mistake(
            "the logit for the loss",
            change={"top + tl.log(total) - chosen": "-chosen"},
            says="the log-sum-exp is missing: the loss is lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "the sign",
            change={"top + tl.log(total) - chosen": "chosen - top - tl.log(total)"},
            says="the loss has the wrong sign: it is lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "without the maximum in the end",
            change={"top + tl.log(total) - chosen": "tl.log(total) - chosen"},
            says="the maximum is missing in the log-sum-exp: it is m + log l",
            gravity="idea",
        ),
        Mistake(
            "softmax for the gradient",
            change={" - tl.where(places == y, 1.0, 0.0)": ""},
            says="the one at the target is not subtracted: the gradient is softmax(z) − e_y",
            gravity="part",
        ),
        Mistake(
            "the gradient is not divided",
            change={"weights / total - ": "weights - "},
            says="the weights in the gradient are not divided by their sum",
            gravity="part",
        ),
        Mistake(
            "other is 0",
            change={'other=float("-inf")': "other=0.0"},
            says="lanes beyond the end get a logit of 0 and take part in the sum: `other` must be minus infinity",
            gravity="part",
        ),
        Mistake(
            "no maximum",
            change={"top = tl.max(z, axis=0)": "top = tl.max(z, axis=0) * 0.0"},
            says="logits of 200 overflow: subtract the row's largest before exp",
            gravity="edge",
        ),
        Mistake(
            "read twice",
            change={"tl.max(z, axis=0)": 'tl.max(tl.load(logits + row * V + places, mask=places < V, other=float("-inf")), axis=0)'},
            says="the logits are loaded twice: keep the row in a block",
            gravity="part",
        ),
        Mistake(
            "the probability",
            change={"top + tl.log(total) - chosen": "tl.exp(chosen - top) / total"},
            says="this is the probability of the target: the loss is minus its logarithm, lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "a mean",
            change={"top + tl.log(total) - chosen": "(top + tl.log(total) - chosen) / tl.num_programs(0)"},
            says="the loss is divided by the number of rows: every row has its own",
            gravity="idea",
        ),
        Mistake(
            "the target's score only",
            change={"top + tl.log(total) - chosen": "0 * total - chosen"},
            says="the log-sum-exp is missing in the loss: it is lse − z_y",
            gravity="idea",
        ),
        Mistake(
            "log-sum-exp only",
            change={"top + tl.log(total) - chosen": "top + tl.log(total)"},
            says="the target's score is missing in the loss: it is lse − z_y",
            gravity="idea",
        ),
        Right("the target's logit loaded", change={"tl.sum(tl.where(places == y, z, 0.0), axis=0)": "tl.load(logits + row * V + y)"}),
        Right(
            "the gradient by where",
            change={"weights / total - tl.where(places == y, 1.0, 0.0)": "tl.where(places == y, weights / total - 1.0, weights / total)"},
        ),
    ],
    "bonus-split": [
        Mistake(
            "one maximum for all heads",
            change={"m.amax(1, keepdim=True)": "m.max()"},
            hint="every head has its own largest maximum",
            gravity="edge",
        ),
        Mistake("the first head's query", change={"q + head * D": "q"}, says="every head gets the query of the first one", gravity="idea"),
        Mistake(
            "weighted twice",
            change={"(share[..., None] * o)": "(share[..., None] * l[..., None] * o)"},
            says="combine: o already holds the sum over the part: do not multiply it by l",
            gravity="idea",
        ),
        Mistake(
            "keys beyond the end weighed",
            change={
                'tl.where(columns < T, tl.sum(keys * query[None, :], axis=1) * scale, float("-inf"))': "tl.sum(keys * query[None, :], axis=1) * scale"
            },
            says="keys beyond the end get a weight: set their scores to minus infinity",
            gravity="idea",
        ),
        Mistake(
            "divided in every part",
            change={"tl.sum(weights[:, None] * values, axis=0)": "tl.sum(weights[:, None] * values, axis=0) / tl.sum(weights, axis=0)"},
            says="o is divided by the sum in every part: the division comes after the merge",
            gravity="idea",
        ),
        Mistake(
            "no scale", change={"axis=1) * scale": "axis=1)"}, says="the scores are not multiplied by the argument `scale`", gravity="idea"
        ),
        Mistake("every part at the same place", change={"part = head * splits + split": "part = head * splits"}, hint=RACE, gravity="idea"),
        Mistake(
            "parts averaged",
            change={"(share[..., None] * o).sum(1) / (share * l).sum(1, keepdim=True)": "(o / l[..., None]).mean(1)"},
            says="the parts are averaged as if they weighed the same: a part weighs l e^m",
            gravity="idea",
        ),
        Mistake(
            "no maximum in the end",
            change={"(m - m.amax(1, keepdim=True)).exp()": "m.exp()"},
            says="combine: e to the maxima overflows: subtract the largest of them first",
            gravity="edge",
        ),
        Mistake(
            "not divided",
            change={" / (share * l).sum(1, keepdim=True)": ""},
            says="combine: the sum of the outputs is not divided by the sum of the weights",
            gravity="idea",
        ),
        Mistake(
            "the first chunk for all",
            change={"columns = split * CHUNK + ": "columns = "},
            says="every part takes the first chunk: add `split * CHUNK` to the columns",
            gravity="idea",
        ),
        Mistake(
            "the first head for all",
            change={"(head * T + columns)": "(columns)"},
            says="every head takes the keys of the first one: head h begins at h · T",
            gravity="idea",
        ),
        Mistake(
            "no rescale in combine",
            change={"share = (m - m.amax(1, keepdim=True)).exp()": "share = torch.ones_like(m)"},
            says="combine: the parts are added as they are: multiply each by e to its own maximum minus the largest",
            gravity="idea",
        ),
        Mistake(
            "sum not rescaled in combine",
            change={"(share * l).sum": "l.sum"},
            says="combine: the sums l are added as they are: rescale them like o",
            gravity="idea",
        ),
        Mistake(
            "outputs not rescaled in combine",
            change={"(share[..., None] * o).sum(1)": "o.sum(1)"},
            says="combine: the outputs o are added as they are: rescale them like l",
            gravity="idea",
        ),
        Mistake(
            "one maximum for all heads",
            change={"m.amax(1, keepdim=True)": "m.max()"},
            says="combine: one maximum is taken for all heads: each has its own",
            gravity="edge",
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
