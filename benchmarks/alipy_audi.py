"""CPU seconds that AUDI of ALiPy takes to choose one answer, measured in an environment of its own.

benchmarks/query.py calls ``audi_seconds``, which makes that environment and runs this file in it.
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

NEEDED = ("alipy==1.2.5", "numpy==1.26.4")  # ALiPy uses names that numpy 2 removed
RETRAINED = 3  # answers with a model trained anew for each: AUDI's default, and slower


def audi_seconds(features: np.ndarray, truth: np.ndarray, warm: int, answers: int) -> dict[str, float] | None:
    """Seconds an answer with its model "ready" and "retrained", or None where ALiPy cannot be installed."""
    with tempfile.TemporaryDirectory() as folder:
        python, data = Path(folder, "env", "bin", "python"), Path(folder, "data.npz")
        try:
            venv.create(Path(folder, "env"), with_pip=True)
            install = [python, "-m", "pip", "install", "--quiet", *NEEDED]
            subprocess.run(install, check=True, capture_output=True, timeout=600)
        except subprocess.SubprocessError as error:
            print(f"{NEEDED[0]} could not be installed ({type(error).__name__}): left out")
            return None
        np.savez(data, features=features, truth=truth, warm=warm)
        one_thread = os.environ | dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
        script = [python, __file__, data, str(answers)]
        return json.loads(subprocess.run(script, check=True, stdout=subprocess.PIPE, env=one_thread).stdout)


def main(path: str, answers: str) -> None:
    collections.Iterable = collections.abc.Iterable  # ALiPy looks for it where Python kept it before 3.10
    warnings.simplefilter("ignore")
    from alipy.index import MultiLabelIndexCollection
    from alipy.query_strategy.multi_label import LabelRankingModel, QueryMultiLabelAUDI

    with np.load(path) as data:
        features, truth, warm = data["features"], np.where(data["truth"], 1, -1), int(data["warm"])
    features = features / np.linalg.norm(features, axis=1, keepdims=True)  # its model asks for scaled features
    n_items, n_labels = truth.shape
    np.random.seed(0)  # noqa: NPY002 - ALiPy can be seeded in no other way
    trained = LabelRankingModel(features[:warm], truth[:warm])
    audi = QueryMultiLabelAUDI(features, truth)
    known, unknown = (
        MultiLabelIndexCollection([(i, k) for i in items for k in range(n_labels)], label_size=n_labels)
        for items in (range(warm), range(warm, n_items))
    )

    def seconds_each(n_answers: int, model: LabelRankingModel | None) -> float:
        taken = 0.0
        for _ in range(n_answers):
            start = time.process_time()
            chosen = audi.select(known, unknown, model=model)
            taken += time.process_time() - start
            known.update(chosen)
            unknown.difference_update(chosen)
        return taken / n_answers

    print(json.dumps({"ready": seconds_each(int(answers), trained), "retrained": seconds_each(RETRAINED, None)}))


if __name__ == "__main__":
    main(*sys.argv[1:])
