"""The objectives of all net-trained learners once more, as docs/learners.md states them: loops over entries, float64.

Nothing here calls Ramify's losses, scaling or gradients. An objective is a list of terms (item, concept, target,
weight); the loss is the sum over terms of weight * (log(1 + exp(z)) - target * z), z being the concept's logit. What is
no cross-entropy (an entropy, a hill, a count) is added by itself.
"""

from typing import Any

import numpy as np
import torch
from torch import Tensor

from ramify.labels import Labels
from ramify.learners import Learner
from ramify.taxonomy import Taxonomy

Term = tuple[int, int, float, float]


class Objective:
    """What a learner minimises on these data, and plain gradient descent on it, all items of the pool at once."""

    def __init__(self, learner: Learner, net: torch.nn.Module, features: np.ndarray, labels: Labels) -> None:
        self.settings: dict[str, Any] = {"name": learner.name, **learner.get_params(deep=False)}
        self.forward = forward_of(net)
        self.theta = [value.detach().double().clone() for value in net.parameters()]
        self.x = torch.tensor((features - features.mean(axis=0)) / features.std(axis=0))
        self.pseudo: dict[tuple[int, int], float] = {}
        self.seen: dict[tuple[int, int], float] = {}
        self.epoch = 0
        self.look_at(labels)

    def look_at(self, labels: Labels) -> None:
        """Take other labels of the same items; what is still unknown keeps its pseudo-label, unless they are reset."""
        self.taxonomy, self.n_leaves = labels.taxonomy, len(labels.taxonomy.leaves)
        self.states = labels.states(None, np.arange(len(self.taxonomy))).tolist()
        said = labels.assertions()
        answered = {
            int(item)
            for item, concept in zip(said.items, said.concepts, strict=True)
            if self.taxonomy.parents[concept] >= 0 or concept < self.n_leaves
        }
        complete = {n for n, row in enumerate(self.states) if -1 not in row[: self.n_leaves]}
        everything = range(len(self.states))
        self.answered = sorted(answered)
        self.warm = [item for item in everything if item in answered & complete]
        self.partly = [item for item in everything if item in answered - complete]
        self.pool = [item for item in everything if item not in self.warm] or list(everything)
        self.always = self.known_terms()
        before, first = {} if self.settings.get("reset_pseudo_labels") else self.pseudo, self.first()
        self.pseudo = {
            (item, leaf): before.get((item, leaf), first[leaf])
            for item in everything
            for leaf in range(self.n_leaves)
            if self.states[item][leaf] == -1
        }

    def first(self) -> list[float]:
        """The label that an unknown entry of each fine concept begins with; NaN is none."""
        if self.settings["name"] in ("em", "large-loss"):
            return [float("nan")] * self.n_leaves
        least = 0.01 if self.settings["name"] == "role" else 0.0
        return [min(max(rate, least), 1 - least) for rate in self.rates()]

    def next_epoch(self) -> None:
        """What happens between two epochs."""
        self.epoch += 1
        if self.settings["name"] == "em":
            self.label_the_least_probable()

    def rates(self) -> list[float]:
        """How often a fine concept is relevant where its parent is, with one more item shared by the siblings."""
        found = []
        for leaf in range(self.n_leaves):
            parent = int(self.taxonomy.parents[leaf])
            if parent < 0:
                found.append(0.5)
            elif follows(self.taxonomy, leaf):
                found.append(1.0)
            else:
                counted = [self.states[n][leaf] for n in self.answered if self.states[n][parent] == 1]
                counted = [state for state in counted if state != -1]
                found.append((sum(counted) + 1 / len(self.taxonomy.children(parent))) / (len(counted) + 1))
        return found

    def step(self) -> float:
        """One step of gradient descent; returns the loss before it."""
        if self.settings["name"] == "pseudo-label":
            self.assign()
        theta = [value.clone().requires_grad_() for value in self.theta]
        z = self.forward(theta, self.x)
        loss = entropy(z, self.terms(z.detach().numpy())) + self.addition(z)
        if self.settings["name"] == "role":
            self.estimate(z.detach().numpy())
        if self.settings["name"] == "em":
            self.seen = {entry: float(z.detach()[entry].sigmoid()) for entry in self.pseudo}
        gradients = torch.autograd.grad(loss, theta)
        self.theta = [
            (value - self.settings["lr"] * gradient).detach() for value, gradient in zip(theta, gradients, strict=True)
        ]
        return float(loss.detach())

    def terms(self, z: np.ndarray) -> list[Term]:
        """The terms of one step, given the logits before it."""
        if self.settings["name"] in ("fully-supervised", "all-labels", "leml"):
            return self.always
        if self.settings["name"] == "factored":
            parts = [(self.pool, 1.0), *((part, self.weight(part)) for part in (self.warm, self.partly))]
            every = range(len(self.taxonomy))
            return [
                (item, concept, float(max(self.states[item][concept], 0)), weight * counts / len(items))
                for items, weight in parts
                for item in items
                for concept in every
                if not follows(self.taxonomy, concept) and (counts := self.counts(item, concept, z)) >= 0.05
            ]
        if self.settings["name"] == "c-hmcnn":
            parts = [(self.pool, 1.0), *((part, self.settings["warm_weight"]) for part in (self.warm, self.partly))]
            return [
                (item, self.explains(item, concept, z), float(self.states[item][concept]), weight / len(items))
                for items, weight in parts
                for item in items
                for concept in range(len(self.taxonomy))
                if self.states[item][concept] != -1
            ]
        if self.settings["name"] == "large-loss":
            self.large = self.largest(z)
        pool = set(self.pool)
        return self.always + [(*entry, *self.unknown(*entry, z)) for entry in self.pseudo if entry[0] in pool]

    def known_terms(self) -> list[Term]:
        """The terms that are the same in every step."""
        if self.settings["name"] in ("fully-supervised", "all-labels"):
            return self.known(self.answered, 1.0)
        terms = self.known(self.pool, 1.0)
        for replayed in (self.warm, self.partly):
            terms += self.known(replayed, self.weight(replayed))
        return terms

    def weight(self, replayed: list[int]) -> float:
        """The weight of the mean over answered items; without one every known entry of an item counts once, 1 / N."""
        if self.settings["warm_weight"] is not None:
            return float(self.settings["warm_weight"])
        return len(replayed) / len(self.pool) if replayed == self.warm else 0.0

    def known(self, items: list[int], weight: float) -> list[Term]:
        """The mean over items of the loss of what is known of them."""
        asked = [(item, leaf) for item in items for leaf in range(self.n_leaves)]
        return [
            (item, concept, float(self.states[item][concept]), weight / len(items))
            for item, concept in asked
            if self.states[item][concept] != -1
        ]

    def counts(self, item: int, concept: int, z: np.ndarray) -> float:
        """How much what is known of an item counts for a concept given its parent."""
        parent = int(self.taxonomy.parents[concept])
        above = 1.0 if parent < 0 else self.there(item, parent, z)
        return above * (1.0 if self.states[item][concept] != -1 else self.refused(item, concept))

    def there(self, item: int, concept: int, z: np.ndarray) -> float:
        """How probable a concept is: as known, a root as the net has it, else one of its parent's alternatives."""
        if self.states[item][concept] != -1:
            return float(self.states[item][concept])
        parent = int(self.taxonomy.parents[concept])
        return 1 / (1 + np.exp(-z[item][concept])) if parent < 0 else self.there(item, parent, z) / self.ways(parent)

    def refused(self, item: int, concept: int) -> float:
        """The share of what a concept could be that is refused."""
        if self.states[item][concept] != -1:
            return float(self.states[item][concept] == 0)
        children = self.taxonomy.children(concept)
        return sum(self.refused(item, int(child)) for child in children) / self.ways(concept) if len(children) else 0.0

    def ways(self, concept: int) -> int:
        """Of how many things below a concept one must be relevant, "none of these" among them where that may be."""
        return len(self.taxonomy.children(concept)) + (not self.taxonomy.exhaustive[concept])

    def unknown(self, item: int, leaf: int, z: np.ndarray) -> tuple[float, float]:
        """The target and the weight of an unknown entry of the pool."""
        share = 1 / len(self.pool)
        if self.settings["name"] == "one-class":
            return 1.0, self.settings["unknown_weight"] * share
        if self.settings["name"] in ("pseudo-label", "role"):
            return self.pseudo[item, leaf], share
        if self.settings["name"] == "em":
            y = self.pseudo[item, leaf]
            return (0.0, 0.0) if y != y else (y, self.settings["negative_weight"] * share)
        if self.settings["name"] == "large-loss":
            large = (item, leaf) in self.large
            return (0.0, 0.0 if large else share) if self.settings["correction"] == "reject" else (float(large), share)
        if self.settings["name"] == "hill":
            return 0.0, 0.0
        if self.settings["name"] == "splc":
            probable = 1 / (1 + np.exp(-z[item][leaf])) > self.settings["threshold"]
            return float(probable and self.epoch > 0), share
        return self.posterior(item, leaf, 1 / (1 + np.exp(-z[item]))), share

    def addition(self, z: Tensor) -> Tensor:
        """What the loss of a step has besides cross-entropies."""
        total = z.new_zeros(())
        if self.settings["name"] == "role":
            expected = z[self.pool].sigmoid().sum() / len(self.pool)
            total = self.settings["count_weight"] * (expected - self.count()) ** 2 / self.n_leaves
        for item, leaf in self.pseudo:
            p = z[item, leaf].sigmoid()
            if self.settings["name"] == "hill":
                total = total + (1.5 * self.settings["crest"] - p) * p * p / len(self.pool)
            if self.settings["name"] == "em" and np.isnan(self.pseudo[item, leaf]):
                certain = p * p.log() + (1 - p) * (1 - p).log()
                total = total + self.settings["entropy_weight"] * certain / len(self.pool)
        return total

    def count(self) -> float:
        """How many fine concepts a warm item has."""
        return sum(state == 1 for n in self.warm for state in self.states[n][: self.n_leaves]) / len(self.warm)

    def estimate(self, z: np.ndarray) -> None:
        """ROLE: a gradient step on the logit of every estimate, by finite differences of its item's loss."""
        known = sum(max(state, 0) for n in self.pool for state in self.states[n][: self.n_leaves])
        found = (known + sum(self.pseudo.values())) / len(self.pool)

        def loss(entry: tuple[int, int], t: float) -> float:
            y, p = 1 / (1 + np.exp(-t)), 1 / (1 + np.exp(-z[entry]))
            excess = found + (y - self.pseudo[entry]) / len(self.pool) - self.count()
            penalty = self.settings["count_weight"] * excess**2 / self.n_leaves
            return float(-p * np.log(y) - (1 - p) * np.log(1 - y) + len(self.pool) * penalty)

        moved = {}
        for entry, y in self.pseudo.items():
            t, h = np.log(y / (1 - y)), 1e-5
            t -= self.settings["estimate_lr"] * (loss(entry, t + h) - loss(entry, t - h)) / (2 * h)
            moved[entry] = min(max(1 / (1 + np.exp(-t)), 0.01), 0.99)
        self.pseudo = moved

    def label_the_least_probable(self) -> None:
        """Asymmetric pseudo-labels: of each concept's unknown entries a share, the least probable, as they are now."""
        wait, epochs = self.settings["first_epochs"], self.settings["epochs"]
        if self.epoch < wait:
            return
        share = self.settings["negative_share"] * min(1.0, (self.epoch - wait + 1) / max(1, epochs - wait))
        for leaf in range(self.n_leaves):
            entries = [entry for entry in self.pseudo if entry[1] == leaf]
            unlabelled = sorted((e for e in entries if np.isnan(self.pseudo[e])), key=lambda e: self.seen[e])
            more = int(share * len(entries) + 1e-9) - (len(entries) - len(unlabelled))
            for entry in unlabelled[: max(more, 0)]:
                self.pseudo[entry] = self.seen[entry]

    def largest(self, z: np.ndarray) -> set[tuple[int, int]]:
        """The unknown entries whose losses as irrelevant ones are too large in this step, or were, where that stays."""
        epochs = min(self.epoch, max(1, self.settings["epochs"] - 1))
        count = int(self.settings["growth"] * epochs * len(self.pseudo) + 1e-9)
        corrected = [entry for entry in self.pseudo if self.pseudo[entry] == 1.0]
        others = [entry for entry in self.pseudo if self.pseudo[entry] != 1.0]
        others.sort(key=lambda entry: np.log(1 + np.exp(z[entry])), reverse=True)
        large = set(corrected + others[: max(count - len(corrected), 0)])
        if self.settings["correction"] == "permanent":
            self.pseudo |= dict.fromkeys(large, 1.0)
        return large

    def explains(self, item: int, concept: int, z: np.ndarray) -> int:
        """The concept with the largest output at or below this one; where it is relevant, of the relevant ones."""
        state = self.states[item][concept]
        below = [concept, *self.taxonomy.descendants(concept).tolist()]
        return max((n for n in below if state == 0 or self.states[item][n] == 1), key=lambda n: z[item][n])

    def posterior(self, item: int, leaf: int, p: np.ndarray) -> float:
        """P(leaf), given that some leaf is relevant below its nearest relevant ancestor with exhaustive children."""
        above = int(self.taxonomy.parents[leaf])
        while above >= 0:
            branch = [above, *self.taxonomy.descendants(above).tolist()]
            exhaustive = all(self.taxonomy.exhaustive[n] for n in branch if n >= self.n_leaves)
            if self.states[item][above] == 1 and exhaustive:
                none = 1.0
                for n in branch:
                    if n < self.n_leaves:
                        none *= 1 - (p[n] if self.states[item][n] == -1 else self.states[item][n])
                return float(p[leaf] / (1 - none))
            above = int(self.taxonomy.parents[above])
        return float(p[leaf])

    def assign(self) -> None:
        """Algorithm 1: a virtual step under the current pseudo-labels, then 1 where more of the label would help."""
        theta = [value.clone().requires_grad_() for value in self.theta]
        labels = [
            [self.pseudo.get((item, leaf), float(state)) for leaf, state in enumerate(row[: self.n_leaves])]
            for item, row in enumerate(self.states)
        ]
        y = torch.tensor(labels, dtype=torch.float64, requires_grad=True)
        z = self.forward(theta, self.x)
        loss = (log_one_plus_exp(z[self.pool]) - y[self.pool] * z[self.pool]).sum() / len(self.pool)
        gradients = torch.autograd.grad(loss, theta, create_graph=True)
        virtual = [value - self.settings["alpha"] * part for value, part in zip(theta, gradients, strict=True)]
        warm_loss = entropy(self.forward(virtual, self.x), self.known(self.warm, 1.0))
        (slope,) = torch.autograd.grad(warm_loss, y)
        for (item, leaf), before in self.pseudo.items():
            towards = 1.0 if slope[item, leaf] <= 0 else 0.0
            if self.settings["assignment"] == "smooth":
                towards = before + self.settings["smoothing"] * (towards - before)
            self.pseudo[item, leaf] = towards


def entropy(z: Tensor, terms: list[Term]) -> Tensor:
    """The loss of some terms."""
    items, concepts, targets, weights = (list(part) for part in zip(*terms, strict=True))
    chosen, y = z[items, concepts], torch.tensor(targets, dtype=z.dtype)
    return (torch.tensor(weights, dtype=z.dtype) * (log_one_plus_exp(chosen) - y * chosen)).sum()


def log_one_plus_exp(z: Tensor) -> Tensor:
    """Plainly: logits of these tests are small."""
    return (1 + z.exp()).log()


def follows(taxonomy: Taxonomy, concept: int) -> bool:
    """Is it the one child of an exhaustive parent?"""
    parent = int(taxonomy.parents[concept])
    return parent >= 0 and bool(taxonomy.exhaustive[parent]) and len(taxonomy.children(parent)) == 1


def forward_of(net: torch.nn.Module) -> Any:
    """The logits as a function of weights and biases in the net's order; a hidden layer ends with a ReLU."""
    named = [name for name, _ in net.named_parameters()]

    def logits(theta: list[Tensor], x: Tensor) -> Tensor:
        for place, name in enumerate(named):
            x = x @ theta[place].T if name.endswith("weight") else x + theta[place]
            if name.endswith("bias") and place < len(named) - 1:  # the thin layer of a low rank has none
                x = x.clamp_min(0)
        return x

    return logits
