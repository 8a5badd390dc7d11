"""Wrong answers that the tests of 01-big-picture must catch, and right ones that they must accept.

A question has no code to get wrong, so the questions are exempt from the usual number of variants. Some of them stand
for all: every way of writing an answer, and every kind of wrong answer.
"""

from autograder.authoring.mistakes import Mistake, Right

EXEMPT = {
    f"q{number}": "a question: what matters is the formula and the explanations, which a few questions show for all"
    for number in range(1, 14)
}


def answer(name: str, value: str) -> str:
    return f"def {name}():\n    return {value}"


VARIANTS = {
    "q1": [
        Right("a list", code=answer("q1", '["B", "D"]')),
        Right("lower case", code=answer("q1", '{"b", "d"}')),
        Right("a string", code=answer("q1", '"D, B"')),
        Right("letters written together in a tuple", code=answer("q1", '("BD", "B")')),
        Right("a frozenset", code=answer("q1", 'frozenset("BD")')),
        Right("a set, not a function", code='q1 = {"B", "D"}'),
        Mistake("all ticked", code=answer("q1", 'set("ABCDE")'), hint="A (ticked, but it does not apply)"),
        Mistake(
            "only wrong ones ticked",
            code=answer("q1", '{"A", "C"}'),
            hint="B (not ticked, but it applies)",
        ),
        Mistake(
            "one wrong tick", code=answer("q1", '{"B", "D", "E"}'), hint="E (ticked, but it does not apply): It turns a finished sentence"
        ),
        Mistake(
            "one right option missed", code=answer("q1", '{"B"}'), hint="D (not ticked, but it applies): What matters is the objective"
        ),
        Mistake("nothing ticked", code=answer("q1", "set()"), hint="no option is ticked"),
        Mistake("empty braces", code=answer("q1", "{}"), hint="no option is ticked"),
        Mistake(
            "no such option", code=answer("q1", '{"B", "G"}'), hint="there is no option G: this question has the options A, B, C, D, E"
        ),
        Mistake("no return", code='def q1():\n    {"B", "D"}', hint="is a `return` missing?"),
        Mistake("no quotes", code=answer("q1", "{B, D}"), hint="name 'B' is not defined"),
        Mistake("numbers", code=answer("q1", "{2, 4}"), hint="every element should be a letter in quotes, got 2"),
        Mistake("yes and no", code=answer("q1", '{"B": True, "D": True}'), hint="a set of letters should come back"),
    ],
    "q4": [
        Right("another order, another type", code=answer("q4", '["D", "a", "c", "B"]')),
        Mistake("the metric forgotten", change={', "D"': ""}, hint="D (not ticked, but it applies)"),
        Mistake(
            "the data only",
            code=answer("q4", '{"B", "C"}'),
            hint="A (not ticked, but it applies): Fine-tuning starts from these associations",
        ),
    ],
    "q6": [
        Right("a single letter", code=answer("q6", '"D"')),
        Mistake("a bigram model", code=answer("q6", '{"B"}'), hint="B (ticked, but it does not apply): That is a bigram model"),
        Mistake(
            "two ticked to be sure",
            code=answer("q6", '{"B", "D"}'),
            hint="B (ticked, but it does not apply)",
        ),
    ],
    "q10": [
        Mistake(
            "the encoder as a language model",
            code=answer("q10", '{"A", "B", "E"}'),
            hint="B (ticked, but it does not apply): No term of the loss",
        ),
    ],
    "way": [
        Mistake("the word's own application not counted", change={"return d + 1": "return d"}, hint="so d = 0 gives 1"),
        Mistake("one application too many", change={"return d + 1": "return d + 2"}, hint="nothing after the output"),
        Mistake(
            "the cell skips positions",
            change={"return d + 1": "return 1"},
            hint="each application of the cell moves the information by one position",
        ),
        Mistake("a window reaches back k", change={"(k - 1)": "k"}, hint="a window of k positions reaches back k − 1, not k"),
        Mistake(
            "rounded down", change={"-(-d // (k - 1))": "d // (k - 1)"}, hint="round up: a layer that is needed only in part is needed"
        ),
        Mistake(
            "one layer too many", change={"max(1, -(-d // (k - 1)))": "d // (k - 1) + 1"}, hint="the last layer reaches exactly far enough"
        ),
        Mistake(
            "no layer for the word itself",
            change={"max(1, -(-d // (k - 1)))": "-(-d // (k - 1))"},
            hint="for d = 0 one layer is needed, not none",
        ),
        Mistake(
            "one layer whatever the distance", change={"max(1, -(-d // (k - 1)))": "1"}, hint="one layer is not enough for every distance"
        ),
        Mistake(
            "attention as slow as recurrence",
            change={"    return 1\n": "    return d + 1\n"},
            hint="which positions can one layer of self-attention look at?",
        ),
        Mistake("a single function missing", change={"    return 1\n": "    raise NotImplementedError()\n"}, hint="not written yet"),
        Right(
            "layer by layer",
            code="""
def recurrent(d):
    count = 1
    while d > 0:
        count, d = count + 1, d - 1
    return count

def windowed(d, k):
    layers, reach = 1, k - 1
    while reach < d:
        layers, reach = layers + 1, reach + k - 1
    return layers

def attentive(d):
    return 1
""",
        ),
        Right("float division and a ceiling", change={"-(-d // (k - 1))": "__import__('math').ceil(d / (k - 1))"}),
        Right(
            "one where it is near, else the integer formula", change={"max(1, -(-d // (k - 1)))": "1 if d < k else (d - 1) // (k - 1) + 1"}
        ),
    ],
}
