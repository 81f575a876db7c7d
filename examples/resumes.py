"""Résumés in two gates: all of them are read before the first is ranked, because a rank compares it with all."""

from rowlock import Engine, Item, Move, Transaction, Worker

engine = Engine("resumes.db")
resumes = engine["resumes"]
worker = Worker(engine)

TEXTS = {"ann": "python sql sql", "bob": "sql", "eve": "python python sql sql"}


@worker.on("resumes", gate="read")
def read(item: Item) -> Move:
    """Count the words of one résumé, and pass the item to the next gate with them."""
    return Move("rank", data={"words": len(item.data["text"].split())})


@worker.on("resumes", gate="rank", batch=100)
def rank(items: list[Item], tx: Transaction) -> None:
    """Store the words in the transaction that settles the items; the gate has opened, so all have been counted."""
    tx.executemany("insert into ranks values (?, ?)", [[item.key, item.data["words"]] for item in items])


if __name__ == "__main__":
    with engine.transaction() as tx:
        tx.execute("create table ranks (name text primary key, words integer)")
    resumes.settings(gates=["read", "rank"])
    resumes.add([{"key": name, "data": {"text": text}} for name, text in TEXTS.items()])
    worker.run(until="done")
    with engine.transaction() as tx:
        for name, words in tx.execute("select name, words from ranks order by words desc"):
            print(name, words)  # noqa: T201
    engine.close()
