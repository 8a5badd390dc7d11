"""English–French sentence pairs from a typed grammar: exact references, as many as you like, split by structure."""

from english_french.grammar import PARTS, SPLITS, Pair, Structure, pairs, sentence, split_of, structures

__all__ = ["PARTS", "SPLITS", "Pair", "Structure", "pairs", "sentence", "split_of", "structures"]
