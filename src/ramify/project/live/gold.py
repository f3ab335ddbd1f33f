"""Gold questions: entries whose answer is known, asked again of somebody else, to tell how often people are right."""

import numpy as np

from ramify.labels import RELEVANT
from ramify.noise import noise
from ramify.project.live.state import State
from ramify.project.store.leases import Entry


class Gold:
    """What was settled, by answers that outrank others, is known; who settled it is never asked."""

    def __init__(self, state: State) -> None:
        self.state = state
        self._first, self._asked = state.store.last_event(), 0

    def due(self, share: float) -> bool:
        """Whether the next question should be one of these: so many are, at random."""
        self._asked += 1
        return bool(noise(self._first, np.array([self._asked]), np.array([2]))[0] < share)

    def entries(self, annotator: str, passed: set[Entry]) -> list[Entry]:
        """What may be asked of an annotator, in a random order: nothing that they have answered or that was passed."""
        ledger, now = self.state.store.consensus.ledger(), self.state.snapshot()
        said = ledger.agreement
        who = ledger.names.index(annotator) if annotator in ledger.names else -1
        open_ = said.settled.copy()
        open_[said.lines[said.opinions.annotators == who]] = False
        lines = np.flatnonzero(open_ & (said.items < len(now.labels)))
        chance = noise(self._first + self._asked, said.items[lines], said.concepts[lines])
        lines = lines[np.argsort(chance)]
        listed = zip(said.items[lines].tolist(), said.concepts[lines].tolist(), strict=True)
        return [entry for entry in listed if entry not in passed and self._makes_sense(entry)]

    def _makes_sense(self, entry: Entry) -> bool:
        """Whether it is asked as any other: its concept is still there, and what is above it applies."""
        now, (item, concept) = self.state.snapshot(), entry
        number = now.contents.number_of.get(concept)
        if number is None:
            return False
        parent = int(now.labels.taxonomy.parents[number])
        return parent < 0 or int(now.labels.states(item, parent)[0, 0]) == RELEVANT
