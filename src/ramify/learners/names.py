"""What the names of concepts say of items, as a few features whose coefficients all concepts share.

With name vectors v in the items' own space and s_f(x) = cos(x, v_f), for the children f of c, K of them:

- likeness   a_f(x) = softmax over siblings(10 s) - 1/K;
- student    g_f(x) = [phi(x) U, 1] W_f - 1/K, a ridge regression of softmax over siblings(20 s) on the leading directions U
  of phi, over all training items of c: it says of an item what the names say of items like it;
- nearness   p_f = cos(v_f, v_c), centred over siblings, the same for every item; vectors in any space will do.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from ramify.data.name_vectors import NameVectors
from ramify.learners.evidence import leading
from ramify.taxonomy import Index, Taxonomy

Floats = NDArray[np.float64]

SHARP, TEACHING = 10.0, 20.0  # of the softmax that an item itself is read by, and of the one that teaches the student
DIRECTIONS, FOR_DIRECTIONS = 200, 1000  # of phi that the student sees, and the items that they are computed from
RIDGE = 3.0  # of the student
LEAST = 0.02  # of a guess


@dataclass(frozen=True)
class Names:
    """The features by names of all concepts."""

    taxonomy: Taxonomy
    nearness: Floats
    """p of every concept."""
    vectors: Tensor | None = None
    """Unit name vectors, concepts x features; None where they lie in another space than the items."""
    student: Tensor | None = None
    """U W of every concept, phi x concepts."""
    constant: Tensor | None = None
    """The student's constant of every concept."""

    @property
    def count(self) -> int:
        """How many features there are: likeness, student and nearness, or nearness alone."""
        return 1 if self.vectors is None else 3

    @classmethod
    def fitted(
        cls,
        names: NameVectors,
        taxonomy: Taxonomy,
        look: Callable[[Index], tuple[Tensor, Tensor, Tensor]],
        n_items: int,
    ) -> "Names":
        """From name vectors, and from training items where these lie in the same space.

        ``look`` gives, of some items: raw features, phi, and P(concept) as far as known without names (1 or 0 where it
        is known), for the concepts that have children.
        """
        vectors = torch.from_numpy(np.asarray(names.vectors, np.float64))
        vectors = vectors / vectors.norm(dim=1, keepdim=True)
        near = np.zeros(len(taxonomy))
        below = np.flatnonzero(taxonomy.parents >= 0)
        near[below] = (vectors[below] * vectors[taxonomy.parents[below]]).sum(dim=1).numpy()
        for children in _families(taxonomy):
            near[children] -= near[children].mean()
        if not names.shared:
            return cls(taxonomy, near)
        unfinished = cls(taxonomy, near, vectors)
        student, constant = unfinished._taught(look, n_items)
        return cls(taxonomy, near, vectors, student, constant)

    def likeness(self, raw: Tensor) -> Tensor:
        """a of items, by their raw features: items x concepts."""
        return self._softmax(raw, SHARP) - self._uniform.to(raw)

    def guesses(self, phi: Floats) -> Floats | None:
        """P(concept | its parent, x) as the student has it, before any answer; None without one."""
        if self.student is None or self.constant is None:
            return None
        read = phi @ self.student.numpy() + self.constant.numpy() + self._uniform.numpy()
        return np.clip(read, LEAST, 1 - LEAST)

    def features(self, likeness: Floats, phi: Floats) -> Floats:
        """z of items: items x features x concepts."""
        near = np.broadcast_to(self.nearness, (len(phi), len(self.nearness)))
        if self.vectors is None:
            return near[:, None].copy()
        assert self.student is not None and self.constant is not None
        return np.stack([likeness, phi @ self.student.numpy() + self.constant.numpy(), near], axis=1)

    @property
    def _uniform(self) -> Tensor:
        uniform = torch.zeros(len(self.taxonomy), dtype=torch.float64)
        for children in _families(self.taxonomy):
            uniform[children] = 1 / len(children)
        return uniform

    def _softmax(self, raw: Tensor, sharp: float) -> Tensor:
        """Softmax over siblings of the cosines; of roots 0."""
        assert self.vectors is not None
        similar = raw @ self.vectors.to(raw).T
        similar = similar * (sharp / raw.norm(dim=1, keepdim=True).clamp_min(1e-12))
        read = torch.zeros_like(similar)
        for children in _families(self.taxonomy):
            read[:, children] = similar[:, children].softmax(dim=1)
        return read

    def _taught(self, look: Callable[[Index], tuple[Tensor, Tensor, Tensor]], n_items: int) -> tuple[Tensor, Tensor]:
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
        student = torch.zeros((directions.shape[0], len(self.taxonomy)), dtype=torch.float64)
        constant = torch.zeros(len(self.taxonomy), dtype=torch.float64)
        for children, gram, right in zip(families, grams, rights, strict=True):
            solved = torch.linalg.solve(gram, right)
            student[:, children] = directions @ solved[:-1]
            constant[children] = solved[-1] - 1 / len(children)
        return student, constant

    # -- saving --------------------------------------------------------------------------------------------------------

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Everything, by name."""
        parts = {"vectors": self.vectors, "student": self.student, "constant": self.constant}
        kept = {f"names.{name}": part.numpy() for name, part in parts.items() if part is not None}
        return {"names.nearness": self.nearness, **kept}

    @classmethod
    def from_arrays(cls, arrays: dict[str, NDArray[Any]], taxonomy: Taxonomy) -> "Names | None":
        """What ``arrays`` gave; None where there is nothing of it."""
        if "names.nearness" not in arrays:
            return None
        rest = (arrays.get(f"names.{name}") for name in ("vectors", "student", "constant"))
        tensors = (None if part is None else torch.from_numpy(part.copy()) for part in rest)
        return cls(taxonomy, arrays["names.nearness"], *tensors)


BLOCK = 4096  # items that the student is taught by at once


def _families(taxonomy: Taxonomy) -> list[Index]:
    """The children of each concept that has some."""
    return [children for n in range(len(taxonomy)) if len(children := taxonomy.children(n))]
