"""The shapes that travel over HTTP: what may be sent is bounded here, what comes back is described for other tools."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

PRINTABLE = r"^[^\x00-\x1f\x7f]*$"

ItemNumber = Annotated[int, Field(ge=0, lt=2**53, description="The number of an item, from 0 on.")]
ConceptId = Annotated[int, Field(ge=0, lt=2**53, description="The stable id of a concept: see /api/taxonomy.")]
Annotator = Annotated[
    str,
    StringConstraints(strip_whitespace=True, min_length=1, max_length=64, pattern=PRINTABLE),
    Field(description="The name of who answers.", examples=["Ada"]),
]
Key = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._:-]{8,64}$"),
    Field(description="Unique for this request: sent again, it is not counted twice.", examples=["3f1c9b52-7d1e"]),
]
Mode = Literal["group", "single", "grid"]
State = Literal["yes", "no", "unknown"]
WantedState = Literal["yes", "no", "unknown", "disputed"]
Said = Literal["yes", "no", "skip"]


class Wanted(BaseModel):
    """Which questions to hand out."""

    model_config = ConfigDict(extra="forbid")
    annotator: Annotator
    mode: Mode = Field("group", description="All open children of one concept for one item, one entry, or 12 items.")
    count: int = Field(1, ge=1, le=20)


class Answer(BaseModel):
    """One answered entry. A coarse concept answered 'no' says that the coarse label is wrong there."""

    model_config = ConfigDict(extra="forbid")
    item: ItemNumber
    concept: ConceptId
    answer: Said


class Answers(BaseModel):
    """The answers to one question, which are undone together."""

    model_config = ConfigDict(extra="forbid")
    key: Key
    annotator: Annotator
    answers: list[Answer] = Field(min_length=1, max_length=2000)
    settles: bool = Field(False, description="Whether this ends a disagreement: it then counts above all others.")


class Undo(BaseModel):
    """Takes back what the annotator answered last."""

    model_config = ConfigDict(extra="forbid")
    key: Key
    annotator: Annotator


class Problem(BaseModel):
    """What every refused request gets."""

    error: str = Field(description="One sentence: what is wrong and what to do.")


class Open(BaseModel):
    """A response that may carry more than is described."""

    model_config = ConfigDict(extra="allow")


class Item(Open):
    """What is asked about."""

    item: int
    id: str
    text: str | None = None
    picture: str | None = Field(None, description="Where its picture is served.")


class Asked(Open):
    """An entry of a question."""

    item: int
    concept: int
    name: str
    path: str
    description: str = ""


class Example(Open):
    """An item for which a concept is known to be relevant."""

    concept: int
    item: Item


class Task(Open):
    """One question on the screen, of one or more entries."""

    task: str
    mode: Mode
    item: Item | None = None
    items: list[Item] = Field([], description="In the grid mode.")
    concept: int = Field(description="The asked concept; in the group mode the parent of the asked ones.")
    path: list[str]
    description: str = ""
    exhaustive: bool = Field(False, description="Whether one of the entries has to be relevant.")
    entries: list[Asked]
    examples: list[Example] = []
    guess: dict[str, float] = Field({}, description="The model's probability of each entry, as 'item:concept'.")
    model: int | None = None
    until: float = Field(description="When the lease ends, in seconds since 1970.")


class Saved(Open):
    """What became of the answers."""

    saved: int
    deduced: int = 0


class Back(Open):
    """An entry whose answer was taken back."""

    item: int
    concept: int
    answer: str | None = Field(None, description="What had been answered.")


class Undone(Open):
    """What was taken back; nothing, if there was nothing."""

    undone: list[Back]
    task: Task | None = None


class Past(Open):
    """An answer that was given."""

    seq: int
    item: Item
    concept: int
    path: str
    answer: str
    at: float
    undone: bool = False


class Concept(Open):
    """A concept of the taxonomy."""

    concept: int
    name: str
    path: str
    parent: int | None = None
    description: str = ""
    exhaustive: bool = False
    fine: bool = False


class Entry(Open):
    """What is known and believed of one concept of an item."""

    concept: int
    path: str
    probability: float | None = None
    state: State
    source: str | None = None
    disputed: bool = Field(False, description="Annotators disagree; an answer that settles ends it.")


class Known(Open):
    """An item with its entries."""

    item: Item
    entries: list[Entry]


class Page(Open):
    """Some of the found items."""

    total: int
    items: list[Known]


class Why(Open):
    """Why an entry is known."""

    state: State
    source: str | None = None
    reasons: list[str] = []


class Status(Open):
    """How far the project is."""

    items: int
    answers: int
    budget: int | None = None
    unknown: int


class Review(Open):
    """What people should look at again."""

    disagreements: list[dict[str, object]] = []
    contradictions: list[str | dict[str, object]] = []
    coarse_wrong: list[dict[str, object]] = []


class Training(Open):
    """Whether a training was started, and why not."""

    started: bool
    reason: str | None = None


class Project(BaseModel):
    """What is served."""

    project: str = Field(description="Its identity: send it as X-Ramify-Project to be refused by any other project.")
    name: str
    version: str
