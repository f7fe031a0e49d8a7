"""What goes wrong, as exceptions and warnings."""

from __future__ import annotations

from typing import Optional


class SutraError(Exception):
    """Something failed. ``str()`` of it is the line that the program would print.

    Attributes:
        status: the number, which is an exit status of ``sysexits.h``: 65 malformed data, 66 no such input, 73 no output.
        message: what is wrong and what to do.
        file: the file that it concerns, or "".
        byte: offset in the file, after decompression, or None.
        line: line of that offset, from 1, or None.
    """

    def __init__(self, status: int, message: str, file: str = "", byte: int = 0, line: int = 0) -> None:
        super().__init__(status, message, file, byte, line)
        self.status = status
        self.message = message
        self.file = file
        self.byte: Optional[int] = byte if byte or line else None
        self.line: Optional[int] = line or None

    def __str__(self) -> str:
        where = ""
        if self.file:
            where = f"{self.file}: "
        if self.byte is not None:
            where = f"{self.file}: byte {self.byte:,}, line {self.line}: " if self.line else f"{where}byte {self.byte:,}: "
        return where + self.message


class SutraWarning(UserWarning):
    """Something was left out or mended; the text says what and how much."""
