"""Annotations of other tools as answers of a project."""

from ramify.labels import WORDS
from ramify.project.store.answers import Revision
from ramify.readers.annotations import Annotation
from ramify.taxonomy import Index


def revision_of(said: Annotation, item: int, id_of: Index) -> Revision:
    """An annotation about an item of the project, its concepts by their stable ids."""
    answers = [(item, int(id_of[concept]), WORDS[value]) for concept, value in said.values.items()]
    return Revision(said.name, said.version, said.annotator, item, answers, said.settles, said.seconds, said.mark)
