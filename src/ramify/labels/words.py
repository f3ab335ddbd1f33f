"""The words for states and answers, as files, the database, the page and the command line say them."""

from typing import Literal

RELEVANT, IRRELEVANT, UNKNOWN = 1, 0, -1

State = Literal["yes", "no", "unknown"]
Answer = Literal["yes", "no", "skip"]

STATES: dict[State, int] = {"yes": RELEVANT, "no": IRRELEVANT, "unknown": UNKNOWN}
"""What is known of an entry."""
ANSWERS: dict[Answer, int] = {"yes": RELEVANT, "no": IRRELEVANT, "skip": UNKNOWN}
"""What a person may say of one."""
WORDS: dict[int, State] = {value: word for word, value in STATES.items()}
"""The word for 1, 0 and -1.

>>> WORDS[1], ANSWERS["skip"]
('yes', -1)
"""
