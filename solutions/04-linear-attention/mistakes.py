"""Wrong answers that the tests of 04-linear-attention must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

FEATURES = "torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())"  # the reference

VARIANTS = {
    "rank-holding": [
        Mistake(
            "values not squared",
            change={".square()": ""},
            says="you add up the singular values; their squares make up the Frobenius norm",
            gravity="idea",
        ),
        Mistake(
            "an index, not a number",
            change={") + 1": ")"},
            says="k is a number of singular values, not the index of the last one: add one",
            gravity="idea",
        ),
        Mistake(
            "strictly more than the share",
            change={"held < share": "held <= share"},
            hint='of four equal values two hold exactly one half, and "at least" one half was asked for: look at < and <=',
            gravity="edge",
        ),
        Mistake(
            "compared with the largest value",
            code="""
def rank_holding(S, share):
    return int((S >= share * S[0]).sum())
""",
            says="you compare each singular value with the largest; add up squares instead",
            gravity="idea",
        ),
        Mistake(
            "not divided by the total",
            change={" / S.square().sum()": ""},
            says="the sum of squares is not divided by the total: `share` is a part of it",
            gravity="idea",
        ),
        Mistake(
            "share fixed",
            change={"held < share": "held < 0.9"},
            says="the share is fixed in your code: use the argument",
            gravity="idea",
        ),
        Mistake(
            "from the smallest",
            change={"S.square().cumsum(0)": "S.square().flip(0).cumsum(0)"},
            says="you add up from the smallest value on; the first k are the largest",
            gravity="idea",
        ),
        Mistake(
            "in place",
            change={"    held = S.square()": "    S.square_()\n    held = S", " / S.square().sum()": " / S.sum()"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right(
            "numpy",
            code="""
import numpy as np
def rank_holding(S, share):
    e = np.cumsum(S.numpy() ** 2)
    return int(np.argmax(e >= share * e[-1])) + 1
""",
        ),
        Right(
            "a loop",
            code="""
def rank_holding(S, share):
    total, held = sum(x**2 for x in S.tolist()), 0.0
    for k, x in enumerate(S.tolist(), 1):
        held += x**2
        if held >= share * total:
            return k
    return len(S)
""",
        ),
        Right(
            "searchsorted",
            code="""
def rank_holding(S, share):
    held = (S**2).cumsum(0) / (S**2).sum()
    return torch.searchsorted(held, torch.tensor(share, dtype=S.dtype)) + 1
""",
        ),
        Mistake(
            "each square compared with the largest",
            change={"int((held < share).sum()) + 1": "int((S.square() >= share * S[0].square()).sum())"},
            says="you compare each square with the largest; add them up instead",
            gravity="idea",
        ),
        Mistake(
            "one more",
            change={".sum()) + 1": ".sum()) + 2"},
            says="one more than needed: the first k values may hold exactly what was asked for",
            gravity="idea",
        ),
        Mistake(
            "a share of the count",
            change={"held = S.square().cumsum(0) / S.square().sum()": "held = torch.arange(1, len(S) + 1) / len(S)"},
            says="that is a share of the number of singular values, whatever they are: add up their squares",
            gravity="idea",
        ),
        Mistake(
            "never all of them",
            change={"+ 1\n": "+ 1 - int(bool((held < share)[:-1].all()) and len(S) > 1)\n"},
            says="where all singular values are needed one is left out",
            gravity="edge",
        ),
        Mistake(
            "single values above the share",
            change={
                "    held = S.square().cumsum(0) / S.square().sum()\n    return int((held < share).sum()) + 1": "    return int((S.square() / S.square().sum() >= share).sum())"
            },
            says="each square is compared with the share by itself; add them up",
            gravity="idea",
        ),
        Mistake(
            "compared with the largest by 1 - share",
            change={
                "    held = S.square().cumsum(0) / S.square().sum()\n    return int((held < share).sum()) + 1": "    return int((S / S[0] >= 1 - share).sum())"
            },
            says="you compare each singular value with the largest; add up squares instead",
            gravity="idea",
        ),
        Mistake(
            "root of the share",
            change={"held < share": "held < share**0.5"},
            says="the root of the share is taken: the squares are compared with the share as it is",
            gravity="idea",
        ),
        Mistake(
            "square of the share",
            change={"held < share": "held < share**2"},
            says="the share is squared: the squares are compared with the share as it is",
            gravity="idea",
        ),
        Mistake(
            "squared after adding",
            change={"held = S.square().cumsum(0) / S.square().sum()": "held = (S.cumsum(0) / S.sum()).square()"},
            says="the values are added first and squared afterwards: square each one, then add",
            gravity="idea",
        ),
        Mistake(
            "what is above the share",
            change={"int((held < share).sum()) + 1": "int((held > share).sum())"},
            says="you count the k that hold more than the share: the smallest of them was asked for",
            gravity="idea",
        ),
        Mistake(
            "the last that fits",
            change={"int((held < share).sum()) + 1": "max(1, int((held <= share).sum()))"},
            says="that is the largest k that holds no more than the share: the smallest that holds as much was asked for",
            gravity="idea",
        ),
        Mistake(
            "lost, not held",
            change={"held < share": "held < 1 - share"},
            says="that is what may be lost: the first k hold the share itself",
            gravity="idea",
        ),
    ],
    "svd-attention": [
        Mistake(
            "P is formed first",
            change={"U @ (S[:, None] * (Wt @ V))": "(U * S) @ Wt @ V"},
            hint="twice as many positions must cost twice as much: bracket from the right",
            gravity="part",
        ),
        Mistake(
            "P is formed with a full diagonal",
            change={"U @ (S[:, None] * (Wt @ V))": "((U @ torch.diag(S)) @ Wt) @ V"},
            hint="twice as many positions must cost twice as much: bracket from the right",
            gravity="part",
        ),
        Mistake(
            "no singular values", change={"S[:, None] * ": ""}, says="the singular values are missing: U Wᵀ V is not P V", gravity="idea"
        ),
        Mistake("singular values twice", change={"U @ (": "(U * S) @ ("}, says="the singular values are applied twice", gravity="idea"),
        Mistake(
            "Wt transposed again",
            change={"Wt @ V": "(Wt.mT @ V if len(Wt) == Wt.shape[1] else Wt @ V)"},
            says="`Wt` is already transposed: do not transpose it again",
            gravity="idea",
        ),
        Mistake(
            "in NumPy",
            code="""
def svd_attention(U, S, Wt, V):
    return torch.from_numpy(U.numpy() @ (S.numpy()[:, None] * (Wt.numpy() @ V.numpy())))
""",
            hint="the counter saw almost nothing of your work: compute with torch, not with NumPy or Python numbers",
            gravity="part",
        ),
        Mistake("largest only", change={"S[:, None]": "S[0]"}, says="only the largest singular value is used", gravity="idea"),
        Mistake(
            "float32",
            change={"U @ (S[:, None] * (Wt @ V))": "U.float() @ (S.float()[:, None] * (Wt.float() @ V.float()))"},
            hint="with float64 input digits are lost: do you convert to float32?",
            gravity="edge",
        ),
        Mistake(
            "squeeze",
            change={"return U @ (S[:, None] * (Wt @ V))": "return (U @ (S[:, None] * (Wt @ V))).squeeze(0)"},
            hint="the shape of the result is wrong: read the docstring once more, axis by axis",
            gravity="edge",
        ),
        Right("einsum of a shortened V", change={"U @ (S[:, None] * (Wt @ V))": 'torch.einsum("nk,k,ke->ne", U, S, Wt @ V)'}),
        Right("diagonal matrix", change={"S[:, None] * (Wt @ V)": "torch.diag(S) @ (Wt @ V)"}),
        Right("scaled U", change={"U @ (S[:, None] * (Wt @ V))": "(U * S) @ (Wt @ V)"}),
        Right(
            "one rank at a time",
            code="""
def svd_attention(U, S, Wt, V):
    out = U.new_zeros(U.shape[0], V.shape[1])
    for u, s, w in zip(U.mT, S, Wt):
        out = out + s * torch.outer(u, w @ V)
    return out
""",
        ),
        Mistake(
            "divided", change={"S[:, None] *": "1 / S[:, None] *"}, says="divided by the singular values; they multiply", gravity="idea"
        ),
        Mistake(
            "roots",
            change={"S[:, None]": "S[:, None].sqrt()"},
            says="you multiply by the roots of the singular values; use the values themselves",
            gravity="idea",
        ),
        Mistake(
            "in reverse order", change={"S[:, None]": "S.flip(0)[:, None]"}, says="the singular values are in reverse order", gravity="idea"
        ),
        Mistake(
            "their mean",
            change={"S[:, None]": "S.mean()"},
            says="the mean of the singular values is used for all: each belongs to its own pair of vectors",
            gravity="idea",
        ),
        Mistake(
            "squares",
            change={"U @ (S[:, None] * (Wt @ V))": "U @ (S[:, None] ** 2 * (Wt @ V))"},
            says="the singular values are applied twice",
            gravity="idea",
        ),
        Mistake(
            "a softmax",
            change={"U @ (S[:, None] * (Wt @ V))": "U @ (S.softmax(0)[:, None] * (Wt @ V))"},
            says="a softmax is taken of the singular values: use them as they are",
            gravity="idea",
        ),
        Mistake(
            "added",
            change={"U @ (S[:, None] * (Wt @ V))": "U @ (S[:, None] + (Wt @ V))"},
            says="the singular values are added; they multiply",
            gravity="idea",
        ),
        Mistake(
            "along the columns",
            change={
                "U @ (S[:, None] * (Wt @ V))": "U @ ((Wt @ V) * S[: V.shape[1]]) if V.shape[1] <= len(S) else U @ ((Wt @ V) * F.pad(S, (0, V.shape[1] - len(S))))"
            },
            says="the singular values scale the columns of Wᵀ V; they belong to its rows",
            gravity="idea",
        ),
        Mistake(
            "divided by the largest",
            change={"U @ (S[:, None] * (Wt @ V))": "U @ (S[:, None] / S[0] * (Wt @ V))"},
            says="the singular values are divided by the largest one: use them as they are",
            gravity="idea",
        ),
        Mistake(
            "on U's rows",
            change={"U @ (S[:, None] * (Wt @ V))": "(U * S.mean()) @ (Wt @ V)"},
            says="the mean of the singular values is used for all: each belongs to its own pair of vectors",
            gravity="idea",
        ),
    ],
    "truncation-errors": [
        Mistake(
            "last value kept",
            change={"lost[0] if len(lost) else S.new_zeros(())": "S[k - 1]"},
            says="spectral norm: this is the last singular value that is kept; take the first one that is lost",
            gravity="idea",
        ),
        Mistake("no root", change={".sum().sqrt()": ".sum()"}, says="Frobenius norm: take the root of the sum of squares", gravity="idea"),
        Mistake(
            "sum of values",
            change={"lost.square().sum().sqrt()": "lost.sum()"},
            says="Frobenius norm: this adds up the lost singular values; add up their squares and take the root",
            gravity="idea",
        ),
        Mistake(
            "what is kept",
            change={"lost.square()": "S[:k].square()"},
            says="Frobenius norm: this is what is kept, not what is lost",
            gravity="idea",
        ),
        Mistake(
            "one too early",
            change={"lost.square()": "S[k - 1 :].square()"},
            says="Frobenius norm: the singular value number k is kept; start with number k + 1",
            gravity="idea",
        ),
        Mistake(
            "smallest value",
            change={"lost[0] if": "lost[-1] if"},
            says="spectral norm: this is the smallest singular value; take the largest of the lost ones",
            gravity="idea",
        ),
        Mistake(
            "nothing lost is an error",
            change={"lost[0] if len(lost) else S.new_zeros(())": "S[k]"},
            hint="your code raised IndexError",
            gravity="edge",
        ),
        Mistake(
            "exchanged",
            change={"return spectral, lost.square().sum().sqrt()": "return lost.square().sum().sqrt(), spectral"},
            says="the two results are exchanged: first the spectral norm, then the Frobenius norm",
            gravity="idea",
        ),
        Mistake(
            "largest of all",
            change={"lost[0] if": "S[0] if"},
            says="spectral norm: this is the largest of all singular values; take the largest of the lost ones",
            gravity="idea",
        ),
        Mistake(
            "k = 0 fails",
            change={"lost = S[k:]": "lost = S[k:] if k else S[:0]"},
            hint="spectral norm, k = 0: everything is lost, so it is the largest singular value",
            gravity="edge",
        ),
        Right("norms of torch", change={"lost.square().sum().sqrt()": "torch.linalg.vector_norm(lost)"}),
        Right(
            "Python numbers",
            code="""
def truncation_errors(S, k):
    lost = S.tolist()[k:]
    return max(lost, default=0.0), sum(x * x for x in lost) ** 0.5
""",
        ),
        Mistake(
            "spectral: sum",
            change={"lost[0] if": "lost.sum() if"},
            says="spectral norm: this adds up the lost singular values; take the largest one",
            gravity="idea",
        ),
        Mistake(
            "spectral: the second",
            change={"lost[0] if": "lost[min(1, len(lost) - 1)] if"},
            says="spectral norm: this is the second of the lost singular values; take the first",
            gravity="idea",
        ),
        Mistake(
            "Frobenius: first one left out",
            change={"lost.square().sum().sqrt()": "lost[1:].square().sum().sqrt()"},
            says="Frobenius norm: the first lost singular value is left out",
            gravity="idea",
        ),
        Mistake(
            "Frobenius: all",
            change={"lost.square().sum().sqrt()": "S.square().sum().sqrt()"},
            says="Frobenius norm: this is the norm of all of P",
            gravity="idea",
        ),
        Mistake(
            "relative",
            change={"return spectral, lost.square().sum().sqrt()": "return spectral / S[0], lost.square().sum().sqrt() / S.norm()"},
            says="the errors are divided by the norms of P: the norms of P − P_k themselves were asked for",
            gravity="idea",
        ),
        Mistake(
            "Frobenius: mean",
            change={"lost.square().sum()": "lost.square().mean()"},
            says="Frobenius norm: the squares are averaged; add them up",
            gravity="idea",
        ),
        Mistake(
            "one late",
            change={"S[k:]": "S[k + 1:]"},
            says="the first lost singular value is number k + 1, which Python counts as k: `S[k:]`",
            gravity="idea",
        ),
        Mistake(
            "twice the spectral norm",
            change={"spectral, lost.square().sum().sqrt()": "spectral, spectral"},
            says="Frobenius norm: the spectral norm is returned twice",
            gravity="idea",
        ),
        Mistake(
            "spectral: squared",
            change={"lost[0] if": "lost[0] ** 2 if"},
            says="spectral norm: this is the square of the largest lost singular value; take the value itself",
            gravity="idea",
        ),
        Mistake(
            "spectral: difference",
            change={"lost[0] if": "S[0] - lost[0] if"},
            says="spectral norm: this is a difference of two singular values; take the largest of the lost ones",
            gravity="idea",
        ),
        Mistake(
            "spectral: relative",
            change={"lost[0] if": "lost[0] / S[0] if"},
            says="spectral norm: this is divided by the norm of P; the norm itself was asked for",
            gravity="idea",
        ),
        Mistake(
            "spectral: Frobenius",
            change={"return spectral, ": "return lost.square().sum().sqrt(), "},
            says="spectral norm: this is the Frobenius norm; take the largest of the lost singular values",
            gravity="idea",
        ),
        Mistake(
            "Frobenius: relative",
            change={"lost.square().sum().sqrt()": "lost.square().sum().sqrt() / S.square().sum().sqrt()"},
            says="Frobenius norm: this is divided by the norm of P; the norm itself was asked for",
            gravity="idea",
        ),
        Mistake(
            "Frobenius: from the largest",
            change={"lost.square().sum().sqrt()": "spectral * len(lost) ** 0.5"},
            says="Frobenius norm: this takes all lost singular values to be as large as the first; add up their squares",
            gravity="idea",
        ),
        Mistake(
            "both of what is kept",
            change={"lost = S[k:]": "lost = S[:k]"},
            says="both norms are those of what is kept, P_k; asked is what is lost, P − P_k",
            gravity="idea",
        ),
        Mistake(
            "one value too many",
            change={"lost = S[k:]": "lost = S[max(k - 1, 0) :]"},
            says="the last singular value that is kept, number k, is counted as lost: what is lost starts with number k + 1",
            gravity="idea",
        ),
    ],
    "softmax-free": [
        Mistake(
            "P is formed first",
            change={"Q @ (K.mT @ V)": "(Q @ K.mT) @ V"},
            hint="twice as many positions must cost twice as much: what do you multiply first?",
            gravity="part",
        ),
        Mistake("no scale", change={" / Q.shape[-1] ** 0.5": ""}, says="the scale 1/√h is missing", gravity="idea"),
        Mistake("scale by h", change={"Q.shape[-1] ** 0.5": "Q.shape[-1]"}, says="scale by the root of h, not by h", gravity="idea"),
        Mistake(
            "scale by the keys",
            change={"Q.shape[-1] ** 0.5": "K.shape[0] ** 0.5"},
            says="scale by the root of the width h, not of the number of keys",
            gravity="idea",
        ),
        Mistake(
            "fixed scale",
            change={"Q.shape[-1] ** 0.5": "2"},
            says="the scale is right for h = 4 only: compute it from the shape",
            gravity="idea",
        ),
        Mistake(
            "softmax",
            change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "(Q @ K.mT / Q.shape[-1] ** 0.5).softmax(-1) @ V"},
            says="there is no softmax in this part",
            gravity="idea",
        ),
        Mistake(
            "float32 scale",
            change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "(Q.float() @ (K.float().mT @ V.float())) / Q.shape[-1] ** 0.5"},
            hint="with float64 input digits are lost: do you convert to float32?",
            gravity="edge",
        ),
        Mistake(
            "scale by e",
            change={"Q.shape[-1] ** 0.5": "V.shape[-1] ** 0.5"},
            says="scale by the root of the width of the keys, not of the values",
            gravity="idea",
        ),
        Mistake(
            "numpy",
            code="""
def softmax_free(Q, K, V):
    return torch.from_numpy(Q.numpy() @ (K.numpy().T @ V.numpy()) / Q.shape[-1] ** 0.5)
""",
            hint="the counter saw almost nothing of your work: compute with torch, not with NumPy or Python numbers",
            gravity="part",
        ),
        Mistake(
            "loop over queries",
            code="""
def softmax_free(Q, K, V):
    return torch.stack([(q @ K.mT / len(q) ** 0.5) @ V for q in Q])
""",
            hint="twice as many positions must cost twice as much: what do you multiply first?",
            gravity="part",
        ),
        Mistake(
            "in place",
            change={"return Q @": "Q /= Q.shape[-1] ** 0.5\n    return Q @", "(K.mT @ V) / Q.shape[-1] ** 0.5": "(K.mT @ V)"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right("einsum", change={"K.mT @ V": 'torch.einsum("mh,me->he", K, V)'}),
        Right("scale first", change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "(Q / Q.shape[-1] ** 0.5) @ (K.T @ V)"}),
        Mistake(
            "scale by the queries",
            change={"Q.shape[-1]": "Q.shape[0]"},
            says="scale by the root of the width h, not of the number of queries",
            gravity="idea",
        ),
        Mistake(
            "multiplied by the root",
            change={"/ Q.shape[-1] ** 0.5": "* Q.shape[-1] ** 0.5"},
            says="you multiply by √h: the scores are divided by it",
            gravity="idea",
        ),
        Mistake(
            "queries normalised",
            change={"return Q @": "return F.normalize(Q, dim=-1) @"},
            says="the queries are made of length one: leave them as they are",
            gravity="idea",
        ),
        Mistake(
            "softmax of Kᵀ V",
            change={"(K.mT @ V)": "(K.mT @ V).softmax(0)"},
            says="a softmax is taken of Kᵀ V: there is none in this part",
            gravity="idea",
        ),
        Mistake(
            "normalised",
            change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "Q @ (K.mT @ V) / (Q @ K.sum(0))[:, None]"},
            says="the scores are divided by their sum: there are no weights that sum to one in this part",
            gravity="idea",
        ),
        Mistake(
            "mean over the keys",
            change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "Q @ (K.mT @ V) / Q.shape[-1] ** 0.5 / len(K)"},
            says="the result is divided by the number of keys: it is a sum over them",
            gravity="idea",
        ),
        Mistake(
            "keys normalised",
            change={"K.mT @ V": "torch.nn.functional.normalize(K, dim=1).mT @ V"},
            says="the keys are made of length one: leave them as they are",
            gravity="idea",
        ),
        Mistake(
            "absolute scores",
            change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "Q.abs() @ (K.abs().mT @ V) / Q.shape[-1] ** 0.5"},
            says="the signs of queries and keys are lost",
            gravity="idea",
        ),
        Mistake(
            "fourth root",
            change={"Q.shape[-1] ** 0.5": "Q.shape[-1] ** 0.25"},
            says="you divide by the fourth root of h: use the square root",
            gravity="idea",
        ),
    ],
    "right-singular-vectors": [
        Mistake(
            "P is formed first",
            code="""
def right_singular_vectors(Q, K, k):
    return torch.linalg.svd(Q @ K.mT / Q.shape[1] ** 0.5)[2][:k].mT
""",
            hint="the work must grow like n: only thin factors and an h × h matrix",
            gravity="part",
        ),
        Mistake(
            "full QR",
            change={
                "torch.linalg.qr(K)": 'torch.linalg.qr(K, mode="complete")',
                "A_k @ Vh": "A_k[:, : len(Vh)] @ Vh",
                "R_k.mT)": "R_k[: len(R_q)].mT)",
            },
            hint="an n × n tensor was created: P is never formed, and QR is the thin one (the default)",
            gravity="part",
        ),
        Mistake(
            "left singular vectors",
            code="""
def right_singular_vectors(Q, K, k):
    A_q, R_q = torch.linalg.qr(Q)
    A_k, R_k = torch.linalg.qr(K)
    return A_q @ torch.linalg.svd(R_q @ R_k.mT)[0][:, :k]
""",
            hint="these are left singular vectors of P: the right ones come from K's side",
            gravity="idea",
        ),
        Mistake(
            "factor of K alone",
            change={"A_k @ Vh[:k].mT": "A_k[:, :k]"},
            hint="W is the orthonormal factor of K alone: it spans the right space. Rotate it with the SVD of the small matrix",
            gravity="idea",
        ),
        Mistake(
            "Vh not transposed",
            change={"Vh[:k].mT": "Vh[:, :k]"},
            hint="`Vh` holds right singular vectors in its rows: transpose it before you multiply",
            gravity="idea",
        ),
        Mistake(
            "left vectors of the small matrix",
            change={"_, _, Vh": "U, _, _", "Vh[:k].mT": "U[:, :k]"},
            hint="the small matrix's left singular vectors are combined with K's factor; its right ones belong there",
            gravity="idea",
        ),
        Mistake(
            "smallest first",
            change={"A_k @ Vh[:k].mT": "A_k @ Vh[:k].mT.flip(1)"},
            hint="the singular vectors come smallest first; largest first was asked for",
            gravity="idea",
        ),
        Mistake(
            "all of them", change={"Vh[:k]": "Vh"}, hint="P may have a smaller rank than h: return the first k vectors only", gravity="part"
        ),
        Mistake(
            "not normalised",
            change={"A_k @ Vh[:k].mT": "K @ torch.linalg.inv(R_k) @ Vh[:k].mT * 2"},
            hint="P is 3/√2 in row 0, column 1 and 2/√2 in row 1, column 0: its right singular vectors are e_1, then e_0",
            gravity="idea",
        ),
        Mistake(
            "no transpose of R_k",
            change={"R_q @ R_k.mT": "R_q @ R_k"},
            hint="the small matrix is R_Q R_Kᵀ: the transpose is missing",
            gravity="idea",
        ),
        Mistake(
            "A_q",
            change={"_, R_q = torch.linalg.qr(Q)": "A_q, R_q = torch.linalg.qr(Q)", "A_k @ Vh": "A_q @ Vh"},
            hint="Q's factor is combined with the right singular vectors of the small matrix; K's belongs there",
            gravity="idea",
        ),
        Mistake(
            "last k",
            change={"Vh[:k]": "Vh[-k:]"},
            hint="the rank of P can be below h. Then the first k columns of K's factor do not span its rows: use the SVD of the small matrix",
            gravity="part",
        ),
        Mistake(
            "numpy",
            code="""
import numpy as np
def right_singular_vectors(Q, K, k):
    R = np.linalg.qr(Q.numpy())[1]
    A, S = np.linalg.qr(K.numpy())
    return torch.from_numpy(A @ np.linalg.svd(R @ S.T)[2][:k].T)
""",
            hint="the counter saw almost nothing of your work: compute with torch, not with NumPy or Python numbers",
            gravity="part",
        ),
        Mistake(
            "in place",
            change={"    _, R_q": "    Q *= 2\n    _, R_q"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Right(
            "the transposed matrix",
            code="""
def right_singular_vectors(Q, K, k):
    R = torch.linalg.qr(Q).R
    A, S = torch.linalg.qr(K)
    U, _, _ = torch.linalg.svd(S @ R.T, full_matrices=False)
    return (A @ U)[:, :k]
""",
        ),
        Right(
            "QR of one side, SVD of a thin matrix",
            code="""
def right_singular_vectors(Q, K, k):
    _, R = torch.linalg.qr(Q)
    U, S, Vh = torch.linalg.svd(R @ K.mT, full_matrices=False)
    return Vh[:k].mT
""",
        ),
        Right(
            "eigenvectors of the small Gram matrix",
            code="""
def right_singular_vectors(Q, K, k):
    A, R = torch.linalg.qr(K)
    small = R @ (Q.mT @ Q) @ R.mT
    values, vectors = torch.linalg.eigh(small.double())
    order = values.argsort(descending=True)[:k]
    return A @ vectors[:, order].to(A.dtype)
""",
        ),
        Mistake(
            "times the singular values",
            change={"_, _, Vh = torch": "_, S, Vh = torch", "Vh[:k].mT": "(S[:k, None] * Vh[:k]).mT"},
            says="the columns are multiplied by the singular values: singular vectors have length one",
            gravity="idea",
        ),
        Mistake(
            "factors exchanged",
            change={"R_q @ R_k.mT": "R_k @ R_q.mT"},
            says="the small matrix is R_Q R_Kᵀ: with R_K R_Qᵀ left and right are exchanged",
            gravity="idea",
        ),
        Mistake(
            "singular vectors of K",
            change={"return A_k @ Vh[:k].mT": "return torch.linalg.svd(K, full_matrices=False)[0][:, :k]"},
            says="these are singular vectors of K: they span the right space, but Q decides which directions matter",
            gravity="idea",
        ),
        Mistake(
            "vectors as rows",
            change={"return A_k @ Vh[:k].mT": "return (A_k @ Vh[:k].mT).mT"},
            says="W is transposed: the singular vectors are its columns",
            gravity="idea",
        ),
        Mistake(
            "keys, not their factor",
            change={"A_k @ Vh": "K @ Vh"},
            says="K itself is combined with the small vectors: its orthonormal factor belongs there",
            gravity="idea",
        ),
        Mistake(
            "the small matrix from K alone",
            change={"R_q @ R_k.mT": "R_k"},
            says="the small matrix is made of K alone: it is R_Q R_Kᵀ",
            gravity="idea",
        ),
        Mistake(
            "small matrix KᵀQ",
            change={"R_q @ R_k.mT": "Q.mT @ K"},
            says="the SVD is that of Qᵀ K: the small matrix is R_Q R_Kᵀ, from the two QR decompositions",
            gravity="idea",
        ),
        Mistake(
            "small matrix from Q alone",
            change={"R_q @ R_k.mT": "R_q"},
            says="the small matrix is made of Q alone: it is R_Q R_Kᵀ",
            gravity="idea",
        ),
        Mistake(
            "singular vectors of Q",
            change={"    _, R_q": "    return torch.linalg.svd(Q, full_matrices=False)[0][:, :k]\n    _, R_q"},
            says="these are singular vectors of Q: the right ones of P come from K's side",
            gravity="idea",
        ),
    ],
    "factors": [
        Mistake(
            "no scale", change={" / Q.shape[-1] ** 0.5": ""}, hint="the scale 1/√h is missing: put it into C or into D", gravity="idea"
        ),
        Mistake(
            "scale twice",
            change={", W.mT": ", W.mT / Q.shape[-1] ** 0.5"},
            hint="the scale 1/√h is there twice: put it into C or into D, not into both",
            gravity="idea",
        ),
        Mistake(
            "scale by h",
            change={"Q.shape[-1] ** 0.5": "Q.shape[-1]"},
            hint="the scale 1/√h is there twice: put it into C or into D, not into both",
            gravity="idea",
        ),
        Mistake(
            "fixed scale",
            change={"Q.shape[-1] ** 0.5": "2"},
            hint="the scale is right for one width only: compute it from the shape of Q",
            gravity="idea",
        ),
        Mistake(
            "P is formed first",
            change={"Q @ (C @ K).mT @ (D @ V)": "(Q @ K.mT) @ (C.mT @ (D @ V))"},
            hint="an n × n tensor was created: Cᵀ D and Q Kᵀ are n × n, so avoid both",
            gravity="part",
        ),
        Mistake(
            "projection is formed",
            change={"Q @ (C @ K).mT @ (D @ V)": "Q @ (K.mT @ ((C.mT @ D) @ V))"},
            hint="an n × n tensor was created: Cᵀ D and Q Kᵀ are n × n, so avoid both",
            gravity="part",
        ),
        Mistake(
            "not transposed",
            change={"W.mT / Q.shape[-1] ** 0.5, W.mT": "W / Q.shape[-1] ** 0.5, W", "(C @ K).mT @ (D @ V)": "(C.mT @ K).mT @ (D.mT @ V)"},
            hint="`factors` returns C and D, each with k rows and n columns",
            gravity="idea",
        ),
        Mistake(
            "basis from K",
            change={"W = right_singular_vectors(Q, K, k)": "W = torch.linalg.qr(K).Q[:, :k]"},
            hint="for rank P < h the factors do not give P: they need the right singular vectors of P, not only an orthonormal basis from K",
            gravity="part",
        ),
        Mistake(
            "left side",
            change={"W = right_singular_vectors(Q, K, k)": "W = right_singular_vectors(K, Q, k)"},
            says="these are the left singular vectors of P: exchange Q and K in the call",
            gravity="idea",
        ),
        Mistake(
            "scaled again",
            change={"(D @ V)": "(D @ V) / Q.shape[-1] ** 0.5"},
            hint="`factored_attention`: the scale 1/√h is applied once more than needed",
            gravity="idea",
        ),
        Mistake(
            "factors unused",
            change={"    C, D = factors(Q, K, k)\n    return Q @ (C @ K).mT @ (D @ V)": "    return softmax_free(Q, K, V)"},
            hint="`factored_attention` does not use C and D: compute it with your factors",
            gravity="part",
        ),
        Mistake(
            "only D",
            change={"Q @ (C @ K).mT @ (D @ V)": "Q @ (D @ K).mT @ (D @ V)"},
            hint="`factored_attention`: the scale 1/√h is missing",
            gravity="idea",
        ),
        Right(
            "W directly",
            change={
                "    C, D = factors(Q, K, k)\n    return Q @ (C @ K).mT @ (D @ V)": "    W = right_singular_vectors(Q, K, k)\n    return Q @ (K.mT @ W) @ (W.mT @ V) / Q.shape[1] ** 0.5"
            },
        ),
        Right("scale in D", change={"W.mT / Q.shape[-1] ** 0.5, W.mT": "W.mT, W.mT / Q.shape[-1] ** 0.5"}),
        Right("other brackets", change={"Q @ (C @ K).mT @ (D @ V)": "Q @ ((C @ K).mT @ (D @ V))"}),
        Right(
            "another basis",
            code="""
def factors(Q, K, k):
    W = right_singular_vectors(Q, K, k)
    M = torch.eye(k, dtype=Q.dtype) + torch.ones(k, k, dtype=Q.dtype).triu()
    return torch.linalg.inv(M).T @ W.T / Q.shape[1] ** 0.5, M @ W.T


def factored_attention(Q, K, V, k):
    C, D = factors(Q, K, k)
    return Q @ ((C @ K).T @ (D @ V))
""",
        ),
        Mistake(
            "scale by the rank",
            change={"Q.shape[-1] ** 0.5": "k**0.5"},
            says="divide by the root of the width h, not of the rank k",
            gravity="idea",
        ),
        Mistake(
            "scale by the positions",
            change={"Q.shape[-1] ** 0.5": "Q.shape[0] ** 0.5"},
            says="divide by the root of the width h, not of the number of positions",
            gravity="idea",
        ),
        Mistake(
            "D for both",
            change={"(C @ K).mT @ (D": "(D @ K).mT @ (D"},
            says="`factored_attention`: D shortens the keys, too: C K and D V",
            gravity="idea",
        ),
        Mistake(
            "C for both",
            change={"@ (D @ V)": "@ (C @ V)"},
            says="`factored_attention`: C shortens the values, too: C K and D V",
            gravity="idea",
        ),
        Mistake(
            "multiplied by the root",
            change={"W.mT / Q.shape[-1] ** 0.5, W.mT": "W.mT * Q.shape[-1] ** 0.5, W.mT"},
            says="you multiply by √h: the scores are divided by it",
            gravity="idea",
        ),
        Mistake(
            "softmax put in",
            change={"Q @ (C @ K).mT @ (D @ V)": "(Q @ (C @ K).mT).softmax(-1) @ (D @ V)"},
            says="`factored_attention`: there is no softmax in this part",
            gravity="idea",
        ),
    ],
    "projected-attention": [
        Mistake(
            "C and D exchanged",
            change={"C @ K": "D @ K", "D @ V": "C @ V"},
            says="C shortens the keys and D the values: yours are exchanged",
            gravity="idea",
        ),
        Mistake("C for both", change={"D @ V": "C @ V"}, says="C shortens the keys and D the values: you use C for both", gravity="idea"),
        Mistake("no scale", change={" / Q.shape[-1] ** 0.5": ""}, says="the scale 1/√h is missing", gravity="idea"),
        Mistake(
            "scale by k",
            change={"Q.shape[-1] ** 0.5": "C.shape[0] ** 0.5"},
            says="scale by the root of the width h, not of the number k of mixtures",
            gravity="idea",
        ),
        Mistake(
            "softmax over the queries",
            change={"softmax(dim=-1)": "softmax(dim=-2)"},
            says="softmax runs over the queries: it must run over the k mixtures",
            gravity="idea",
        ),
        Mistake("no softmax", change={"scores.softmax(dim=-1)": "scores"}, says="the softmax is missing", gravity="idea"),
        Mistake(
            "projected after the softmax",
            code="""
def projected_attention(Q, K, V, C, D):
    P = (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)
    return P @ C.mT @ (D @ V)
""",
            says="softmax is taken over all keys, before the projection",
            gravity="idea",
        ),
        Mistake(
            "scores projected, not keys",
            change={"Q @ (C @ K).mT / Q": "(Q @ K.mT) @ C.mT / Q"},
            hint="twice as many positions must cost twice as much: shorten K before it meets Q",
            gravity="part",
        ),
        Mistake("no batch axes", change={"(C @ K).mT": "(C @ K).permute(1, 0)"}, hint="your code raised RuntimeError", gravity="part"),
        Mistake(
            "cut gradients",
            change={"C @ K": "C.detach() @ K"},
            hint="the gradients through your function are wrong, or do not flow: they must reach C and D, too, because these are learned",
            gravity="part",
        ),
        Mistake("D for both", change={"C @ K": "D @ K"}, says="C shortens the keys and D the values: you use D for both", gravity="idea"),
        Mistake(
            "fixed scale",
            change={"Q.shape[-1] ** 0.5": "2"},
            says="the scale is right for h = 4 only: compute it from the shape",
            gravity="idea",
        ),
        Mistake(
            "detached D",
            change={"D @ V": "D.detach() @ V"},
            hint="the gradients through your function are wrong, or do not flow: they must reach C and D, too, because these are learned",
            gravity="part",
        ),
        Mistake(
            "exp by hand",
            code="""
def projected_attention(Q, K, V, C, D):
    e = torch.exp(Q @ (C @ K).mT / Q.shape[-1] ** 0.5)
    return e @ (D @ V) / e.sum(-1, keepdim=True)
""",
            hint="large scores overflow: subtract the row's maximum before exp, or use torch's softmax",
            gravity="edge",
        ),
        Mistake(
            "float32",
            change={"return scores.softmax(dim=-1) @ (D @ V)": "return scores.float().softmax(dim=-1) @ (D @ V).float()"},
            hint="with float64 input digits are lost: do you convert to float32?",
            gravity="edge",
        ),
        Right(
            "fused kernel",
            change={
                "scores = Q @ (C @ K).mT / Q.shape[-1] ** 0.5  # (..., n, k)": "",
                "scores.softmax(dim=-1) @ (D @ V)": "F.scaled_dot_product_attention(Q, C @ K, D @ V)",
            },
        ),
        Right("einsum", change={"C @ K": 'torch.einsum("km,...mh->...kh", C, K)'}),
        Right(
            "softmax by hand",
            code="""
def projected_attention(Q, K, V, C, D):
    scores = torch.matmul(Q, torch.matmul(C, K).transpose(-1, -2)) * Q.shape[-1] ** -0.5
    e = torch.exp(scores - scores.amax(-1, keepdim=True))
    return e @ (D @ V) / e.sum(-1, keepdim=True)
""",
        ),
        Mistake(
            "scale by h", change={"Q.shape[-1] ** 0.5": "Q.shape[-1]"}, says="scale by the root of the width h, not by h", gravity="idea"
        ),
        Mistake(
            "scale by the keys",
            change={"Q.shape[-1] ** 0.5": "K.shape[-2] ** 0.5"},
            says="scale by the root of the width h, not of the number of keys",
            gravity="idea",
        ),
        Mistake(
            "scale by the values",
            change={"Q.shape[-1] ** 0.5": "V.shape[-1] ** 0.5"},
            says="scale by the root of the width h of keys, not of the values",
            gravity="idea",
        ),
        Mistake(
            "scale after the softmax",
            change={" / Q.shape[-1] ** 0.5": "", "scores.softmax(dim=-1)": "scores.softmax(dim=-1) / Q.shape[-1] ** 0.5"},
            says="the weights are divided by √h: scale the scores, before the softmax",
            gravity="idea",
        ),
        Mistake(
            "log-softmax", change={"scores.softmax": "scores.log_softmax"}, says="these are the logarithms of the weights", gravity="idea"
        ),
        Mistake(
            "values averaged by D",
            change={"(D @ V)": "(D.softmax(dim=-1) @ V)"},
            says="a softmax is taken of D: use D as it is",
            gravity="idea",
        ),
        Mistake(
            "nothing projected",
            change={
                "    scores = Q @ (C @ K).mT / Q.shape[-1] ** 0.5  # (..., n, k)\n    return scores.softmax(dim=-1) @ (D @ V)": "    scores = Q @ K.mT / Q.shape[-1] ** 0.5\n    return scores.softmax(dim=-1) @ V"
            },
            says="C and D are not used: this is plain attention over all keys",
            gravity="idea",
        ),
        Mistake(
            "output scaled",
            change={
                "    scores = Q @ (C @ K).mT / Q.shape[-1] ** 0.5  # (..., n, k)\n    return scores.softmax(dim=-1) @ (D @ V)": "    return (Q @ (C @ K).mT).softmax(-1) @ (D @ V) / Q.shape[-1] ** 0.5"
            },
            says="the output is divided by √h: scale the scores, before the softmax",
            gravity="idea",
        ),
        Mistake(
            "scaled twice",
            change={"(C @ K).mT /": "(C @ K).mT / Q.shape[-1] ** 0.5 /"},
            says="scale by the root of the width h, not by h",
            gravity="idea",
        ),
        Mistake(
            "softmax over axis 1",
            change={"dim=-1": "dim=1"},
            says="softmax runs over axis 1: with batch axes in front the mixtures are the last axis, −1",
            gravity="part",
        ),
        Mistake(
            "values not projected",
            change={"@ (D @ V)": "@ (D @ V).softmax(-1)"},
            says="a softmax is taken of D V: the values are mixed as they are",
            gravity="idea",
        ),
        Mistake("softmax of C", change={"(C @ K)": "(C.softmax(-1) @ K)"}, says="a softmax is taken of C: use C as it is", gravity="idea"),
        Mistake(
            "softmax twice",
            change={"softmax(dim=-1)": "softmax(dim=-1).softmax(dim=-1)"},
            says="softmax is applied twice: the weights go through it once more",
            gravity="idea",
        ),
        Mistake(
            "multiplied by the root",
            change={"/ Q.shape[-1] ** 0.5": "* Q.shape[-1] ** 0.5"},
            says="you multiply by √h: divide by it",
            gravity="idea",
        ),
        Mistake(
            "gradients of C cut",
            change={"(C @ K)": "(C.detach() @ K)"},
            says="C is cut from the graph: it is learned, so a gradient must reach it",
            gravity="part",
        ),
    ],
    "random-projection": [
        Mistake(
            "no scale",
            change={" / k**0.5": ""},
            hint="the diagonal of CᵀC is a sum of k squares, and yours adds up to k: divide the entries by √k",
            gravity="idea",
        ),
        Mistake(
            "divided by k",
            change={"k**0.5": "k"},
            hint="you divide by k: dividing the entries by √k divides the squares by k",
            gravity="idea",
        ),
        Mistake(
            "divided by the root of n",
            change={"k**0.5": "n**0.5"},
            hint="you divide by the root of n: the sum over the rows has k terms",
            gravity="idea",
        ),
        Mistake(
            "uniform from 0 to 1",
            change={"torch.randn(k, n)": "torch.rand(k, n) * 3**0.5"},
            hint="the entries should have mean zero: otherwise the off-diagonal entries of CᵀC do not vanish on average",
            gravity="part",
        ),
        Mistake(
            "wrong way round",
            change={"torch.randn(k, n)": "torch.randn(n, k)"},
            hint="the shape of the result is wrong: read the docstring once more, axis by axis",
            gravity="idea",
        ),
        Mistake(
            "always the same",
            change={"return": "torch.manual_seed(0)\n    return"},
            hint="every call must draw a new matrix: do not fix the seed inside the function",
            gravity="edge",
        ),
        Mistake(
            "columns repeat",
            change={"torch.randn(k, n)": "torch.randn(k, 1).expand(k, n)"},
            hint="for another shape (k < n) the diagonal of CᵀC is not 1 on average: the variance of the entries must depend on k alone",
            gravity="idea",
        ),
        Mistake("fixed k", change={"k**0.5": "20"}, hint="the variance is right for one k only", gravity="idea"),
        Mistake(
            "not random",
            change={"torch.randn(k, n) / k**0.5": "torch.eye(max(k, n))[:k, :n] * (max(k, n) / k) ** 0.5"},
            hint="a few entries carry all of a column: every entry must be a random number",
            gravity="part",
        ),
        Mistake(
            "half the columns copied",
            change={
                "return torch.randn(k, n) / k**0.5": "C = torch.randn(k, n) / k**0.5\n    C[:, n // 2 :] = C[:, : n - n // 2]\n    return C"
            },
            hint="the entries are not independent: CᵀC or CCᵀ differs from the identity by more than chance",
            gravity="part",
        ),
        Mistake(
            "cached",
            code="""
known = {}
def random_projection(k, n):
    if (k, n) not in known:
        known[k, n] = torch.randn(k, n) / k**0.5
    return known[k, n]
""",
            hint="every call must draw a new matrix: do not fix the seed inside the function",
            gravity="edge",
        ),
        Mistake(
            "orthogonal rows",
            change={"torch.randn(k, n) / k**0.5": "torch.linalg.qr(torch.randn(max(k, n), max(k, n)))[0][:k, :n] * (max(k, n) / k) ** 0.5"},
            hint="on average only",
            gravity="part",
        ),
        Right("signs", change={"torch.randn(k, n)": "(2.0 * torch.randint(2, (k, n)) - 1)"}),
        Right("uniform around zero", change={"torch.randn(k, n)": "(2 * torch.rand(k, n) - 1) * 3**0.5"}),
        Right("normal_", change={"torch.randn(k, n) / k**0.5": "torch.empty(k, n).normal_(0, (1 / k) ** 0.5)"}),
    ],
    "features": [
        Mistake(
            "elu alone",
            change={FEATURES: "F.elu(x)"},
            hint="elu alone reaches down to −1, and weights must not be negative: add 1",
            gravity="idea",
        ),
        Mistake(
            "relu",
            change={FEATURES: "F.relu(x) + 1"},
            hint="relu gives zero below zero: such a key is lost, with its gradient. Use elu",
            gravity="idea",
        ),
        Mistake(
            "exponential", change={FEATURES: "x.exp()"}, hint="this is the exponential everywhere; for x > 0 φ is x + 1", gravity="idea"
        ),
        Mistake(
            "softplus", change={FEATURES: "F.softplus(x)"}, hint="this is softplus, a smooth relative: φ(0) should be 1", gravity="idea"
        ),
        Mistake(
            "in place",
            change={FEATURES: "x.copy_(" + FEATURES + ")"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="part",
        ),
        Mistake(
            "detached",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "F.elu(x.detach()) + 1"},
            hint="no gradient flows from the output back to the input: is there a `.detach()`, `.item()`, NumPy call or new tensor in between?",
            gravity="part",
        ),
        Mistake(
            "limited above",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "torch.where(x > 0, x + 1, x.clamp(-40, 0).exp()).clamp(max=10)"},
            hint="large inputs: for x > 0 φ is x + 1, without an exponential and without a limit",
            gravity="edge",
        ),
        Mistake(
            "leaky",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "F.leaky_relu(x) + 1"},
            says="below zero the result is a straight line: there φ is e^x",
            gravity="idea",
        ),
        Right("torch's elu", change={FEATURES: "F.elu(x) + 1"}),
        Right("where", change={FEATURES: "torch.where(x > 0, x + 1, torch.exp(x))"}),
        Right("clamped parts", change={FEATURES: "x.clamp(min=0) + x.clamp(max=0).exp()"}),
        Right("elu above zero", change={FEATURES: "torch.where(x > 0, F.elu(x) + 1, x.clamp(max=0).exp())"}),
        Mistake(
            "elu plus two",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "F.elu(x) + 2"},
            says="one too many: φ(0) is 1",
            gravity="idea",
        ),
        Mistake(
            "absolute value",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "x.abs() + 1"},
            says="φ grows again below zero: there it is e^x",
            gravity="idea",
        ),
        Mistake(
            "e^-x", change={"x.clamp(-40, 0).exp()": "(-x).clamp(-40, 40).exp()"}, says="below zero φ is e^x, not e^{−x}", gravity="idea"
        ),
        Mistake(
            "relu alone",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "x.clamp(min=0)"},
            says="that is relu: below zero φ is e^x, and above it x + 1",
            gravity="idea",
        ),
        Mistake(
            "selu",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "torch.nn.functional.selu(x) + 1"},
            says="that is selu plus 1, which has other factors: φ is elu + 1",
            gravity="idea",
        ),
        Mistake(
            "sides exchanged",
            change={"x > 0": "x < 0"},
            says="the two sides are exchanged: x + 1 belongs above zero, e^x below",
            gravity="idea",
        ),
        Mistake("x above zero", change={"x + 1": "x"}, says="above zero φ is x + 1, not x", gravity="idea"),
        Mistake(
            "one formula for all entries",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "(x + 1 if x.mean() > 0 else x.exp())"},
            says="one formula is chosen for the whole tensor: every entry has its own sign",
            gravity="idea",
        ),
        Mistake(
            "1 / (1 - x)",
            change={"x.clamp(-40, 0).exp()": "1 / (1 - x.clamp(max=0))"},
            says="below zero φ is e^x, not 1 / (1 − x)",
            gravity="idea",
        ),
        Mistake(
            "e^x + 1",
            change={"x.clamp(-40, 0).exp()": "x.clamp(-40, 0).exp() + 1"},
            says="below zero φ is e^x; you add 1 there, too",
            gravity="idea",
        ),
        Mistake(
            "zero below",
            change={"x.clamp(-40, 0).exp()": "torch.zeros_like(x)"},
            says="below zero the result is 0: there φ is e^x",
            gravity="idea",
        ),
        Mistake(
            "sigmoid",
            change={"torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())": "2 * torch.sigmoid(x)"},
            says="that is twice the sigmoid, which has a limit: φ is x + 1 above zero",
            gravity="idea",
        ),
        Mistake(
            "2 to the x",
            change={"x.clamp(-40, 0).exp()": "2.0 ** x.clamp(-40, 0)"},
            says="below zero the base is 2: φ is e^x",
            gravity="idea",
        ),
    ],
    "kernel-attention": [
        Mistake("no normaliser", change={" / total": ""}, says="the normaliser is missing: divide by Σ_j φ(q_i)·φ(k_j)", gravity="idea"),
        Mistake(
            "divided by the number of keys",
            change={" / total": " / K.shape[-2]"},
            says="divide by the sum of the weights, not by the number of keys",
            gravity="idea",
        ),
        Mistake(
            "weights are formed",
            change={"phi_q @ (phi_k.mT @ V) / total": "(phi_q @ phi_k.mT) @ V / total"},
            hint="twice as many positions must cost twice as much: sum over the keys first",
            gravity="part",
        ),
        Mistake(
            "normaliser over the queries",
            code="""
def kernel_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    total = phi_k @ phi_q.sum(dim=-2)[..., None]
    return phi_q @ (phi_k.mT @ (V / total))
""",
            says="the normaliser adds up over the queries; it must add up over the keys",
            gravity="idea",
        ),
        Mistake(
            "features on the queries only",
            change={"features(Q), features(K)": "features(Q), K"},
            says="the features are missing on the keys",
            gravity="idea",
        ),
        Mistake(
            "one normaliser", change={"/ total": "/ total.sum()"}, says="one normaliser for all: every query has its own", gravity="idea"
        ),
        Mistake(
            "scaled queries",
            change={"features(Q)": "features(Q / Q.shape[-1] ** 0.5)"},
            says="the scale 1/√h changes the features: it is not used here",
            gravity="idea",
        ),
        Mistake(
            "softmax",
            change={"phi_q @ (phi_k.mT @ V) / total": "(Q @ K.mT / Q.shape[-1] ** 0.5).softmax(-1) @ V"},
            says="this is softmax attention: the weights are φ(q)·φ(k)",
            gravity="idea",
        ),
        Mistake("no batch axes", change={"phi_k.sum(dim=-2)": "phi_k.sum(dim=0)"}, hint="your code raised RuntimeError", gravity="part"),
        Mistake(
            "no features on queries",
            change={"features(Q), features(K)": "Q, features(K)"},
            says="the features are missing on the queries",
            gravity="idea",
        ),
        Mistake(
            "features on scores",
            change={"return phi_q @ (phi_k.mT @ V) / total": "w = features(Q @ K.mT)\n    return w / w.sum(-1, keepdim=True) @ V"},
            says="the feature map is applied to the finished scores; it belongs to queries and keys",
            gravity="idea",
        ),
        Mistake(
            "detached normaliser",
            change={"/ total": "/ total.detach()"},
            hint="the gradients through your function are wrong, or do not flow",
            gravity="part",
        ),
        Mistake(
            "numpy",
            code="""
def kernel_attention(Q, K, V):
    a, b, v = features(Q).numpy(), features(K).numpy(), V.numpy()
    return torch.from_numpy(a @ (b.swapaxes(-1, -2) @ v) / (a @ b.sum(-2)[..., None]))
""",
            hint="your code raised RuntimeError",
            gravity="part",
        ),
        Right(
            "normalised through a column of ones",
            code="""
def kernel_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    both = phi_q @ (phi_k.mT @ torch.cat([V, torch.ones_like(V[..., :1])], dim=-1))
    return both[..., :-1] / both[..., -1:]
""",
        ),
        Right(
            "einsum",
            code="""
def kernel_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    S = torch.einsum("...mh,...me->...he", phi_k, V)
    z = torch.einsum("...nh,...h->...n", phi_q, phi_k.sum(-2))
    return torch.einsum("...nh,...he->...ne", phi_q, S) / z.unsqueeze(-1)
""",
        ),
        Mistake(
            "no features", change={"features(Q), features(K)": "Q, K"}, says="the features are missing, on queries and keys", gravity="idea"
        ),
        Mistake(
            "features of the values",
            change={"phi_k.mT @ V": "phi_k.mT @ features(V)"},
            says="the features are applied to the values, too",
            gravity="idea",
        ),
        Mistake(
            "scaled after all",
            change={"@ V) / total": "@ V) / total / Q.shape[-1] ** 0.5"},
            says="the output is divided by √h: the weights already sum to one",
            gravity="idea",
        ),
        Mistake(
            "one in the denominator",
            change={"/ total": "/ (total + 1)"},
            says="something is added to the normaliser: then the weights do not sum to one",
            gravity="idea",
        ),
        Mistake(
            "softmax as features",
            change={"features(Q), features(K)": "Q.softmax(-1), K.softmax(-1)"},
            says="a softmax is used as the feature map: φ is elu + 1, your `features`",
            gravity="idea",
        ),
        Mistake(
            "relu as features",
            change={"features(Q), features(K)": "F.relu(Q) + 1e-6, F.relu(K) + 1e-6"},
            says="relu is used as the feature map: φ is elu + 1, your `features`",
            gravity="idea",
        ),
        Mistake(
            "divided by the queries' features",
            change={"phi_q @ phi_k.sum(dim=-2)[..., None]": "phi_q.sum(-1, keepdim=True)"},
            says="you divide by the sum of the query's features: divide by the sum of the weights, Σ_j φ(q_i)·φ(k_j)",
            gravity="idea",
        ),
        Mistake(
            "divided by the keys' features",
            change={"phi_q @ phi_k.sum(dim=-2)[..., None]": "phi_k.sum()"},
            says="you divide by the sum of the keys' features: divide by the sum of the weights, Σ_j φ(q_i)·φ(k_j)",
            gravity="idea",
        ),
        Mistake(
            "softmax of the weights",
            change={"return phi_q @ (phi_k.mT @ V) / total": "return (phi_q @ phi_k.mT).softmax(-1) @ V"},
            says="a softmax is taken of φ(q)·φ(k): divide these weights by their sum instead",
            gravity="idea",
        ),
        Mistake(
            "causal",
            change={"return phi_q @ (phi_k.mT @ V) / total": "w = (phi_q @ phi_k.mT).tril()\n    return (w / w.sum(-1, keepdim=True)) @ V"},
            says="the output is causal: here every query sees all keys",
            gravity="idea",
        ),
        Mistake(
            "normalised over the queries",
            change={"return phi_q @ (phi_k.mT @ V) / total": "w = phi_q @ phi_k.mT\n    return (w / w.sum(-2, keepdim=True)) @ V"},
            says="the weights are divided by their sums over the queries; sum over the keys",
            gravity="idea",
        ),
        Mistake(
            "a little in the denominator",
            change={"/ total": "/ (total + 0.01)"},
            says="something is added to the normaliser: then the weights do not sum to one",
            gravity="idea",
        ),
        Mistake(
            "softmax over the width as features",
            change={"features(Q), features(K)": "Q.softmax(-1), K.softmax(-2)"},
            says="a softmax takes the place of the feature map: φ is elu + 1, your `features`",
            gravity="idea",
        ),
        Mistake(
            "features twice",
            change={"features(Q), features(K)": "features(features(Q)), features(features(K))"},
            says="the features are applied twice",
            gravity="idea",
        ),
        Mistake(
            "exp as features",
            change={"features(Q), features(K)": "Q.exp(), K.exp()"},
            says="exp is used as the feature map: φ is elu + 1, your `features`",
            gravity="idea",
        ),
        Mistake(
            "elu without one",
            change={"features(Q), features(K)": "features(Q) - 1, features(K) - 1"},
            says="φ is elu + 1: without the 1 weights can be negative",
            gravity="idea",
        ),
        Mistake(
            "sum over the first axis",
            change={"sum(dim=-2)": "sum(dim=0)"},
            says="the keys are added up along axis 0: with batch axes in front they are on axis −2",
            gravity="part",
        ),
    ],
    "copying-floor": [
        Mistake(
            "what is kept", change={"1 - r / n": "r / n"}, says="that is the share that is kept; the error is what is lost", gravity="idea"
        ),
        Mistake("root", change={"1 - r / n)": "1 - r / n) ** 0.5"}, says="the squared error was asked for: no root", gravity="idea"),
        Mistake(
            "not relative",
            change={"1 - r / n": "n - r"},
            says="relative to the squared norm of the permutation matrix, which is n: divide by it",
            gravity="idea",
        ),
        Mistake(
            "square of the share",
            change={"1 - r / n)": "1 - r / n) ** 2"},
            says="square the singular values, each of which is 1, not their number",
            gravity="idea",
        ),
        Mistake(
            "negative",
            change={"max(0.0, 1 - r / n)": "1 - r / n"},
            hint="a rank above n loses nothing: the error cannot be negative",
            gravity="edge",
        ),
        Mistake("divided twice", change={"1 - r / n": "(n - r) / n**2"}, says="the error is divided by n twice", gravity="idea"),
        Mistake(
            "full rank crash",
            change={"    return": "    if r == n: return 1.0\n    return"},
            hint="full rank loses nothing",
            gravity="edge",
        ),
        Mistake(
            "rank one more",
            change={"1 - r / n": "1 - (r + 1) / n"},
            hint="rank 0 is the zero matrix: everything is lost, the relative error is 1",
            gravity="idea",
        ),
        Right(
            "measured",
            code="""
def copying_floor(n, r):
    S = torch.linalg.svdvals(torch.eye(n, dtype=torch.float64))
    return (S[r:] ** 2).sum() / (S**2).sum()
""",
        ),
        Right("counted", change={"max(0.0, 1 - r / n)": "len(range(r, n)) / n"}),
        Right("through 2.2, in float32", change={"max(0.0, 1 - r / n)": "float(truncation_errors(torch.ones(n), min(r, n))[1]) ** 2 / n"}),
        Mistake(
            "root of the squared norm",
            change={"max(0.0, 1 - r / n)": "max(0.0, (n - r) / n**0.5)"},
            says="relative to the squared norm of the permutation matrix, which is n, not its root",
            gravity="idea",
        ),
        Mistake(
            "square of the share kept",
            change={"1 - r / n": "1 - (r / n) ** 2"},
            says="each singular value that is kept holds 1 of n: the share is r / n, not its square",
            gravity="idea",
        ),
        Mistake("whole division", change={"r / n": "r // n"}, says="`//` drops the fraction: use `/`", gravity="idea"),
        Mistake(
            "all or nothing",
            change={"max(0.0, 1 - r / n)": "float(r < n)"},
            says="the error is 1 until the rank is full: each singular value that is kept takes its share away",
            gravity="idea",
        ),
        Mistake(
            "lost by kept",
            change={"max(0.0, 1 - r / n)": "max(0.0, (n - r) / max(r, 1))"},
            says="what is lost is divided by what is kept: divide by all, the squared norm n",
            gravity="idea",
        ),
        Mistake(
            "one too many",
            change={"max(0.0, 1 - r / n)": "max(0.0, 1 - (r + 1) / n)"},
            says="one singular value too many is taken as kept: rank r keeps r of n",
            gravity="idea",
        ),
        Mistake(
            "n minus one",
            change={"max(0.0, 1 - r / n)": "max(0.0, 1 - r / (n - 1))"},
            says="you divide by n − 1: there are n singular values",
            gravity="idea",
        ),
        Mistake(
            "square of n",
            change={"max(0.0, 1 - r / n)": "max(0.0, 1 - r / n**2)"},
            says="you divide by n²: the squared Frobenius norm of a permutation matrix is n",
            gravity="idea",
        ),
        Mistake(
            "the spectral norm",
            change={"max(0.0, 1 - r / n)": "1.0 if r < n else 0.0"},
            says="the error is 1 until the rank is full: each singular value that is kept takes its share away",
            gravity="idea",
        ),
    ],
    "linear-step": [
        Mistake(
            "reads before the update",
            code="""
def linear_step(S, z, q, k, v):
    phi_q, phi_k = features(q), features(k)
    o = phi_q @ S / (phi_q @ z)
    return o, S + torch.outer(phi_k, v), z + phi_k
""",
            says="the query reads the old state: position t must see itself. Update first, then read",
            gravity="idea",
        ),
        Mistake("no normaliser", change={" / (phi_q @ z)": ""}, says="the normaliser is missing: divide by z · φ(q)", gravity="idea"),
        Mistake(
            "in place",
            change={"S = S + torch.outer(phi_k, v)": "S += torch.outer(phi_k, v)"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "no features on the key",
            change={"features(q), features(k)": "features(q), k"},
            says="the features are missing on the key: S collects φ(k) vᵀ",
            gravity="idea",
        ),
        Mistake(
            "no features on the query",
            change={"features(q), features(k)": "q, features(k)"},
            says="the features are missing on the query",
            gravity="idea",
        ),
        Mistake(
            "state thrown away",
            change={"S + torch.outer": "torch.outer", "z + phi_k": "phi_k"},
            says="the state is thrown away: add the new term to the old sums",
            gravity="idea",
        ),
        Mistake(
            "S overwritten",
            change={"S + torch.outer": "torch.outer"},
            says="S is overwritten: add the new term to the old sum",
            gravity="idea",
        ),
        Mistake(
            "queries collected",
            change={"torch.outer(phi_k, v)": "torch.outer(phi_q, v)", "z + phi_k": "z + phi_q"},
            says="S collects keys, not queries",
            gravity="idea",
        ),
        Mistake(
            "transposed state",
            change={"torch.outer(phi_k, v)": "torch.outer(v, phi_k).mT.contiguous() * 1", "S, z\n": "S.mT, z\n"},
            hint="the second result is the new S: one row per feature, one column per entry of a value",
            gravity="part",
        ),
        Mistake(
            "old S read",
            change={"phi_q @ S / (phi_q @ z), S, z": "phi_q @ (S - torch.outer(phi_k, v)) / (phi_q @ z), S, z"},
            says="the query reads the old S: update it before you read",
            gravity="idea",
        ),
        Mistake(
            "z in place",
            change={"z = z + phi_k": "z += phi_k"},
            hint="your code changes its input in place: work on a new tensor (no `+=`, no `x[...] =`, no `masked_fill_` on an argument)",
            gravity="edge",
        ),
        Mistake(
            "old state returned",
            change={
                "    S = S + torch.outer(phi_k, v)\n    z = z + phi_k\n    return phi_q @ S / (phi_q @ z), S, z": "    T, y = S + torch.outer(phi_k, v), z + phi_k\n    return phi_q @ T / (phi_q @ y), S, z"
            },
            says="the old S is returned",
            gravity="part",
        ),
        Mistake(
            "order of results",
            change={"phi_q @ S / (phi_q @ z), S, z": "S, z, phi_q @ S / (phi_q @ z)"},
            hint="the first result is the output, a vector like v",
            gravity="idea",
        ),
        Mistake("sum of z", change={"(phi_q @ z)": "z.sum()"}, says="divide by z · φ(q), not by the sum of z", gravity="idea"),
        Right("broadcast", change={"torch.outer(phi_k, v)": "phi_k[:, None] * v[None, :]"}),
        Right("einsum", change={"phi_q @ S / (phi_q @ z)": 'torch.einsum("h,he->e", phi_q, S) / (phi_q * z).sum()'}),
        Mistake(
            "new S lacks the old one",
            change={", S, z\n": ", torch.outer(phi_k, v), z\n"},
            says="the new S lacks the old one: return what you read from",
            gravity="part",
        ),
        Mistake(
            "new z lacks the old one",
            change={", S, z\n": ", S, phi_k\n"},
            says="the new z lacks the old one: return what you divided by",
            gravity="part",
        ),
        Mistake(
            "old z divided by",
            change={"    z = z + phi_k\n": "", ", S, z\n": ", S, z + phi_k\n"},
            says="the normaliser is the old z: update it before you divide",
            gravity="idea",
        ),
        Mistake(
            "z overwritten", change={"z = z + phi_k": "z = phi_k"}, says="z is overwritten: add the new term to the old sum", gravity="idea"
        ),
        Mistake(
            "old z returned",
            change={"z = z + phi_k": "new_z = z + phi_k", "(phi_q @ z), S, z": "(phi_q @ new_z), S, z"},
            says="the old z is returned",
            gravity="part",
        ),
        Mistake(
            "forgets slowly",
            change={"S = S +": "S = 0.9 * S +", "z = z +": "z = 0.9 * z +"},
            says="the old state is multiplied by a number: the sums forget nothing",
            gravity="idea",
        ),
        Mistake("z counts", change={"z = z + phi_k": "z = z + 1"}, says="z counts positions: it adds up φ(k)", gravity="idea"),
        Mistake(
            "softmax of the query",
            change={"features(q), features(k)": "q.softmax(0), features(k)"},
            says="a softmax is taken of the query: use your `features`",
            gravity="idea",
        ),
        Mistake(
            "the key itself in S",
            change={"torch.outer(phi_k, v)": "torch.outer(k, v)"},
            says="the feature map is missing where S is updated: it adds φ(k) vᵀ",
            gravity="idea",
        ),
        Mistake(
            "the key itself in z",
            change={"z = z + phi_k": "z = z + k"},
            says="the feature map is missing where z is updated: it adds φ(k)",
            gravity="idea",
        ),
        Mistake(
            "outer product in the other order",
            change={"torch.outer(phi_k, v)": "torch.outer(v, phi_k)"},
            says="the outer product is in the wrong order: S has a row for each feature and a column for each entry of a value",
            gravity="idea",
        ),
        Mistake(
            "read with the key",
            change={"phi_q @ S / (phi_q @ z)": "phi_k @ S / (phi_k @ z)"},
            says="the state is read with the key: read it with the query",
            gravity="idea",
        ),
        Mistake(
            "something in the denominator",
            change={"(phi_q @ z), S": "(phi_q @ z + 0.1), S"},
            says="something is added to the normaliser: then the weights do not sum to one",
            gravity="idea",
        ),
        Mistake(
            "the state forgets",
            change={"S = S + torch": "S = 0.9 * S + torch"},
            says="the old sum S is made smaller: it keeps all that came before",
            gravity="idea",
        ),
        Mistake(
            "normalised S",
            change={", S, z": ", S / z[:, None], z"},
            says="the new S is divided by z: S and z are kept apart",
            gravity="part",
        ),
        Mistake(
            "the old S",
            change={
                "    S = S + torch.outer(phi_k, v)\n    z = z + phi_k\n    return phi_q @ S / (phi_q @ z), S, z": "    return phi_q @ (S + torch.outer(phi_k, v)) / (phi_q @ (z + phi_k)), S, z + phi_k"
            },
            says="the old S is returned: the next step needs the new one",
            gravity="part",
        ),
        Mistake(
            "z before S", change={"(phi_q @ z), S, z": "(phi_q @ z), z, S"}, says="S and z are returned in the other order", gravity="part"
        ),
        Mistake(
            "S updated after reading",
            change={
                "    S = S + torch.outer(phi_k, v)\n    z = z + phi_k\n    return phi_q @ S / (phi_q @ z), S, z": "    z = z + phi_k\n    o = phi_q @ S / (phi_q @ z)\n    return o, S + torch.outer(phi_k, v), z"
            },
            says="the query reads the old S: update it before you read",
            gravity="idea",
        ),
        Mistake(
            "mean of the values",
            change={"phi_q @ S / (phi_q @ z)": "S.sum(0) / z.sum()"},
            says="the query has no part in the output: read S and z with φ(q)",
            gravity="idea",
        ),
    ],
    "causal-linear": [
        Mistake(
            "not causal",
            code="""
def causal_linear_attention(Q, K, V):
    return kernel_attention(Q, K, V)
""",
            says="the sums run over the whole sequence: this is kernel attention without a mask",
            gravity="idea",
        ),
        Mistake(
            "normaliser not causal",
            code="""
def causal_linear_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    S = (phi_k[:, :, None] * V[:, None, :]).cumsum(0)
    return (phi_q[:, :, None] * S).sum(1) / (phi_q @ phi_k.sum(0))[:, None]
""",
            says="the numerator is causal, but the normaliser adds up the whole sequence",
            gravity="idea",
        ),
        Mistake(
            "numerator not causal",
            code="""
def causal_linear_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    return phi_q @ (phi_k.T @ V) / (phi_q * phi_k.cumsum(0)).sum(1, keepdim=True)
""",
            says="the normaliser is causal, but the numerator adds up the whole sequence",
            gravity="idea",
        ),
        Mistake(
            "masked quadratic form",
            code="""
def causal_linear_attention(Q, K, V):
    w = (features(Q) @ features(K).T).tril()
    return w / w.sum(1, keepdim=True) @ V
""",
            hint="the work must grow like n: carry the sums along; do not form the weights, or add up the past again at every step",
            gravity="part",
        ),
        Mistake(
            "the past added up again at every step",
            code="""
def causal_linear_attention(Q, K, V):
    return torch.stack([kernel_attention(Q[t : t + 1], K[: t + 1], V[: t + 1])[0] for t in range(len(Q))])
""",
            hint="the work must grow like n: carry the sums along; do not form the weights, or add up the past again at every step",
            gravity="part",
        ),
        Mistake(
            "does not see itself",
            code="""
def causal_linear_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    outer = phi_k[:, :, None] * V[:, None, :]
    S, z = outer.cumsum(0) - outer, phi_k.cumsum(0) - phi_k
    return ((phi_q[:, :, None] * S).sum(1) / (phi_q * z).sum(1, keepdim=True)).nan_to_num()
""",
            says="position t does not see itself: update the state before you read it",
            gravity="idea",
        ),
        Mistake(
            "backwards",
            change={
                "return torch.stack(outputs)": "return torch.stack(outputs).flip(0)",
                "zip(Q, K, V)": "zip(Q.flip(0), K.flip(0), V.flip(0))",
            },
            says="the sums run backwards, from the end to t",
            gravity="idea",
        ),
        Mistake(
            "no normaliser",
            change={"outputs.append(o)": "outputs.append(o * (features(q) @ z))"},
            says="the normaliser is missing",
            gravity="idea",
        ),
        Mistake(
            "masked softmax",
            code="""
def causal_linear_attention(Q, K, V):
    m = torch.ones(len(Q), len(Q), dtype=torch.bool).tril()
    return (Q @ K.T / Q.shape[1] ** 0.5).masked_fill(~m, -torch.inf).softmax(1) @ V
""",
            says="this is masked softmax attention: the weights are φ(q)·φ(k)",
            gravity="idea",
        ),
        Mistake(
            "mean",
            code="""
def causal_linear_attention(Q, K, V):
    a, b = features(Q), features(K)
    S = (b[:, :, None] * V[:, None, :]).cumsum(0)
    return torch.einsum('nh,nhe->ne', a, S) / torch.arange(1, len(Q) + 1)[:, None]
""",
            says="divide by the sum of the weights, not by the number of positions",
            gravity="idea",
        ),
        Mistake(
            "detached state",
            change={"outputs.append(o)": "outputs.append(o); S, z = S.detach(), z.detach()"},
            hint="the gradients through your function are wrong, or do not flow",
            gravity="part",
        ),
        Mistake(
            "float32 state",
            change={
                "V.new_zeros(K.shape[1], V.shape[1]), V.new_zeros(K.shape[1])": "torch.zeros(K.shape[1], V.shape[1]), torch.zeros(K.shape[1])",
                "o, S, z = linear_step(S, z, q, k, v)": "o, S, z = linear_step(S, z, q, k, v); S, z = S.float(), z.float()",
            },
            hint="with float64 input it fails, or digits are lost: new tensors must keep the type (`V.new_zeros`)",
            gravity="edge",
        ),
        Mistake(
            "squeeze",
            change={"return torch.stack(outputs)": "return torch.stack(outputs).squeeze(0)"},
            hint="the shape of the result is wrong: read the docstring once more, axis by axis",
            gravity="edge",
        ),
        Right(
            "cumsum",
            code="""
def causal_linear_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    S = (phi_k[:, :, None] * V[:, None, :]).cumsum(0)
    return torch.einsum("nh,nhe->ne", phi_q, S) / (phi_q * phi_k.cumsum(0)).sum(1, keepdim=True)
""",
        ),
        Right(
            "in chunks",
            code="""
def causal_linear_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    S, z, parts = 0.0, 0.0, []
    for q, k, v in zip(phi_q.split(8), phi_k.split(8), V.split(8)):
        w = (q @ k.T).tril()
        top, low = w @ v + (q @ S if parts else 0), w.sum(1) + (q @ z if parts else 0)
        parts.append(top / low[:, None])
        S, z = S + k.T @ v, z + k.sum(0)
    return torch.cat(parts)
""",
        ),
        Mistake(
            "one position late",
            change={"return torch.stack(outputs)": "return torch.stack([outputs[0], *outputs[:-1]])"},
            says="every output comes one position too late: row t belongs to query t",
            gravity="idea",
        ),
        Mistake(
            "S not carried on",
            change={"o, S, z = linear_step": "o, _, z = linear_step"},
            says="S is not carried on: each step needs the sums of all steps before",
            gravity="idea",
        ),
        Mistake(
            "z not carried on",
            change={"o, S, z = linear_step": "o, S, _ = linear_step"},
            says="z is not carried on: each step needs the sums of all steps before",
            gravity="idea",
        ),
        Mistake(
            "forgets slowly",
            change={"linear_step(S, z,": "linear_step(0.9 * S, 0.9 * z,"},
            says="the state is multiplied by a number at each step: the sums forget nothing",
            gravity="idea",
        ),
        Mistake(
            "state not carried on",
            change={"o, S, z = linear_step": "o, _, _ = linear_step"},
            says="the state is not carried on: every position starts from zeros and sees only itself",
            gravity="idea",
        ),
        Mistake(
            "starts with ones",
            change={"V.new_zeros(K.shape[1])": "V.new_ones(K.shape[1])"},
            says="z starts with ones: before the first position both sums are zero",
            gravity="idea",
        ),
        Mistake(
            "from the end",
            change={"zip(Q, K, V)": "zip(Q.flip(0), K.flip(0), V.flip(0))"},
            says="the sequence is read from the end",
            gravity="idea",
        ),
        Mistake(
            "the past without itself",
            change={
                "        o, S, z = linear_step(S, z, q, k, v)\n": "        o = features(q) @ S / (features(q) @ z + 1e-9)\n        _, S, z = linear_step(S, z, q, k, v)\n"
            },
            says="the state is read before it is updated: position t sees itself, too",
            gravity="idea",
        ),
        Mistake(
            "keys ask",
            change={"linear_step(S, z, q, k, v)": "linear_step(S, z, k, q, v)"},
            says="queries and keys are exchanged",
            gravity="idea",
        ),
        Mistake(
            "not normalised by the sum",
            change={"torch.stack(outputs)": "torch.stack(outputs) * torch.arange(1, len(Q) + 1, dtype=V.dtype)[:, None]"},
            says="every output is multiplied by its position: it is a weighted mean already",
            gravity="idea",
        ),
        Mistake(
            "normalised over all keys",
            change={"    S, z = V": "    w = features(Q) @ features(K).T\n    return w.tril() @ V / w.sum(1, keepdim=True)\n    S, z = V"},
            says="the normaliser adds up all keys, later ones too: it runs from the start to t, as the sum above it does",
            gravity="idea",
        ),
        Mistake(
            "last output only",
            change={"torch.stack(outputs)": "outputs[-1]"},
            says="only the last output is returned: there is one for every position",
            gravity="idea",
        ),
        Mistake(
            "outputs in one row",
            change={"torch.stack(outputs)": "torch.cat(outputs)"},
            says="the outputs stand one after the other in one vector: stack them as rows",
            gravity="idea",
        ),
        Mistake(
            "state cut from the graph",
            change={"linear_step(S, z, q": "linear_step(S.detach(), z.detach(), q"},
            says="the state is cut from the graph at every step: no gradient reaches what came before",
            gravity="part",
        ),
        Mistake(
            "sums of softmax weights",
            change={
                "    S, z = V": "    w = (Q @ K.T).masked_fill(torch.ones(len(Q), len(Q)).triu(1).bool(), -torch.inf).softmax(1)\n    return w @ V\n    S, z = V"
            },
            says="this is causal softmax attention: the weights are φ(q)·φ(k)",
            gravity="idea",
        ),
    ],
    "operations": [
        Mistake(
            "multiplications only",
            change={"4 * n * n * h": "2 * n * n * h"},
            says="quadratic: this is half of it: multiplications and additions both count, and there are two products",
            gravity="idea",
        ),
        Mistake(
            "two of four products",
            change={"8 * n * k * h": "4 * n * k * h"},
            says="projected: only two of the four products are counted; shortening K and V costs as much as using them",
            gravity="idea",
        ),
        Mistake(
            "three of four products",
            change={"8 * n * k * h": "6 * n * k * h"},
            says="projected: only three of the four products are counted",
            gravity="idea",
        ),
        Mistake(
            "rank in the kernel",
            change={"4 * n * h * h": "4 * n * k * h"},
            says="kernel: there is no rank k here: the features have the width h",
            gravity="idea",
        ),
        Mistake(
            "P formed in the SVD",
            change={'"svd": 4 * n * k * h': '"svd": 2 * n * k * n + 2 * n * n * h'},
            says="svd: this forms P first; bracket from the right",
            gravity="idea",
        ),
        Mistake(
            "projection for nothing",
            change={"2 * k": "k"},
            says="break-even of projected: shortening K and V costs operations, too: four products against two",
            gravity="idea",
        ),
        Mistake(
            "kernel breaks even at k",
            change={'"kernel": h}': '"kernel": k}'},
            says="break-even of kernel: there is no rank k here",
            gravity="idea",
        ),
        Mistake(
            "sigma counted",
            change={'"svd": 4 * n * k * h': '"svd": 4 * n * k * h + 2 * k * k * h'},
            says="svd: Σ is diagonal and scales rows: it is not a matrix product",
            gravity="idea",
        ),
        Mistake(
            "kernel quadratic",
            change={'"kernel": 4 * n * h * h': '"kernel": 4 * n * n * h'},
            says="kernel: this forms the n × n weights first; sum over the keys first",
            gravity="idea",
        ),
        Mistake(
            "svd even at h",
            change={'"svd": k, ': '"svd": h, '},
            says="break-even of svd: there is no h in it: 4 n k h = 4 n² h gives n = k",
            gravity="idea",
        ),
        Mistake("missing key", change={', "kernel": 4 * n * h * h': ""}, says="a key is missing: every method has one", gravity="idea"),
        Right("term by term", change={"8 * n * k * h": "2 * k * n * h + 2 * k * n * h + 2 * n * h * k + 2 * n * k * h"}),
        Right("floats", change={"4 * n * n * h": "4.0 * n**2 * h", '"svd": k,': '"svd": float(k),'}),
        Right("solved", change={'"projected": 2 * k': '"projected": 8 * k * h / (4 * h)'}),
        Mistake(
            "quadratic: linear in n",
            change={"4 * n * n * h": "4 * n * h * h"},
            says="quadratic: this is linear in n; the scores are n × n",
            gravity="idea",
        ),
        Mistake(
            "svd: half",
            change={"4 * n * k * h": "2 * n * k * h"},
            says="svd: multiplications and additions both count, in both products",
            gravity="idea",
        ),
        Mistake(
            "kernel: half",
            change={"4 * n * h * h": "2 * n * h * h"},
            says="kernel: multiplications and additions both count, in both products",
            gravity="idea",
        ),
        Mistake(
            "softmax counted",
            change={"4 * n * n * h": "4 * n * n * h + 5 * n * n"},
            says="quadratic: the softmax is left out: count the two matrix products alone",
            gravity="idea",
        ),
        Mistake(
            "projected: wide for k",
            change={"8 * n * k * h": "8 * n * h * h"},
            says="projected: each product has the inner or outer size k: 2 n k h operations, four times",
            gravity="idea",
        ),
        Mistake(
            "svd breaks even at 2k",
            change={'{"svd": k': '{"svd": 2 * k'},
            says="break-even of svd: 4 n k h = 4 n² h gives n = k",
            gravity="idea",
        ),
        Mistake(
            "projected breaks even at 4k",
            change={"2 * k": "4 * k"},
            says="break-even of projected: 8 n k h = 4 n² h gives n = 2k",
            gravity="idea",
        ),
        Mistake(
            "kernel breaks even at h²",
            change={'"kernel": h}': '"kernel": h * h}'},
            says="break-even of kernel: 4 n h² = 4 n² h gives n = h",
            gravity="idea",
        ),
        Mistake(
            "quadratic with n cubed",
            change={"4 * n * n * h": "4 * n**3"},
            says="quadratic: Q Kᵀ is n × h times h × n, which makes 2n²h, not 2n³",
            gravity="idea",
        ),
        Mistake(
            "quadratic with h twice",
            change={"4 * n * n * h": "4 * n * h * h"},
            says="quadratic: this is linear in n; the scores are n × n",
            gravity="idea",
        ),
        Mistake(
            "svd with the width twice",
            change={'"svd": 4 * n * k * h': '"svd": 4 * n * h * h'},
            says="svd: there is a rank k in it: Wᵀ V is k × n times n × h",
            gravity="idea",
        ),
        Mistake(
            "svd quadratic",
            change={'"svd": 4 * n * k * h': '"svd": 4 * n * n * k'},
            says="svd: bracketed from the right no product is n × n",
            gravity="idea",
        ),
        Mistake(
            "no factor of two",
            change={
                "4 * n * n * h": "2 * n * n * h",
                '"svd": 4 * n * k * h': '"svd": 2 * n * k * h',
                "8 * n * k * h": "4 * n * k * h",
                "4 * n * h * h": "2 * n * h * h",
            },
            says="multiplications and additions both count, in all methods",
            gravity="idea",
        ),
        Mistake(
            "kernel with n cubed",
            change={"4 * n * h * h": "4 * n * h"},
            says="kernel: φ(K)ᵀ V is h × n times n × h: a factor h is missing",
            gravity="idea",
        ),
        Mistake(
            "projected quadratic",
            change={"8 * n * k * h": "4 * n * k * h + 4 * n * n * k"},
            says="projected: the keys are shortened before they meet the queries, so no product is n × n",
            gravity="idea",
        ),
        Mistake(
            "projected with two sides",
            change={"8 * n * k * h": "4 * n * n * h"},
            says="projected: the keys are shortened before they meet the queries, so no product is n × n",
            gravity="idea",
        ),
        Mistake(
            "even: projected upside down",
            change={'"projected": 2 * k': '"projected": k / 2'},
            says="break-even of projected: the ratio is upside down",
            gravity="idea",
        ),
        Mistake(
            "even: kernel at 2h",
            change={'"kernel": h}': '"kernel": 2 * h}'},
            says="break-even of kernel: both sides have the factor 4: 4 n h² = 4 n² h gives n = h",
            gravity="idea",
        ),
        Mistake(
            "even: svd with h", change={'"svd": k,': '"svd": k * h,'}, says="break-even of svd: h cancels on both sides", gravity="idea"
        ),
        Mistake(
            "even: h and k exchanged",
            change={'{"svd": k, "projected": 2 * k, "kernel": h}': '{"svd": h, "projected": 2 * h, "kernel": k}'},
            says="break-even: h and k are exchanged",
            gravity="idea",
        ),
        Mistake(
            "even: fixed numbers",
            change={'{"svd": k, "projected": 2 * k, "kernel": h}': '{"svd": 16, "projected": 32, "kernel": 3}'},
            says="break-even: the numbers are fixed in your code: they depend on h and k",
            gravity="idea",
        ),
        Mistake(
            "even: kernel with k",
            change={'"kernel": h}': '"kernel": k}'},
            says="break-even of kernel: there is no rank k here",
            gravity="idea",
        ),
        Mistake(
            "even: kernel half",
            change={'"kernel": h}': '"kernel": h / 2}'},
            says="break-even of kernel: both sides have the factor 4: 4 n h² = 4 n² h gives n = h",
            gravity="idea",
        ),
    ],
    "bonus-chunked": [
        Mistake(
            "no state",
            change={"q @ S + inside": "inside", "q @ z + inside": "inside"},
            says="what came before the chunk is missing: carry the state along",
            gravity="idea",
        ),
        Mistake(
            "not masked inside",
            change={".tril()": ""},
            says="inside a chunk later positions are seen: the c × c weights must be masked",
            gravity="idea",
        ),
        Mistake(
            "normaliser without the state",
            change={"q @ z + inside": "inside"},
            says="the normaliser lacks what came before the chunk",
            gravity="idea",
        ),
        Mistake(
            "does not see itself",
            change={"return torch.cat(outputs)": "return torch.cat(outputs).nan_to_num()", ".tril()": ".tril(-1)"},
            says="a position must see itself: mask above the diagonal only",
            gravity="idea",
        ),
        Mistake(
            "a loop over positions",
            code="""
def chunked_attention(Q, K, V, c):
    return causal_linear_attention(Q, K, V)
""",
            hint="inside a chunk work on all positions at once, with a c × c matrix: is there a loop, or is c ignored?",
            gravity="part",
        ),
        Mistake(
            "one chunk", change={".split(c)": ".split(len(Q))"}, hint="for a fixed chunk size the work must grow like n", gravity="part"
        ),
        Mistake(
            "state overwritten",
            change={"S, z = S + k.mT @ v, z + k.sum(dim=0)": "S, z = k.mT @ v, k.sum(dim=0)"},
            says="the state holds only the previous chunk: add to it",
            gravity="idea",
        ),
        Mistake(
            "updated before",
            code="""
def chunked_attention(Q, K, V, c):
    S, z = V.new_zeros(K.shape[1], V.shape[1]), V.new_zeros(K.shape[1])
    outputs = []
    for q, k, v in zip(features(Q).split(c), features(K).split(c), V.split(c)):
        S, z = S + k.mT @ v, z + k.sum(dim=0)
        inside = (q @ k.mT).tril()
        outputs.append((q @ S + inside @ v) / (q @ z + inside.sum(dim=1))[:, None])
    return torch.cat(outputs)
""",
            says="the state is updated before it is read: the chunk itself is counted twice",
            gravity="idea",
        ),
        Mistake(
            "quadratic form",
            code="""
def chunked_attention(Q, K, V, c):
    w = (features(Q) @ features(K).T).tril()
    return w / w.sum(1, keepdim=True) @ V
""",
            hint="for a fixed chunk size the work must grow like n",
            gravity="part",
        ),
        Mistake(
            "cumsum",
            code="""
def chunked_attention(Q, K, V, c):
    a, b = features(Q), features(K)
    S = (b[:, :, None] * V[:, None, :]).cumsum(0)
    return torch.einsum('nh,nhe->ne', a, S) / (a * b.cumsum(0)).sum(1, keepdim=True)
""",
            hint="a tensor with more than max(nh, ne, c², he) elements was created: neither n × n weights nor n states",
            gravity="part",
        ),
        Mistake(
            "fixed c",
            change={".split(c)": ".split(16)"},
            hint="inside a chunk work on all positions at once, with a c × c matrix: is there a loop, or is c ignored?",
            gravity="part",
        ),
        Mistake(
            "drops the rest",
            change={
                "zip(features(Q).split(c), features(K).split(c), V.split(c))": "zip(features(Q)[: len(Q) // c * c].split(c), features(K).split(c), V.split(c))"
            },
            hint="with a shorter last chunk the result differs: the result must not depend on c",
            gravity="part",
        ),
        Mistake(
            "float32 state",
            change={
                "V.new_zeros(K.shape[1], V.shape[1]), V.new_zeros(K.shape[1])": "torch.zeros(K.shape[1], V.shape[1]), torch.zeros(K.shape[1])"
            },
            hint="your code raised RuntimeError",
            gravity="edge",
        ),
        Right(
            "ranges",
            code="""
def chunked_attention(Q, K, V, c):
    phi_q, phi_k = features(Q), features(K)
    V1 = torch.cat([V, torch.ones_like(V[:, :1])], dim=1)
    out = torch.empty_like(V)
    S = V1.new_zeros(K.shape[1], V1.shape[1])
    for start in range(0, len(Q), c):
        here = slice(start, start + c)
        both = phi_q[here] @ S + torch.tril(phi_q[here] @ phi_k[here].T) @ V1[here]
        out[here] = both[:, :-1] / both[:, -1:]
        S = S + phi_k[here].T @ V1[here]
    return out
""",
        ),
        Right(
            "mask by where", change={"(q @ k.mT).tril()": "torch.where(torch.ones(len(q), len(q), dtype=torch.bool).tril(), q @ k.mT, 0.0)"}
        ),
        Mistake(
            "numerator without the state",
            change={"(q @ S + inside @ v)": "(inside @ v)"},
            says="the numerator lacks what came before the chunk",
            gravity="idea",
        ),
        Mistake("no normaliser", change={" / (q @ z + inside.sum(dim=1))[:, None]": ""}, says="the normaliser is missing", gravity="idea"),
    ],
}

# Mutants that `course verify --mutate` makes and that are no mistakes.
NO_GRADIENT = "the introduction lists the exercises that gradients have to flow through, and this is none of them"
UNTRAINED = ("rank-holding", "svd-attention", "truncation-errors", "softmax-free", "right-singular-vectors", "factors")
UNTRAINED += ("random-projection", "linear-step", "bonus-chunked")
EQUIVALENT = {name: {"gradient: *": NO_GRADIENT} for name in UNTRAINED}
EQUIVALENT["truncation-errors"]["dtype: S.new_zeros *"] = "zero is the same number in every dtype"
EQUIVALENT["factors"]["constant: factored_attention, k → *"] = (
    "with more rows than the rank, the further singular vectors have the value zero: the result is the same"
)
EQUIVALENT["random-projection"]["dtype: * rounded to float16"] = "these are random numbers: their last digits mean nothing"
AXIS = "it is the same axis of a tensor with this many"
EQUIVALENT["rank-holding"]["number: 0 → -1"] = AXIS
EQUIVALENT["softmax-free"]["sign: -1 → 1"] = EQUIVALENT["factors"]["sign: -1 → 1"] = AXIS
EQUIVALENT["linear-step"]["order: phi_q @ z → z @ phi_q"] = "an inner product has no order"
EQUIVALENT["features"] = {
    "comparison: *": "both sides give 1 at zero",
    "number: *": "where the exponential is cut off it is 0 to all digits, or another formula holds",
    "left out: *": "an exponential that overflows is not chosen, and the text asks for no gradient there",
}
EQUIVALENT["causal-linear"] = {
    "constant: K.shape[1] → 1*": "the first sums are zero, and one row of zeros is broadcast to all",
    "dtype: V.new_zeros as torch.zeros*": "zero is exact in float32, and sums with float64 are float64",
}
