"""TypiClust, BADGE and EPIG: their mathematics against plain computations, and what is refused."""

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from ramify.checks.data import TAXONOMY, data
from ramify.checks.strategies import check_query, entries, same
from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners import CoarsePrior, PseudoLabel, Refine
from ramify.learners.evidence import parents_relevant
from ramify.loop import ActiveLoop, Truth
from ramify.parameters import clone
from ramify.strategies import BADGE, EPIG, ExpectedGain, Pool, RandomItems, TypiClust
from ramify.strategies.badge import Gradients
from ramify.strategies.epig import draw_targets
from ramify.strategies.typiclust import clusters, mean_distances
from ramify.taxonomy import Taxonomy

COARSE = {"hidden": (16, 16), "steps": 40, "random_state": 0}
LEARNERS = {
    "refine": Refine(**COARSE),
    "pseudo-label": PseudoLabel(hidden=(8,), epochs=2, shortest_epoch=10, random_state=0),
}
NONE = np.empty(0, np.intp)
PETS = Taxonomy({"animal": ["cat", "dog"]})


@pytest.mark.parametrize(
    ("strategy", "message"),
    [
        (TypiClust(clustered=0), "clustered of typiclust is a whole number from 1 on, not 0"),
        (TypiClust(neighbours=-3), "neighbours of typiclust is a whole number from 1 on, not -3"),
        (BADGE(directions="all"), "directions of badge is a whole number from 1 on, not 'all'"),
        (BADGE(candidates=1.5), "candidates of badge is a whole number from 1 on, not 1.5"),
        (EPIG(targets=0), "targets of epig is a whole number from 1 on, not 0"),
        (EPIG(considered=None), "considered of epig is a whole number from 1 on, not None"),
        (ExpectedGain(directions=0), "directions of expected-gain is a whole number from 1 on, not 0"),
    ],
)
def test_bad_parameters_get_one_sentence(strategy, message):
    features, labels = data()
    with pytest.raises(RamifyError) as refused:
        strategy.query(None, features, labels, 5)
    assert str(refused.value) == message


@pytest.mark.parametrize("strategy", [BADGE(random_state=0), EPIG(random_state=0)])
def test_without_evidence_random_items_are_asked_about(strategy):
    features, labels = data()
    prior = CoarsePrior(**COARSE).fit(features, labels)
    by_chance = RandomItems(random_state=0).query(None, features, labels, 5)
    assert entries(strategy.query(prior, features, labels, 5)) == entries(by_chance)


# -- TypiClust ---------------------------------------------------------------------------------------------------------


def blobs(sizes, centres, spread=0.1):
    """Rows around centres, the first of each exactly there; and the rows' blobs."""
    rng = np.random.default_rng(0)
    of = np.repeat(np.arange(len(sizes)), sizes)
    x = np.asarray(centres, float)[of] + spread * rng.normal(size=(len(of), len(centres[0])))
    first = np.searchsorted(of, np.arange(len(sizes)))
    x[first] = centres
    return x, of, first


def pets(n_items, answered=()):
    labels = Labels(PETS, np.ones((n_items, 1), int))
    labels.record(np.array(answered, int), "cat", np.ones(len(answered), int), "annotated")
    return labels


CENTRES = [[0, 0], [10, 0], [0, 10], [10, 10]]


def test_typiclust_asks_about_the_planted_centres_of_the_largest_blobs():
    """Nothing known, no learner: 4 items of 2 questions each; the most typical of each blob, the largest first."""
    x, of, _ = blobs([40, 60, 30, 50], CENTRES)
    query = TypiClust(random_state=0).query(None, x, pets(len(x)), 8)
    scaled = (x - x.mean(axis=0)) / x.std(axis=0)
    expected = []
    for blob in (1, 3, 0, 2):
        members = np.flatnonzero(of == blob)
        typicality = 1 / np.sort(cdist(scaled[members], scaled[members]), axis=1)[:, 1:21].mean(axis=1)
        expected += [members[typicality.argmax()]] * 2
    assert query.items.tolist() == expected
    assert query.concepts.tolist() == [0, 1] * 4
    assert np.linalg.norm(x[query.items] - np.array(CENTRES)[of[query.items]], axis=1).max() < 0.06


def test_typiclust_asks_in_uncovered_clusters_first():
    x, of, first = blobs([40, 60, 30, 50], CENTRES)
    labels = pets(len(x), answered=[first[1], first[3]])  # two of four are covered: of min(2 + 2, ...) clusters
    query = TypiClust(random_state=0).query(None, x, labels, 4)
    assert of[query.items].tolist() == [0, 0, 2, 2]
    out = (np.array([first[0]]), np.array([0]))  # what is out with somebody covers too
    query = TypiClust(random_state=0).query(None, x, pets(len(x), answered=[first[1]]), 4, exclude=out)
    assert of[query.items].tolist() == [3, 3, 2, 2]


def test_typiclust_goes_on_with_the_clusters_that_hold_the_fewest(monkeypatch):
    monkeypatch.setattr("ramify.strategies.typiclust.MOST_CLUSTERS", 5)
    x, of, first = blobs([40, 60, 30, 50, 3], [*CENTRES, [30, 30]])
    query = TypiClust(random_state=0).query(None, x, pets(len(x), answered=[first[1]]), 20)
    assert of[query.items[::2]].tolist() == [3, 0, 2, 1, 3, 0, 2, 1, 3, 0]  # three items are no cluster to learn from
    everything = TypiClust(random_state=0).query(None, x, pets(len(x)), 10_000)
    assert of[everything.items[-6:]].tolist() == [4] * 6


def test_typiclust_with_few_items_clustered_asks_about_the_others_afterwards():
    x, _, _ = blobs([40, 60], CENTRES[:2])
    query = TypiClust(random_state=0, clustered=10).query(None, x, pets(len(x)), 10_000)
    check_query(query, pets(len(x)), 10_000)
    by_chance = RandomItems(random_state=0).query(None, x, pets(len(x)), 10_000)
    assert set(query.items[:20].tolist()) == set(by_chance.items[:20].tolist())
    assert query.items[20:].tolist() == by_chance.items[20:].tolist()


def test_typiclust_uses_the_learner_s_scale_and_says_what_does_not_fit():
    x, of, _ = blobs([40, 60, 30, 50], CENTRES)
    labels = pets(len(x), answered=range(5))
    learner = Refine(**COARSE).fit(x, labels)
    learner.scaler_.scale[0] = 0  # the first column says nothing any more: blobs 0 and 1, 2 and 3 become one
    query = TypiClust(random_state=0).query(learner, x, pets(len(x)), 4)
    assert [set(of[query.items[:2]]) <= {0, 1}, set(of[query.items[2:]]) <= {2, 3}] == [True, True]
    with pytest.raises(RamifyError, match="the features have 1 columns, but the learner was fitted with 2"):
        TypiClust().query(learner, x[:, :1], labels, 4)
    x[7, 1] = np.nan
    with pytest.raises(RamifyError, match="the features of row 7, column 1 are nan: replace what is not a finite"):
        TypiClust().query(None, x, labels, 4)


def test_equal_items_and_many_clusters():
    assert len(np.unique(clusters(np.zeros((20, 2)), 7, 0))) == 1
    x = np.random.default_rng(0).normal(size=(300, 3))
    assert len(np.unique(clusters(x, 60, 0))) > 50  # by mini-batches
    distances = cdist(x, x)
    np.fill_diagonal(distances, np.inf)
    plain = np.sort(distances, axis=1)[:, :4].mean(axis=1)
    assert np.allclose(mean_distances(x, np.zeros(300, int), 4), plain)
    query = TypiClust(random_state=0).query(None, np.zeros((30, 2)), pets(30), 10)
    check_query(query, pets(30), 10)
    assert same(query, TypiClust(random_state=0).query(None, np.zeros((30, 2)), pets(30), 10))


@pytest.mark.parametrize("name", LEARNERS)
def test_a_loop_begins_with_typiclust_whoever_learns(name):
    """Also where the learner cannot begin yet."""
    from ramify.data import Dataset

    features, truth = data(warm=60)
    labels = Labels(TAXONOMY, truth.states(concepts=TAXONOMY.roots))
    loop = ActiveLoop(
        Dataset(labels, features), clone(LEARNERS[name]), TypiClust(random_state=0), Truth(truth), batch_size=9
    ).run(rounds=1)
    fitted = Refine(**COARSE).fit(features, labels) if name == "refine" else None
    query = TypiClust(random_state=0).query(fitted, features, labels, 9)
    assert loop.journal.asked[1] == list(zip(query.items.tolist(), query.concepts.tolist(), strict=True))


# -- BADGE -------------------------------------------------------------------------------------------------------------


def explicit(phi, rows, concepts, p):
    """Gradient embeddings, formed: a block of the features' width for each concept."""
    width = phi.shape[1]
    embeddings = np.zeros((len(rows), width * (concepts.max() + 1)))
    for n, (row, concept) in enumerate(zip(rows, concepts, strict=True)):
        label = 1.0 if p[n] >= 0.5 else 0.0
        embeddings[n, width * concept : width * (concept + 1)] = (p[n] - label) * phi[row]
    return embeddings


@pytest.fixture
def questions():
    rng = np.random.default_rng(0)
    rows, concepts = np.divmod(rng.choice(60, 40, replace=False), 4)
    return rng.normal(size=(15, 5)), rows, concepts, rng.random(40)


def test_badge_s_distances_are_those_of_explicit_embeddings(questions):
    gradients, embeddings = Gradients(*questions), explicit(*questions)
    assert np.allclose(gradients.norms, (embeddings**2).sum(axis=1), atol=1e-12)
    drawn = [3, 17, 22, 8, 30]
    for number, pick in enumerate(drawn, start=1):
        gradients.add(pick)
        plain = cdist(embeddings, embeddings[drawn[:number]], "sqeuclidean").min(axis=1)
        assert np.abs(gradients.nearest - plain).max() < 1e-10


def test_badge_draws_with_these_probabilities(questions):
    """Over many seeds: the first uniformly, the second by D² to the first."""
    embeddings = explicit(*questions)
    squared = cdist(embeddings, embeddings, "sqeuclidean")
    expected = (squared / squared.sum(axis=1, keepdims=True)).mean(axis=0)
    pairs = np.array([Gradients(*questions).draw(2, seed)[0] for seed in range(8000)])
    for column, share in ((0, np.full(40, 1 / 40)), (1, expected)):
        seen = np.bincount(pairs[:, column], minlength=40) / len(pairs)
        assert np.abs(seen - share).max() < 4.5 * np.sqrt(share.max() / len(pairs))


def test_badge_draws_each_once_even_where_all_are_equal():
    gradients = Gradients(np.zeros((6, 3)), np.arange(6), np.zeros(6, int), np.full(6, 0.3))
    drawn, scores = gradients.draw(6, 0)
    assert sorted(drawn.tolist()) == list(range(6))
    assert np.array_equal(scores, np.zeros(6))


@pytest.mark.parametrize("name", LEARNERS)
def test_badge_s_query_is_k_means_plus_plus_over_the_learner_s_gradients(name):
    features, labels = data()
    learner = LEARNERS[name].fit(features, labels)
    query = BADGE(random_state=5, directions=4).query(learner, features, labels, 12)
    told = learner.evidence(features, labels, Pool(features, labels, NONE).sample(5, 2048), 4)
    p = learner.opinions(features, labels).astype(float)[query.items, query.concepts]
    embeddings = explicit(told.look(np.arange(len(labels))).phi, query.items, query.concepts, p)
    squared = cdist(embeddings, embeddings, "sqeuclidean")
    nearest = [(embeddings[0] ** 2).sum(), *(squared[n, :n].min() for n in range(1, 12))]
    assert np.allclose(query.scores, nearest, rtol=1e-6, atol=1e-9)


def test_badge_among_few_candidates():
    features, labels = data()
    learner = Refine(**COARSE).fit(features, labels)
    everything = BADGE(random_state=0, candidates=3).query(learner, features, labels, 10_000)
    check_query(everything, labels, 10_000)
    few = [entries(BADGE(random_state=0, candidates=3).query(learner, features, labels, n)) for n in (1, 2, 3)]
    assert few[0] < few[1] < few[2]


def test_badge_refuses_predictions_that_are_not_numbers(monkeypatch):
    features, labels = data()
    learner = Refine(**COARSE).fit(features, labels)
    monkeypatch.setattr(Pool, "opinions", lambda self, learner, items: np.full((len(items), len(TAXONOMY)), np.nan))
    with pytest.raises(RamifyError, match="a score is not a number: the learner predicts NaN"):
        BADGE(random_state=0).query(learner, features, labels, 5)


# -- EPIG --------------------------------------------------------------------------------------------------------------


def dense_epig(kernel, known, noises, item, targets):
    """By the covariance of a Gaussian process over all items, conditioned on noisy answers at the known ones."""
    inverse = np.linalg.inv(kernel[np.ix_(known, known)] + np.diag(noises[known])) if len(known) else np.zeros((0, 0))
    posterior = kernel - kernel[:, known] @ inverse @ kernel[known]
    total = 0.0
    for target in targets:
        pair = np.array(
            [
                [posterior[item, item] + noises[item], posterior[item, target]],
                [posterior[item, target], posterior[target, target] + noises[target]],
            ]
        )
        total += 0.5 * np.log(pair[0, 0] * pair[1, 1] / np.linalg.det(pair))  # H(y) + H(y*) - H(y, y*)
    return total / len(targets)


@pytest.mark.parametrize("name", LEARNERS)
def test_epig_is_that_of_a_dense_gaussian_process(name):
    """All scores, and the picks of a batch one after another, each conditioned on those before."""
    features, labels = data()
    learner = LEARNERS[name].fit(features, labels)
    seed, everyone = 4, np.arange(len(labels))
    pool = Pool(features, labels, NONE)
    sample = pool.sample(seed, len(labels))
    told = learner.evidence(features, labels, sample, 5)
    looks = told.look(everyone)
    kernel = told.prior_variance * looks.phi @ looks.phi.T
    weights = parents_relevant(labels, everyone, learner.opinions(features, labels).astype(float))
    states = labels.states(concepts=np.arange(len(TAXONOMY)))
    parents = TAXONOMY.parents
    known = {
        concept: [
            item
            for item in (everyone if parent < 0 else pool.answered)
            if states[item, concept] >= 0 and (parent < 0 or states[item, parent] != 0)
        ]
        for concept, parent in enumerate(parents)
    }
    targets = {concept: sample[draw_targets(weights[sample, concept], 20, seed)] for concept in known}

    def score(item, concept):
        gain = dense_epig(kernel, known[concept], looks.noise[:, concept], item, targets[concept])
        return weights[:, concept].mean() * gain

    query = EPIG(random_state=seed, directions=5, targets=20).query(learner, features, labels, 8)
    left = set(zip(*(part.tolist() for part in labels.questions()), strict=True))
    for item, concept, found in zip(*query, strict=True):
        scores = {question: score(*question) for question in left}
        assert found == pytest.approx(max(scores.values()), rel=1e-8)
        assert scores[item, concept] == pytest.approx(found, rel=1e-8)
        left.remove((item, concept))
        known[concept].append(item)


def test_targets_are_drawn_as_often_as_their_weights_say():
    weights = np.random.default_rng(0).random(30)
    weights[4] = 0
    drawn = np.bincount(np.concatenate([draw_targets(weights, 50, seed) for seed in range(400)]), minlength=30)
    assert drawn[4] == 0
    assert np.abs(drawn / drawn.sum() - weights / weights.sum()).max() < 0.002
    once = np.bincount(draw_targets(weights, 50, 0), minlength=30)
    assert np.abs(once - 50 * weights / weights.sum()).max() < 1


def test_epig_among_few_questions_still_fills_the_batch():
    features, labels = data()
    learner = Refine(**COARSE).fit(features, labels)
    check_query(EPIG(random_state=0, considered=3).query(learner, features, labels, 40), labels, 40)


def test_epig_begins_by_its_own_design():
    features, labels = data()
    cold = Labels(TAXONOMY, labels.states(concepts=TAXONOMY.roots))
    learner = Refine(**COARSE).fit(features, cold)
    query = EPIG(random_state=0).query(learner, features, cold, 10)
    assert not same(query, RandomItems(random_state=0).query(None, features, cold, 10))
    assert (query.scores > 0).all()
