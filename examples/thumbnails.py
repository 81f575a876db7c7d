"""Make a thumbnail of each picture in a folder, in a process for each core: `thumbnails.py PICTURES SMALL`."""

import sys
from pathlib import Path

from PIL import Image

from rowlock import Engine, Fail, Item, Worker

SIZE = (160, 160)


def shrink(item: Item) -> Fail | None:
    """Write one thumbnail; to write it twice changes nothing."""
    into = Path(item.data["into"])
    try:
        with Image.open(item.key) as picture:
            picture.thumbnail(SIZE)
            picture.convert("RGB").save(into / f"{Path(item.key).stem}.jpg")
    except OSError as error:  # no picture, or a damaged one: another attempt would not help
        return Fail(error)
    return None


def main(pictures: Path, small: Path) -> None:
    """Add each picture once, and work until all are done."""
    small.mkdir(exist_ok=True)
    with Engine(small / "work.db") as engine:
        paths = [str(path) for path in sorted(pictures.iterdir()) if path.is_file()]
        engine["thumbnails"].add(paths, data={"into": str(small)})
        worker = Worker(engine, concurrency=2)
        worker.on("thumbnails", shrink, processes=True, timeout="1m")
        worker.run(until="done")
        counts = engine["thumbnails"].counts()
        print(f"{len(paths) - counts.failed} thumbnails, {counts.failed} failed")  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
