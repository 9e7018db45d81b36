"""The log on disk: appended to by one writer at a time, and acknowledged only when it is safe.

``append`` returns after the line was written and the disk confirmed it. A process that is killed loses nothing that
was acknowledged, and leaves at most one unfinished line, the last.
"""

from __future__ import annotations

import contextlib
import os
import threading
from typing import TYPE_CHECKING, Self

from edgeworth.errors import InvalidArgument, LedgerBusy, NotWritten, Unsupported
from edgeworth.ledger.lines import Log, decode, encode, event_fields, torn_line

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path
    from typing import Any, NoReturn

    from edgeworth.ledger.event import Event

__all__ = ["LogFile", "create", "read"]


def read(path: Path) -> Log:
    """What the file says at this moment, without taking its lock."""
    try:
        text = path.read_bytes()
    except OSError as error:
        raise InvalidArgument(
            f"path={str(path)!r} cannot be read: {error.strerror}; give a file that is there"
        ) from None
    return decode(text, path)


def create(path: Path, header: dict[str, Any], events: Iterable[Event] = ()) -> None:
    """A new file with this header and these events: all of it or, if the process dies, nothing."""
    line, checksum = encode(header)
    lines = [line]
    for sequence, event in enumerate(events, 1):
        line, checksum = encode(event_fields(sequence, event), checksum)
        lines.append(line)
    with _Lock(path):
        if path.exists():
            raise InvalidArgument(f"path={str(path)!r} is there already; open it with Ledger.open, or give another")
        draft = path.with_name(f".{path.name}.draft")
        handle = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o666)
        try:
            _write(handle, b"".join(lines))
            draft.replace(path)
        except OSError as error:
            draft.unlink(missing_ok=True)
            raise NotWritten(f"{path}: {error.strerror}; no file was made, make room and try again") from error
        finally:
            os.close(handle)
        _confirm_folder(path.parent)


class LogFile:
    """A file that this process may append to until ``close``. Holds its lock meanwhile."""

    def __init__(self, path: Path, *, repair: bool = False) -> None:
        self._handle = -1
        self.path = path
        self._lock = _Lock(path)
        self._turn = threading.Lock()
        with contextlib.ExitStack() as undo:
            undo.enter_context(self._lock)
            self.log = read(path)
            if self.log.torn and not repair:
                raise torn_line(path, self.log)
            self._handle = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            undo.pop_all()  # opened: the lock stays
        self._process = os.getpid()
        self._size, self._checksum, self.length = self.log.size, self.log.checksum, len(self.log.events)
        if self.log.torn:
            self._cut()

    def append(self, event: Event, *, expected: int) -> None:
        """Write one event and wait for the disk; a failure leaves the file as it was.

        `expected` is the number of events that the caller believes to be there.
        """
        with self._turn:
            self._check_ownership(expected)
            self._append(event)

    def _append(self, event: Event) -> None:
        line, checksum = encode(event_fields(self.length + 1, event), self._checksum)
        try:
            _write(self._handle, line)
        except BaseException as error:
            with contextlib.suppress(OSError):  # if this fails too, the next call finds the size wrong and refuses
                self._cut()
            if isinstance(error, OSError):
                raise NotWritten(
                    f"{self.path}: {error.strerror}; nothing was added, make room and try again"
                ) from error
            raise
        self._size, self._checksum, self.length = self._size + len(line), checksum, self.length + 1

    def close(self) -> None:
        """Give the file up; a second call does nothing."""
        if self._handle >= 0:
            os.close(self._handle)
            self._handle = -1
            self._lock.__exit__()

    def __del__(self) -> None:
        self.close()

    def __reduce__(self) -> NoReturn:
        raise TypeError(f"{self.path} is open for writing and cannot be copied; Ledger.read gives a value that can")

    def _check_ownership(self, expected: int) -> None:
        if self._handle < 0:
            raise LedgerBusy(f"{self.path} was closed; open it again with Ledger.open")
        if os.getpid() != self._process:
            raise LedgerBusy(
                f"{self.path} was opened by process {self._process}, not by {os.getpid()}; "
                "let one process write, or give each its own file and merge them"
            )
        if expected != self.length:
            raise LedgerBusy(
                f"{self.path} has {self.length} events and this value knows {expected}; add to the newest value"
            )
        if not self._is_ours():
            raise LedgerBusy(f"{self.path} was changed by something else; close it and open it again")

    def _is_ours(self) -> bool:
        """Whether the file is as this process left it, and still the one that the path names."""
        ours = os.fstat(self._handle)
        return ours.st_size == self._size and self.path.exists() and os.path.samestat(ours, self.path.stat())

    def _cut(self) -> None:
        """Back to the last acknowledged line."""
        os.ftruncate(self._handle, self._size)
        os.fsync(self._handle)


class _Lock:
    """One writer: an advisory lock on a file beside the log, which the system releases when its holder dies."""

    def __init__(self, path: Path) -> None:
        self._path = path.with_name(path.name + ".lock")
        self._handle = -1

    def __enter__(self) -> Self:
        fcntl = _locking()
        try:
            self._handle = os.open(self._path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise InvalidArgument(
                f"path={str(self._path)!r} cannot be made: {error.strerror}; give a path in a folder of yours"
            ) from None
        try:
            fcntl.flock(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            holder = os.pread(self._handle, 20, 0).decode("ascii", "replace").strip()
            os.close(self._handle)
            raise _busy(self._path.with_suffix(""), holder) from None
        os.ftruncate(self._handle, 0)
        os.pwrite(self._handle, f"{os.getpid()}\n".encode("ascii"), 0)
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._handle)


def _busy(path: Path, holder: str) -> LedgerBusy:
    if holder == str(os.getpid()):
        return LedgerBusy(f"{path} is open in this process already; close that ledger first")
    return LedgerBusy(
        f"{path} is being written to by process {holder or 'unknown'}; wait for it, "
        "or give each process its own file and merge them"
    )


def _locking() -> Any:
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        raise Unsupported(
            "a ledger on disk needs file locks, which this system lacks; keep the ledger in memory"
        ) from None
    return fcntl


def _write(handle: int, text: bytes) -> None:
    """All of the text, and the word of the disk that it is there."""
    while text:
        text = text[os.write(handle, text) :]
    os.fsync(handle)


def _confirm_folder(folder: Path) -> None:
    """The name of a new file is safe only when its folder was written too."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
