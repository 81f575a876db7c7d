"""Topics: standing queries on published records. These functions create and change the fields of a topic."""

from collections.abc import Mapping, Sequence
from functools import lru_cache

import msgspec

from rowlock.db import Tx
from rowlock.durations import milliseconds
from rowlock.errors import FieldTaken, InvalidName, NoSuchTopic
from rowlock.json_codec import encode_json
from rowlock.model import TopicInfo
from rowlock.names import check_limit, check_name, check_start, closest
from rowlock.roles import covers
from rowlock.topics import predicates
from rowlock.topics.terms import FieldLayout

MAX_NAME_BYTES = 150


class TopicRow(msgspec.Struct, frozen=True):
    """A topic as it is stored."""

    id: int
    name: str
    fields: dict[str, str]
    keep_for: str
    version: int

    @property
    def layout(self) -> FieldLayout:
        """The numbers and columns of its fields."""
        return _layout(self.id, tuple(self.fields.items()))

    @property
    def info(self) -> TopicInfo:
        """The topic as users see it."""
        return TopicInfo(self.name, self.fields, self.keep_for)


@lru_cache(maxsize=256)
def _layout(topic: int, fields: tuple[tuple[str, str], ...]) -> FieldLayout:
    return FieldLayout(topic, dict(fields))


def check_topic(name: str) -> None:
    """Raise InvalidName for a name that cannot be part of the names of lists and of URLs."""
    check_name(name, "topic")
    if "/" in name or len(name.encode()) > MAX_NAME_BYTES:
        hint = f"use at most {MAX_NAME_BYTES} bytes, and no '/'"
        raise InvalidName(f"invalid topic name {name!r}", hint, name=name)


def list_of(topic: str, record: int | str) -> str:
    """Return the name of a record's list; for the record `*`, the pattern of all of them."""
    return f"topics/{topic}/{record}"


def put(tx: Tx, name: str, fields: Mapping[str, str], *, keep_for: str | None = None) -> tuple[bool, TopicInfo]:
    """Create a topic or add fields to it. Existing fields stay; a field cannot change its kind.

    Returns whether it was created, and the topic.
    """
    check_topic(name)
    new = predicates.check_fields(fields)
    if keep_for is not None:
        milliseconds(keep_for)
    created = False
    # A loop, because others may create and drop a topic of that name in between.
    while (row := tx.struct(TopicRow, "topics/lock", name=name)) is None:
        created = tx.run("topics/create", name=name) == 1
    for field, kind in new.items():
        if row.fields.get(field, kind) != kind:
            what = f"field {field!r} of topic {name!r} is {row.fields[field]}, got {kind}"
            raise FieldTaken(what, "choose another name for the new field", field=field)
    merged = predicates.check_fields(row.fields | new)
    keep = row.keep_for if keep_for is None else keep_for
    if (merged, keep) != (row.fields, row.keep_for):
        tx.run("topics/change", topic=row.id, fields=encode_json(merged), keep_for=keep)
    return created, TopicInfo(name, merged, keep)


def define(tx: Tx, name: str, fields: Mapping[str, str], *, keep_for: str | None = None) -> TopicInfo:
    """Create a topic or add fields to it. Existing fields stay; a field cannot change its kind."""
    return put(tx, name, fields, keep_for=keep_for)[1]


def find(tx: Tx, name: str) -> TopicRow:
    """Return the topic of a name, or raise NoSuchTopic."""
    row = tx.struct(TopicRow, "topics/find", name=name)
    if row is not None:
        return row
    near = closest(name, [row[0] for row in tx.rows("topics/names_to_suggest")])
    hint = f"did you mean {near!r}?" if near else "define its fields first"
    raise NoSuchTopic(f"there is no topic {name!r}", hint, topic=name)


def show(tx: Tx, name: str) -> TopicInfo:
    """Return the topic as users see it, or raise NoSuchTopic."""
    return find(tx, name).info


def page(tx: Tx, *, after: str = "", limit: int = 1000, prefixes: Sequence[str] = ()) -> list[TopicInfo]:
    """Return topics in the order of their names, strictly after one; with `prefixes`, those whose lists have one."""
    check_limit(limit, "topics")
    check_start(after)
    found: list[TopicInfo] = []
    while wanted := limit - len(found):
        rows = tx.structs(TopicRow, "topics/page", after=after, limit=wanted)
        found += [row.info for row in rows if covers(prefixes, list_of(row.name, ""))]
        if len(rows) < wanted:
            break
        after = rows[-1].name
    return found
