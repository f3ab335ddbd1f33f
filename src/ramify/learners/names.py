"""What the names of concepts say of items, as a few features whose coefficients all concepts share.

With name vectors v in the items' own space and s_f(x) = cos(x, v_f), for the children f of c, K of them:

- likeness   a_f(x) = softmax over siblings(10 s) - 1/K;
- student    g_f(x) = [phi(x) U, 1] W_f - 1/K, a ridge regression of softmax over siblings(20 s) on phi's leading
  directions U, over all training items of c: it says of an item what the names say of items like it;
- nearness   p_f = cos(v_f, v_c), centred over siblings, the same for every item; vectors in any space will do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.data import NameVectors
from ramify.learners.evidence import leading
from ramify.taxonomy import Index, Taxonomy

Floats = NDArray[np.float64]

SHARP, TEACHING = 10.0, 20.0  # of the softmax that an item itself is read by, and of the one that teaches the student
DIRECTIONS, FOR_DIRECTIONS = 200, 1000  # of phi that the student sees, and the items that they are computed from
BLOCK = 4096  # items that the student is taught by at once
RIDGE = 3.0  # of the student
LEAST = 0.02  # of a guess


@dataclass(frozen=True)
class Names:
    """The features by names of all concepts."""

    taxonomy: Taxonomy
    source: NameVectors
    """The vectors of all concepts' names."""
    student: Floats | None = None
    """U W and a constant of every concept, (phi, 1) x concepts; None where vectors lie in another space than items."""

    @property
    def count(self) -> int:
        """How many features there are: likeness, student and nearness, or nearness alone."""
        return 3 if self.source.shared else 1

    @cached_property
    def vectors(self) -> Tensor:
        """Name vectors of length 1: concepts x width."""
        vectors: Tensor = torch.from_numpy(np.asarray(self.source.vectors, np.float64))
        return torch.nn.functional.normalize(vectors)

    @cached_property
    def nearness(self) -> Floats:
        """p of every concept; of roots 0."""
        taxonomy, vectors = self.taxonomy, self.vectors.numpy()
        near = np.where(taxonomy.parents >= 0, (vectors * vectors[taxonomy.parents]).sum(axis=1), 0.0)
        for children in _families(taxonomy):
            near[children] -= near[children].mean()
        return near

    @classmethod
    def fitted(
        cls, source: NameVectors, taxonomy: Taxonomy, look: Callable[[Index], tuple[Tensor, Tensor, Tensor]], items: int
    ) -> "Names":
        """From name vectors, and from so many training items where these lie in the same space.

        ``look`` gives, of some items, their raw features, phi, and how probable all concepts are before any answer.
        """
        unfinished = cls(taxonomy, source)
        return cls(taxonomy, source, unfinished._taught(look, items)) if source.shared else unfinished

    def read(self, raw: Tensor) -> Tensor:
        """How probable names make each concept among its siblings, by items' raw features; of roots 0."""
        return self._softmax(raw, TEACHING)

    def likeness(self, raw: Tensor) -> Tensor:
        """a of items, by their raw features: items x concepts."""
        return self._softmax(raw, SHARP) - self._uniform.to(raw)

    def features(self, likeness: Floats, phi: Floats) -> Floats:
        """z of items: items x features x concepts."""
        near = np.broadcast_to(self.nearness, (len(phi), len(self.nearness)))
        if self.student is None:
            return near[:, None].copy()
        return np.stack([likeness, phi @ self.student[:-1] + self.student[-1], near], axis=1)

    def guesses(self, features: Floats) -> Floats | None:
        """P(concept | its parent, x) as the student has it, before any answer, from z; None without a student."""
        if self.student is None:
            return None
        guesses: Floats = np.clip(features[:, 1] + self._uniform.numpy(), LEAST, 1 - LEAST)
        return guesses

    @cached_property
    def _uniform(self) -> Tensor:
        uniform = torch.zeros(len(self.taxonomy), dtype=torch.float64)
        for children in _families(self.taxonomy):
            uniform[children] = 1 / len(children)
        return uniform

    def _softmax(self, raw: Tensor, sharp: float) -> Tensor:
        """Softmax over siblings of the cosines; of roots 0."""
        # Cosines times so little need no largest one taken off before they are exponents.
        of_norm = sharp / raw.norm(dim=1, keepdim=True).clamp_min(1e-12)
        read = (raw @ self.vectors.to(raw).T).mul_(of_norm).exp_()
        below = torch.from_numpy(np.flatnonzero(self.taxonomy.parents >= 0)).to(raw.device)
        parents = torch.from_numpy(self.taxonomy.parents).to(raw.device)[below]
        total = torch.zeros_like(read).index_add_(1, parents, read[:, below])
        return torch.zeros_like(read).index_copy_(1, below, read[:, below].div_(total[:, parents]))

    def _taught(self, look: Callable[[Index], tuple[Tensor, Tensor, Tensor]], n_items: int) -> Floats:
        """The student's weights and constants."""
        first = np.linspace(0, n_items, min(FOR_DIRECTIONS, n_items), endpoint=False).astype(np.intp)
        directions = leading(look(first)[1].float(), DIRECTIONS).double()
        families = _families(self.taxonomy)
        width = directions.shape[1] + 1
        grams = [RIDGE * torch.eye(width, dtype=torch.float64) for _ in families]
        rights = [torch.zeros((width, len(children)), dtype=torch.float64) for children in families]
        for begin in range(0, n_items, BLOCK):
            raw, phi, probable = look(np.arange(begin, min(begin + BLOCK, n_items)))
            inputs = phi.double() @ directions
            inputs = torch.cat([inputs, torch.ones_like(inputs[:, :1])], dim=1)
            read = self._softmax(raw, TEACHING).double()
            for children, gram, right in zip(families, grams, rights, strict=True):
                weight = probable[:, self.taxonomy.parents[children[0]]].double()
                of = weight > 0
                weighed = inputs[of] * weight[of, None]
                gram += weighed.T @ inputs[of]
                right += weighed.T @ read[of][:, children]
        student = np.zeros((len(directions) + 1, len(self.taxonomy)))
        for children, gram, right in zip(families, grams, rights, strict=True):
            solved = torch.linalg.solve(gram, right)
            student[:-1, children] = (directions @ solved[:-1]).numpy()
            student[-1, children] = solved[-1].numpy() - 1 / len(children)
        return student

    # -- saving --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, by name."""
        student = {} if self.student is None else {"names.student": self.student}
        return {"names.vectors": self.source.vectors, **student}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], taxonomy: Taxonomy) -> "Names | None":
        """What ``arrays`` gave; None where there is nothing of it."""
        if "names.vectors" not in arrays:
            return None
        student = arrays.get("names.student")
        return cls(taxonomy, NameVectors(arrays["names.vectors"], student is not None), student)


def _families(taxonomy: Taxonomy) -> list[Index]:
    """The children of each concept that has some."""
    return [children for n in range(len(taxonomy)) if len(children := taxonomy.children(n))]
