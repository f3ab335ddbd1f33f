"""Several processes train one learner, on one machine or many: `torchrun --nproc-per-node 2 examples/together.py DATA`.

Each process takes its part of every mini-batch; the first one writes what was learned. Alone it works too.
"""

import sys
from pathlib import Path

import ramify
from ramify.learners import PseudoLabel
from ramify.parallel import together


def main(source: str = "scenes:400", out: str = "pseudo-label") -> None:
    """Train on a data set and write the learner to a folder."""
    drawn = ramify.benchmark(ramify.read(source), ratio=-4)
    with together() as team:
        learner = PseudoLabel(epochs=3, random_state=0).fit(drawn.train.features, drawn.train.labels)
        if team.rank == 0:
            learner.save(Path(out))
            print(f"{team.size} processes, loss {learner.history_[-1]['loss']:.3f}, written to {out}")


if __name__ == "__main__":
    main(*sys.argv[1:])
