"""CPU seconds that AUDI and MMC of ALiPy take to choose one answer, measured in an environment of their own.

benchmarks/one_answer.py calls ``alipy_seconds``, which makes that environment beside its own and runs this file in it.
"""

import collections
import collections.abc
import json
import os
import subprocess
import sys
import tempfile
import time
import venv
import warnings
from pathlib import Path

import numpy as np

NEEDED = ("alipy==1.2.5", "numpy==1.26.4", "scikit-learn==1.5.2")  # ALiPy uses names that later ones removed
RETRAINED = 5  # answers with a model trained anew for each: AUDI's default, and MMC's only way


def alipy_seconds(features: np.ndarray, truth: np.ndarray, warm: int, answers: int) -> dict[str, list[float]] | None:
    """Seconds of each answer by AUDI with its model "ready" and "retrained", and by "mmc"; None without ALiPy."""
    folder = Path(sys.prefix, "alipy")
    python = folder / "bin" / "python"
    try:
        if not python.exists():
            venv.create(folder, with_pip=True)
        install = [python, "-m", "pip", "install", "--quiet", *NEEDED]
        subprocess.run(install, check=True, capture_output=True, timeout=600)
    except (OSError, subprocess.SubprocessError):
        return None
    with tempfile.TemporaryDirectory() as temporary:
        data = Path(temporary, "data.npz")
        np.savez(data, features=features, truth=truth, warm=warm)
        one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        script = [python, __file__, data, str(answers)]
        return json.loads(subprocess.run(script, check=True, stdout=subprocess.PIPE, env=one_thread).stdout)


def main(path: str, answers: str) -> None:
    collections.Iterable = collections.abc.Iterable  # ALiPy looks for it where Python kept it before 3.10
    warnings.simplefilter("ignore")
    from alipy.index import MultiLabelIndexCollection
    from alipy.query_strategy.multi_label import LabelRankingModel, QueryMultiLabelAUDI, QueryMultiLabelMMC

    with np.load(path) as data:
        features, truth, warm = data["features"], np.where(data["truth"], 1, -1), int(data["warm"])
    features = features / np.linalg.norm(features, axis=1, keepdims=True)  # its model asks for scaled features
    n_items, n_labels = truth.shape
    np.random.seed(0)  # noqa: NPY002 - ALiPy can be seeded in no other way
    trained = LabelRankingModel(features[:warm], truth[:warm])
    audi, mmc = (
        QueryMultiLabelAUDI(features, truth),
        QueryMultiLabelMMC(features, (truth > 0).astype(int), random_state=0),
    )
    known, unknown = (
        MultiLabelIndexCollection([(i, k) for i in items for k in range(n_labels)], label_size=n_labels)
        for items in (range(warm), range(warm, n_items))
    )

    def seconds(n_answers: int, choose) -> list[float]:
        taken = []
        for _ in range(n_answers):
            start = time.process_time()
            chosen = choose()
            taken.append(time.process_time() - start)
            if isinstance(chosen[0], tuple):  # of MMC it is an item: nothing more need be known to measure the next
                known.update(chosen)
                unknown.difference_update(chosen)
        return taken

    ways = {
        "ready": seconds(int(answers), lambda: audi.select(known, unknown, model=trained)),
        "mmc": seconds(RETRAINED, lambda: mmc.select([*range(warm)], [*range(warm, n_items)])),
        "retrained": seconds(RETRAINED, lambda: audi.select(known, unknown)),
    }
    print(json.dumps(ways))


if __name__ == "__main__":
    main(*sys.argv[1:])
