"""TypiClust: ask about the most typical item of each region of the features that nobody has answered anything in.

Hacohen, Dekel and Weinshall, "Active Learning on a Budget: Opposite Strategies Suit High and Low Budgets" (ICML 2022):
with few labels, typical items teach more than uncertain ones. With L answered items and B to be asked about, k-means
makes min(|L| + B, 500) clusters, so that B of them at least hold no answered item; from the largest of these, one after
another, the item with the highest

    typicality(x) = 1 / mean of |x - x'| over the k nearest x' of its cluster,    k = min(20, items of the cluster - 1)

is chosen. Clusters of fewer than 5 items are left for last.

What was adapted: the paper clusters features learned without labels; here they are the learner's inputs, scaled as it
scales them, or standardised where no learner is fitted. B is how many items the batch's questions amount to, as all
open questions of an item are asked together. A list that is longer than there are uncovered clusters goes on with those
that hold the fewest answered or listed items. At most ``clustered`` items with open questions are clustered, and as
many answered ones; a list that outlasts them goes on with random items.
"""

import warnings
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from threadpoolctl import threadpool_limits

from ramify.data.features import as_features
from ramify.learners.base import Learner
from ramify.learners.evidence import Floats
from ramify.learners.scaling import Scaler
from ramify.noise import noise
from ramify.strategies.base import Strategy, in_order, random_items, whole_items
from ramify.strategies.pool import Pool
from ramify.strategies.shortlist import Shortlist
from ramify.taxonomy import Index

MOST_CLUSTERS = 500
FEWEST = 5  # items of a cluster: in a smaller one none is typical
BY_ALL = 50  # clusters: more are found from mini-batches, as in the paper


@dataclass(kw_only=True, eq=False, repr=False)
class TypiClust(Strategy):
    """All questions about the most typical item of the largest cluster without answers, then of the next one.

    It needs features alone: neither a learner nor anything fine that is known. What is out with somebody counts as
    answered.
    """

    name: ClassVar[str] = "typiclust"
    needs_learner: ClassVar[bool] = False
    begins: ClassVar[bool] = True
    counts: ClassVar[tuple[str, ...]] = ("clustered", "neighbours")
    clustered: int = 8192
    """Items that are clustered, at most; others are asked about when these are used up."""
    neighbours: int = 20
    """The nearest items of the same cluster to which a typical one is close."""

    def _shortlist(self, learner: Learner | None, pool: Pool, length: int, seed: int) -> Shortlist:
        if pool.features is None:  # a project whose items are not embedded yet
            return whole_items(pool, length, seed)
        order, _ = random_items(pool, max(self.clustered, length), seed)
        open_items = np.sort(order[: self.clustered])
        if len(open_items):
            wanted = length * len(open_items) / max(1, len(pool.entries(open_items)[0]))
            first = self._by_typicality(_scaler(learner, pool), pool, open_items, int(np.ceil(wanted)), seed)
            order = np.concatenate([first, order[self.clustered :]])
        return in_order(pool, order, 1 / np.arange(1.0, len(order) + 1), length)

    def _by_typicality(self, scaler: Scaler, pool: Pool, open_items: Index, wanted: int, seed: int) -> Index:
        """The open items, those first that are typical of large clusters without answers."""
        out = pool.excluded // len(pool.labels.taxonomy)
        covering = np.union1d(pool.answered, out)
        covering = np.sort(covering[np.argsort(noise(seed, covering))[: self.clustered]])
        items = np.union1d(open_items, covering)
        x = scaler.transform(pool.features[items])
        with threadpool_limits(1):  # sums of several threads are added in any order
            cluster = clusters(x, min(len(covering) + wanted, MOST_CLUSTERS), seed)
            distance = mean_distances(x, cluster, self.neighbours)
        # Two items alone in a cluster are equally far from each other: rounding must not choose between them.
        distance = np.round(distance / float(distance.max() or 1), 9)
        sizes = np.bincount(cluster)
        covered = np.bincount(cluster[np.isin(items, covering)], minlength=len(sizes))
        here = np.flatnonzero(np.isin(items, open_items))
        cluster, distance, ties = cluster[here], distance[here], noise(seed, items[here])
        by_cluster = np.lexsort((ties, distance, cluster))
        begin = np.searchsorted(cluster[by_cluster], cluster[by_cluster])
        level = np.empty(len(here), np.intp)  # how many items of its cluster come before each
        level[by_cluster] = np.arange(len(here)) - begin
        level += covered[cluster]
        return items[here[np.lexsort((ties, cluster, -sizes[cluster], level, sizes[cluster] < FEWEST))]]


def clusters(x: Any, count: int, seed: int) -> Index:
    """The number of each row's cluster, by k-means."""
    from sklearn.cluster import KMeans, MiniBatchKMeans  # loaded by who needs it: it takes longer than most commands
    from sklearn.exceptions import ConvergenceWarning

    count = min(count, len(x))
    kind = KMeans if count <= BY_ALL else MiniBatchKMeans
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # equal items make fewer clusters
        found: Index = kind(count, n_init=1, random_state=seed % 2**32).fit_predict(x).astype(np.intp)
    return found


def mean_distances(x: Any, cluster: Index, neighbours: int) -> Floats:
    """The mean distance of each row to its nearest ones in the same cluster; 0 where it is alone.

    >>> mean_distances(np.array([[0.0], [1.0], [3.0], [50.0]]), np.array([0, 0, 0, 1]), 1).tolist()
    [1.0, 1.0, 2.0, 0.0]
    """
    from sklearn.neighbors import NearestNeighbors

    means = np.zeros(len(x))
    for number in np.unique(cluster):
        members = np.flatnonzero(cluster == number)
        k = min(neighbours, len(members) - 1)
        if k:
            found = NearestNeighbors(n_neighbors=k, algorithm="brute").fit(x[members]).kneighbors()  # without itself
            means[members] = found[0].mean(axis=1)
    return means


def _scaler(learner: Learner | None, pool: Pool) -> Scaler:
    if learner is None or not learner.is_fitted:
        return Scaler.fitted(as_features(pool.features))
    learner.check_width(pool.features)
    return learner.scaler_
