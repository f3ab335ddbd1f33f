import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.func import functional_call

from ramify.checks.data import TAXONOMY, data
from ramify.checks.strategies import STRATEGY_CHECKS, check_query, entries
from ramify.errors import RamifyError
from ramify.labels import UNKNOWN, Labels
from ramify.learners import LEML, CoarsePrior, Factored, NoisyOr, PseudoLabel, Refine
from ramify.learners.warm import warm_items
from ramify.meta import bce
from ramify.noise import noise
from ramify.strategies import STRATEGIES, ExpectedGain, LookAhead, Random, RandomItems, Uncertainty, look_ahead
from ramify.strategies.groups import Groups, Knowledge
from ramify.strategies.pool import Pool
from ramify.strategies.select import Best
from ramify.strategies.uncertainty import entropy
from ramify.taxonomy import Taxonomy

SMALL = {"hidden": (8,), "epochs": 2, "shortest_epoch": 10, "random_state": 0}
COARSE = {"hidden": (16, 16), "steps": 40, "random_state": 0}
LEARNERS = {
    "refine": Refine(**COARSE),
    "pseudo-label": PseudoLabel(**SMALL),
    "factored": Factored(**SMALL),
    "leml": LEML(rank=3, **SMALL),
}


@pytest.mark.parametrize("check", STRATEGY_CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("name", STRATEGIES)
def test_every_strategy_conforms(name, learner, check):
    check(STRATEGIES[name](), LEARNERS[learner])


@pytest.mark.parametrize("name", STRATEGIES)
def test_bad_input_gets_one_sentence(name):
    features, labels = data()
    strategy = STRATEGIES[name](random_state=0)
    for batch_size in (0, -1, 2.5, "ten"):
        with pytest.raises(RamifyError, match="batch size is a whole number"):
            strategy.query(None, features, labels, batch_size)
    with pytest.raises(RamifyError, match="must agree"):
        strategy.query(None, features[:-1], labels, 5)
    with pytest.raises(RamifyError, match="exclude takes two arrays"):
        strategy.query(None, features, labels, 5, exclude=([0, 1], [0]))
    with pytest.raises(RamifyError, match="'fish'"):
        strategy.query(None, features, labels, 5, exclude=([0], ["fish"]))
    if strategy.needs_learner:
        with pytest.raises(RamifyError, match="give one that is fitted"):
            strategy.query(None, features, labels, 5)
        with pytest.raises(RamifyError, match="learned nothing yet"):
            strategy.query(Refine(), features, labels, 5)
        learner = Refine(**COARSE).fit(features, labels)
        with pytest.raises(RamifyError, match="columns"):
            strategy.query(learner, features[:, :3], labels, 5)
        other = Labels.from_matrix(Taxonomy({"animal": ["cat", "dog"]}), [[1, -1], [1, 0]] * 30)
        with pytest.raises(RamifyError, match="another taxonomy"):
            strategy.query(learner, features, other, 5)


def test_strategies_that_need_more_than_a_prior_say_so():
    features, labels = data()
    prior = CoarsePrior(**COARSE).fit(features, labels)
    with pytest.raises(RamifyError, match="coarse-prior has nothing that a gradient step could change"):
        LookAhead().query(prior, features, labels, 5)
    check_query(Uncertainty().query(prior, features, labels, 5), labels, 5)
    by_gain = ExpectedGain(random_state=0).query(prior, features, labels, 5)  # no evidence: random items
    assert entries(by_gain) == entries(RandomItems(random_state=0).query(None, features, labels, 5))


# -- selecting ---------------------------------------------------------------------------------------------------------


@given(
    st.lists(st.lists(st.integers(0, 6), max_size=40), max_size=8),
    st.integers(1, 30),
    st.integers(0, 5),
)
def test_the_best_of_a_stream_are_the_best_of_all(blocks, count, seed):
    """Against sorting everything; block borders change nothing, and ties are broken by the seed alone."""
    best = Best(count, seed)
    item = 0
    for block in blocks:
        items = np.arange(item, item + len(block))
        best.offer(np.array(block, float), items, items % 3)
        item += len(block)
    scores = np.array([score for block in blocks for score in block], float)
    items = np.arange(item)
    order = np.lexsort((noise(seed, items, items % 3), scores))[::-1][:count]
    found = best.ranked()
    assert np.array_equal(found[0], order)
    assert np.array_equal(found[1], order % 3)
    assert np.array_equal(found[2], scores[order])


def test_a_long_stream_keeps_little():
    best = Best(10, 0)
    rng = np.random.default_rng(0)
    blocks = [rng.random(5000) for _ in range(40)]
    for number, block in enumerate(blocks):
        best.offer(block, np.arange(5000) + 5000 * number, np.zeros(5000, int))
        assert best._waiting < 10_000
    assert np.array_equal(best.ranked()[2], np.sort(np.concatenate(blocks))[::-1][:10])


def test_scores_that_are_not_numbers_are_refused():
    best = Best(2, 0)
    best.offer(np.array([0.5, 0.7, 0.1]), np.arange(3), np.arange(3))
    best._settle()
    best.offer(np.array([np.nan, 0.1]), np.arange(2), np.arange(2))
    with pytest.raises(RamifyError, match="not a number"):
        best.ranked()


def test_noise_is_uniform_and_differs_by_seed():
    items, concepts = np.divmod(np.arange(20_000), 50)
    drawn = noise(0, items, concepts)
    assert np.histogram(drawn, bins=10, range=(0, 1))[0].min() > 1800
    assert abs(np.corrcoef(drawn, noise(1, items, concepts))[0, 1]) < 0.03
    assert len(np.unique(drawn)) == len(drawn)


# -- the single strategies ---------------------------------------------------------------------------------------------


def test_random_asks_every_question_equally_often():
    _, labels = data()
    features = np.zeros((len(labels), 1))
    items, concepts = labels.questions()
    times = np.zeros((len(labels), len(TAXONOMY)))
    for seed in range(300):
        query = Random(random_state=seed).query(None, features, labels, len(items) // 2)
        times[query.items, query.concepts] += 1
    share = times[items, concepts] / 300
    assert abs(share.mean() - 0.5) < 0.01
    assert share.min() > 0.35
    assert share.max() < 0.65


def test_without_a_seed_every_query_is_another():
    features, labels = data()
    queries = {tuple(Random().query(None, features, labels, 20).items.tolist()) for _ in range(5)}
    assert len(queries) == 5


def test_random_items_asks_whole_items():
    features, labels = data()
    query = RandomItems(random_state=0).query(None, features, labels, 30)
    for item in query.items[query.items != query.items[-1]]:
        assert (query.items == item).sum() == len(labels.questions(item)[0])
    counts = [len(labels.questions(item)[0]) for item in dict.fromkeys(query.items.tolist())]
    assert sum(counts[:-1]) < 30 <= sum(counts)  # as few items as their questions allow
    assert query.item_views < Random(random_state=0).query(None, features, labels, 30).item_views


def test_uncertainty_asks_where_the_prediction_is_a_coin_toss():
    features, labels = data()
    learner = NoisyOr(**SMALL).fit(features, labels)
    query = Uncertainty(random_state=0).query(learner, features, labels, 7)
    p = learner.predict_proba(features).astype(float)
    above = [1 - (1 - p[:, TAXONOMY.leaves_below(c)]).prod(axis=1) for c in range(len(TAXONOMY.leaves), len(TAXONOMY))]
    p = np.column_stack([p, *above])
    by_hand = np.full(p.shape, -1.0)
    asked = labels.questions()
    by_hand[asked] = -(p * np.log(p) + (1 - p) * np.log(1 - p))[asked]
    best = sorted(zip(*np.unravel_index(np.argsort(-by_hand, axis=None)[:7], by_hand.shape), strict=True))
    assert sorted(entries(query)) == best
    assert np.allclose(query.scores, by_hand[query.items, query.concepts], atol=1e-6)
    assert np.isfinite(entropy(np.array([0.0, 1.0], np.float32))).all()


def literal_look_ahead(net, x, states, y, warm, alpha, asked):
    """Algorithm 2 as printed, one entry at a time, by automatic differentiation twice."""
    theta = dict(net.named_parameters())
    pool = [n for n in range(len(x)) if n not in set(warm)]
    labels = y.clone().requires_grad_()
    gradients = torch.autograd.grad(bce(net(x[pool]), labels[pool]), list(theta.values()), create_graph=True)
    virtual = {name: value - alpha * g for (name, value), g in zip(theta.items(), gradients, strict=True)}
    loss = bce(functional_call(net, virtual, x[warm]), y[warm])
    (derivative,) = torch.autograd.grad(loss, labels)
    pseudo = torch.where(states == UNKNOWN, (derivative <= 0).to(y), y)
    updated = torch.autograd.grad(bce(net(x[pool]), pseudo[pool]), list(theta.values()))
    after = {name: value - alpha * g for (name, value), g in zip(theta.items(), updated, strict=True)}
    now, then = net(x).sigmoid(), functional_call(net, after, x).sigmoid()
    scores = {}
    for n, k in asked:
        below = TAXONOMY.leaves_below(k)
        a, b = (1 - (1 - p[n, below]).prod() for p in (now, then))
        scores[n, k] = -(a * b.log() + (1 - a) * (1 - b).log()).item()
    return scores, pseudo


@pytest.mark.parametrize(
    ("alpha", "changed"),
    [
        (0.1, {"by_warm_set": lambda *sizes: True}),  # the first layer by products with the warm set
        (2.0, {"by_warm_set": lambda *sizes: False}),
        (2.0, {"by_warm_set": lambda *sizes: True, "ROOM": 900, "LOGITS": 0}),  # some blocks are kept, no logits
        (2.0, {"_layer_by_layer": look_ahead._by_autograd}),
    ],
)
def test_look_ahead_is_algorithm_2(alpha, changed, monkeypatch):
    """All scores equal those of a literal implementation in double precision; in blocks that divide nothing evenly."""
    for name, value in changed.items():
        monkeypatch.setattr(look_ahead, name, value)
    monkeypatch.setattr("ramify.strategies.look_ahead.BLOCK", 7)
    monkeypatch.setattr("ramify.strategies.pool.ROWS", 16)
    features, labels = data(n_items=50, warm=12)
    learner = PseudoLabel(hidden=(9, 7), epochs=3, alpha=alpha, random_state=0).fit(features, labels)
    learner.net_.double()
    learner._averaged = {name: value.double() for name, value in learner._averaged.items()}
    learner.net_.load_state_dict(learner._averaged)
    monkeypatch.setattr(
        PseudoLabel, "inputs", lambda self, x, items: torch.from_numpy(self.scaler_.transform(x[items])).double()
    )
    states = torch.from_numpy(labels.states())
    y = states.double()
    items, concepts, pseudo = learner.pseudo_labels_
    y[items, concepts] = torch.from_numpy(pseudo).double()
    x = torch.from_numpy(learner.scaler_.transform(features)).double()
    warm, asked = warm_items(labels), list(zip(*labels.questions(), strict=True))
    expected, new = literal_look_ahead(learner.net_, x, states, y, warm.tolist(), alpha, asked)
    assert 0 < new[states == UNKNOWN].mean() < 1  # some pseudo-labels are 1 and some are 0
    query = LookAhead(random_state=0).query(learner, features, labels, 10_000)
    assert len(query.items) == len(asked)
    assert max(query.concepts) >= len(TAXONOMY.leaves)
    by_hand = [expected[entry] for entry in zip(query.items, query.concepts, strict=True)]
    assert np.abs(query.scores - by_hand).max() < 1e-6
    assert (np.diff(query.scores) <= 0).all()


def test_look_ahead_without_a_complete_item_uses_what_is_answered():
    features, labels = data(warm=0)
    labels.record([0, 1, 2], ["cat", "sun", "cat"], [1, 0, 0], "annotated")
    learner = LEML(**SMALL).fit(features, labels)
    check_query(LookAhead(random_state=0).query(learner, features, labels, 5), labels, 5)


# -- expected gain -----------------------------------------------------------------------------------------------------


def plain_gain(phi, s, t, r):
    return phi @ s @ t @ s @ phi / (r + phi @ s @ phi)


@pytest.mark.parametrize("learner", ["refine", "pseudo-label"])
def test_expected_gain_is_greedy_with_exact_updates(learner):
    """Against plain matrices, inverted anew after every pick."""
    features, labels = data()
    fitted = LEARNERS[learner].fit(features, labels)
    pool = Pool(features, labels, np.empty(0, np.intp))
    told = fitted.evidence(features, labels, np.arange(len(labels)), 5)
    knowledge = Knowledge.of(told, labels, np.arange(len(labels)), pool.answered)
    parent = TAXONOMY.index("sky")
    items, concepts = labels.unknown()
    mine = TAXONOMY.parents[concepts] == parent
    looks = told.look(np.unique(items[mine]))
    noises = told.look(items[mine]).noise[np.arange(mine.sum()), concepts[mine]]
    groups = Groups(knowledge, looks.phi, noises, items[mine], concepts[mine], count=1, seed=0)

    looked = told.look(np.arange(len(labels)))
    states = labels.states(concepts=np.arange(len(TAXONOMY)))
    inverse, t = {}, {}
    for child in TAXONOMY.children(parent):
        known = (states[:, parent] != 0) & (states[:, child] >= 0)
        inverse[child] = np.eye(5) / told.prior_variance + sum(
            np.outer(looked.phi[n], looked.phi[n]) / looked.noise[n, child] for n in np.flatnonzero(known)
        )
        weights = looked.matters[:, child]
        t[child] = sum(w * np.outer(f, f) for w, f in zip(weights, looked.phi, strict=True))
    left = {item: [c for i, c in zip(items[mine], concepts[mine], strict=True) if i == item] for item in items[mine]}
    for _ in range(6):
        scores = {
            item: np.mean(
                [plain_gain(looked.phi[item], np.linalg.inv(inverse[c]), t[c], looked.noise[item, c]) for c in open_]
            )
            for item, open_ in left.items()
        }
        best = max(scores, key=scores.get)
        item, asked, score = groups.take_best()
        assert score == pytest.approx(scores[best], rel=1e-6)
        assert item == best
        assert asked.tolist() == left.pop(item)
        for c in asked:
            inverse[c] += np.outer(looked.phi[item], looked.phi[item]) / looked.noise[item, c]


def test_expected_gain_of_refine_is_the_regressions_own_variance(monkeypatch):
    """With all directions and answers of equal weight, phi' S phi is Refine's posterior variance without its bias."""
    monkeypatch.setattr("ramify.learners.refine.spread", lambda p: np.full(p.shape, 0.25))
    features, labels = data()
    learner = Refine(**COARSE).fit(features, labels)
    pool = Pool(features, labels, np.empty(0, np.intp))
    told = learner.evidence(features, labels, np.arange(len(labels)), 10_000)
    knowledge = Knowledge.of(told, labels, np.arange(len(labels)), pool.answered)
    phi = told.look(np.arange(len(labels))).phi
    full = learner.coarse_.features(torch.from_numpy(learner.scaler_.transform(features))).numpy()
    for concept in (TAXONOMY.index("cat"), TAXONOMY.index("dog")):  # the animals are all known
        place = learner.fine_.concepts.tolist().index(concept)
        rows = learner.fine_.looks.features[learner.fine_.ridges[place].slots]
        cross = full @ rows.T
        inverse = np.linalg.inv(rows @ rows.T + learner.fine_.lam * np.eye(len(rows)))
        by_hand = (full**2).sum(axis=1) - np.einsum("nk,kl,nl->n", cross, inverse, cross)
        assert np.allclose(knowledge.forms(concept, phi)[1], by_hand, atol=1e-4)


def test_expected_gain_asks_whole_groups_and_shares_them_among_parents():
    features, labels = data(n_items=200, warm=20)
    learner = Refine(**COARSE).fit(features, labels)
    query = ExpectedGain(random_state=0).query(learner, features, labels, 60)
    parents = TAXONOMY.parents[query.concepts]
    for item, parent in {(i, p) for i, p in zip(query.items[:-2], parents[:-2], strict=True) if i != query.items[-1]}:
        asked = set(query.concepts[(query.items == item) & (parents == parent)].tolist())
        unknown = labels.questions(item)[1]
        assert asked == set(unknown[TAXONOMY.parents[unknown] == parent].tolist())
    _, unknown = labels.questions()
    share = np.bincount(TAXONOMY.parents[unknown] + 1, minlength=len(TAXONOMY) + 1) / len(unknown)
    asked = np.bincount(parents + 1, minlength=len(TAXONOMY) + 1) / len(parents)
    assert share[0] > 0.1  # of coarse labels
    assert np.abs(share - asked).max() < 0.1

    # The shares hold over many small batches as well: no parent waits for another to be finished.
    seen, truth = np.zeros(len(TAXONOMY) + 1), data(n_items=200, warm=200)[1].states(concepts=np.arange(len(TAXONOMY)))
    for _ in range(60):
        query = ExpectedGain(random_state=0).query(learner, features, labels, 2)
        labels.record(query.items, query.concepts, np.maximum(truth[query.items, query.concepts], 0), "annotated")
        seen += np.bincount(TAXONOMY.parents[query.concepts] + 1, minlength=len(TAXONOMY) + 1)
    assert np.abs(seen / seen.sum() - share).max() < 0.15


def test_expected_gain_with_a_short_list_still_fills_the_batch():
    features, labels = data(n_items=120, warm=10)
    learner = Refine(**COARSE).fit(features, labels)
    query = ExpectedGain(random_state=0, considered=3).query(learner, features, labels, 40)
    check_query(query, labels, 40)


@pytest.mark.parametrize("name", ["random", "expected-gain"])
def test_what_is_no_longer_known_above_a_question_is_passed_over(name):
    """Somebody took back that it is an animal: which one it is must not be asked now."""
    features, labels = data()
    learner = Refine(**COARSE).fit(features, labels)
    items, concepts = labels.questions()
    animal = TAXONOMY.index("animal")
    item = int(items[TAXONOMY.parents[concepts] == animal][0])
    pool = Pool(features, labels, np.empty(0, np.intp))
    by_group, by_entries = (STRATEGIES[name](random_state=0).shortlist(learner, pool, 10_000) for _ in range(2))
    labels.retract(item, animal, "imported")
    while (group := by_group.take_group()) is not None:
        assert group[0] != item or TAXONOMY.parents[group[1][0]] != animal
    while (taken := by_entries.take_entries(4)) is not None:
        assert item not in taken[0] or TAXONOMY.parents[taken[1]] != animal


def test_roots_without_children_can_be_asked():
    """A coarse concept that is a leaf is an entry like others, where its label is unknown."""
    taxonomy = Taxonomy({"animal": ["cat", "dog"], "sky": None})
    rng = np.random.default_rng(0)
    features = rng.normal(size=(40, 6)).astype(np.float32)
    coarse = np.column_stack([rng.integers(0, 2, 40), rng.integers(-1, 2, 40)])
    labels = Labels(taxonomy, coarse)
    chosen = np.flatnonzero(coarse[:, 0] == 1)[:5]
    labels.record(chosen, "cat", 1, "annotated")
    for strategy in STRATEGIES.values():
        learner = Refine(**COARSE).fit(features, labels)
        query = strategy(random_state=0).query(learner, features, labels, 1000)
        check_query(query, labels, 1000)
        assert taxonomy.index("sky") in query.concepts
