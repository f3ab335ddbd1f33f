"""Items and concepts as they are shown."""

from ramify.project.live import shapes
from ramify.project.store.items import Contents, Item


def item_of(item: Item) -> shapes.Item:
    """An item for the page."""
    picture = f"/pictures/{item.number}" if item.picture is not None else None
    return shapes.Item(item=item.number, id=item.id, text=item.text, picture=picture)


def concept_of(contents: Contents, number: int) -> shapes.NamedConcept:
    """A concept for the page."""
    taxonomy = contents.taxonomy
    return shapes.NamedConcept(
        concept=int(contents.id_of[number]),
        name=taxonomy.names[number],
        path=taxonomy.path(number),
        description=taxonomy.concepts[number].description,
    )


def source_word(source: int) -> shapes.Source:
    """A source as the page names it."""
    words: tuple[shapes.Source, ...] = ("unknown", "imported", "annotated", "deduced")
    return words[source]
