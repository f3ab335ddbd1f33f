"""One answer: to choose it, and to learn it, beside ALiPy, modAL and scikit-activeml.

1 000 x 50 features, 20 labels, 40 items known. Every coarse concept is relevant everywhere: nothing is deduced, and
all choose among the same entries. ALiPy's AUDI chooses an entry, its MMC and modAL an item; scikit-activeml knows one
label, so it chooses an item by one of the twenty. A loop needs both, choosing and learning; AUDI
learns by being trained anew.

Run: python benchmarks/one_answer.py
"""

import tempfile
from functools import partial
from itertools import count
from pathlib import Path

import numpy as np
from alipy_peers import alipy_seconds
from measure import Row, by_turns, figure, missing, run

from ramify.labels import Labels
from ramify.learners import PseudoLabel, Refine
from ramify.learners.cache import Cache
from ramify.strategies import ExpectedGain, Uncertainty
from ramify.strategies.pool import Pool
from ramify.taxonomy import Taxonomy

ITEMS, WIDTH, COARSE, CHILDREN, WARM, ANSWERS, ROUNDS = 1000, 50, 4, 5, 40, 20, 30
FASTER = 100
NOTHING = np.empty(0, np.intp)
SHORT = 50  # steps of the coarse stage: training is not measured here


def drawn() -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    features = rng.standard_normal((ITEMS, WIDTH))
    signal = features @ rng.standard_normal((WIDTH, COARSE * CHILDREN))
    truth = signal > np.quantile(signal, 0.85)
    groups = signal.reshape(ITEMS, COARSE, CHILDREN)
    np.put_along_axis(truth.reshape(groups.shape), groups.argmax(axis=2)[..., None], True, axis=2)
    return features, truth


def ours(features: np.ndarray, truth: np.ndarray) -> tuple[dict, tempfile.TemporaryDirectory]:
    taxonomy = Taxonomy(
        {f"c{c}": {"exhaustive": True, "children": [f"f{c}.{k}" for k in range(CHILDREN)]} for c in range(COARSE)}
    )
    labels = Labels(taxonomy, np.ones((ITEMS, COARSE), int))
    items, concepts = labels.unknown(slice(WARM))
    labels.record(items, concepts, truth[items, concepts].astype(int), "annotated")
    refine = Refine(steps=SHORT, random_state=0).fit(features, labels)
    net = PseudoLabel(epochs=1, random_state=0).fit(features, labels)
    kept = tempfile.TemporaryDirectory()  # what a served project keeps of all items, so that no net is run
    cache = Cache.write(Path(kept.name), refine.to_cache(features, labels), ITEMS)
    listed = ExpectedGain(random_state=0).shortlist(refine, Pool(features, labels, NOTHING, cache=cache), 1000)
    parent = int(taxonomy.roots[0])
    number = count(WARM)

    def learn() -> None:
        item = next(number)
        concept = int(labels.unknown(slice(item, item + 1))[1][0])
        labels.record(item, concept, int(truth[item, concept]), "annotated")
        refine.partial_fit(features, labels, items=[item])

    def learn_and_choose() -> None:
        learn()
        _ = refine.fine_.solution
        listed.renew([parent])
        listed.take(1)

    uncertainty, gain = Uncertainty(random_state=0), ExpectedGain(random_state=0)
    return {
        "learn one answer (Refine)": learn,
        "learn it and take the next of a kept list (Refine, ExpectedGain)": learn_and_choose,
        "a whole query for one answer (Uncertainty)": lambda: uncertainty.query(net, features, labels, 1),
        "a whole query for one answer (ExpectedGain)": lambda: gain.query(refine, features, labels, 1),
        "a whole query for 100 answers (ExpectedGain)": lambda: gain.query(refine, features, labels, 100),
    }, kept


def peers(features: np.ndarray, truth: np.ndarray, gone: list[str]) -> dict:
    from sklearn.linear_model import LogisticRegression
    from sklearn.multiclass import OneVsRestClassifier
    from sklearn.utils import check_X_y

    known, pool, wanted = features[:WARM], features[WARM:], truth[:WARM].astype(int)
    ways = {}
    if "modAL" not in " ".join(gone):
        from modAL.models import ActiveLearner, learners
        from modAL.multilabel import avg_confidence

        def check(x, y, force_all_finite=True, **rest):  # a keyword that scikit-learn renamed since
            return check_X_y(x, y, ensure_all_finite=force_all_finite, **rest)

        learners.check_X_y = check

        learner = ActiveLearner(OneVsRestClassifier(LogisticRegression()), avg_confidence, known, wanted)
        ways["modAL: choose an item"] = lambda: learner.query(pool)
        ways["modAL: learn an item"] = lambda: learner.teach(pool[:1], truth[WARM : WARM + 1].astype(int))
    if "skactiveml" not in " ".join(gone):
        from skactiveml.classifier import SklearnClassifier
        from skactiveml.pool import UncertaintySampling

        states = np.full(ITEMS, np.nan)
        states[:WARM] = wanted[:, 0]
        classifier = SklearnClassifier(LogisticRegression(), classes=[0, 1]).fit(features, states)
        strategy = UncertaintySampling(random_state=0)
        query = partial(strategy.query, features, states, clf=classifier, fit_clf=False)
        ways["scikit-activeml: choose an item by one label"] = query
        ways["scikit-activeml: learn one label"] = lambda: classifier.fit(features, states)
    return ways  # fmt: skip


def measure() -> list[Row]:
    features, truth = drawn()
    gone = missing("modAL.models", "skactiveml.pool")
    alipy = alipy_seconds(features, truth, WARM, ANSWERS)
    mine, kept = ours(features, truth)
    theirs = peers(features, truth, gone)
    with kept:
        taken = by_turns(mine | theirs, ROUNDS)
    rows = [Row(what=name, note="not installed") for name in [*gone, *([] if alipy else ["ALiPy"])]]
    rows += [figure(name, taken[name] * 1000, "ms") for name in [*mine, *theirs]]
    if not alipy:
        return rows
    names = {
        "ready": "ALiPy AUDI: choose, its model at hand",
        "retrained": "ALiPy AUDI: learn and choose",
        "mmc": "ALiPy MMC: learn and choose an item",
    }
    rows += [figure(words, np.array(alipy[name]) * 1000, "ms") for name, words in names.items()]
    learn, both, uncertain, gain, batch = mine

    def times(what: str, peer: str, own: str, answers: int = 1, **held: float) -> Row:
        ratios = np.median(alipy[peer]) / (taken[own] / answers)
        return figure(what, ratios, "times faster", **held)

    return [
        *rows,
        times("one answer learned, against AUDI's choice", "ready", learn, least=FASTER),
        times("one learned and the next taken, against AUDI's learning and choosing", "retrained", both, least=FASTER),
        times("a whole query for one (Uncertainty), against AUDI's choice", "ready", uncertain),
        times("a whole query for one (ExpectedGain), against AUDI's choice", "ready", gain),
        times("an answer of a batch of 100 (ExpectedGain), against AUDI's choice", "ready", batch, 100, least=FASTER),
    ]


if __name__ == "__main__":
    run(measure)
