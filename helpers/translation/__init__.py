"""What 12-translation needs around its exercises."""

from helpers.translation.alignment import alignment_explorer, alignment_map, alignment_share, cross_maps, dictionary
from helpers.translation.batches import Batches, encoded, padded
from helpers.translation.bleu_words import tokenize_13a
from helpers.translation.chains import RowChains, TimedChain

__all__ = [
    "Batches",
    "RowChains",
    "TimedChain",
    "alignment_explorer",
    "alignment_map",
    "alignment_share",
    "cross_maps",
    "dictionary",
    "encoded",
    "padded",
    "tokenize_13a",
]
