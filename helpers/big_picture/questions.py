"""The thirteen questions of 01-big-picture as its panels show them.

The same text stands in the notebook; no answer stands here.
"""

from helpers.kit.quiz import Item

# Long lines: a question is easier to read, compare and translate in one piece.
_ITEMS = (
    Item(
        "q1",
        "A program should continue a story word by word from its opening sentences. Which of these models can do it"
        " just as they were trained, because each step asks for exactly the output that they learned to give?",
        {
            "A": "A Transformer encoder that learned to restore words masked at random places in a sentence",
            "B": "A Transformer decoder that learned to predict each token from the tokens before it",
            "C": "An encoder with a classifier that learned to call a review positive or negative",
            "D": "A recurrent network that was trained as a language model, from left to right",
            "E": "An encoder that learned to give sentences of similar meaning similar vectors",
        },
    ),
    Item(
        "q2",
        "An encoder reads the whole input, each position sees all others, and one vector per token comes out. A small"
        " layer on top turns vectors into scores for a fixed list of labels. There is no decoder, and nothing is"
        " generated. Which tasks fit this design?",
        {
            "A": "Decide whether an e-mail is spam",
            "B": "Summarise a long report in two or three sentences that do not occur in it",
            "C": "Reply to a customer's question in free text",
            "D": "Name the part of speech of every word in a finished sentence",
            "E": "Decide whether a second sentence follows from a first one, contradicts it, or neither",
        },
    ),
    Item(
        "q3",
        "A recurrent network can be used many-to-one: it reads a whole sequence, and a single output is computed from"
        " its last state. Which tasks have this shape?",
        {
            "A": "Write down the words of a recorded speech",
            "B": "Tell whether a film review is favourable",
            "C": "Estimate a speaker's age group from a recording",
            "D": "Tag every word of a sentence with its part of speech",
            "E": "Describe one photograph in a sentence",
            "F": "Tell in which language a sentence is written",
        },
    ),
    Item(
        "q4",
        "A classifier for job applications was fine-tuned from a pretrained model and chosen by a validation score. In"
        " use it treats applicants of one group worse than others with the same qualifications. Which of these can be a"
        " cause?",
        {
            "A": "The base model: its pretraining corpus tied names of that group to certain jobs",
            "B": "The labels: past decisions that were unfair to that group were used as the truth",
            "C": "The sample: that group hardly occurs among the training examples",
            "D": "The metric: overall accuracy chose the model, and a small group hardly moves it",
        },
    ),
    Item(
        "q5",
        "A Transformer decoder with 6 layers, 12 attention heads, width 768 and a vocabulary of 50,000 tokens reads a"
        " batch of 8 sequences of 100 tokens. You look at the output of its last layer, before any prediction head."
        " It is one tensor. Which of these are among its axes?",
        {
            "A": "An axis of length 8: the sequences of the batch",
            "B": "An axis of length 6: the layers",
            "C": "An axis of length 50,000: the tokens of the vocabulary",
            "D": "An axis of length 100: the positions of a sequence",
            "E": "An axis of length 12: the attention heads",
            "F": "An axis of length 768: the hidden features",
        },
    ),
    Item(
        "q6",
        "A recurrent language model reads a text y₁, y₂, …, yₙ from left to right. Step t takes the state of step t − 1"
        " and the word yₜ₋₁ (y₀ is a start symbol), and gives a softmax over the vocabulary that is trained against yₜ."
        " Which probability does this softmax estimate?",
        {
            "A": "P(yₜ): how often the word occurs, whatever surrounds it",
            "B": "P(yₜ | yₜ₋₁): how often the word follows the previous word",
            "C": "P(y₁, …, yₜ): how probable the text up to here is as a whole",
            "D": "P(yₜ | y₁, …, yₜ₋₁): how probable the word is after all words before it",
            "E": "P(yₜ | all other words): how well the word fits the words on both sides of it",
        },
    ),
    Item(
        "q7",
        "You train a recurrent network in float32 on sequences of 200 steps, by backpropagation through all of them."
        " From one update to the next the logged norm of the gradient goes 2, 3, 90, 4·10⁷, inf. A little later every"
        " weight is NaN. Which statements are right?",
        {
            "A": "The gradients vanished: on the way back through 200 steps they can shrink exponentially",
            "B": "The network memorised its training text, and stopping earlier would have helped",
            "C": "The gradients exploded: on the way back through 200 steps they can grow exponentially",
            "D": "With a smaller learning rate from here on, the weights become numbers again",
            "E": "Rescaling the gradient when its norm exceeds a threshold is a common way to prevent this",
        },
    ),
    Item(
        "q8",
        "You generate text by sampling from a trained recurrent language model. At step t the softmax gives a"
        " distribution p, and a word w is drawn from it. What goes into step t + 1?",
        {
            "A": "The embedding of w, even if another word was more probable",
            "B": "The embedding of the most probable word under p, even if w is another word",
            "C": "The average of all embeddings, with the probabilities p as weights",
            "D": "The hidden state that step t has computed",
            "E": "The embedding of the next word in the training text",
        },
    ),
    Item(
        "q9",
        "A recurrent network reads a sequence and gives an output at every time t. A bidirectional one adds a second"
        " pass, from the end to the beginning, so that each output also depends on what comes later. In which tasks is"
        " this ruled out, because the output at time t may depend on nothing after t?",
        {
            "A": "Mark, for every word of a newspaper archive, whether it belongs to a name",
            "B": "Suggest, after every word that somebody types, the next one",
            "C": "Correct, for every letter of a scanned page, what the scanner has misread",
            "D": "Forecast, every evening of a year, the next day's demand for electricity",
            "E": "Decide, in every second of a machine's run, whether to stop it at once",
        },
    ),
    Item(
        "q10",
        "An encoder–decoder model for translation is trained on pairs of a source sentence x and its translation y ="
        " y₁, …, yₙ, where yₙ is an end symbol. The only loss is the cross-entropy of the decoder's predictions of y."
        " Which statements are right?",
        {
            "A": "Step t of the decoder estimates P(yₜ | y₁, …, yₜ₋₁, x)",
            "B": "The encoder estimates P(x), the probability of the source sentence",
            "C": "Training changes the encoder's weights too, although the loss is computed at the decoder",
            "D": "New source sentences can be sampled from the trained model, as from a language model",
            "E": "The product of the decoder's probabilities of y₁ to yₙ is its estimate of P(y | x)",
            "F": "The encoder may read x in both directions",
        },
    ),
    Item(
        "q11",
        "Three language models predict the next word: a recurrent network, a network that sees a fixed window of the"
        " last 8 words, and causal self-attention over the whole input. The word that decides the prediction is d"
        " words back. Inputs get longer, and d with them. Which statements are right?",
        {
            "A": "The recurrent network's state grows with the input, so there is room for every word",
            "B": "The fixed window cannot use the deciding word at all once d exceeds 8",
            "C": "In the recurrent network the word has to survive about d updates of the state",
            "D": "A self-attention layer's work grows more slowly with the input than a recurrent layer's",
            "E": "Self-attention has a larger advantage over the other two on long inputs than on inputs of four words",
            "F": "If only the previous word decides, self-attention can do something that the other two cannot",
        },
    ),
    Item(
        "q12",
        "A pretrained base model gives one vector per token. For a new task you put a head on it and train. Which"
        " statements about the head are right?",
        {
            "A": "It turns the text into token ids before the base sees it",
            "B": "It maps the base's output to what the task asks for, such as one score per class",
            "C": "It is one of the attention heads in the base's last layer, chosen for the task",
            "D": "Once it is trained, it can be used without the base",
            "E": "Several heads, each for a different task, can share one base",
        },
    ),
    Item(
        "q13",
        "Texts of 5, 12 and 700 tokens should go through a Transformer as one batch, that is, as one rectangular"
        " tensor. The model takes at most 512 tokens. Which of these help to cope with the unequal lengths?",
        {
            "A": "Passing an attention mask that tells tokens of the text from filler",
            "B": "Cutting off what exceeds 512 tokens",
            "C": "Asking the tokenizer for tensors in place of Python lists",
            "D": "Putting all letters in lower case before the text is cut into tokens",
            "E": "Filling up the short texts with a special token",
            "F": "Shuffling the texts again in every epoch",
        },
    ),
)

QUESTIONS = {item.name: item for item in _ITEMS}
