"""A user's program, as a strict type checker reads it. Each `type: ignore` marks a mistake that it must find."""

import asyncio
from collections.abc import Sequence

import msgspec

from rowlock import AsyncEngine, Done, Engine, Fail, Item, Retry, Transaction, Turn, TypedItem, Worker


class Letter(msgspec.Struct):
    """The data of an item."""

    to: str
    copies: int = 1


engine = Engine("typed.db")
worker = Worker(engine, concurrency=4)


@worker.on("downloads", attempts=3, timeout="30s")
def fetch(item: Item) -> Done | Retry | None:
    return Retry("no answer") if item.attempts else None


@worker.on("mail", data=Letter, gate="send")
def send(item: TypedItem[Letter], turn: Turn) -> Fail | None:
    copies: int = item.data.copies
    return Fail(turn.token) if copies < 1 else None


@worker.on("mail/async", data=Letter)
async def send_later(item: TypedItem[Letter]) -> None:
    await asyncio.sleep(len(item.data.to))


@worker.on("ranks", batch=100)
def rank(items: list[Item], tx: Transaction) -> dict[str, Fail]:
    return {item.key: Fail("no") for item in items}


@worker.on("letters", data=Letter, batch=100)
def print_all(items: list[TypedItem[Letter]]) -> list[Done]:
    return [Done(item.data.to) for item in items]


@worker.on_error
def report(error: BaseException, items: Sequence[Item]) -> None:
    raise error


worker.on("thumbs", fetch)
outcome: Done | Retry | None = fetch(engine["downloads"].show("a"))


@worker.on("wrong")  # type: ignore[type-var]
def returns_text(item: Item) -> str:
    return item.key


@worker.on("wrong", data=Letter)  # type: ignore[arg-type]
def of_another_type(item: TypedItem[int]) -> None: ...


@worker.on("wrong", batch=2)  # type: ignore[arg-type]
def of_one_item(item: Item) -> None: ...


@worker.on("misspelt", data=Letter)
def misspelt(item: TypedItem[Letter]) -> None:
    item.data.copys  # type: ignore[attr-defined]  # noqa: B018


async def main() -> None:
    """Run it beside an event loop."""
    async with AsyncEngine("typed.db") as beside:
        await Worker(beside).run_async(until="done")
