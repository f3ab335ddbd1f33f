"""Labels: yes, no or unknown for every (item, concept), why it is known, and deduction."""

from ramify.labels.assertions import Assertions, Contradiction, Source
from ramify.labels.labels import Labels
from ramify.labels.matrix import IRRELEVANT, RELEVANT, UNKNOWN

__all__ = ["IRRELEVANT", "RELEVANT", "UNKNOWN", "Assertions", "Contradiction", "Labels", "Source"]
