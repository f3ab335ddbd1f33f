"""What is given in place of labels."""

from typing import Any

from ramify.errors import RamifyError
from ramify.labels.labels import Labels


def as_labels(labels: Any) -> Labels:
    """The labels themselves; whatever else is given in their place is refused with what to do.

    >>> as_labels([[1, 0]])
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: labels are a ramify.Labels, not list: build them with Labels(taxonomy, coarse) or ...
    """
    if isinstance(labels, Labels):
        return labels
    raise RamifyError(
        f"labels are a ramify.Labels, not {type(labels).__name__}: build them with Labels(taxonomy, coarse) or "
        "Labels.from_matrix(taxonomy, matrix)"
    )
