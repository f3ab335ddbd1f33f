"""Formats of other tools that a project is written in. A new one is one file beside this one and one line here."""

from ramify.project.transfer.writers import coco, fiftyone, hugging_face, label_studio, wide
from ramify.project.transfer.writers.base import Part, Person, Said, Writer

__all__ = ["WRITERS", "Part", "Person", "Said", "Writer"]

WRITERS: dict[str, Writer] = {
    "wide": wide,
    "coco": coco,
    "label-studio": label_studio,
    "fiftyone": fiftyone,
    "huggingface": hugging_face,
}
"""By what ``--format`` calls them."""
