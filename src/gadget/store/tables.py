"""The tables of a journal, as docs/reference/journal.md tells them."""

from sqlalchemy import BigInteger, Column, Double, Integer, MetaData, Table, Text

SCHEMA_VERSION = 1
# In the header of the file, so that no other SQLite file is taken for a journal: "GADG".
APPLICATION_ID = 0x47414447

metadata = MetaData()

events = Table(
    "events",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("at", Double, nullable=False),
    Column("kind", Text, nullable=False),
    Column("body", Text, nullable=False),
    Column("checksum", BigInteger, nullable=False),
)
states = Table(
    "states",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("body", Text, nullable=False),
    Column("checksum", BigInteger, nullable=False),
)
meta = Table(
    "meta",
    metadata,
    Column("key", Text, primary_key=True),
    Column("value", Text, nullable=False),
)
