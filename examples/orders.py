"""An order and its receipt in one SQLAlchemy transaction; the receipts are written exactly once."""

from sqlalchemy import create_engine
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column

from rowlock import Engine, Item, Transaction, Worker

engine = Engine("shop.db")
database = create_engine("sqlite:///shop.db")
worker = Worker(engine)


class Base(DeclarativeBase):
    """The tables of the shop."""


class Order(Base):
    """What a customer has ordered."""

    __tablename__ = "orders"
    id: Mapped[int] = mapped_column(primary_key=True)
    total: Mapped[int]


class Receipt(Base):
    """What was written for an order."""

    __tablename__ = "receipts"
    order_id: Mapped[int] = mapped_column(primary_key=True)
    text: Mapped[str]


def place(number: int, total: int) -> None:
    """Store an order, and the work that follows from it, or neither."""
    with Session(database) as session, session.begin():
        session.add(Order(id=number, total=total))
        session.flush()
        engine["receipts"].add(str(number), data={"total": total}, using=session)


@worker.on("receipts", batch=100)
def write(items: list[Item], tx: Transaction) -> None:
    """Write receipts in the transaction that settles their items."""
    rows = [[int(item.key), f"paid {item.data['total']}"] for item in items]
    tx.executemany("insert into receipts values (?, ?)", rows)


if __name__ == "__main__":
    Base.metadata.create_all(database)
    for number in range(1, 4):
        place(number, total=10 * number)
    worker.run(until="done")
    with Session(database) as session:
        print(*[receipt.text for receipt in session.query(Receipt).order_by(Receipt.order_id)], sep="\n")  # noqa: T201
    database.dispose()
    engine.close()
