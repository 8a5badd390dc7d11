"""The old name of `autograder.authoring.mistakes`, which files of variants go on importing."""

from autograder.authoring.mistakes import Mistake, Right

__all__ = ["Mistake", "Right"]
