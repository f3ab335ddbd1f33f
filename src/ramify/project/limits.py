"""The limits of a project, each in one place: what the store refuses is what the page and the API say."""

import re

from ramify.errors import RamifyError

LONGEST_NAME = 100  # characters of an annotator's name
LONGEST_KEY = 200  # characters of a request's key
NAME = r"^[^\x00-\x1f\x7f]*[^\s\x00-\x1f\x7f][^\x00-\x1f\x7f]*$"  # no control characters, and something to be seen
MOST_QUESTIONS = 50  # screens that one annotator may hold at once over HTTP
MOST_ANSWERS = 2000  # entries answered in one request over HTTP
LONGEST_NOTE = 500  # characters of a flag's note
LONGEST_SCREEN = 3600.0  # seconds that one screen may have taken
LONGEST_PAGE = 200  # items or answers on one page of a list
LONGEST_GUIDELINES = 100_000  # characters that are shown
MANY_FINE, TOP = 500, 10  # fine concepts too many for columns, and how many of each item are written then
LARGEST_UPLOAD = 32 << 20  # bytes of a table that is sent over HTTP
CANNOT_TELL, BROKEN = "cannot tell", "broken"
FLAGS = (CANNOT_TELL, BROKEN)  # why somebody skips for good: this question, or all about the item
MODES = {"group": 1, "single": 1, "grid": 12}  # how questions are put together, and items on a screen (pace.GRID)


def check_name(annotator: str) -> str:
    """An annotator's name without spaces around it; refused where it is none.

    >>> check_name(" Ada ")
    'Ada'
    """
    name = str(annotator).strip()
    if len(name) > LONGEST_NAME or not re.search(NAME, name) or not name.isprintable():
        raise RamifyError(f"an annotator is a name of 1 to {LONGEST_NAME} letters, not {annotator!r}")
    return name
