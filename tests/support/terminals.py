"""A command on its own terminal: its output, and the screen."""

import fcntl
import os
import pty
import re
import struct
import termios
import threading

from support.commands import process

ROWS, COLUMNS = 24, 80
STEP = re.compile(r"\x1b\[(\d*)([A-Za-z])")
END = b"\x03"  # end of a command's output: a terminal may drop unread output once its last writer is gone
AT_ONCE = "from libsvmx.cli import progress; progress.WAIT = progress.BETWEEN = 0"  # reports every phase, however short


def on_terminal(command, *args, streams=("stdout", "stderr"), before=AT_ONCE, columns=COLUMNS, env=None):
    """(the finished process, text on the terminal) for a process whose ``streams`` are one terminal."""
    main, child = pty.openpty()
    fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, columns, 0, 0))
    seen = []

    def read():
        while True:
            try:
                part = os.read(main, 1 << 16)
            except OSError:
                return
            if not part:
                return
            seen.append(part)
            if part.endswith(END):
                return

    reader = threading.Thread(target=read)
    reader.start()
    env = {**os.environ, "TERM": "xterm", "NO_COLOR": "1", **(env or {})}
    env.pop("COLUMNS", None)
    try:
        done = process(command, *args, before=before, env=env, **dict.fromkeys(streams, child))
    finally:
        os.write(child, END)
        reader.join()
        os.close(child)
        os.close(main)
    return done, b"".join(seen).decode().removesuffix(END.decode())


class Screen:
    """Screen(columns): a terminal that knows the sequences of the progress line and refuses all others.

    ``lines``: everything shown, scrolled lines included; ``most``: its largest number of rows.
    """

    def __init__(self, columns=COLUMNS, most=ROWS):
        self.columns, self.most = columns, most
        self.lines, self.row, self.column = [""], 0, 0

    def feed(self, text):
        at = 0
        while at < len(text):
            step = STEP.match(text, at)
            if step:
                self.move(int(step[1] or (0 if step[2] in "JKm" else 1)), step[2])
                at = step.end()
                continue
            self.put(text[at])
            at += 1
        return self

    def move(self, n, kind):
        if kind == "A":
            assert self.row - n >= len(self.lines) - self.most, "above the screen"
            self.row -= n
        elif kind == "C":
            self.column = min(self.column + n, self.columns - 1)
        elif kind == "K":
            self.lines[self.row] = self.lines[self.row][: self.column]
        elif kind == "J":
            self.lines[self.row] = self.lines[self.row][: self.column]
            for row in range(self.row + 1, len(self.lines)):
                self.lines[row] = ""
        else:
            assert kind == "m", kind

    def put(self, character):
        assert character != "\x1b"
        if character == "\r":
            self.column = 0
        elif character == "\n":
            self.down()
        else:
            if self.column == self.columns:
                self.column = 0
                self.down()
            line = self.lines[self.row].ljust(self.column)
            self.lines[self.row] = line[: self.column] + character + line[self.column + 1 :]
            self.column += 1

    def down(self):
        self.row += 1
        if self.row == len(self.lines):
            self.lines.append("")

    @property
    def text(self):
        """The screen without empty lines at the end."""
        return "\n".join(self.lines).rstrip("\n") + "\n"
