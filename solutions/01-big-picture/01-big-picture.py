# %% [markdown]
# # 01 · The big picture: thirteen questions
#
# | | |
# | --- | --- |
# | **You will be able to** | choose between encoder, decoder and both for a task · say what a language model estimates and how it generates · say why weights turn into NaN · look for the sources of bias · read the shapes of a batch · explain what self-attention is for |
# | **You need** | a first acquaintance with recurrent networks and Transformers, from a lecture or a book chapter; basic Python |
# | **Time** | about 75 minutes; each heading says how long its question takes |
# | **Points** | 34, and 2 bonus |
#
# Before you build sequence models, get the map right: which kind of model does what, what goes in, what comes out, what goes wrong.
# Thirteen questions take you across it. Then you count how far a word's influence has to travel in three kinds of network, and say in your
# own words what self-attention is for. Most of what they touch comes back later as code that you write.
#
# **Words used here.** A *token* is a word or a piece of a word. A *language model* gives probabilities to texts, most often by predicting
# one token after the other. *Recurrent* means that one cell reads a sequence step by step and hands a *state* from each step to the next.
# $P(a \mid b)$ is the probability of $a$ when $b$ is known. In the questions an index is written small, as in yₜ, and yₜ₋₁ is the word
# before yₜ.

# %% locked="setup"
import matplotlib.pyplot as plt

from helpers.big_picture.questions import QUESTIONS
from helpers.checks import Check
from helpers.kit import plots, quiz

# %% [markdown]
# ## 1 Thirteen questions
#
# **How to answer.** Select all options that apply. At least one does in every question; it may be one, several, or all. Your answer is a
# set of letters that your function returns. If you choose the first and the fifth option, replace `raise NotImplementedError()` with
#
# ```python
#     return {"A", "E"}
# ```
#
# The cell under each question shows it with checkboxes (<kbd>Tab</kbd> moves on, <kbd>Space</kbd> ticks) and writes this line for you to
# copy. Only what your function returns counts: ticks are not saved. Then run the test. Here it says whether your answer can be read, not
# whether it is right. After grading, your feedback tells you for every option why it applies or does not.
#
# **How it is scored.** Suppose a question has $R$ right and $W$ wrong options, and you tick $r$ of the right and $w$ of the wrong ones. You
# earn the share
#
# $$ \max\left(0,\ \frac{r}{R} - \frac{w}{W}\right) $$
#
# of its points; where there is no wrong option, $w / W$ counts as 0. A wrong tick costs. With $R = 2$ and $W = 3$, one right tick and
# nothing else earns 1/2, both right ticks and one wrong tick earn 2/3, and ticking all five earns nothing.
#
# *Before you tick:* cover the options and answer in your own words first. Then look for the options that say the same.

# %% [markdown]
# ### Question 1: Continuing a story <small>★☆☆ · 3 min · 2 points</small>
# A program should continue a story word by word from its opening sentences. Which of these models can do it just as they were trained,
# because each step asks for exactly the output that they learned to give?
#
# - **A.** A Transformer encoder that learned to restore words masked at random places in a sentence
# - **B.** A Transformer decoder that learned to predict each token from the tokens before it
# - **C.** An encoder with a classifier that learned to call a review positive or negative
# - **D.** A recurrent network that was trained as a language model, from left to right
# - **E.** An encoder that learned to give sentences of similar meaning similar vectors

# %% look=true
quiz.show(QUESTIONS["q1"])


# %% exercise="q1"
def q1():
    """The letters of the options of question 1 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"B", "D"}
    ### END SOLUTION


# %% test="q1" points=2
question = quiz.Question("q1", points=2, options="ABCDE")
question.answer(q1)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "B": (
            "Next-token prediction is what a continuation needs: predict, choose a token, append it, repeat. A prompt is simply the "
            "beginning of the sequence."
        ),
        "D": (
            "What matters is the objective, not the architecture: a recurrent language model also predicts the next word from the words so "
            "far. Reading the prompt sets its state, and it goes on from there."
        ),
    },
    wrong={
        "A": (
            "It learned to fill a gap between known words on both sides. At the end of a story there is nothing on the right, so "
            "continuing is a different task from the one it was trained for."
        ),
        "C": "Its output is one of two labels. It has no distribution over next words, so there is nothing to append to the story.",
        "E": (
            "It turns a finished sentence into one vector. That is good for search and comparison, but it gives no distribution "
            "over words to continue with."
        ),
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 2: What an encoder is for <small>★☆☆ · 3 min · 2 points</small>
# An encoder reads the whole input, each position sees all others, and one vector per token comes out. A small layer on top turns vectors
# into scores for a fixed list of labels. There is no decoder, and nothing is generated. Which tasks fit this design?
#
# - **A.** Decide whether an e-mail is spam
# - **B.** Summarise a long report in two or three sentences that do not occur in it
# - **C.** Reply to a customer's question in free text
# - **D.** Name the part of speech of every word in a finished sentence
# - **E.** Decide whether a second sentence follows from a first one, contradicts it, or neither

# %% look=true
quiz.show(QUESTIONS["q2"])


# %% exercise="q2"
def q2():
    """The letters of the options of question 2 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"A", "D", "E"}
    ### END SOLUTION


# %% test="q2" points=2
question = quiz.Question("q2", points=2, options="ABCDE")
question.answer(q2)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "A": "One label for a complete text: pool the token vectors, or take a special first token's, and score two classes.",
        "D": (
            "One label per token: the same small layer is applied to every token's vector. Words on both sides help, and both are there."
        ),
        "E": "Both sentences go in together, so that their words see each other, and one of three labels comes out.",
    },
    wrong={
        "B": (
            "A summary is new text of unknown length. It needs a model that generates, such as a decoder, with or without an "
            "encoder in front."
        ),
        "C": "The set of possible replies is not a fixed list. Free text has to be generated token by token.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 3: Many to one <small>★☆☆ · 3 min · 2 points</small>
# A recurrent network can be used many-to-one: it reads a whole sequence, and a single output is computed from its last state. Which tasks
# have this shape?
#
# - **A.** Write down the words of a recorded speech
# - **B.** Tell whether a film review is favourable
# - **C.** Estimate a speaker's age group from a recording
# - **D.** Tag every word of a sentence with its part of speech
# - **E.** Describe one photograph in a sentence
# - **F.** Tell in which language a sentence is written

# %% look=true
quiz.show(QUESTIONS["q3"])


# %% exercise="q3"
def q3():
    """The letters of the options of question 3 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"B", "C", "F"}
    ### END SOLUTION


# %% test="q3" points=2
question = quiz.Question("q3", points=2, options="ABCDEF")
question.answer(q3)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "B": "A whole review goes in, one judgement comes out: many-to-one.",
        "C": "The recording is a sequence, the age group is one attribute of the whole of it: many-to-one.",
        "F": "A sequence of words or characters goes in, one label comes out: many-to-one.",
    },
    wrong={
        "A": "Transcription gives a sequence of words whose length differs from the number of sound frames: many-to-many.",
        "D": "There is one output per input word, so each step's state is used, not only the last: many-to-many, aligned.",
        "E": "One input, a sequence of words out: one-to-many.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 4: Where bias comes from <small>★☆☆ · 3 min · 2 points</small>
# A classifier for job applications was fine-tuned from a pretrained model and chosen by a validation score. In use it treats applicants
# of one group worse than others with the same qualifications. Which of these can be a cause?
#
# - **A.** The base model: its pretraining corpus tied names of that group to certain jobs
# - **B.** The labels: past decisions that were unfair to that group were used as the truth
# - **C.** The sample: that group hardly occurs among the training examples
# - **D.** The metric: overall accuracy chose the model, and a small group hardly moves it

# %% look=true
quiz.show(QUESTIONS["q4"])


# %% exercise="q4"
def q4():
    """The letters of the options of question 4 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"A", "B", "C", "D"}
    ### END SOLUTION


# %% test="q4" points=2
question = quiz.Question("q4", points=2, options="ABCD")
question.answer(q4)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "A": (
            "Fine-tuning starts from these associations and need not remove them. Bias can be inherited from a model that somebody "
            "else trained."
        ),
        "B": "A model that fits unfair labels well repeats them. More data of the same kind does not cure this.",
        "C": "What is rare is learned badly, and errors on it cost little in the training loss.",
        "D": (
            "What you select for is what you get. A score averaged over everybody can rise while it falls for a small group, so "
            "report it per group."
        ),
    },
    wrong={},
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 5: What comes out of a decoder <small>★☆☆ · 3 min · 2 points</small>
# A Transformer decoder with 6 layers, 12 attention heads, width 768 and a vocabulary of 50,000 tokens reads a batch of 8 sequences of 100
# tokens. You look at the output of its last layer, before any prediction head. It is one tensor. Which of these are among its axes?
#
# - **A.** An axis of length 8: the sequences of the batch
# - **B.** An axis of length 6: the layers
# - **C.** An axis of length 50,000: the tokens of the vocabulary
# - **D.** An axis of length 100: the positions of a sequence
# - **E.** An axis of length 12: the attention heads
# - **F.** An axis of length 768: the hidden features

# %% look=true
quiz.show(QUESTIONS["q5"])


# %% exercise="q5"
def q5():
    """The letters of the options of question 5 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"A", "D", "F"}
    ### END SOLUTION


# %% test="q5" points=2
question = quiz.Question("q5", points=2, options="ABCDEF")
question.answer(q5)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "A": (
            "Sequences of a batch are computed side by side and never mixed, so the batch axis is there from the first layer to the last."
        ),
        "D": (
            "A decoder gives one vector for every position, not one per sequence. That is what lets it be trained on all next "
            "tokens at once."
        ),
        "F": "Each position is a vector of the model's width. The tensor has the shape (8, 100, 768): batch, sequence, hidden.",
    },
    wrong={
        "B": "Layers are applied one after the other, each to the output of the one before. You see only the last one's output.",
        "C": (
            "Scores for the vocabulary appear when a prediction head multiplies the output by a matrix of shape (768, 50,000). You "
            "look before that."
        ),
        "E": "Inside a layer the width is cut into 12 heads of width 64. Their outputs are joined again before the layer ends.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 6: What a softmax estimates <small>★★☆ · 3 min · 2 points</small>
# A recurrent language model reads a text y₁, y₂, …, yₙ from left to right. Step t takes the state of step t − 1 and the word yₜ₋₁ (y₀ is
# a start symbol), and gives a softmax over the vocabulary that is trained against yₜ. Which probability does this softmax estimate?
#
# - **A.** P(yₜ): how often the word occurs, whatever surrounds it
# - **B.** P(yₜ | yₜ₋₁): how often the word follows the previous word
# - **C.** P(y₁, …, yₜ): how probable the text up to here is as a whole
# - **D.** P(yₜ | y₁, …, yₜ₋₁): how probable the word is after all words before it
# - **E.** P(yₜ | all other words): how well the word fits the words on both sides of it

# %% look=true
quiz.show(QUESTIONS["q6"])


# %% exercise="q6"
def q6():
    """The letters of the options of question 6 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"D"}
    ### END SOLUTION


# %% test="q6" points=2
question = quiz.Question("q6", points=2, options="ABCDE")
question.answer(q6)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "D": (
            "The state is a function of all words read so far, so the condition is the whole past. By the chain rule the product "
            "over t is the probability of the text."
        ),
    },
    wrong={
        "A": (
            "That is what a unigram model estimates. Here the softmax is computed from a state, and the state depends on the text so far."
        ),
        "B": "That is a bigram model. Only yₜ₋₁ enters at step t, but the state of step t − 1 carries the words before it.",
        "C": (
            "That is the product of the softmax values of all steps up to t. A single softmax sums to one over the words at one "
            "place, not over whole texts."
        ),
        "E": (
            "This is what a masked language model estimates. From left to right, the words after yₜ have not been read when it is "
            "predicted."
        ),
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 7: Weights that are not numbers <small>★★☆ · 3 min · 2 points</small>
# You train a recurrent network in float32 on sequences of 200 steps, by backpropagation through all of them. From one update to the next
# the logged norm of the gradient goes 2, 3, 90, 4·10⁷, inf. A little later every weight is NaN. Which statements are right?
#
# - **A.** The gradients vanished: on the way back through 200 steps they can shrink exponentially
# - **B.** The network memorised its training text, and stopping earlier would have helped
# - **C.** The gradients exploded: on the way back through 200 steps they can grow exponentially
# - **D.** With a smaller learning rate from here on, the weights become numbers again
# - **E.** Rescaling the gradient when its norm exceeds a threshold is a common way to prevent this

# %% look=true
quiz.show(QUESTIONS["q7"])


# %% exercise="q7"
def q7():
    """The letters of the options of question 7 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"C", "E"}
    ### END SOLUTION


# %% test="q7" points=2
question = quiz.Question("q7", points=2, options="ABCDE")
question.answer(q7)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "C": (
            "A gradient through 200 steps contains products of up to 200 Jacobians. When these grow, one huge update leads to worse "
            "weights and a larger gradient still, until inf − inf or inf · 0 gives NaN."
        ),
        "E": (
            "Clipping the norm keeps the direction and bounds the step (Pascanu, Mikolov and Bengio, 2013). It has to happen before "
            "the update, while the gradient is still finite."
        ),
    },
    wrong={
        "A": "They can shrink, but that shows in a norm near 0: learning stalls quietly, with finite weights. Here the norm went up.",
        "B": "Overfitting shows as a low training loss beside a rising validation loss. It makes no number infinite.",
        "D": "NaN plus or times anything is NaN. You have to go back to a checkpoint from before, or start again.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 8: What is fed back <small>★☆☆ · 3 min · 2 points</small>
# You generate text by sampling from a trained recurrent language model. At step t the softmax gives a distribution p, and a word w is
# drawn from it. What goes into step t + 1?
#
# - **A.** The embedding of w, even if another word was more probable
# - **B.** The embedding of the most probable word under p, even if w is another word
# - **C.** The average of all embeddings, with the probabilities p as weights
# - **D.** The hidden state that step t has computed
# - **E.** The embedding of the next word in the training text

# %% look=true
quiz.show(QUESTIONS["q8"])


# %% exercise="q8"
def q8():
    """The letters of the options of question 8 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"A", "D"}
    ### END SOLUTION


# %% test="q8" points=2
question = quiz.Question("q8", points=2, options="ABCDE")
question.answer(q8)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "A": ("The text goes on from the word that was written. The model has to see w, or what it writes next would not follow from it."),
        "D": "The word alone would make it a bigram model. The state carries everything that came before.",
    },
    wrong={
        "B": (
            "Then the model would continue a text that is not the one you print. Feeding back the most probable word belongs to "
            "greedy decoding, where it is also the word that is written."
        ),
        "C": "The model was trained on embeddings of single words, never on mixtures, and a mixture forgets which word was written.",
        "E": "That is teacher forcing, which is for training. While you generate there is no true next word.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 9: One direction or two <small>★★☆ · 3 min · 2 points</small>
# A recurrent network reads a sequence and gives an output at every time t. A bidirectional one adds a second pass, from the end to the
# beginning, so that each output also depends on what comes later. In which tasks is this ruled out, because the output at time t may
# depend on nothing after t?
#
# - **A.** Mark, for every word of a newspaper archive, whether it belongs to a name
# - **B.** Suggest, after every word that somebody types, the next one
# - **C.** Correct, for every letter of a scanned page, what the scanner has misread
# - **D.** Forecast, every evening of a year, the next day's demand for electricity
# - **E.** Decide, in every second of a machine's run, whether to stop it at once

# %% look=true
quiz.show(QUESTIONS["q9"])


# %% exercise="q9"
def q9():
    """The letters of the options of question 9 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"B", "D", "E"}
    ### END SOLUTION


# %% test="q9" points=2
question = quiz.Question("q9", points=2, options="ABCDE")
question.answer(q9)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "B": "The words to the right do not exist yet. A model trained with them would have seen the very word it should suggest.",
        "D": (
            "At the time of the forecast the future is not known. A model that used it in training would do well on paper and fail in use."
        ),
        "E": "The decision cannot wait for the rest of the recording: at time t there are only readings up to t.",
    },
    wrong={
        "A": "The sentences are complete. Whether a word is a name often shows in the words after it, so use both directions.",
        "C": "The whole page is there. What is to the right of a letter helps to tell rn from m as much as what is to its left.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 10: What a translation model models <small>★★☆ · 4 min · 2 points</small>
# An encoder–decoder model for translation is trained on pairs of a source sentence x and its translation y = y₁, …, yₙ, where yₙ is an
# end symbol. The only loss is the cross-entropy of the decoder's predictions of y. Which statements are right?
#
# - **A.** Step t of the decoder estimates P(yₜ | y₁, …, yₜ₋₁, x)
# - **B.** The encoder estimates P(x), the probability of the source sentence
# - **C.** Training changes the encoder's weights too, although the loss is computed at the decoder
# - **D.** New source sentences can be sampled from the trained model, as from a language model
# - **E.** The product of the decoder's probabilities of y₁ to yₙ is its estimate of P(y | x)
# - **F.** The encoder may read x in both directions

# %% look=true
quiz.show(QUESTIONS["q10"])


# %% exercise="q10"
def q10():
    """The letters of the options of question 10 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"A", "C", "E", "F"}
    ### END SOLUTION


# %% test="q10" points=2
question = quiz.Question("q10", points=2, options="ABCDEF")
question.answer(q10)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "A": "The decoder is a language model of y with one more condition, the source x, which it reads from the encoder's output.",
        "C": (
            "The decoder's predictions depend on the encoder's output, so gradients flow back into the encoder. Both are trained together."
        ),
        "E": ("This is the chain rule with x in every condition. The end symbol makes it a distribution over translations of all lengths."),
        "F": (
            "x is complete before the first word of y is produced, so nothing is given away. Only the decoder must not see what it "
            "is about to predict."
        ),
    },
    wrong={
        "B": (
            "No term of the loss asks how probable x is. The encoder only has to turn x into vectors from which the decoder can predict y."
        ),
        "D": "Sampling x needs P(x), and neither part models it. The model can only sample y for an x that you supply.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 11: Long inputs <small>★★☆ · 4 min · 2 points</small>
# Three language models predict the next word: a recurrent network, a network that sees a fixed window of the last 8 words, and causal
# self-attention over the whole input. The word that decides the prediction is d words back. Inputs get longer, and d with them.
# Which statements are right?
#
# - **A.** The recurrent network's state grows with the input, so there is room for every word
# - **B.** The fixed window cannot use the deciding word at all once d exceeds 8
# - **C.** In the recurrent network the word has to survive about d updates of the state
# - **D.** A self-attention layer's work grows more slowly with the input than a recurrent layer's
# - **E.** Self-attention has a larger advantage over the other two on long inputs than on inputs of four words
# - **F.** If only the previous word decides, self-attention can do something that the other two cannot

# %% look=true
quiz.show(QUESTIONS["q11"])


# %% exercise="q11"
def q11():
    """The letters of the options of question 11 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"B", "C", "E"}
    ### END SOLUTION


# %% test="q11" points=2
question = quiz.Question("q11", points=2, options="ABCDEF")
question.answer(q11)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "B": "What has left the window has no path to the output, however well the model is trained.",
        "C": (
            "Each update overwrites a part of the state, and the gradient has to come back the same long way. That gets harder as d grows."
        ),
        "E": (
            "It reaches any word in one step. On four words the window holds everything and the state has little to remember, so "
            "all three can do well; with distance the other two fall behind."
        ),
    },
    wrong={
        "A": "The state has the same size at every step. The longer the input, the more has to share it.",
        "D": (
            "It is the other way round: n² comparisons for n words against n updates. What self-attention saves is dependent steps "
            "and distance, not operations."
        ),
        "F": "The previous word is in the window and has just entered the state. All three see it directly.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 12: A head on a base <small>★☆☆ · 3 min · 2 points</small>
# A pretrained base model gives one vector per token. For a new task you put a head on it and train. Which statements about the head are
# right?
#
# - **A.** It turns the text into token ids before the base sees it
# - **B.** It maps the base's output to what the task asks for, such as one score per class
# - **C.** It is one of the attention heads in the base's last layer, chosen for the task
# - **D.** Once it is trained, it can be used without the base
# - **E.** Several heads, each for a different task, can share one base

# %% look=true
quiz.show(QUESTIONS["q12"])


# %% exercise="q12"
def q12():
    """The letters of the options of question 12 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"B", "E"}
    ### END SOLUTION


# %% test="q12" points=2
question = quiz.Question("q12", points=2, options="ABCDE")
question.answer(q12)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "B": ("The base gives general vectors of its own width; the head, often a single linear layer, turns them into the task's output."),
        "E": (
            "Each head has its own output size and its own loss, and reads the same vectors. This is why one pretrained model "
            "serves many tasks."
        ),
    },
    wrong={
        "A": "That is the tokenizer's work, at the other end: the head comes after the base.",
        "C": "The word is the same; the thing is not. Attention heads are parts of the base; this head is a new layer on top.",
        "D": "Its input is the base's output. Without the base there is nothing for it to read.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ### Question 13: A batch of unequal lengths <small>★☆☆ · 3 min · 2 points</small>
# Texts of 5, 12 and 700 tokens should go through a Transformer as one batch, that is, as one rectangular tensor. The model takes at most
# 512 tokens. Which of these help to cope with the unequal lengths?
#
# - **A.** Passing an attention mask that tells tokens of the text from filler
# - **B.** Cutting off what exceeds 512 tokens
# - **C.** Asking the tokenizer for tensors in place of Python lists
# - **D.** Putting all letters in lower case before the text is cut into tokens
# - **E.** Filling up the short texts with a special token
# - **F.** Shuffling the texts again in every epoch

# %% look=true
quiz.show(QUESTIONS["q13"])


# %% exercise="q13"
def q13():
    """The letters of the options of question 13 that apply, as a set of strings."""
    ### BEGIN SOLUTION
    return {"A", "B", "E"}
    ### END SOLUTION


# %% test="q13" points=2
question = quiz.Question("q13", points=2, options="ABCDEF")
question.answer(q13)
### BEGIN HIDDEN TESTS
question.key(
    right={
        "A": (
            "Without it the filler would be attended to like words, and a text's vectors would depend on how much filler its "
            "neighbours in the batch caused."
        ),
        "B": ("Truncation brings 700 tokens down to what the model can take. Something is lost, so it is worth asking which end to cut."),
        "E": "Padding makes the rows of the tensor equally long. The mask then says which entries are only there to fill.",
    },
    wrong={
        "C": (
            "This changes the container, not the lengths. Lists of unequal length cannot even be turned into one tensor before they "
            "are padded or cut."
        ),
        "D": "This may change the number of tokens a little, but it makes no two texts equally long.",
        "F": "Shuffling changes which texts meet in a batch. Whichever they are, their lengths still differ.",
    },
)
### END HIDDEN TESTS
question.score()

# %% [markdown]
# ## 2 How long is the path?
#
# ### 2.1 Count <small>★★☆ · 12 min · 4 points</small>
# The output at one position of a sequence should depend on a word that stands $d \ge 0$ positions earlier ($d = 0$: the word at the
# position itself). On its way to that output, information about the word passes through learned layers. How many of them, at the least?
# Derive a formula for each of three networks.
#
# 1. `recurrent(d)`: a single recurrent layer from left to right. At each position its cell is applied once, to the word there and to the
#    state from the position before. Count the applications of the cell, from the one that reads the word to the one that gives the output,
#    both included.
# 2. `windowed(d, k)`: a stack of layers without recurrence. In each layer, the output at a position depends on the layer's inputs at that
#    position and at the $k - 1$ positions before it, with $k \ge 2$. Count the layers that the stack must have. At least one layer is
#    needed even for $d = 0$.
# 3. `attentive(d)`: a stack of causal self-attention layers. In each, the output at a position depends on the inputs at that position and
#    at all positions before it. Count the layers that the stack must have, again at least one.
#
# *Before you code it:* draw positions as columns and layers as rows, and follow the word by hand for $k = 3$ and $d = 0, 1, 2, 3, 4$.


# %% exercise="way"
def recurrent(d):
    """Applications of the cell between a word and the output d positions later, both ends included: a whole number."""
    ### BEGIN SOLUTION
    return d + 1
    ### END SOLUTION


def windowed(d, k):
    """Layers of windows of k positions (a position and the k - 1 before it) that reach back d positions: at least 1."""
    ### BEGIN SOLUTION
    return max(1, -(-d // (k - 1)))
    ### END SOLUTION


def attentive(d):
    """Layers of causal self-attention that reach back d positions: a whole number, at least 1."""
    ### BEGIN SOLUTION
    return 1
    ### END SOLUTION


# %% test="way" points=4
check = Check("way", points=4)
check.equal(
    check.run(lambda: [recurrent(d) for d in (0, 1)]),
    [1, 2],
    "`recurrent` for d = 0, 1: the application that reads the word counts, and so does every later one",
    wrong={
        "`recurrent`: count both ends: the application that reads the word belongs to the path, so d = 0 gives 1": [0, 1],
    },
)
check.equal(
    check.run(lambda: [windowed(d, 4) for d in (0, 3, 4)]),
    [1, 1, 2],
    "`windowed` for k = 4 and d = 0, 3, 4: a window of 4 is the position and the 3 before it",
)
check.equal(check.run(attentive, 0), 1, "`attentive(0)`: one layer is needed even if the word is at the output's own position")
### BEGIN HIDDEN TESTS
far = [1, 2, 7, 40]
check.equal(
    check.run(lambda: [recurrent(d) for d in far]),
    [d + 1 for d in far],
    "`recurrent`: the cell is applied once at every position from the word to the output",
    wrong={
        "`recurrent`: count both ends: the application that reads the word belongs to the path": far,
        "`recurrent`: count the applications from the word to the output, both included, and nothing after the output": [
            d + 2 for d in far
        ],
        "`recurrent`: each application of the cell moves the information by one position; no step skips the positions in between": [1]
        * len(far),
    },
)
cases = [(1, 2), (9, 2), (4, 3), (5, 3), (6, 3), (8, 4), (9, 4), (10, 4), (100, 8), (0, 2), (0, 9), (1, 9)]
exact = [max(1, (d + k - 2) // (k - 1)) for d, k in cases]
stacked = check.run(lambda: [windowed(d, k) for d, k in cases])
check.equal(
    stacked,
    exact,
    "`windowed`: every layer reaches back k − 1 positions further; round up to whole layers, at least one",
    wrong={
        "`windowed`: a window of k positions reaches back k − 1, not k: one of the k is the position itself": [
            max(1, -(-d // k)) for d, k in cases
        ],
        "`windowed`: round up: a layer that is needed only in part is needed": [max(1, d // (k - 1)) for d, k in cases],
        "`windowed`: where d is a multiple of k − 1, the last layer reaches exactly far enough: no further one is needed": [
            d // (k - 1) + 1 for d, k in cases
        ],
        "`windowed`: for d = 0 one layer is needed, not none": [-(-d // (k - 1)) for d, k in cases],
        "`windowed`: one layer is not enough for every distance: it sees k positions and no more": [1] * len(cases),
    },
)
check.equal(check.run(windowed, 1000, 8), 143, "`windowed`: for large d, count how often k − 1 positions fit into d, and round up")
check.equal(check.run(windowed, 50, 2), 50, "`windowed`: with k = 2 every layer reaches back one position further")
check.equal(
    check.run(lambda: [attentive(d) for d in far]),
    [1] * len(far),
    "`attentive`: which positions can one layer of self-attention look at? Does the distance matter?",
)
### END HIDDEN TESTS
check.score()

# %% [markdown]
# ### 2.2 Look
# The next cell draws your three functions, for distances up to 1024 and a window of $k = 5$. *Before you run it:* on these axes, with both scales
# logarithmic, which curves become straight lines?

# %% look=true
distances = [2**i for i in range(11)]
plots.curves(
    {
        "recurrent cell": (distances, [recurrent(d) for d in distances]),
        "windows of 5": (distances, [windowed(d, 5) for d in distances]),
        "self-attention": (distances, [attentive(d) for d in distances]),
    },
    x_label="distance d (positions)",
    y_label="applications or layers on the path",
    title="How long is the path from a word to an output d positions later?",
    log_x=True,
    log_y=True,
)
plt.show()

# %% [markdown]
# Two things to think about before the written question. The curve of the windows depends on $k$: what would $k = 1025$ change, and what
# would it cost in weights? And the figure shows the length of the path, not the work: what does a layer of each kind cost for a sequence of
# $n$ words? You will count that in `03-attention`.
#
# ## 3 In your own words
#
# ### 3.1 What is self-attention for? <small>★★☆ · 15 min · 4 points, graded by hand</small>
# Explain it to a fellow student who knows only recurrent networks. Name three different things that it does for a model. For each, say why
# a recurrent network has more trouble with it. Show one of them on an example sentence, and name one price that is paid. About 150 words,
# in your own words, without formulas.

# %% [markdown] written="written-self-attention" points=4
# <!-- BEGIN SOLUTION -->
# **Model answer.** First, *dependencies at any distance*. In "The keys that she had left beside the old lamp in the hall were gone", the
# form "were" depends on "keys", twelve words back. A recurrent network has to carry the plural through every step between in a state of
# fixed size, and the gradient has to come back the same way. Self-attention links the two positions directly, at any distance. Second,
# *parallelism*. A recurrent network cannot compute step $t$ before step $t - 1$. In self-attention no position waits for another within a
# layer, so in training all positions are computed at once, in a few large matrix products. Third, *context*. The same word gets another
# vector in another sentence: "bank" mixes in what it needs from "river" or from "loan", chosen by content, and with several layers from
# words that have been put in context themselves. A recurrent network reading from the left knows only what came before, and only what is
# left of it. The price: every word is compared with every other, so time and memory grow with the square of the length; and without extra
# position information the order of words would be invisible to it.
#
# | points | rubric |
# | --- | --- |
# | 1 | dependencies at any distance: a direct link, against a state that has to survive every step (or a gradient that has to pass them) |
# | 1 | parallelism: all positions of a layer at once in training, against steps that wait for each other |
# | 1 | context: a word's vector is made from the other words that matter, chosen by content (a mixture, not one fixed vector per word) |
# | 1 | an example that fits its claim, *and* one true price (quadratic work or memory, order invisible without positions, …) |
#
# Half a point for an item that is named but not explained. Another true benefit, well explained (for example weights that can be looked at,
# with a caveat), may stand for one of the first three.
# <!-- END SOLUTION -->

# %% [markdown]
# ## 4 Bonus: write the fourteenth question <small>★★★ · 20 min · 2 bonus points, graded by hand</small>
# Good wrong options are harder to write than right ones: each should be what a person with one particular wrong idea would choose. Write a
# select-all-that-apply question about sequence models that is not among the thirteen: a stem, four or five options, the letters that apply,
# and for every option one sentence that says why it applies or not. For each wrong option, name the idea behind it. Do not let length or
# wording give the answer away.

# %% [markdown] written="bonus-own-question" points=2
# <!-- BEGIN SOLUTION -->
# **One possible answer.** *You raise the temperature of the softmax from 1 to 2 while you sample from a language model. Which statements
# are right?*
#
# - **A** Rare words are drawn more often than before. *Applies:* dividing the scores by 2 flattens the distribution, which moves
#   probability to its tail.
# - **B** The order of the words by probability stays the same. *Applies:* dividing by a positive number keeps the order of the scores.
# - **C** The model has to be trained again with the new temperature. *Does not apply; the idea behind it is that every number in a model is
#   learned:* temperature acts on finished scores.
# - **D** The probabilities sum to more than 1. *Does not apply; the idea behind it is that every word gets more:* the softmax divides by
#   the new sum, so what rare words gain, frequent ones lose.
#
# | points | rubric |
# | --- | --- |
# | 1 | the stem and the key are unambiguous and correct, and every option has a correct explanation |
# | 1 | each wrong option rests on a named, plausible misconception, and nothing in length or wording betrays it |
# <!-- END SOLUTION -->

# %% [markdown]
# ## What you can now do
# - Match a task with a kind of model by what goes in, what comes out, and what may be seen.
# - Say what a language model's softmax estimates, and what happens to its output when you generate.
# - Read the shape of a batch on its way through a model, and get a batch into shape.
# - Look for the sources of a bias, and for the reason when weights turn into NaN.
# - Count how far a word's influence has to travel, and explain self-attention without a formula.
#
# Next, `02-rnn-backprop` opens the recurrent network and derives its gradients, step by step.
