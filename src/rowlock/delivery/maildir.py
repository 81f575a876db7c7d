"""A maildir: a folder of mails, one file each."""

import os
from email.message import EmailMessage
from pathlib import Path

from rowlock.errors import Invalid
from rowlock.outcomes import Done, Outcome, Retry


class Maildir:
    """Lays mails into a folder, each under its own name: the same one twice is there once, until it is read."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self.shown = f"maildir:{folder}"
        try:
            for part in ("tmp", "new", "cur"):
                (folder / part).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            what = f"{str(folder)!r} cannot be a maildir: {(error.strerror or 'no access').lower()}"
            raise Invalid(what, "give a folder that can be written to") from None

    def take(self, message: EmailMessage, *, name: str) -> Outcome:
        """Lay one mail there, whole or not at all."""
        file = f"{name}.rowlock"
        try:
            with (self._folder / "tmp" / file).open("wb") as writing:
                writing.write(message.as_bytes(policy=message.policy.clone(linesep="\n")))
                writing.flush()
                os.fsync(writing.fileno())
            (self._folder / "tmp" / file).replace(self._folder / "new" / file)
        except OSError as error:
            return Retry(f"the maildir cannot be written: {(error.strerror or 'no access').lower()}", kind="maildir")
        return Done()
