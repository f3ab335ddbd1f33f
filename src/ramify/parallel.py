"""Several processes that train one net: each takes its part of every mini-batch, and what they found is added up.

A process group of torch.distributed makes a team, as torchrun or Ray Train start one. All hold the same weights and
draw the same mini-batches, so that nothing but sums travels, and all are the same after every step.
"""

import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, distributed

from ramify.errors import RamifyError, first_line

APART = 1_000_003  # between the seeds of two processes

__all__ = ["Team", "team", "together"]


@dataclass(frozen=True)
class Team:
    """This process, and how many train with it."""

    rank: int = 0
    """Its number, from 0."""
    size: int = 1
    """How many there are; 1 is no team."""

    def part(self, count: int) -> slice:
        """Which of so many items are this process's.

        >>> [Team(rank, 2).part(5) for rank in range(2)]
        [slice(0, 2, None), slice(2, 5, None)]
        """
        return slice(count * self.rank // self.size, count * (self.rank + 1) // self.size)

    def add_up(self, tensors: Sequence[Tensor]) -> None:
        """Give every process the sum of all, in place; in one message."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.detach().reshape(-1) for tensor in tensors])
        distributed.all_reduce(flat)
        first = 0
        with torch.no_grad():
            for tensor in tensors:
                tensor.copy_(flat[first : first + tensor.numel()].view_as(tensor))
                first += tensor.numel()

    def add_gradients(self, parameters: Iterable[Tensor], *more: Tensor) -> None:
        """Give every process the gradient of all, and the sum of some more values."""
        if self.size == 1:
            return
        wanted = [value for value in parameters if value.requires_grad]
        for value in wanted:
            if value.grad is None:
                value.grad = torch.zeros_like(value)
        self.add_up([*more, *(value.grad for value in wanted if value.grad is not None)])

    def own(self, seed: int) -> int:
        """A seed of this process's own, by which its dropout leaves out other values than that of the others.

        >>> Team().own(5)
        5
        """
        return seed + APART * self.rank

    def agree(self, value: Any) -> Any:
        """What the first process has, in every process."""
        if self.size == 1:
            return value
        shared = [value]
        distributed.broadcast_object_list(shared)
        return shared[0]

    def all_see(self, path: Path) -> bool:
        """Whether a file is there; refused where only some of the processes see it, which would learn other things."""
        there = path.exists()
        if self.agree(there) != there:
            raise RamifyError(f"{path} is seen by some processes of the team only: give a folder that all share")
        return there


def team() -> Team:
    """The team of this process.

    >>> team()
    Team(rank=0, size=1)
    """
    if distributed.is_available() and distributed.is_initialized():
        return Team(distributed.get_rank(), distributed.get_world_size())
    return Team()


@contextmanager
def together() -> Iterator[Team]:
    """The processes that torchrun started are a team as long as this lasts; a process of its own stays alone.

    >>> with together() as joined:
    ...     joined.size
    1
    """
    started = "RANK" in os.environ and "WORLD_SIZE" in os.environ and not distributed.is_initialized()
    if started:
        try:
            if torch.cuda.is_available():
                torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", 0)))
            distributed.init_process_group("cpu:gloo,cuda:nccl" if torch.cuda.is_available() else "gloo")
        except (RuntimeError, ValueError) as error:
            raise RamifyError(f"the processes of torchrun cannot find each other: {first_line(error)}") from None
    try:
        yield team()
    finally:
        if started:
            distributed.destroy_process_group()
