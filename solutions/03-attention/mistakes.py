"""Wrong answers that the tests of 03-attention must catch, and right ones that they must accept."""

from autograder.mistakes import Mistake, Right

VARIANTS = {
    "weights": [
        Mistake("softmax over the queries", change={"softmax(dim=-1)": "softmax(dim=0)"}, hint="along which axis does softmax run"),
        Mistake("scale by d", change={"q.shape[-1] ** 0.5": "q.shape[-1]"}, hint="divide by its square root"),
        Mistake("scale by the number of keys", change={"q.shape[-1] ** 0.5": "k.shape[0] ** 0.5"}, hint="root of the number of keys"),
        Mistake("no scale", change={" / q.shape[-1] ** 0.5": ""}, hint="the scores are not scaled"),
        Right(
            "explicit loop with exp",
            code="""
def weights(q, k):
    rows = []
    for query in q:
        scores = torch.stack([(query * key).sum() / math.sqrt(len(query)) for key in k])
        e = torch.exp(scores - scores.max())
        rows.append(e / e.sum())
    return torch.stack(rows)
""",
        ),
        Right("einsum", change={"q @ k.mT": 'torch.einsum("nd,md->nm", q, k)'}),
    ],
}
