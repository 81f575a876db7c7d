"""A change of a text, and how it is shown."""

import msgspec


class Change(msgspec.Struct, frozen=True):
    """A replacement of one span of a text."""

    start: int
    end: int
    new: str
    shown: str
    """The line with the change in brackets."""
    lines: tuple[int, ...]

    @classmethod
    def of(cls, text: str, span: tuple[int, int], new: str) -> "Change":
        """Describe a replacement in a text; the number of lines stays as it is."""
        start, end = span
        old = text[start:end]
        first = text.rfind("\n", 0, start) + 1
        last = text.find("\n", end) if "\n" in text[end:] else len(text)
        shown = f"{text[first:start]}[{old} => {new}]{text[end:last]}"
        number = text.count("\n", 0, start) + 1
        lines = tuple(range(number, number + old.count("\n") + 1))
        return cls(start, end, new + "\n" * old.count("\n"), " ".join(shown.split()), lines)

    def applied(self, text: str) -> str:
        """Return the text with the change."""
        return text[: self.start] + self.new + text[self.end :]
