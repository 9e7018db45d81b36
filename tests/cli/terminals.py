"""A pseudo-terminal of a given width, and what a program prints on it."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import termios


def shown_on_a_terminal(arguments, environment, *, columns):
    """The exit code and the bytes that a person's terminal gets."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
    terminal = environment | {"TERM": "xterm-256color"}
    with subprocess.Popen(arguments, stdout=theirs, stderr=theirs, env=terminal) as process:  # noqa: S603
        os.close(theirs)
        shown = b""
        try:
            while block := os.read(ours, 4096):
                shown += block
        except OSError:  # how a pseudo-terminal says that the other end is closed
            pass
    os.close(ours)
    return process.returncode, shown.decode()


def plain(shown):
    """The lines without colours and without what a progress bar wrote over."""
    text = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown).replace("\r\n", "\n")
    return [line.rpartition("\r")[2] for line in text.split("\n")]
