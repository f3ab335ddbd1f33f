"""What follows from answers of several annotators: agreed values, disagreements, how often people agree."""

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ramify.labels import IRRELEVANT, RELEVANT, UNKNOWN
from ramify.taxonomy import Index


@dataclass(frozen=True)
class Opinions:
    """Answers as parallel arrays, in the order in which they were given."""

    annotators: Index
    """Numbers of annotators."""
    items: Index
    concepts: Index
    values: NDArray[np.int8]
    """1 yes, 0 no."""
    settles: NDArray[np.bool_]

    def some(self, rows: Index) -> "Opinions":
        """Some of them."""
        return Opinions(*(column[rows] for column in self.columns()))

    def columns(self) -> list[NDArray[Any]]:
        """The arrays."""
        return [getattr(self, field.name) for field in fields(self)]


@dataclass(frozen=True)
class Agreement:
    """One line for every answered entry, ordered by item and concept.

    >>> pair = np.array([0, 1])
    >>> said = Opinions(pair, np.array([4, 4]), np.array([2, 2]), 1 - pair, pair > 1)
    >>> agreed(said).values_of(np.array([4, 5]), np.array([2, 2])), agreed(said).disagreements()
    (array([-1, -1], dtype=int8), [(4, 2, {0: 1, 1: 0})])
    """

    items: Index
    concepts: Index
    values: NDArray[np.int8]
    """1 or 0; -1 where annotators disagree."""
    settled: NDArray[np.bool_]
    """Whether an answer settled it, whatever others say."""
    opinions: Opinions
    """The latest answer of each annotator about each entry."""
    lines: Index
    """Which line each of these opinions is about."""

    def values_of(self, items: Index, concepts: Index) -> NDArray[np.int8]:
        """The values of some entries; -1 as well where nobody answered."""
        stride = int(max(self.concepts.max(initial=0), concepts.max(initial=0))) + 1
        keys, wanted = self.items * stride + self.concepts, items * stride + concepts
        place = np.searchsorted(keys, wanted)
        answered = np.append(keys, -1)[place] == wanted
        return np.where(answered, np.append(self.values, UNKNOWN)[place], UNKNOWN).astype(np.int8)

    def disagreements(self) -> list[tuple[int, int, dict[int, int]]]:
        """The entries that annotators disagree about and nobody settled: item, concept, what each says."""
        torn = np.flatnonzero(self.values == UNKNOWN)
        said: dict[int, dict[int, int]] = {line: {} for line in torn.tolist()}
        for row in np.flatnonzero((self.values == UNKNOWN)[self.lines]).tolist():
            said[int(self.lines[row])][int(self.opinions.annotators[row])] = int(self.opinions.values[row])
        return [(int(self.items[line]), int(self.concepts[line]), opinions) for line, opinions in said.items()]


def agreed(said: Opinions) -> Agreement:
    """The latest settling answer wins; else each annotator's latest counts, and all must agree."""
    stride = int(said.concepts.max(initial=0)) + 1
    keys, lines = np.unique(said.items * stride + said.concepts, return_inverse=True)
    items, concepts = np.divmod(keys, stride)
    latest = _last_places(lines * (int(said.annotators.max(initial=0)) + 1) + said.annotators)
    yes = np.bincount(lines[latest], said.values[latest] == RELEVANT, minlength=len(keys)) > 0
    no = np.bincount(lines[latest], said.values[latest] == IRRELEVANT, minlength=len(keys)) > 0
    values = np.where(yes & no, UNKNOWN, np.where(yes, RELEVANT, IRRELEVANT)).astype(np.int8)
    settled = np.zeros(len(keys), np.bool_)
    settling = np.flatnonzero(said.settles)
    settling = settling[_last_places(lines[settling])]
    settled[lines[settling]] = True
    values[lines[settling]] = said.values[settling]
    return Agreement(items, concepts, values, settled, said.some(latest), lines[latest])


def agreement_of_annotators(said: Opinions) -> dict[int, float]:
    """For each annotator who has others beside them, how often those who answered the same entries said the same.

    Answers that settle do not count: who settles has seen what the others said.
    """
    own = agreed(said.some(np.flatnonzero(~said.settles)))
    opinions, lines, count = own.opinions, own.lines, len(own.items)
    yes = np.bincount(lines, opinions.values == RELEVANT, minlength=count)[lines]
    everyone = np.bincount(lines, minlength=count)[lines]
    same = np.where(opinions.values == RELEVANT, yes, everyone - yes) - 1
    agreeing, others = np.bincount(opinions.annotators, same), np.bincount(opinions.annotators, everyone - 1)
    return {who: float(agreeing[who] / others[who]) for who in np.flatnonzero(others).tolist()}


def right_answers(said: Opinions) -> dict[int, tuple[int, int]]:
    """For each annotator, how many answers to gold questions were right, and how many there are in all.

    Those are answers to what another one had settled before; it is right to say what is settled now. What somebody
    said before it was settled does not count: people settle what is doubtful, so it would make everybody look worse.

    >>> who, one = np.array([0, 1, 2, 1]), np.zeros(4, np.intp)
    >>> right_answers(Opinions(who, one, one, np.array([0, 1, 1, 0], np.int8), who == 1))  # the last word is no
    {2: (0, 1)}
    """
    now, place = agreed(said), np.arange(len(said.items))
    keys = said.items * (int(said.concepts.max(initial=0)) + 1) + said.concepts
    line = np.unique(keys, return_inverse=True)[1]  # as in ``now``
    since = np.full(len(now.items), len(place))
    np.minimum.at(since, line[said.settles], place[said.settles])
    latest = _last_places(line * (int(said.annotators.max(initial=0)) + 1) + said.annotators)
    knew = set(zip(said.annotators[said.settles].tolist(), line[said.settles].tolist(), strict=True))
    found: dict[int, tuple[int, int]] = {}
    for row in latest[place[latest] > since[line[latest]]].tolist():
        who = int(said.annotators[row])
        if (who, int(line[row])) not in knew:
            right, every = found.get(who, (0, 0))
            found[who] = right + int(said.values[row] == now.values[line[row]]), every + 1
    return found


def alphas(said: Opinions) -> dict[int, float]:
    """Krippendorff's alpha of each concept that several people answered for the same items; 1 is agreement, 0 chance.

    With yes and no, n values in all of items that have two or more, and (m, y, n) = values, yeses, noes of an item:
    1 - (n - 1) sum(2 y n / (m - 1)) / (2 Y N). None is given where all said the same: chance could not do worse.
    Answers that settle do not count, as above.

    >>> items, who = np.repeat([0, 1, 2], 2), np.tile([0, 1], 3)
    >>> values = np.array([1, 1, 0, 0, 1, 0], np.int8)
    >>> {concept: round(a, 3) for concept, a in alphas(Opinions(who, items, items * 0, values, items < 0)).items()}
    {0: 0.444}
    """
    own = agreed(said.some(np.flatnonzero(~said.settles)))
    count = len(own.items)
    everyone = np.bincount(own.lines, minlength=count)
    yes = np.bincount(own.lines, own.opinions.values == RELEVANT, minlength=count)
    found = {}
    for concept in np.unique(own.concepts[everyone > 1]).tolist():
        lines = (own.concepts == concept) & (everyone > 1)
        m, y = everyone[lines], yes[lines]
        total, yeses = m.sum(), y.sum()
        apart, by_chance = float((2 * y * (m - y) / (m - 1)).sum()), float(2 * yeses * (total - yeses))
        if by_chance:
            found[concept] = float(1 - (total - 1) * apart / by_chance)
    return found


def _last_places(keys: Index) -> Index:
    """Where each different key stands for the last time, in ascending order."""
    _, from_end = np.unique(keys[::-1], return_index=True)
    return np.sort(len(keys) - 1 - from_end)
