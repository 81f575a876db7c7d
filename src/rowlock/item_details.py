"""Items together with their failures, many in one query.

A module of its own although only the HTTP service uses it: faces hold no function of a transaction.
"""

from collections import defaultdict
from collections.abc import Sequence

from rowlock import failures, items
from rowlock.db import Transaction
from rowlock.errors import RowlockError
from rowlock.model import Failure, Item

ItemDetail = tuple[Item, list[Failure]]


def show_many(tx: Transaction, places: Sequence[tuple[str, str]]) -> list[ItemDetail | RowlockError]:
    """Return each item, by list and key, with its failures; in place of an item that cannot be shown, the error.

    One statement per list, and one more for each item that has failed or does not exist.
    """
    keys_by_list: dict[str, list[str]] = defaultdict(list)
    for name, key in places:
        keys_by_list[name].append(key)
    found = {name: items.ask_many(tx, name, keys)() for name, keys in keys_by_list.items()}
    return [_show(tx, name, key, found[name].get(key)) for name, key in places]


def _show(tx: Transaction, name: str, key: str, found: tuple[Item, bool] | None) -> ItemDetail | RowlockError:
    try:
        item, has_failed = (items.show(tx, name, key), True) if found is None else found
        return item, failures.of_item(tx, name, key) if has_failed else []
    except RowlockError as error:
        return error
