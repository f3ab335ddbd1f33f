"""How much an answer about each item would teach: the order of the same shortlist that questions are taken from."""

import numpy as np

from ramify.project.live.kept import KeptList
from ramify.project.live.service import Service

EVERYTHING = 1 << 24  # entries


def teaching_order(service: Service) -> dict[int, int]:
    """The place of each item, by number, that is on the project's shortlist: the first would teach most."""
    if isinstance(service.questions.shortlist, KeptList):  # it ends where its few noted questions do
        service.questions.make(everything=False)
    with service.state.lock:
        shortlist = service.questions.shortlist
        listed = np.empty(0, np.intp) if isinstance(shortlist, KeptList) else shortlist.first(EVERYTHING).items
    items, first = np.unique(listed, return_index=True)
    return {item: place for place, item in enumerate(items[np.argsort(first)].tolist())}
