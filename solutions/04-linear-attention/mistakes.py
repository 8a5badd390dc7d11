"""Wrong answers that the tests of 04-linear-attention must catch, and right ones that they must accept."""

from autograder.authoring.mistakes import Mistake, Right

FEATURES = "torch.where(x > 0, x + 1, x.clamp(-40, 0).exp())"  # the reference

VARIANTS = {
    "rank-holding": [
        Mistake("values not squared", change={".square()": ""}, hint="you add up the singular values"),
        Mistake("an index, not a number", change={") + 1": ")"}, hint="not the index of the last one"),
        Mistake("strictly more than the share", change={"held < share": "held <= share"}, hint="look at < and <="),
        Mistake(
            "compared with the largest value",
            code="""
def rank_holding(S, share):
    return int((S >= share * S[0]).sum())
""",
            hint="compare each singular value with the largest",
        ),
        Mistake("not divided by the total", change={" / S.square().sum()": ""}, hint="divide by the total"),
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
    ],
    "svd-attention": [
        Mistake(
            "P is formed first",
            change={"U @ (S[:, None] * (Wt @ V))": "(U * S) @ Wt @ V"},
            hint="bracket from the right, so that P is never formed",
        ),
        Mistake(
            "P is formed with a full diagonal",
            change={"U @ (S[:, None] * (Wt @ V))": "((U @ torch.diag(S)) @ Wt) @ V"},
            hint="Multiply Wt with V first",
        ),
        Mistake("no singular values", change={"S[:, None] * ": ""}, hint="the singular values are missing"),
        Mistake("singular values twice", change={"U @ (": "(U * S) @ ("}, hint="the singular values are applied twice"),
        Mistake(
            "Wt transposed again", change={"Wt @ V": "(Wt.mT @ V if len(Wt) == Wt.shape[1] else Wt @ V)"}, hint="do not transpose it again"
        ),
        Mistake(
            "in NumPy",
            code="""
def svd_attention(U, S, Wt, V):
    return torch.from_numpy(U.numpy() @ (S.numpy()[:, None] * (Wt.numpy() @ V.numpy())))
""",
            hint="the counter saw almost nothing",
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
    ],
    "truncation-errors": [
        Mistake(
            "last value kept", change={"lost[0] if len(lost) else S.new_zeros(())": "S[k - 1]"}, hint="the last singular value that is kept"
        ),
        Mistake("no root", change={".sum().sqrt()": ".sum()"}, hint="take the root of the sum of squares"),
        Mistake("sum of values", change={"lost.square().sum().sqrt()": "lost.sum()"}, hint="adds up the lost singular values"),
        Mistake("what is kept", change={"lost.square()": "S[:k].square()"}, hint="this is what is kept"),
        Mistake("one too early", change={"lost.square()": "S[k - 1 :].square()"}, hint="start with number k + 1"),
        Mistake("smallest value", change={"lost[0] if": "lost[-1] if"}, hint="this is the smallest singular value"),
        Mistake("nothing lost is an error", change={"lost[0] if len(lost) else S.new_zeros(())": "S[k]"}, hint="not an index error"),
        Right("norms of torch", change={"lost.square().sum().sqrt()": "torch.linalg.vector_norm(lost)"}),
        Right(
            "Python numbers",
            code="""
def truncation_errors(S, k):
    lost = S.tolist()[k:]
    return max(lost, default=0.0), sum(x * x for x in lost) ** 0.5
""",
        ),
    ],
    "softmax-free": [
        Mistake("P is formed first", change={"Q @ (K.mT @ V)": "(Q @ K.mT) @ V"}, hint="which two matrices do you multiply first"),
        Mistake("no scale", change={" / Q.shape[-1] ** 0.5": ""}, hint="the scale 1/√h is missing"),
        Mistake("scale by h", change={"Q.shape[-1] ** 0.5": "Q.shape[-1]"}, hint="scale by the root of h, not by h"),
        Mistake("scale by the keys", change={"Q.shape[-1] ** 0.5": "K.shape[0] ** 0.5"}, hint="not of the number of keys"),
        Mistake("fixed scale", change={"Q.shape[-1] ** 0.5": "2"}, hint="compute it from the shape"),
        Mistake(
            "softmax",
            change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "(Q @ K.mT / Q.shape[-1] ** 0.5).softmax(-1) @ V"},
            hint="there is no softmax in this part",
        ),
        Mistake(
            "float32 scale",
            change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "(Q.float() @ (K.float().mT @ V.float())) / Q.shape[-1] ** 0.5"},
            hint="in full precision",
        ),
        Right("einsum", change={"K.mT @ V": 'torch.einsum("mh,me->he", K, V)'}),
        Right("scale first", change={"Q @ (K.mT @ V) / Q.shape[-1] ** 0.5": "(Q / Q.shape[-1] ** 0.5) @ (K.T @ V)"}),
    ],
    "right-singular-vectors": [
        Mistake(
            "P is formed first",
            code="""
def right_singular_vectors(Q, K, k):
    return torch.linalg.svd(Q @ K.mT / Q.shape[1] ** 0.5)[2][:k].mT
""",
            hint="neither P nor a full QR decomposition may be formed",
        ),
        Mistake(
            "full QR",
            change={
                "torch.linalg.qr(K)": 'torch.linalg.qr(K, mode="complete")',
                "A_k @ Vh": "A_k[:, : len(Vh)] @ Vh",
                "R_k.mT)": "R_k[: len(R_q)].mT)",
            },
            hint="QR is the thin one",
        ),
        Mistake(
            "left singular vectors",
            code="""
def right_singular_vectors(Q, K, k):
    A_q, R_q = torch.linalg.qr(Q)
    A_k, R_k = torch.linalg.qr(K)
    return A_q @ torch.linalg.svd(R_q @ R_k.mT)[0][:, :k]
""",
            hint="these are left singular vectors of P",
        ),
        Mistake("factor of K alone", change={"A_k @ Vh[:k].mT": "A_k[:, :k]"}, hint="W is the orthonormal factor of K alone"),
        Mistake("Vh not transposed", change={"Vh[:k].mT": "Vh[:, :k]"}, hint="`Vh` holds right singular vectors in its rows"),
        Mistake(
            "left vectors of the small matrix",
            change={"_, _, Vh": "U, _, _", "Vh[:k].mT": "U[:, :k]"},
            hint="the small matrix's left singular vectors",
        ),
        Mistake("smallest first", change={"A_k @ Vh[:k].mT": "A_k @ Vh[:k].mT.flip(1)"}, hint="come smallest first"),
        Mistake("all of them", change={"Vh[:k]": "Vh"}, hint="return the first k vectors only"),
        Mistake(
            "not normalised",
            change={"A_k @ Vh[:k].mT": "K @ torch.linalg.inv(R_k) @ Vh[:k].mT * 2"},
            hint="the columns of W must be orthonormal",
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
    ],
    "factors": [
        Mistake("no scale", change={" / Q.shape[-1] ** 0.5": ""}, hint="the scale 1/√h is missing: it belongs into C or into D"),
        Mistake("scale twice", change={", W.mT": ", W.mT / Q.shape[-1] ** 0.5"}, hint="the scale 1/√h is there twice"),
        Mistake("scale by h", change={"Q.shape[-1] ** 0.5": "Q.shape[-1]"}, hint="the scale 1/√h is there twice"),
        Mistake("fixed scale", change={"Q.shape[-1] ** 0.5": "2"}, hint="compute it from the shape of Q"),
        Mistake(
            "P is formed first",
            change={"Q @ (C @ K).mT @ (D @ V)": "(Q @ K.mT) @ (C.mT @ (D @ V))"},
            hint="never multiply Q with the whole Kᵀ",
        ),
        Mistake(
            "projection is formed", change={"Q @ (C @ K).mT @ (D @ V)": "Q @ (K.mT @ ((C.mT @ D) @ V))"}, hint="Cᵀ D and Q Kᵀ are n × n"
        ),
        Mistake(
            "not transposed",
            change={"W.mT / Q.shape[-1] ** 0.5, W.mT": "W / Q.shape[-1] ** 0.5, W", "(C @ K).mT @ (D @ V)": "(C.mT @ K).mT @ (D.mT @ V)"},
            hint="each with k rows and n columns",
        ),
        Mistake(
            "basis from K",
            change={"W = right_singular_vectors(Q, K, k)": "W = torch.linalg.qr(K).Q[:, :k]"},
            hint="not only an orthonormal basis from K",
        ),
        Mistake(
            "left side",
            change={"W = right_singular_vectors(Q, K, k)": "W = right_singular_vectors(K, Q, k)"},
            hint="what does the projection W Wᵀ do to P",
        ),
        Mistake(
            "scaled again",
            change={"(D @ V)": "(D @ V) / Q.shape[-1] ** 0.5"},
            hint="`factored_attention`: the scale 1/√h is applied once more",
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
    ],
    "projected-attention": [
        Mistake("C and D exchanged", change={"C @ K": "D @ K", "D @ V": "C @ V"}, hint="yours are exchanged"),
        Mistake("C for both", change={"D @ V": "C @ V"}, hint="you use C for both"),
        Mistake("no scale", change={" / Q.shape[-1] ** 0.5": ""}, hint="the scale 1/√h is missing"),
        Mistake("scale by k", change={"Q.shape[-1] ** 0.5": "C.shape[0] ** 0.5"}, hint="not of the number k of mixtures"),
        Mistake("softmax over the queries", change={"softmax(dim=-1)": "softmax(dim=-2)"}, hint="softmax runs over the queries"),
        Mistake("no softmax", change={"scores.softmax(dim=-1)": "scores"}, hint="the softmax is missing"),
        Mistake(
            "projected after the softmax",
            code="""
def projected_attention(Q, K, V, C, D):
    P = (Q @ K.mT / Q.shape[-1] ** 0.5).softmax(dim=-1)
    return P @ C.mT @ (D @ V)
""",
            hint="shorten K before it meets Q",
        ),
        Mistake("scores projected, not keys", change={"Q @ (C @ K).mT / Q": "(Q @ K.mT) @ C.mT / Q"}, hint="not the finished scores"),
        Mistake("no batch axes", change={"(C @ K).mT": "(C @ K).permute(1, 0)"}, hint="transpose the last two axes only"),
        Mistake("cut gradients", change={"C @ K": "C.detach() @ K"}, hint="they must reach C and D, too"),
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
    ],
    "random-projection": [
        Mistake("no scale", change={" / k**0.5": ""}, hint="yours adds up to k"),
        Mistake("divided by k", change={"k**0.5": "k"}, hint="dividing the entries by √k divides the squares by k"),
        Mistake("divided by the root of n", change={"k**0.5": "n**0.5"}, hint="the sum over the rows has k terms"),
        Mistake(
            "uniform from 0 to 1", change={"torch.randn(k, n)": "torch.rand(k, n) * 3**0.5"}, hint="the entries should have the mean zero"
        ),
        Mistake("wrong way round", change={"torch.randn(k, n)": "torch.randn(n, k)"}, hint="the shape of the result is wrong"),
        Mistake("always the same", change={"return": "torch.manual_seed(0)\n    return"}, hint="every call must draw a new matrix"),
        Mistake("columns repeat", change={"torch.randn(k, n)": "torch.randn(k, 1).expand(k, n)"}, hint="the entries are not independent"),
        Right("signs", change={"torch.randn(k, n)": "(2.0 * torch.randint(2, (k, n)) - 1)"}),
        Right("uniform around zero", change={"torch.randn(k, n)": "(2 * torch.rand(k, n) - 1) * 3**0.5"}),
        Right("normal_", change={"torch.randn(k, n) / k**0.5": "torch.empty(k, n).normal_(0, (1 / k) ** 0.5)"}),
    ],
    "features": [
        Mistake("elu alone", change={FEATURES: "F.elu(x)"}, hint="elu alone reaches down to −1"),
        Mistake("relu", change={FEATURES: "F.relu(x) + 1"}, hint="relu gives zero below zero"),
        Mistake("exponential", change={FEATURES: "x.exp()"}, hint="the exponential everywhere"),
        Mistake("softplus", change={FEATURES: "F.softplus(x)"}, hint="this is softplus"),
        Mistake("in place", change={FEATURES: "x.copy_(" + FEATURES + ")"}, hint="changes its input in place"),
        Right("torch's elu", change={FEATURES: "F.elu(x) + 1"}),
        Right("where", change={FEATURES: "torch.where(x > 0, x + 1, torch.exp(x))"}),
        Right("clamped parts", change={FEATURES: "x.clamp(min=0) + x.clamp(max=0).exp()"}),
        Right("elu above zero", change={FEATURES: "torch.where(x > 0, F.elu(x) + 1, x.clamp(max=0).exp())"}),
    ],
    "kernel-attention": [
        Mistake("no normaliser", change={" / total": ""}, hint="the normaliser is missing"),
        Mistake("divided by the number of keys", change={" / total": " / K.shape[-2]"}, hint="not by the number of keys"),
        Mistake(
            "weights are formed",
            change={"phi_q @ (phi_k.mT @ V) / total": "(phi_q @ phi_k.mT) @ V / total"},
            hint="sum over the keys first",
        ),
        Mistake(
            "normaliser over the queries",
            code="""
def kernel_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    total = phi_k @ phi_q.sum(dim=-2)[..., None]
    return phi_q @ (phi_k.mT @ (V / total))
""",
            hint="the normaliser adds up over the queries",
        ),
        Mistake(
            "features on the queries only",
            change={"features(Q), features(K)": "features(Q), K"},
            hint="the features are missing on the keys",
        ),
        Mistake("one normaliser", change={"/ total": "/ total.sum()"}, hint="every query has its own"),
        Mistake("scaled queries", change={"features(Q)": "features(Q / Q.shape[-1] ** 0.5)"}, hint="it is not used here"),
        Mistake(
            "softmax",
            change={"phi_q @ (phi_k.mT @ V) / total": "(Q @ K.mT / Q.shape[-1] ** 0.5).softmax(-1) @ V"},
            hint="this is softmax attention",
        ),
        Mistake("no batch axes", change={"phi_k.sum(dim=-2)": "phi_k.sum(dim=0)"}, hint="sum over the axis of the keys"),
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
    ],
    "copying-floor": [
        Mistake("what is kept", change={"1 - r / n": "r / n"}, hint="that is the share that is kept"),
        Mistake("root", change={"1 - r / n)": "1 - r / n) ** 0.5"}, hint="no root"),
        Mistake("not relative", change={"1 - r / n": "n - r"}, hint="divide by it"),
        Mistake("square of the share", change={"1 - r / n)": "1 - r / n) ** 2"}, hint="not of their number"),
        Mistake("negative", change={"max(0.0, 1 - r / n)": "1 - r / n"}, hint="the error cannot be negative"),
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
            hint="Update first, then read",
        ),
        Mistake("no normaliser", change={" / (phi_q @ z)": ""}, hint="the normaliser is missing"),
        Mistake("in place", change={"S = S + torch.outer(phi_k, v)": "S += torch.outer(phi_k, v)"}, hint="changes its input in place"),
        Mistake("no features on the key", change={"features(q), features(k)": "features(q), k"}, hint="S collects φ(k) vᵀ"),
        Mistake(
            "no features on the query", change={"features(q), features(k)": "q, features(k)"}, hint="the features are missing on the query"
        ),
        Mistake("state thrown away", change={"S + torch.outer": "torch.outer", "z + phi_k": "phi_k"}, hint="the state is thrown away"),
        Mistake("S overwritten", change={"S + torch.outer": "torch.outer"}, hint="S is overwritten"),
        Mistake(
            "queries collected",
            change={"torch.outer(phi_k, v)": "torch.outer(phi_q, v)", "z + phi_k": "z + phi_q"},
            hint="S collects keys, not queries",
        ),
        Mistake(
            "transposed state",
            change={"torch.outer(phi_k, v)": "torch.outer(v, phi_k).mT.contiguous() * 1", "S, z\n": "S.mT, z\n"},
            hint="one row per feature",
        ),
        Right("broadcast", change={"torch.outer(phi_k, v)": "phi_k[:, None] * v[None, :]"}),
        Right("einsum", change={"phi_q @ S / (phi_q @ z)": 'torch.einsum("h,he->e", phi_q, S) / (phi_q * z).sum()'}),
    ],
    "causal-linear": [
        Mistake(
            "not causal",
            code="""
def causal_linear_attention(Q, K, V):
    return kernel_attention(Q, K, V)
""",
            hint="this is kernel attention without a mask",
        ),
        Mistake(
            "normaliser not causal",
            code="""
def causal_linear_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    S = (phi_k[:, :, None] * V[:, None, :]).cumsum(0)
    return (phi_q[:, :, None] * S).sum(1) / (phi_q @ phi_k.sum(0))[:, None]
""",
            hint="the normaliser adds up the whole sequence",
        ),
        Mistake(
            "numerator not causal",
            code="""
def causal_linear_attention(Q, K, V):
    phi_q, phi_k = features(Q), features(K)
    return phi_q @ (phi_k.T @ V) / (phi_q * phi_k.cumsum(0)).sum(1, keepdim=True)
""",
            hint="the numerator adds up the whole sequence",
        ),
        Mistake(
            "masked quadratic form",
            code="""
def causal_linear_attention(Q, K, V):
    w = (features(Q) @ features(K).T).tril()
    return w / w.sum(1, keepdim=True) @ V
""",
            hint="carry the sums along",
        ),
        Mistake(
            "the past added up again at every step",
            code="""
def causal_linear_attention(Q, K, V):
    return torch.stack([kernel_attention(Q[t : t + 1], K[: t + 1], V[: t + 1])[0] for t in range(len(Q))])
""",
            hint="adding up the past again at every step",
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
            hint="its output is its own value",
        ),
        Mistake(
            "backwards",
            change={
                "return torch.stack(outputs)": "return torch.stack(outputs).flip(0)",
                "zip(Q, K, V)": "zip(Q.flip(0), K.flip(0), V.flip(0))",
            },
            hint="the sums run backwards",
        ),
        Mistake("no normaliser", change={"outputs.append(o)": "outputs.append(o * (features(q) @ z))"}, hint="the normaliser is missing"),
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
    ],
    "operations": [
        Mistake("multiplications only", change={"4 * n * n * h": "2 * n * n * h"}, hint="quadratic: this is half of it"),
        Mistake("two of four products", change={"8 * n * k * h": "4 * n * k * h"}, hint="projected: only two of the four products"),
        Mistake("three of four products", change={"8 * n * k * h": "6 * n * k * h"}, hint="projected: only three of the four products"),
        Mistake("rank in the kernel", change={"4 * n * h * h": "4 * n * k * h"}, hint="kernel: there is no rank k here"),
        Mistake(
            "P formed in the SVD", change={'"svd": 4 * n * k * h': '"svd": 2 * n * k * n + 2 * n * n * h'}, hint="svd: this forms P first"
        ),
        Mistake("projection for nothing", change={"2 * k": "k"}, hint="shortening K and V must be paid for"),
        Mistake("kernel breaks even at k", change={'"kernel": h}': '"kernel": k}'}, hint="break-even of kernel"),
        Right("term by term", change={"8 * n * k * h": "2 * k * n * h + 2 * k * n * h + 2 * n * h * k + 2 * n * k * h"}),
        Right("floats", change={"4 * n * n * h": "4.0 * n**2 * h", '"svd": k,': '"svd": float(k),'}),
        Right("solved", change={'"projected": 2 * k': '"projected": 8 * k * h / (4 * h)'}),
    ],
    "bonus-chunked": [
        Mistake("no state", change={"q @ S + inside": "inside", "q @ z + inside": "inside"}, hint="carry the state along"),
        Mistake("not masked inside", change={".tril()": ""}, hint="the c × c weights must be masked"),
        Mistake(
            "normaliser without the state", change={"q @ z + inside": "inside"}, hint="the normaliser lacks what came before the chunk"
        ),
        Mistake(
            "does not see itself",
            change={"return torch.cat(outputs)": "return torch.cat(outputs).nan_to_num()", ".tril()": ".tril(-1)"},
            hint="a position must see itself",
        ),
        Mistake(
            "a loop over positions",
            code="""
def chunked_attention(Q, K, V, c):
    return causal_linear_attention(Q, K, V)
""",
            hint="inside a chunk all positions are to be worked on at once",
        ),
        Mistake("one chunk", change={".split(c)": ".split(len(Q))"}, hint="for a fixed chunk size the work must grow like n"),
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
    ],
}
