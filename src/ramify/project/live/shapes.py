"""The shapes of what is asked of a served project and of what it returns: the same in Python and over HTTP."""

from typing import Annotated, Literal, get_args

from pydantic import BaseModel, ConfigDict, Field, StringConstraints

from ramify.labels.words import Answer, State
from ramify.project.limits import (
    LONGEST_GUIDELINES,
    LONGEST_NAME,
    LONGEST_NOTE,
    LONGEST_SCREEN,
    MOST_ANSWERS,
    MOST_QUESTIONS,
    NAME,
)

ItemNumber = Annotated[int, Field(ge=0, lt=2**53, description="The number of an item, from 0 on.")]
ConceptId = Annotated[int, Field(ge=0, lt=2**53, description="The stable id of a concept: see /api/taxonomy.")]
Annotator = Annotated[
    str,
    StringConstraints(max_length=LONGEST_NAME, pattern=NAME),
    Field(description="The name of who answers.", examples=["Ada"]),
]
Key = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._:-]{8,64}$"),
    Field(description="Unique for this request: sent again, it is not counted twice.", examples=["3f1c9b52-7d1e"]),
]
Tab = Annotated[
    str,
    StringConstraints(pattern=r"^[A-Za-z0-9._:-]{0,64}$"),
    Field(description="Tells two windows of one annotator apart: each gets questions of its own."),
]
Mode = Literal["group", "single", "grid"]
FlagWord = Literal["cannot tell", "broken"]
Sort = Literal["likely", "unlikely", "unsure", "disagreement"]
SORTS: tuple[Sort, ...] = get_args(Sort)
WantedState = Literal["yes", "no", "unknown", "disputed", "doubted"]
Source = Literal["unknown", "imported", "annotated", "deduced"]
Exported = Literal["labels", "known", "answers", "predictions"]
Imported = Literal["items", "answers"]
Format = Literal["csv", "jsonl", "parquet"]
FileName = Annotated[
    str,
    StringConstraints(max_length=200, pattern=r"^[^/\\\x00-\x1f\x7f.][^/\\\x00-\x1f\x7f]*$"),
    Field(description="The name of the file; its ending says what it is.", examples=["pets.csv"]),
]
Rule = Literal["parent-irrelevant", "child-relevant", "no-child", "last-child"]


class Shape(BaseModel):
    """Exactly what is described, nothing else."""

    model_config = ConfigDict(extra="forbid")


class Request(BaseModel):
    """What is sent: nothing else, and every value of its own kind ("1" is no number)."""

    model_config = ConfigDict(extra="forbid", strict=True)


# -- what is sent ------------------------------------------------------------------------------------------------------


class Wanted(Request):
    """Which questions to hand out."""

    annotator: Annotator
    mode: Mode = Field("group", description="All open children of one concept for one item, one entry, or 12 items.")
    count: int = Field(1, ge=1, le=MOST_QUESTIONS)
    tab: Tab = ""


class Answered(Request):
    """One answered entry. A coarse concept answered 'no' says that the coarse label is wrong there."""

    item: ItemNumber
    concept: ConceptId
    answer: Answer


class Answers(Request):
    """The answers to one question, which are undone together."""

    key: Key
    annotator: Annotator
    answers: list[Answered] = Field(min_length=1, max_length=MOST_ANSWERS)
    settles: bool = Field(False, description="Whether this ends a disagreement: it then counts above all others.")
    seconds: float | None = Field(
        None, ge=0, le=LONGEST_SCREEN, description="How long somebody was busy with the screen, without pauses."
    )
    flag: FlagWord | None = Field(
        None, description="Why it is skipped for good: this question, or all about the item. Only with skips."
    )
    note: str = Field("", max_length=LONGEST_NOTE, description="What goes with the flag.")


class Lift(Request):
    """Lets what was flagged be asked again."""

    key: Key = Field(description="The key of the request that flagged it.")


class Undo(Request):
    """Takes back what the annotator answered last."""

    key: Key
    annotator: Annotator
    tab: Tab = ""


class Train(Request):
    """Asks for a training; there is nothing to say about it."""


class NewSettings(Request):
    """What holds from now on: all of it, as it was or changed."""

    strategy: str = Field(max_length=200, description="Who chooses the questions.")
    audit: float = Field(ge=0, le=1, description="The share of questions that are drawn at random.")
    gold: float = Field(ge=0, le=1, description="The share of questions whose answer is known: gold questions.")
    overlap: int = Field(ge=1, le=100, description="How many annotators answer each question.")
    budget: int | None = Field(ge=1, lt=2**53, description="After how many answers nothing is asked any more.")
    train_every: int | None = Field(
        ge=1, lt=2**53, description="After how many answers the model is trained again; null: as its learner needs it."
    )
    learner: str = Field(max_length=200, description="Who learns, from the next training on.")
    guidelines: str = Field(
        max_length=LONGEST_GUIDELINES,
        description="For those who answer, in Markdown; the first heading is the title of the page.",
    )


# -- questions ---------------------------------------------------------------------------------------------------------


class Item(Shape):
    """What is asked about."""

    item: int
    id: str
    text: str | None
    picture: str | None = Field(description="Where its picture is served.")


class NamedConcept(Shape):
    """A concept as people read it."""

    concept: int
    name: str
    path: str
    description: str


class AskedEntry(NamedConcept):
    """An entry of a question."""

    item: int


class Example(Shape):
    """An item for which a concept is known to be relevant."""

    concept: int
    item: Item


class Above(Shape):
    """What is known of a concept above the asked ones."""

    concept: int
    name: str
    state: State
    source: Source


class Screen(Shape):
    """One question on the screen, of one or more entries."""

    task: str
    mode: Mode
    item: Item
    items: list[Item] = Field(description="In the grid mode.")
    concept: int | None = Field(
        description="The asked concept; in the group mode the parent of the asked ones, null where these are coarse."
    )
    path: list[str]
    above: list[Above] = Field(description="What is above the asked ones, the topmost first; not in the grid mode.")
    description: str
    exhaustive: bool = Field(description="Whether one of the entries has to be relevant.")
    entries: list[AskedEntry]
    examples: list[Example]
    guess: dict[str, float] = Field(description="The model's probability of each entry, as 'item:concept'.")
    model: int | None
    until: float = Field(description="When the lease ends, in seconds since 1970.")


class Saved(Shape):
    """What became of the answers."""

    saved: int
    deduced: int
    events: list[int] = Field(description="Their numbers in the list of all answers.")


class UndoneAnswer(Shape):
    """An entry whose answer was taken back."""

    item: int
    concept: int
    answer: Answer = Field(description="What had been answered.")


class Undone(Shape):
    """What was taken back; nothing, if there was nothing."""

    undone: list[UndoneAnswer]
    task: Screen | None = Field(description="The question again, for the annotator who took it back.")


class PastAnswer(Shape):
    """An answer that was given."""

    seq: int
    item: Item
    concept: int
    path: str
    answer: Answer
    at: float
    undone: bool


# -- what is known -----------------------------------------------------------------------------------------------------


class Concept(NamedConcept):
    """A concept of the taxonomy."""

    parent: int | None
    exhaustive: bool
    fine: bool
    aliases: list[str]


class Entry(Shape):
    """What is known and believed of one concept of an item."""

    concept: int
    path: str
    fine: bool
    probability: float | None
    state: State
    source: Source
    disputed: bool = Field(description="Annotators disagree; an answer that settles ends it.")
    contradicted: bool = Field(description="What was said of it cannot be true with what was said of others.")
    settled: bool = Field(description="An answer outranks what others say; only one that settles too changes it.")


class KnownItem(Shape):
    """An item with its entries."""

    item: Item
    entries: list[Entry]


class Page(Shape):
    """Some of the items that were looked for."""

    total: int
    items: list[KnownItem]


class Found(Shape):
    """The numbers of items that were looked for, as many as can be answered at once."""

    total: int
    items: list[int]


class Statement(Shape):
    """What one source says of one concept."""

    concept: int
    path: str
    value: Literal["yes", "no"]
    source: Literal["imported", "annotated"]


class AnswerReason(Shape):
    """Somebody answered, skipped, or took an answer back."""

    kind: Literal["answer"] = "answer"
    annotator: str
    answer: Literal["yes", "no", "skip", "undo"]
    at: float
    settles: bool


class ImportReason(Shape):
    """It came with the data."""

    kind: Literal["import"] = "import"
    value: Literal["yes", "no"]


class DeductionReason(Shape):
    """It follows from what is known of another concept."""

    kind: Literal["deduction"] = "deduction"
    rule: Rule
    concept: int
    path: str


class ContradictionReason(Shape):
    """It is set aside, because these statements contradict each other."""

    kind: Literal["contradiction"] = "contradiction"
    said: list[Statement]


Reason = Annotated[AnswerReason | ImportReason | DeductionReason | ContradictionReason, Field(discriminator="kind")]


class Why(Shape):
    """Why an entry is known."""

    state: State
    source: Source
    reasons: list[Reason]


class Piece(Shape):
    """A part of a text."""

    text: str
    word: int | None = Field(description="Which of the words it is; null between words, and where it was not tried.")


class Spoken(Shape):
    """What the model says of a concept."""

    concept: int
    probability: float
    without: list[float] = Field(description="What it would say without each of the words, wherever these stand.")


class Words(Shape):
    """Which words of a text speak for concepts."""

    pieces: list[Piece] = Field(description="The text; together they are all of it.")
    concepts: list[Spoken]
    note: str | None = Field(description="Why nothing can be told, or what was left out.")


# -- how far it is -----------------------------------------------------------------------------------------------------


class ConceptCount(NamedConcept):
    """How many items are yes, no and unknown of a concept."""

    yes: int
    no: int
    unknown: int


class ModelFacts(Shape):
    """The model that is asked."""

    version: int
    learner: str | None
    at: float
    estimate: dict[str, float]
    names: str | None = Field(description="How the names of concepts were read, or why they were not.")
    due: str | None = Field(
        description="Why a new one should be trained: the taxonomy was changed, or items were added."
    )


class TrainingFacts(Shape):
    """The newest training."""

    running: bool
    since: float
    error: str | None
    doing: str | None = Field(description="What is being done while it runs; a training does several things in turn.")
    share: float | None = Field(ge=0, le=1, description="How much of that is done.")
    left: float | None = Field(description="The seconds that it will still take, by its pace so far.")

    @classmethod
    def beginning(cls, at: float) -> "TrainingFacts":
        """One of which nothing is known yet but that it runs."""
        return cls(running=True, since=at, error=None, doing=None, share=None, left=None)


class AnnotatorCount(Shape):
    """What one annotator did."""

    name: str
    yes: int
    no: int
    skip: int
    undone: int
    agreement: float | None = Field(description="How often others said the same of the same entries.")
    gold: int = Field(description="Gold questions, whose answer is known, that they answered.")
    right: int = Field(description="How many of these they answered right.")


class Person(AnnotatorCount):
    """What one annotator did, and how quickly."""

    screens: int = Field(description="Screens whose time is known.")
    seconds: float | None = Field(description="How long one took, the median.")
    last: float = Field(description="When the last answer came, in seconds since 1970.")


class Problem(Shape):
    """Something inside did not work; it goes away when it works again."""

    what: str
    at: float


class Bounds(Shape):
    """A share between two bounds, with 95 % confidence."""

    value: float
    low: float
    high: float


class Advised(Shape):
    """Whether to go on answering."""

    kind: Literal["early", "worth it", "done"]
    said: str = Field(description="One sentence.")
    gain: Bounds | None = Field(description="What so many minutes would add to F1.")
    minutes: int


class Status(Shape):
    """How far the project is."""

    items: int
    answers: int
    budget: int | None
    unknown: int
    questions: int = Field(description="About how many screens of the group mode are open now.")
    pace: float | None = Field(description="The seconds that a screen took lately, the median; null before the first.")
    progress: str = Field(description="How far it is, in words.")
    advice: Advised | None = Field(description="When to stop, by the audit; null before anything was drawn.")
    out: int = Field(description="How many entries somebody is asked about now.")
    concepts: list[ConceptCount]
    model: ModelFacts | None
    training: TrainingFacts | None
    curve: list[dict[str, float]] = Field(description="Answers, and how good the model was thought to be then.")
    next_100: dict[str, float] | None = Field(description="What 100 more answers would add, if things go on so.")
    annotators: list[AnnotatorCount]
    disagreements: int
    contradictions: int
    coarse_wrong: int
    flagged: int
    problems: list[Problem]


class Disagreement(Shape):
    """An entry that annotators disagree about."""

    item: Item
    concept: int
    path: str
    answers: dict[str, Literal["yes", "no"]]


class Contradiction(Shape):
    """Statements about one item that cannot all be true."""

    item: Item
    said: list[Statement]


class RefusedLabel(Shape):
    """A coarse label that somebody called wrong."""

    item: Item
    concept: int
    path: str
    annotator: str


class Flagged(Shape):
    """Questions that somebody skipped for good."""

    item: Item
    key: str = Field(description="What lifts the flag.")
    flag: FlagWord
    note: str
    annotator: str
    at: float
    paths: list[str]


class Lifted(Shape):
    """Whether there was a flag to lift."""

    lifted: bool


class Review(Shape):
    """What people should look at again."""

    disagreements: list[Disagreement]
    contradictions: list[Contradiction]
    coarse_wrong: list[RefusedLabel]
    flags: list[Flagged]


class TrainingStart(Shape):
    """Whether a training was started, and why not."""

    started: bool
    reason: str | None


class TakenIn(Shape):
    """What became of a table that was sent."""

    said: list[str] = Field(description="Sentences.")


class Settings(Shape):
    """What holds now, and what there is to choose from."""

    strategy: str
    strategies: list[str]
    audit: float
    gold: float
    overlap: int
    budget: int | None
    train_every: int | None
    learner: str
    learners: list[str]
    guidelines: str


class Project(Shape):
    """What is served."""

    project: str = Field(description="Its identity: send it as X-Ramify-Project to be refused by any other project.")
    name: str
    version: str
    title: str = Field(description="The first heading of the guidelines, else the name.")
    about: str = Field(description="Their first paragraph: what the project is for.")
    guidelines: str = Field(description="The file guidelines.md of the project's folder.")


class Refusal(Shape):
    """What every refused request gets."""

    error: str = Field(description="One sentence: what is wrong and what to do.")


# -- how good it is ----------------------------------------------------------------------------------------------------


class Figures(Shape):
    """How good labels are, as they would be exported now; None where the audit does not tell yet."""

    precision: Bounds | None
    recall: Bounds | None
    f1: Bounds | None
    draws: int = Field(description="The answered audit questions that it comes from.")
    settled: float = Field(description="The share of labels that are known, not predicted.")


class ConceptFigures(Figures):
    """Of one fine concept."""

    concept: int
    path: str
    agreement: float | None = Field(description="Krippendorff's alpha of several people's answers to the same items.")


class Quality(Shape):
    """How good the labels of all items are, answered and predicted, by questions that were drawn at random."""

    at: float
    answers: int
    all: Figures
    concepts: list[ConceptFigures]
    seconds: float = Field(description="How long people answered, without pauses over a minute.")
    advice: Advised
