"""The one training loop of all net-trained learners."""

import json
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, ClassVar, Protocol, Self

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from ramify.data import Dataset, NameVectors
from ramify.errors import RamifyError
from ramify.labels import Labels, as_labels
from ramify.learners.base import Inputs, Learner, Logits, as_json, fingerprint
from ramify.learners.cache import Cache, ToKeep
from ramify.learners.checkpoints import FILE, read_checkpoint, write_checkpoint
from ramify.learners.evidence import Evidence
from ramify.learners.last_layer import LastLayer
from ramify.learners.replay import Replayed
from ramify.learners.search import Between, SearchSpace
from ramify.learners.warm import answered_items
from ramify.meta import knows_gram, masked_bce
from ramify.metrics import precision_at_k
from ramify.nets import MLP, SGD, AdamW, last_linear, move_average, pick_device
from ramify.parallel import team
from ramify.taxonomy import Index

OPTIMIZERS: dict[str, type[AdamW] | type[SGD]] = {"adam": AdamW, "sgd": SGD}


class Callback(Protocol):
    """Told how a fit goes: any of these methods may be given."""

    def on_epoch_end(self, learner: "NetLearner", record: dict[str, Any]) -> None:
        """Called after each epoch with its line of the history."""


@dataclass(kw_only=True, eq=False, repr=False)
class NetLearner(Learner):
    """A net trained in epochs on mini-batches of the pool, each joined by the warm set and by all other answers.

    With a validation part the best moment is kept, and training stops after ``patience`` looks without a better one.
    Predictions come from an average of the weights over the last steps (about 1 / (1 - ``average``) of them).
    """

    hidden: tuple[int, ...] = (512, 512)
    """The sizes of the net's hidden layers."""
    module: Callable[[int, int], nn.Module] | None = None
    """Makes another net than the MLP from the numbers of inputs and outputs."""
    lr: float = 1e-3
    """The learning rate."""
    epochs: int = 12
    """How often the pool is gone through, at most."""
    batch_size: int = 128
    """Items of the pool in a mini-batch."""
    warm_weight: float | None = 1.0
    """The weight of the answered items' loss beside that of a mini-batch; 0 leaves them out of the update. None lets
    every known entry count alike, M / N for M warm items beside N others, as the paper's objectives sum them."""
    warm_batch: int | None = 128
    """Answered items that join a mini-batch, at most; None for all of them."""
    average: float = 0.98
    """Predictions come from weights averaged over about 1 / (1 - average) steps."""
    patience: int = 20
    """Looks without a better one after which a fit with a validation part stops."""
    look_every: int = 15
    """Steps between looks at the validation part: the best moment may come early in the first epoch."""
    shortest_epoch: int = 50
    """Steps of an epoch at least: a handful of warm items would otherwise make epochs of one step."""
    optimizer: str = "adam"
    """"adam" or "sgd"."""
    verbose: bool = False
    """Whether to show a progress bar."""
    in_teams: ClassVar[bool] = True
    """Whether several processes can train it together; not where a loss looks at the whole mini-batch."""
    replays: ClassVar[bool] = True
    """Whether answered items join every mini-batch; not where mini-batches are made of nothing else."""
    search_space: ClassVar[SearchSpace] = {"lr": Between(1e-4, 1e-2), "warm_weight": Between(0.1, 30.0)}
    """The learning rate, and how much the answered items count. Epochs are chosen by stopping early."""
    history_: list[dict[str, Any]] = field(init=False)
    """One line for each epoch, after a fit."""

    # -- what each learner does for itself -----------------------------------------------------------------------------

    def _n_outputs(self) -> int:
        return len(self.taxonomy_.leaves)

    def _make_net(self, n_inputs: int) -> nn.Module:
        if self.module is not None:
            return self.module(n_inputs, self._n_outputs())
        return MLP(n_inputs, self._n_outputs(), self.hidden)

    def _check_labels(self, labels: Labels) -> None:
        """Refuse settings and labels that cannot be learned from, before anything changes."""
        if self.optimizer not in OPTIMIZERS:
            raise RamifyError(f"the optimizer is 'adam' or 'sgd', not {self.optimizer!r}")
        if team().size > 1 and not self.in_teams:
            raise RamifyError(f"{self.name} is trained by one process only: start it without torchrun")

    def _prepare(self, labels: Labels) -> None:
        """Called before training with the labels, for what a learner keeps of them."""

    def _batches_from(self, labels: Labels, warm: Index) -> Index:
        """The items that mini-batches are drawn from: the pool, or everything where nothing is in it."""
        pool = np.setdiff1d(np.arange(len(labels)), warm)
        return pool if len(pool) else np.arange(len(labels))

    def _replayed(self, labels: Labels) -> tuple[Index, Index]:
        """The answered items that join every mini-batch: the warm set, and those of which not all is known."""
        answered = answered_items(labels)
        complete = (labels.states(answered) >= 0).all(axis=1)
        return answered[complete], answered[~complete]

    def _loss(self, items: Index, x: Tensor, logits: Tensor, labels: Labels) -> Tensor:
        """The loss of one mini-batch, without that of the answered items, given what the net makes of it."""
        raise NotImplementedError

    def _warm_loss(self, logits: Tensor, states: Tensor) -> Tensor:
        """The loss of a batch of answered items, given the states of all their concepts."""
        return masked_bce(logits, states[:, : logits.shape[1]])

    def _forward(self, x: Tensor) -> Tensor:
        """What the net makes of a batch and of those that join it, in one pass."""
        logits: Tensor = self.net_(x)
        return logits

    def _progress(self, labels: Labels, truth: Labels | None) -> dict[str, float]:
        """More figures for the history."""
        return {}

    # -- fitting -------------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        *,
        names: NameVectors | None = None,
        validation: Dataset | None = None,
        truth: Labels | None = None,
        callbacks: Iterable[Callback] = (),
        checkpoint: str | Path | None = None,
    ) -> Self:
        """Learn from the beginning.

        ``truth`` (all labels) only adds the recovery of unknown entries to ``history_``. With ``checkpoint`` (a folder)
        every epoch is on disk before the next begins, and a fit that was interrupted goes on where it stopped.
        """
        self._check_labels(as_labels(labels))
        self._device = pick_device(self.device)
        features = self._start(X, labels)
        self._seed = team().agree(self._draw_seed())
        self._generator = torch.Generator().manual_seed(self._seed)
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self._seed)
            self.net_ = self._make_net(features.shape[1]).to(self._device)
        self._optimiser = self._make_optimiser()
        self._averaged = {name: value.detach().clone() for name, value in self.net_.state_dict().items()}
        self._best: dict[str, Tensor] = {}  # the best moment, while a fit with validation goes on
        self.n_steps_ = 0
        self.history_ = []
        return self._train(features, labels, self.epochs, validation, truth, callbacks, checkpoint)

    def partial_fit(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        *,
        items: ArrayLike | None = None,
        epochs: int = 1,
    ) -> Self:
        """Train some more epochs from where the learner is, with these labels."""
        if not hasattr(self, "net_"):
            return self.fit(X, labels)
        features = self._continued(X, labels)
        self._check_labels(labels)
        return self._train(features, labels, len(self.history_) + epochs, None, None, (), None)

    def go_on(self, X: Any, labels: Labels, *, restart: bool, epochs: int) -> Self:  # noqa: N803
        """Some more epochs, or a new beginning."""
        return self.fit(X, labels) if restart else self.partial_fit(X, labels, epochs=epochs)

    def _make_optimiser(self) -> AdamW | SGD:
        return OPTIMIZERS[self.optimizer](self.net_.parameters(), lr=self.lr)

    def _train(
        self,
        features: Any,
        labels: Labels,
        epochs: int,
        validation: Dataset | None,
        truth: Labels | None,
        callbacks: Iterable[Callback],
        checkpoint: str | Path | None,
    ) -> Self:
        self._team = team()
        inputs = Inputs(features, self.scaler_, self._device)
        warm, partly = self._replayed(labels)
        self._prepare(labels)
        drawn_from = self._batches_from(labels, warm)
        self._weight = len(warm) / len(drawn_from) if self.warm_weight is None else self.warm_weight
        if self.warm_weight is None:
            partly = partly[:0]  # they are in the pool, and count there like all others
        if not self.replays:
            warm, partly = warm[:0], partly[:0]
        self._warm, self._partly = (Replayed.of(inputs, labels, items) for items in (warm, partly))
        steps = max(self.shortest_epoch, math.ceil(len(drawn_from) / (self.batch_size * self._team.size)))
        callbacks = list(callbacks)
        self._trained_on = fingerprint(features, labels, validation is not None) if checkpoint is not None else ""
        if checkpoint is not None:
            self._resume(Path(checkpoint))
        best = max((record.get("validation", -1.0) for record in self.history_), default=-1.0)
        worse = self.history_[-1].get("looks_since_best", 0) if self.history_ else 0
        with self._reporting() as report:
            for epoch in range(len(self.history_), epochs):
                if validation is not None and worse >= self.patience:
                    break
                losses, looks = [], []
                for step, items in enumerate(self._batches(drawn_from, steps), start=1):
                    with torch.random.fork_rng(devices=[]):  # a module of the user's own may draw at random
                        torch.manual_seed(self._team.own(self._seed + self.n_steps_))
                        losses.append(self._step(inputs, labels, items))
                    report(self.name, epoch * steps + step, epochs * steps)
                    if validation is not None and (step % self.look_every == 0 or step == steps):
                        looks.append(self._look(validation))
                        worse += 1
                        if looks[-1]["validation"] > best:
                            best, worse = looks[-1]["validation"], 0
                            self._best = self._moment()
                        if worse >= self.patience:
                            break
                record = {"epoch": epoch + 1, "loss": float(np.mean(losses)), **self._progress(labels, truth)}
                if looks:  # the figures of the epoch's end, and the best that was seen on the way
                    record |= looks[-1] | {"validation": max(look["validation"] for look in looks)}
                    record["looks_since_best"] = worse
                self.history_.append(record)
                for callback in callbacks:
                    callback.on_epoch_end(self, record)
                if checkpoint is not None and self._team.rank == 0:
                    self._write_checkpoint(Path(checkpoint))
        if validation is not None and self._best:
            self._return_to(self._best)
            self._best = {}
        return self

    def _moment(self) -> dict[str, Tensor]:
        """What predicts at this moment of a fit, to come back to."""
        return {name: value.clone() for name, value in self._averaged.items()}

    def _return_to(self, moment: dict[str, Tensor]) -> None:
        """Be what was at that moment: what goes on learning goes on from there."""
        self._averaged = moment
        self.net_.load_state_dict(moment)
        self._optimiser = self._make_optimiser()

    def _look(self, validation: Dataset) -> dict[str, float]:
        """Precision@k on the validation part, and their mean, by which the best moment is chosen."""
        states, probabilities = validation.labels.states(), self.predict_proba(validation.features)
        ks = [k for k in (1, 3, 5) if k <= states.shape[1]]
        precisions = {f"p@{k}": precision_at_k(states, probabilities, k) for k in ks}
        return {**precisions, "validation": float(np.mean(list(precisions.values())))}

    def _batches(self, drawn_from: Index, steps: int) -> Iterable[Index]:
        size = min(self.batch_size * self._team.size, len(drawn_from))
        while steps:
            shuffled = drawn_from[torch.randperm(len(drawn_from), generator=self._generator).numpy()]
            for first in range(0, len(shuffled) - size + 1, size):
                if steps == 0:
                    return
                steps -= 1
                yield shuffled[first : first + size]

    def _step(self, inputs: Inputs, labels: Labels, items: Index) -> float:
        self.net_.train()
        own = items[self._team.part(len(items))]
        x = inputs[own]
        self._joining = [  # in every batch: among all others they would drown
            self._own_part(*replayed.draw(self.warm_batch, self._generator))
            for replayed in (self._warm, self._partly)
            if len(replayed) and self._weight
        ]
        parts = [x, *(of_warm for of_warm, _, _ in self._joining)]
        logits, *of_joining = torch.split(self._forward(torch.cat(parts)), [len(part) for part in parts])
        loss = len(own) / len(items) * self._loss(own, x, logits, labels)
        for of_warm, (_, states, share) in zip(of_joining, self._joining, strict=True):
            if share:
                loss = loss + self._weight * share * self._warm_loss(of_warm, states)
        self.net_.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        self._team.add_gradients(self.net_.parameters(), loss)
        self._optimiser.step()
        self.n_steps_ += 1
        state = self.net_.state_dict()
        floats = [name for name, value in state.items() if value.is_floating_point()]
        with torch.no_grad():
            averaged, now = ([weights[name] for name in floats] for weights in (self._averaged, state))
            move_average(averaged, now, self.average, self.n_steps_)
        return float(loss.detach())

    def _own_part(self, x: Tensor, states: Tensor) -> tuple[Tensor, Tensor, float]:
        """This process's part of a batch that all have drawn, and which share of it that is."""
        part = self._team.part(len(x))
        return x[part], states[part], (part.stop - part.start) / len(x)

    # -- predicting ----------------------------------------------------------------------------------------------------

    def _logits(self, x: Tensor) -> Tensor:
        """The logits of the averaged net."""
        self.net_.eval()
        logits: Tensor = torch.func.functional_call(self.net_, self._averaged, (x,))
        return logits

    def _probabilities(self, x: Tensor) -> Tensor:
        return self._logits(x).sigmoid()

    def differentiable(self) -> tuple[dict[str, Tensor], Logits]:
        """The averaged net, which is the one that predicts."""
        self.net_.eval()
        parameters = {name: self._averaged[name] for name, _ in self.net_.named_parameters()}

        def logits(theta: dict[str, Tensor], x: Tensor, states: Tensor) -> Tensor:
            return self._fine_logits(torch.func.functional_call(self.net_, {**self._averaged, **theta}, (x,)))

        return parameters, logits

    def is_layered(self) -> bool:
        """Where nothing is made of what the net puts out."""
        as_they_are = self._fine_logits.__func__ is NetLearner._fine_logits  # type: ignore[attr-defined]
        return as_they_are and knows_gram(self.net_)

    def _fine_logits(self, outputs: Tensor) -> Tensor:
        """The fine concepts' logits from what the net puts out."""
        return outputs

    # -- what it tells of items ----------------------------------------------------------------------------------------

    def evidence(
        self,
        X: Any,  # noqa: N803
        labels: Labels,
        sample: Index,
        directions: int,
        cache: Cache | None = None,
    ) -> Evidence | None:
        """The inputs of the net's last layer and its predictions; None where the net has no linear layer."""
        told = self._last_layer(X)
        return None if told is None else told.evidence(labels, sample, directions, cache)

    def to_cache(self, X: Any, labels: Labels) -> ToKeep:  # noqa: N803
        """The inputs of the net's last layer along their leading directions, and predictions."""
        told = self._last_layer(X)
        return super().to_cache(X, labels) if told is None else told.to_cache(X.shape[0])

    def _last_layer(self, X: Any) -> LastLayer | None:  # noqa: N803
        layer = last_linear(self.net_)
        if layer is None:
            return None
        return LastLayer(layer, lambda items: self.inputs(X, items), self._probabilities, self.taxonomy_)

    # -- saving --------------------------------------------------------------------------------------------------------

    def _state(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Everything, the optimiser and the random draws included: training goes on as if it had never stopped."""
        tensors = {f"net.{name}": value for name, value in self.net_.state_dict().items()}
        tensors |= {f"averaged.{name}": value for name, value in self._averaged.items()}
        tensors |= {f"optimiser.{name}": value for name, value in self._optimiser.state().items()}
        tensors["generator"] = self._generator.get_state()
        arrays = {name: value.cpu().numpy() for name, value in tensors.items()}
        return arrays, {"history": self.history_, "n_steps": self.n_steps_, "seed": self._seed}

    def _restore(self, arrays: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        self._device = pick_device(self.device)
        with torch.random.fork_rng(devices=[]):
            self.net_ = self._make_net(len(self.scaler_.mean)).to(self._device)
        tensors = {name: torch.from_numpy(value.copy()).to(self._device) for name, value in arrays.items()}
        self.net_.load_state_dict(_part(tensors, "net."))
        self._averaged = _part(tensors, "averaged.")
        self._optimiser = self._make_optimiser()
        self._optimiser.restore(_part(tensors, "optimiser."))
        self._generator = torch.Generator()
        self._generator.set_state(tensors["generator"].cpu())
        self.history_, self.n_steps_, self._seed = rest["history"], rest["n_steps"], rest["seed"]
        self._best = {}

    # -- checkpoints ---------------------------------------------------------------------------------------------------

    def _write_checkpoint(self, folder: Path) -> None:
        arrays, rest = self._state()
        arrays |= {f"best.{name}": value.cpu().numpy() for name, value in self._best.items()}
        write_checkpoint(folder, arrays, {"learner": self._identity(), "data": self._trained_on, "rest": rest})

    def _resume(self, folder: Path) -> None:
        if not self._team.all_see(folder / FILE):
            return
        arrays, rest = read_checkpoint(folder, self._identity(), self._trained_on)
        best = {name: arrays.pop(name) for name in list(arrays) if name.startswith("best.")}
        self._restore(arrays, rest)
        tensors = {name: torch.from_numpy(value.copy()).to(self._device) for name, value in best.items()}
        self._best = _part(tensors, "best.")

    def _identity(self) -> dict[str, Any]:
        """What a checkpoint must agree on; ``epochs`` may grow."""
        parameters = {k: v for k, v in self.get_params(deep=False).items() if k not in ("module", "epochs", "verbose")}
        identity: dict[str, Any] = {"name": self.name, "parameters": parameters, "taxonomy": self.taxonomy_.to_dict()}
        identity |= {"team": self._team.size} if self._team.size > 1 else {}  # their mini-batches are larger
        plain: dict[str, Any] = json.loads(json.dumps(identity, default=as_json))
        return plain


def _part(tensors: dict[str, Tensor], prefix: str) -> dict[str, Tensor]:
    return {name.removeprefix(prefix): value for name, value in tensors.items() if name.startswith(prefix)}
