"""What the audit says of labels: intervals, unbiased estimates, promises, decoding, and when to stop."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest, hypergeom

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.quality.audit import Draws, Known, audit
from ramify.quality.decoding import choose
from ramify.quality.drawing import Units
from ramify.quality.estimate import Counts, quality
from ramify.quality.intervals import Share, chance_of_more, clopper_pearson, share_of
from ramify.quality.promise import fewest, promise, promise_of
from ramify.quality.stopping import advise
from ramify.quality.thresholds import thresholds
from ramify.taxonomy import Taxonomy

TREES = Taxonomy(
    {
        "animal": {"exhaustive": True, "cat": None, "dog": {"exhaustive": True, "pug": None, "poodle": None}},
        "food": {"apple": None, "bread": ["rye", "wheat"]},
    }
)
FLAT = Taxonomy({"animal": ["cat", "dog", "owl"], "food": ["apple", "bread"]})
EVERY = np.arange(len(FLAT))


# -- decoding ----------------------------------------------------------------------------------------------------------


@settings(deadline=None)
@given(st.data())
def test_what_is_chosen_obeys_the_taxonomy_at_every_depth(data):
    """Nothing without what is above it, a child of everything exhaustive, and what is known stays as it is known."""
    count = len(TREES)
    said = data.draw(st.lists(st.tuples(st.integers(0, count - 1), st.integers(0, 1)), max_size=4))
    labels = Labels(TREES, np.full((1, len(TREES.roots)), -1))
    for concept, value in said:
        labels.record(0, concept, value, "annotated")
    states = labels.states(concepts=np.arange(count))
    p = np.array([data.draw(st.lists(st.floats(0, 1), min_size=count, max_size=count))])
    least = data.draw(st.floats(0.01, 0.99))
    chosen = choose(p, states, TREES, least)[0]
    torn = bool(labels.contradictions())
    for concept in range(count):
        if states[0, concept] >= 0:
            assert chosen[concept] == states[0, concept]
        parent = TREES.parents[concept]
        if chosen[concept] and parent >= 0 and not torn:
            assert chosen[parent]
        children = TREES.children(concept)
        if len(children) and TREES.exhaustive[concept] and chosen[concept] and not torn:
            assert chosen[children].any()
        if not len(children) and states[0, concept] < 0 and p[0, concept] >= least:
            assert chosen[concept]


def test_thresholds_are_those_of_the_best_f1():
    rng = np.random.default_rng(0)
    p = rng.random(4000)
    truth = rng.random(4000) < p**2  # too sure of itself: a half is too low
    own = thresholds(p, truth, np.zeros(4000, np.intp), 1)[0]
    scores = {t: 2 * (truth & (p >= t)).sum() / (truth.sum() + (p >= t).sum()) for t in np.linspace(0.2, 0.8, 25)}
    assert own == pytest.approx(max(scores, key=scores.__getitem__))


# -- intervals ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("hits", "count"), [(0, 7), (3, 7), (7, 7), (190, 200)])
def test_clopper_pearson_is_scipys(hits, count):
    other = binomtest(hits, count).proportion_ci(0.95)
    assert clopper_pearson(hits, count) == pytest.approx((other.low, other.high))
    assert chance_of_more(hits, count, 0.8) == pytest.approx(binomtest(hits, count, 0.8, "greater").pvalue)


def test_equal_weights_are_a_simple_sample_and_unequal_ones_count_as_fewer():
    hits = np.array([1.0] * 30 + [0.0] * 10)
    even = share_of(np.ones(40), hits, np.ones(40))
    assert even.value == 0.75
    assert 38 < even.size <= 40
    uneven = share_of(np.array([1.0, 5.0] * 20), hits, np.ones(40))
    assert uneven.size < 30
    bunched = share_of(np.ones(20), 2 * hits[::2], np.full(20, 2.0))  # both of a bunch alike: half as much is known
    assert bunched.size < 21


# -- the estimate ------------------------------------------------------------------------------------------------------


class Fixed:
    """A learner that says the same whatever is answered, so that the truth of an estimate is known."""

    def __init__(self, p):
        self.p = p

    def learned_items(self):
        return np.arange(len(self.p))

    def left_out(self, items, states, *, coarse_known):
        return self.p[items]


class Answered:
    """A small project: a strategy that takes the most doubtful units, an audit, and items that are added half-way.

    At the end, so many are only for the audit as ``then`` says.
    """

    def __init__(self, seed, items=120, screens=60, share=0.4, then=0):
        rng = np.random.default_rng(seed)
        self.truth = (rng.random((items, len(FLAT))) < rng.uniform(0.1, 0.6, len(FLAT))).astype(np.int8)
        self.truth[:, FLAT.roots] = rng.random((items, 2)) < (0.8, 0.3)
        for concept in FLAT.leaves:
            self.truth[:, concept] &= self.truth[:, FLAT.parents[concept]]
        noise = rng.normal(0, rng.uniform(0.2, 0.8), self.truth.shape)
        self.p = np.clip(1 / (1 + np.exp(-4 * (self.truth - 0.5 + noise))), 1e-6, 1 - 1e-6)
        coarse = self.truth[:, FLAT.roots]
        self.imported = Labels(FLAT, coarse)
        there = items // 2
        labels, before, draws, settled = Labels(FLAT, coarse[:there]), [], [], {}
        units = Units(labels)
        doubts = 0.5 - np.abs(self.p[:, FLAT.leaves] - 0.5)
        nearest = np.stack([doubts[:, FLAT.leaves_below(root)].max(axis=1) for root in FLAT.roots], axis=1)
        for seq in range(screens + then):
            if seq == screens // 2:  # the rest of the items comes
                there = items
                more = Labels(FLAT, coarse)
                for item, concept in settled:
                    more.record(item, concept, self.truth[item, concept], "annotated")
                labels, units = more, Units(more, [(item, root) for item, root, *_ in draws])
            if rng.random() < share or seq >= screens:
                drawn = units.draw(rng.random())
                if drawn is None:
                    break
                draws.append((drawn.item, drawn.root, drawn.drawn_from, there, seq))
                before.append(labels.states(drawn.item, EVERY)[0])
                item, root = drawn.item, drawn.root
            else:
                doubt = np.where(units.open, nearest[:there], -1)  # as a unit has a doubtful entry
                item, place = np.unravel_index(doubt.argmax(), doubt.shape)
                if doubt[item, place] < 0:
                    break
                item, root = int(item), int(FLAT.roots[place])
            _, concepts = labels.questions(item)
            for concept in concepts[FLAT.parents[concepts] == root].tolist():
                labels.record(item, concept, self.truth[item, concept], "annotated")
                settled[item, concept] = seq + 1
            units.look_again(labels, [item])
        self.labels, self.draws, self.before, self.settled = labels, draws, before, settled

    def audit(self):
        known = Known(*np.array(list(self.settled), np.intp).T, np.array(list(self.settled.values())))
        draws = Draws(*np.array(self.draws, np.intp).T)
        return audit(
            Fixed(self.p), draws, np.array(self.before), self.labels, known, lambda i: self.imported.states(i, EVERY)
        )

    def figures(self):
        """The estimate, and what is true."""
        states = self.labels.states()
        chosen = choose(self.p, self.labels.states(concepts=EVERY), FLAT)[:, FLAT.leaves]
        counts = Counts.empty(len(FLAT.leaves))
        counts.add(states, chosen)
        truth = self.truth[:, FLAT.leaves] == 1
        hits = (chosen & truth).sum()
        true = hits / chosen.sum(), hits / truth.sum(), 2 * hits / (chosen.sum() + truth.sum())
        return quality(self.audit(), counts), true


def test_estimates_are_unbiased_and_cover_although_a_strategy_takes_what_it_likes_and_items_are_added():
    off, covered = [], []
    for seed in range(100):
        found, true = Answered(seed).figures()
        for interval, value in zip((found.precision, found.recall, found.f1), true, strict=True):
            off.append(interval.value - value)
            covered.append(interval.low <= value <= interval.high)
    off, covered = np.array(off).reshape(-1, 3), np.array(covered).reshape(-1, 3)
    assert np.abs(off.mean(axis=0)).max() < 0.02
    assert covered.mean(axis=0).min() >= 0.94


def test_entries_that_a_strategy_took_are_taken_away():
    """Else the doubtful ones that it took would count among what is left, which would look worse than it is."""
    off = []
    for seed in range(40):
        project = Answered(seed, screens=100, share=0.2)
        found, true = project.figures()
        if found.f1 is not None:  # else more was taken away than was found
            off.append(found.f1.value - true[2])
    assert len(off) > 30
    assert abs(np.mean(off)) < 0.02


def test_late_draws_say_more_of_what_is_left():
    """They are made of few units. Were all draws weighed alike, intervals would be half as wide again."""
    widths, off, covered = [], [], []
    for seed in range(40):
        found, true = Answered(seed, screens=90, share=0.1, then=20).figures()
        widths.append(found.recall.high - found.recall.low)
        off.append(found.f1.value - true[2])
        covered.append(found.recall.low <= true[1] <= found.recall.high)
    assert np.mean(widths) < 0.12
    assert abs(np.mean(off)) < 0.01
    assert np.mean(covered) >= 0.94


def test_promises_hold():
    wrong = given_ = 0
    for seed in range(20):
        project = Answered(1000 + seed, items=240, screens=120, share=0.6)
        found = project.audit()
        for kind, target in (("precision", 0.8), ("recall", 0.7)):
            promised = promise_of(found, FLAT.leaves, kind, target)
            if promised.threshold is None:
                continue
            unknown, truth = project.labels.states() < 0, project.truth[:, FLAT.leaves] == 1
            chosen = unknown & (project.p[:, FLAT.leaves] >= promised.threshold)
            whole = chosen.sum() if kind == "precision" else (unknown & truth).sum()
            given_ += 1
            wrong += (chosen & truth).sum() < target * whole
    assert given_ > 10
    assert wrong <= hypergeom.ppf(0.999, 10**6, 5 * 10**4, given_)  # 5 in a hundred, with luck


def test_a_promise_says_how_many_more_answers_it_would_take():
    project = Answered(3, screens=20, share=0.5)
    found = project.audit()
    (rest,) = promise(found, "precision", 0.95)
    assert rest.threshold is None
    assert rest.more is None or rest.more > 0
    assert fewest(0.95) == 59
    with pytest.raises(RamifyError, match="a precision that can be promised is a share above 0 and below 1, not 1"):
        promise(found, "precision", 1.0)


def test_units_are_drawn_uniformly_within_their_stratum():
    labels = Labels(FLAT, [[1, 0]] * 5)
    rng = np.random.default_rng(0)
    first = [Units(labels).draw(rng.random()).item for _ in range(500)]
    assert np.bincount(first, minlength=5).min() > 70


def test_mapies_threshold_is_promised_too_and_ours_still_holds():
    """Learn, then test, by MAPIE: it corrects for all thresholds at once, so its own is higher."""
    risk_control = pytest.importorskip("mapie.risk_control")
    rng = np.random.default_rng(0)
    p = rng.random(1500)
    truth = (rng.random(1500) < p).astype(int)

    def both(x):
        return np.column_stack([1 - x[:, 0], x[:, 0]])

    controller = risk_control.BinaryClassificationController(
        predict_function=both, risk="precision", target_level=0.8, confidence_level=0.95
    )
    controller.calibrate(p[:, None], truth)
    theirs = np.min(controller.valid_predict_params)
    from ramify.quality.audit import Audit, Entries

    ones = np.ones(1500)
    drawn = Entries(np.zeros(1500, np.intp), truth == 1, p, p > 0.5, ones, np.arange(1500))
    none = Entries(*(part[:0] for part in (drawn.concepts, drawn.truth, p, drawn.chosen, ones, drawn.bunches)))
    ours = promise_of(Audit(drawn, none, 1500, np.array([1500])), np.array([0]), "precision", 0.8)
    assert ours.threshold is not None
    assert 0.6 <= ours.threshold <= theirs  # from 0.6 on, four in five are right: (0.6 + 1) / 2


# -- when to stop ------------------------------------------------------------------------------------------------------


def test_advice():
    grown = [(n, 0.5 + 0.1 * np.log(n / 100)) for n in (100, 150, 200, 300)]
    assert advise(grown[:2], 40, 600.0).kind == "early"
    assert advise(grown, 29, 600.0).said == "too early to say: 29 of at least 30 audit answers"
    more = advise(grown, 40, 900.0, ["a"], ["b"], ["c", "d"])
    assert more.kind == "worth it"
    assert more.gain.value == pytest.approx(0.1 * np.log(3), abs=1e-6)  # twice as many answers in half an hour
    assert more.said.endswith("precision 0.95 is sure for 1 of 4 concepts, b fall short, 2 need more audit answers")
    assert advise([(n, 0.9) for n in (100, 150, 200, 300)], 40, 9000.0).kind == "done"
    assert advise(grown, 5, 900.0, ["a", "b"]).said == "done: precision 0.95 is reached for all 2 concepts"
    assert Share(0.5, np.inf).bounds() == (0.5, 0.5)
