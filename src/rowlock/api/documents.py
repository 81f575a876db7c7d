"""Documents that are sent: single values, pages, and every document as lines of text, for cut and awk."""

from collections.abc import Callable, Iterable
from datetime import datetime
from operator import attrgetter
from typing import Any, ClassVar, get_type_hints

import msgspec

from rowlock.model import NO_DATA, Added, Failure, ItemDetails, ListInfo


class Value(msgspec.Struct, frozen=True):
    """A document whose first field is what a verb returned."""

    @classmethod
    def of(cls, result: Any) -> Any:
        """Return the document that holds what a verb returned."""
        return cls(result)

    @property
    def value(self) -> Any:
        """What the verb returned."""
        return getattr(self, self.__struct_fields__[0])


class Page(Value, frozen=True):
    """A document whose first field is a list: each of its rows is a line of text, or of NDJSON."""

    cursor: ClassVar[str] = ""
    """The attribute of a row that the next page begins after, if there are more pages than one."""

    @classmethod
    def of(cls, result: Any) -> Any:
        """Return the page with these rows, as the last one."""
        return cls(result, None) if cls.cursor else cls(result)


def page(name: str, rows: str, *, of: Any, cells: Any = None, cursor: str = "", doc: str = "") -> Any:
    """Make the struct of a page: its field `rows` is a list `of` this type; with a cursor it also has `next`.

    `cells` are what is shown of each row as text: the names of attributes, or a function of the row.
    """
    fields: list[tuple[str, Any]] = [(rows, list[of])]
    if cursor:
        fields.append(("next", get_type_hints(of)[cursor] | None))
    namespace: dict[str, Any] = {"__doc__": doc or f"A page of {rows}.", "cursor": cursor}
    if cells is not None:
        to_cells: Callable[[Any], Iterable[Any]] = attrgetter(*cells) if isinstance(cells, tuple) else cells
        namespace["text"] = lambda self: "".join(row(to_cells(each)) for each in self.value)
    return msgspec.defstruct(name, fields, bases=(Page,), namespace=namespace, module=__name__, frozen=True)


def text(document: Any) -> str:
    """Return a document as lines: by its own `text()` if it has one, else a name and its value to a line."""
    if isinstance(document, ItemDetails):
        return _item_lines(document)
    if isinstance(document, ListInfo):
        return _list_lines(document)
    if hasattr(document, "text"):
        written: str = document.text()
        return written
    if isinstance(document, str):
        return document
    if isinstance(document, list | tuple):
        return "".join(map(text, document))
    if isinstance(document, Page):
        return "".join(map(text, document.value))
    if isinstance(document, Added) and not document.done_before:
        return f"added\t{document.added}\nexisting\t{document.existing}\n"
    if isinstance(document, msgspec.Struct):
        document = dict(zip(document.__struct_encode_fields__, msgspec.structs.astuple(document), strict=True))
    if isinstance(document, dict):
        known = {name: value for name, value in document.items() if value is not None and value != NO_DATA}
        return "".join(f"{name}\t{cell(value)}\n" for name, value in known.items())
    return f"{cell(document)}\n"


def _item_lines(item: ItemDetails) -> str:
    facts = (
        f"key\t{item.key}\nlist\t{item.list}\nstate\t{item.state}\nattempts\t{item.attempts}\n"
        f"gate\t{item.gate}\npriority\t{item.priority}\nversion\t{item.version}\n"
    )
    if item.due is None and item.failed_at is None and item.raw == NO_DATA and not item.failures:
        return facts
    rare = text({"due": item.due, "failed_at": item.failed_at, "data": item.raw})
    return facts + rare + "".join(map(_failure_row, item.failures))


def _failure_row(failure: Failure) -> str:
    message = " ".join(failure.message.split())
    return row(("failure", failure.attempt, failure.at, failure.kind, failure.holder, message))


def _list_lines(info: ListInfo) -> str:
    facts = {"name": info.name, "state": info.state, "gate": info.gate, "sealed": info.sealed, "version": info.version}
    progress = {name: getattr(info.progress, name) for name in ("added", "done", "retried", "moved", "abandoned")}
    return text({**facts, **msgspec.structs.asdict(info.counts), **progress})


def row(cells: Iterable[Any]) -> str:
    """Return one line of cells, separated by tabs."""
    return "\t".join(map(cell, cells)) + "\n"


def cell(value: Any) -> str:
    """Return one value within a line; empty for None."""
    if isinstance(value, str):
        return value
    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.isoformat(timespec="seconds")
    if isinstance(value, msgspec.Raw | dict | list | msgspec.Struct):
        return msgspec.json.encode(value).decode()
    return str(value)
