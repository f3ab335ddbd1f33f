"""Trains as one of a team, or alone: `team_process.py OUT BATCH`, with the environment of torchrun or without.

In double precision and without dropout, so that both can be compared to many digits.
"""

import sys
from pathlib import Path

import numpy as np
import torch

from ramify.errors import RamifyError
from ramify.labels import Labels
from ramify.learners import LEARNERS
from ramify.learners.scaling import Scaler
from ramify.nets import MLP
from ramify.parallel import together
from ramify.taxonomy import Taxonomy

NAMES = ("leml", "noisy-or", "pseudo-label", "refine")


def double_net(n_inputs: int, n_outputs: int) -> MLP:
    return MLP(n_inputs, n_outputs, (16, 12)).double()


def trained(name: str, batch: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    labels = Labels(Taxonomy({"a": ["b", "c", "d"], "e": ["f", "g"]}), random.integers(0, 2, (80, 2)))
    for item in range(9):
        items, concepts = labels.unknown([item])
        labels.record(items, concepts, random.integers(0, 2, len(items)), "imported")
    data = random.normal(size=(80, 6)), labels
    if name == "refine":
        learner = LEARNERS[name](hidden=(16,), steps=12, batch_size=batch, input_dropout=0, dropout=0, random_state=3)
        nets = [net.state_dict() for net in learner.train_coarse(*data).nets]
        return {f"{number}.{key}": value.numpy() for number, net in enumerate(nets) for key, value in net.items()}
    learner = LEARNERS[name](
        module=double_net, epochs=2, batch_size=batch, warm_batch=5, shortest_epoch=6, optimizer="sgd", random_state=3
    ).fit(*data)
    found = {key: value.numpy() for key, value in learner.net_.state_dict().items()}
    found["loss"] = np.array([record["loss"] for record in learner.history_])
    if name == "pseudo-label":
        found["pseudo"] = learner.pseudo_labels_[2]
    return found


def main(out: str, batch: str) -> None:
    torch.set_num_threads(1)
    inputs = Scaler.inputs
    Scaler.inputs = lambda *arguments: inputs(*arguments).double()
    torch.set_default_dtype(torch.float64)
    with together() as team:
        for name in NAMES:
            np.savez(Path(out, f"{name}-{team.rank}-of-{team.size}.npz"), **trained(name, int(batch)))
        if team.size > 1:
            try:
                trained("role", int(batch))
            except RamifyError as error:
                Path(out, "refused").write_text(str(error))


if __name__ == "__main__":
    main(*sys.argv[1:])
