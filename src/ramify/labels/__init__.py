"""Labels: yes, no or unknown for every (item, concept), why it is known, and deduction."""

from ramify.labels.assertions import Assertions, Contradiction, Source
from ramify.labels.check import as_labels
from ramify.labels.labels import Labels
from ramify.labels.words import ANSWERS, IRRELEVANT, RELEVANT, STATES, UNKNOWN, WORDS

__all__ = [
    "ANSWERS",
    "IRRELEVANT",
    "RELEVANT",
    "STATES",
    "UNKNOWN",
    "WORDS",
    "Assertions",
    "Contradiction",
    "Labels",
    "Source",
    "as_labels",
]
