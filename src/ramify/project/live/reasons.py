"""Reasons: why an entry is known, in sentences."""

import time
from typing import TYPE_CHECKING, Any

import numpy as np

from ramify.labels import IRRELEVANT, RELEVANT, Source

if TYPE_CHECKING:
    from ramify.project.live.service import Service

WORDS = {1: "yes", 0: "no", -1: "unknown"}


def reasons(service: "Service", item: int, concept: int) -> dict[str, Any]:
    """The state and source of an entry, who said what about it, and from what else it follows."""
    store, taxonomy = service.store, service.store.taxonomy
    with service._lock:
        states = service.labels.states(item, np.arange(len(taxonomy)))[0]
        source = Source(int(service.labels.sources(item, concept)[0, 0]))
        said = service.labels.assertions(item)
        torn = [str(each) for each in service.labels.take(np.array([item])).contradictions()]
    found = []
    for event in store.events_about(item, int(store.id_of[concept])):
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(event.at))
        what = {"undo": "took an answer back", "skip": "skipped it"}.get(event.answer, f"said {event.answer}")
        found.append(f"{event.annotator} {what} on {when}")
    imported = said.values[(said.concepts == concept) & (said.sources == Source.IMPORTED)]
    if len(imported):
        found.append(f"it was imported as {WORDS[int(imported[0])]}")
    if source == Source.DEDUCED:
        found.append(_deduced(taxonomy, states, concept))
    found += ["it is set aside because answers contradict each other: " + each.partition(": ")[2] for each in torn]
    state = int(states[concept])
    return {"state": WORDS[state], "source": source.name.lower(), "reasons": found or ["nobody has said anything yet"]}


def _deduced(taxonomy: Any, states: Any, concept: int) -> str:
    name = repr(taxonomy.names[concept])
    parent = int(taxonomy.parents[concept])
    if states[concept] == IRRELEVANT:
        if parent >= 0 and states[parent] == IRRELEVANT:
            return f"{taxonomy.names[parent]!r} is not relevant, so {name} is not"
        return f"none of the finer concepts of {name} is relevant, and they are all there are"
    below = [child for child in taxonomy.children(concept) if states[child] == RELEVANT]
    if below:
        return f"{taxonomy.names[below[0]]!r} is relevant, so {name} is"
    return f"{taxonomy.names[parent]!r} is relevant, and all other concepts below it are not, so {name} is"
