"""Exceptions and warnings."""

from __future__ import annotations

import errno
import os
from typing import Optional


class SutraError(Exception):
    """An operation failed. ``str(error)`` is the line that the command prints. If a system call failed, the error is also an
    ``OSError``: a missing file is a ``FileNotFoundError``, a refused permission a ``PermissionError``.

    Attributes:
        status: exit status as in ``sysexits.h``: 65 malformed input, 66 missing input, 73 output cannot be created.
        message: the error and its remedy.
        file: path of the file with the error, or "".
        byte: byte offset in the decompressed file, or None.
        line: line number of the offset, from 1, or None.
    """

    def __init__(self, status: int, message: str, file: str = "", byte: int = 0, line: int = 0, os_error: int = 0) -> None:
        Exception.__init__(self, status, message, file, byte, line, os_error)
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


class SutraOSError(SutraError, OSError):
    """A system call failed: ``errno``, ``strerror`` and ``filename`` are set as in ``OSError``."""

    def __init__(self, status: int, message: str, file: str = "", byte: int = 0, line: int = 0, os_error: int = 0) -> None:
        super().__init__(status, message, file, byte, line, os_error)
        self.errno = os_error
        self.strerror = os.strerror(os_error)
        self.filename = file


class SutraFileNotFoundError(SutraOSError, FileNotFoundError):
    """A file or directory is missing."""


class SutraPermissionError(SutraOSError, PermissionError):
    """The permission to read or write a file is missing."""


def error_of(status: int, message: str, file: str, byte: int, line: int, os_error: int) -> SutraError:
    """Makes the exception of an error; internal to this package."""
    kinds = {0: SutraError, errno.ENOENT: SutraFileNotFoundError, errno.EACCES: SutraPermissionError,
             errno.EPERM: SutraPermissionError}
    return kinds.get(os_error, SutraOSError)(status, message, file, byte, line, os_error)


class SutraWarning(UserWarning):
    """Input was skipped or repaired; the text contains the reason and the count."""
