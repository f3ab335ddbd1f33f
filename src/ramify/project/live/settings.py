"""Settings: what whoever serves a project may change while people answer. They are kept with the project."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ramify.errors import RamifyError
from ramify.project.live import shapes
from ramify.project.live.auditing import share_of
from ramify.project.live.guidelines import read_guidelines, write_guidelines
from ramify.project.live.shortlists import make_strategy
from ramify.project.store.store import Store

if TYPE_CHECKING:
    from ramify.project.live.service import Service

KEPT = "serving"  # the setting that keeps them


@dataclass(frozen=True)
class Serving:
    """How questions are chosen and handed out."""

    strategy: str = "finish"
    overlap: int = 1
    """How many annotators answer each question."""
    gold: float = 0.0
    """The share of questions whose answer is known: it is told how often people are right."""
    budget: int | None = None
    """After how many answers nothing is asked any more."""
    train_every: int | None = None
    """After how many answers the whole model is trained again; None: as its learner needs it."""

    @classmethod
    def of(cls, store: Store, **given: Any) -> "Serving":
        """What was kept; what is given (not None) outranks it, for this time only."""
        kept = {name: value for name, value in store.setting(KEPT, {}).items() if name in cls.__dataclass_fields__}
        serving = cls(**kept | {name: value for name, value in given.items() if value is not None})
        if not 0 <= serving.gold <= 1:
            raise RamifyError(f"gold is a share of the questions from 0 to 1, not {serving.gold:g}")
        return serving

    def keep(self, store: Store) -> None:
        """Let it hold from now on."""
        store.set_setting(KEPT, vars(self))


def settings_of(service: "Service") -> shapes.Settings:
    """What holds now, and what there is to choose from."""
    from ramify.learners import LEARNERS  # torch: the first question comes before it is loaded
    from ramify.project.live.training import LEARNER
    from ramify.strategies import STRATEGIES

    serving, learner = service.serving, service.store.setting("learner", LEARNER)
    learners = [name for name in LEARNERS if name != "all-labels"]  # which wants labels that nobody has
    return shapes.Settings(
        **vars(serving),
        strategies=list(dict.fromkeys([*STRATEGIES, serving.strategy])),
        audit=service.auditing.share,
        learner=learner,
        learners=list(dict.fromkeys([*learners, learner])),
        guidelines=read_guidelines(service.store.folder, "")["guidelines"],
    )


def change(service: "Service", new: shapes.NewSettings) -> None:
    """Let other settings hold, here at once and later for whoever serves the project: all of them or none."""
    from ramify.project.live.training import choose_learner

    now = settings_of(service)
    check_among("strategy", new.strategy, now.strategies)
    check_among("learner", new.learner, now.learners)
    serving = Serving(new.strategy, new.overlap, new.gold, new.budget, new.train_every)
    make_strategy(serving.strategy)  # what cannot be made is told before anything is changed
    write_guidelines(service.store.folder, new.guidelines)
    serving.keep(service.store)
    if new.learner != now.learner:  # its parameters begin anew
        choose_learner(service.store, new.learner, {})
    service.auditing.share = share_of(service.state, new.audit)
    service.leases.overlap = serving.overlap
    chosen_anew = serving.strategy != service.serving.strategy
    service.serving = serving
    if chosen_anew:
        service.questions.strategy = serving.strategy
        service.questions.make(everything=False)


def check_among(what: str, name: str, known: list[str]) -> None:
    """Refuse a name that is not offered: over HTTP nobody may have a module of their own loaded.

    >>> check_among("strategy", "os:System", ["random", "finish"])
    Traceback (most recent call last):
    ...
    ramify.errors.RamifyError: there is no strategy 'os:System' to choose here: choose among random, finish
    """
    if name not in known:
        raise RamifyError(f"there is no {what} {name!r} to choose here: choose among {', '.join(known)}")
