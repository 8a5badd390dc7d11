"""What 01-big-picture needs around its exercises."""

from helpers.big_picture.questions import QUESTIONS

__all__ = ["QUESTIONS"]
