# %% [markdown]
# A short lesson, as a notebook of the course looks: what `benchmarks/grading.py` grades many times over.

# %% nbgrader={"grade": false, "grade_id": "setup", "locked": true, "schema_version": 3, "solution": false, "task":
# false}
import matplotlib.pyplot as plt
import torch

from helpers.checks import Check, randn


# %% nbgrader={"grade": false, "grade_id": "softmax", "locked": false, "schema_version": 3, "solution": true, "task":
# false}
def softmax(x):
    """Softmax along the last axis."""
    ### BEGIN SOLUTION
    e = (x - x.amax(-1, keepdim=True)).exp()
    return e / e.sum(-1, keepdim=True)
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "softmax-test", "locked": true, "points": 3, "schema_version": 3, "solution":
# false, "task": false}
check = Check("softmax", points=3)
check.distribution(check.run(softmax, randn(4, 7)), "every row is a distribution: which axis does the sum run along?")
### BEGIN HIDDEN TESTS
scores = randn(2, 3, 5)
check.close(check.run(softmax, scores), scores.softmax(-1), "the values differ from softmax")
check.finite(check.run(softmax, 1e4 * scores), "large scores overflow: subtract the largest first")
### END HIDDEN TESTS
check.score()


# %% nbgrader={"grade": false, "grade_id": "attention", "locked": false, "schema_version": 3, "solution": true, "task":
# false}
def attention(q, k, v):
    """Scaled dot-product attention."""
    ### BEGIN SOLUTION
    return softmax(q @ k.mT / q.shape[-1] ** 0.5) @ v
    ### END SOLUTION


# %% nbgrader={"grade": true, "grade_id": "attention-test", "locked": true, "points": 3, "schema_version": 3,
# "solution": false, "task": false}
check = Check("attention", points=3)
q, k, v = randn(3, 8), randn(5, 8), randn(5, 2)
expected = torch.nn.functional.scaled_dot_product_attention(q, k, v)
check.close(
    check.run(attention, q, k, v),
    expected,
    "softmax(q kᵀ / √d) v is expected",
    wrong={"the scale 1/√d is missing": (q @ k.mT).softmax(-1) @ v},
)
### BEGIN HIDDEN TESTS
check.gradients(attention, torch.nn.functional.scaled_dot_product_attention, (q, k, v), "no gradient flows through")
### END HIDDEN TESTS
check.score()


# %% nbgrader={"grade": false, "grade_id": "fit", "locked": false, "schema_version": 3, "solution": true, "task": false}
def fit(x, y, steps=20):
    """The losses of a linear map that Adam fits to y = f(x)."""
    ### BEGIN SOLUTION
    torch.manual_seed(0)
    model = torch.nn.Linear(x.shape[-1], y.shape[-1])
    optimizer = torch.optim.Adam(model.parameters(), lr=0.05)
    losses = []
    for _ in range(steps):
        loss = ((model(x) - y) ** 2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
    ### END SOLUTION


# %%
plt.figure(figsize=(4, 2))
plt.plot(fit(torch.ones(4, 2), torch.ones(4, 1)))
plt.show()

# %% nbgrader={"grade": true, "grade_id": "fit-test", "locked": true, "points": 3, "schema_version": 3, "solution":
# false, "task": false}
check = Check("fit", points=3)
losses = check.run(fit, randn(16, 3), randn(16, 2))
check.true(len(losses) == 20, "one loss per step")
check.true(losses[-1] < losses[0], "the loss does not fall")
### BEGIN HIDDEN TESTS
check.true(len(check.run(fit, randn(8, 2), randn(8, 1), 5)) == 5, "`steps` is ignored")
### END HIDDEN TESTS
check.score()

# %% [markdown] nbgrader={"grade": true, "grade_id": "why", "locked": false, "points": 2, "schema_version": 3,
# "solution": true, "task": false}
# Why 1/√d?
