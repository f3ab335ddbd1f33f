"""All rows of one database copied into another."""

from sqlalchemy import Connection, func, select, text

from ramify.project.store.schema import METADATA

ROWS = 10_000  # read and written at once
COUNTED = {"concepts": "id", "events": "seq", "trainings": "id", "changes": "seq"}
"""The columns that the database numbers by itself."""


def copy_rows(source: Connection, target: Connection) -> None:
    """Copy all tables into a database that has them, empty: it goes on numbering where the other one was."""
    reading = source.execution_options(yield_per=ROWS)
    for table in METADATA.tables.values():
        with reading.execute(select(table).order_by(*table.primary_key.columns)) as rows:
            for part in rows.mappings().partitions():
                target.execute(table.insert(), list(map(dict, part)))
    if target.dialect.name == "postgresql":  # SQLite looks by itself what the last number was
        for name, column in COUNTED.items():
            last = func.coalesce(func.max(METADATA.tables[name].c[column]), 0)
            target.execute(select(func.setval(func.pg_get_serial_sequence(name, column), last + 1, text("false"))))
