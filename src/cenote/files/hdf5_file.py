"""A file that HDF5 writes to. HDF5 crashes if it cannot write what it closes, so a full disk does not reach it: what
does not fit is kept in memory until HDF5 has closed, and then the error is raised."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any


class SafeFile(io.RawIOBase):
    """A new file. After the first error nothing more is written to it: :meth:`check` raises the error."""

    def __init__(self, path: Path) -> None:
        self.file = open(path, "x+b", buffering=0)  # noqa: SIM115
        self.error: OSError | None = None
        self.unwritten: list[tuple[int, bytes]] = []  # offset, data: in the order of the writes
        self.position = 0

    def check(self) -> None:
        if self.error is not None:
            raise self.error

    def readable(self) -> bool:
        return True

    def writable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self.position

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        start = {os.SEEK_SET: 0, os.SEEK_CUR: self.position, os.SEEK_END: self.length()}[whence]
        self.position = start + offset
        return self.position

    def length(self) -> int:
        ends = (begin + len(data) for begin, data in self.unwritten)
        return max(os.fstat(self.file.fileno()).st_size, *ends, 0)

    def write(self, data: Any) -> int:
        left = memoryview(data).cast("B")
        size, begin = len(left), self.position
        self.position += size
        if self.error is None:
            try:
                self.file.seek(begin)
                while left:
                    left = left[self.file.write(left) :]
                return size
            except OSError as error:
                self.error = error
        self.unwritten.append((begin + size - len(left), bytes(left)))
        return size

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        begin, size = self.position, min(len(view), max(0, self.length() - self.position))
        self.file.seek(begin)
        there = self.file.readinto(view[:size]) or 0
        view[there:size] = bytes(size - there)
        for offset, data in self.unwritten:
            low, high = max(begin, offset), min(begin + size, offset + len(data))
            if low < high:
                view[low - begin : high - begin] = data[low - offset : high - offset]
        self.position += size
        return size

    def truncate(self, size: int | None = None) -> int:
        size = self.position if size is None else size
        if self.error is None:
            try:
                self.file.truncate(size)
            except OSError as error:
                self.error = error
        return size

    def flush(self) -> None:
        """Every write went to the system at once."""

    def close(self) -> None:
        self.file.close()
        super().close()
