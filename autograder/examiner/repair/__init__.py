"""Damaged notebooks become gradable ones, and every repair is on the record.

reading_limits.py  time and memory that reading may take
reading.py         bytes of a submitted file to cells, whatever version or editor it comes from; or why it is refused
cells.py           one cell; the submission on its way to the notebook that is graded
definitions.py     what the text of a cell defines
matching.py        which submitted cell is which cell of the assignment: by name, id, text, place
passes.py          the instructor's cells, with the student's text where the student may write: a list of small passes
"""

from autograder.examiner.repair.cells import Cell, Repaired, normal, released_metadata
from autograder.examiner.repair.passes import repair
from autograder.examiner.repair.reading import MOST_BYTES, PICTURES, Unreadable, read
from autograder.examiner.repair.reading_limits import within_limits

__all__ = [
    "MOST_BYTES",
    "PICTURES",
    "Cell",
    "Repaired",
    "Unreadable",
    "normal",
    "read",
    "released_metadata",
    "repair",
    "within_limits",
]
