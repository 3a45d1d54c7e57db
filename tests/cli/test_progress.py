"""The progress line: on a terminal, beside LIBSVM's own output, and nowhere else. Thresholds and clock are set."""

import gzip
import io
import os
import signal

import pytest
from support import data
from support.commands import MODULES, NO_PICTURES, process
from support.selection import quick_first
from support.terminals import AT_ONCE, Screen, on_terminal

from libsvmx.cli.progress import FORESIGHT, Gaps, Progress, cut, duration

HEART = str(data.DATA / "heart_scale")
GRID = ["-log2c", "-1,1,1", "-log2g", "-3,-4,-1", "-png", "null", "-out", "null"]
ERASED = "\x1b[J"  # below the cursor

pytestmark = pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals")


# Also for files of a few kB, as for large ones; and marks where a part of the work begins.
AS_IF_LARGE = f"""{AT_ONCE}
{NO_PICTURES}
from libsvmx.cli import checkdata
from libsvmx.io import files
checkdata.LINES_BETWEEN_COUNTS, files.PIECE = 1, 1 << 10
"""
AT_BEGINNINGS = f"""{AT_ONCE}
{NO_PICTURES}
begin = progress.Progress.begin
progress.Progress.begin = lambda line, name: (begin(line, name), line.tick())
"""

# command, and its progress line at some time
COMMANDS = {
    "training": (["svmx-train", "-c", "1000", HEART, "model"], "training, "),
    "reading": (["svmx-train", HEART, "model"], f"reading {HEART}"),
    "folds": (["svmx-train", "-v", "5", HEART], "validating, fold 3 of 5, "),
    "leave-one-out": (["svmx-train", "--loo", HEART], "validating, row 100 of 270, "),
    "grid": (["svmx-grid", *GRID, HEART], "searching, point 4 of 6, "),
    "windows": (["svmx-update", "-c", "4", "--window", "250", HEART, "model"], "updating, row 260 of 270, "),
    "rows of a model": (["svmx-predict", HEART, "model", "out"], f"predicting {HEART}"),
    "all in one": (["svmx-easy", "few", "few"], "searching, point 110 of 110, "),
    "scaling": (["svmx-scale", "-s", "ranges", HEART], f"reading {HEART}"),
    "drawing": (["svmx-subset", HEART, "9", "part"], f"reading {HEART}"),
    "checking": (["svmx-checkdata", HEART], f"checking {HEART}"),
}
WRITES_ROWS = ("scaling",)  # to standard output, when only that is a terminal
# command, and the parts of its work in the order they begin
PARTS = {
    "svmx-train": (["-c", "4", HEART, "new"], [f"reading {HEART}", "training", "writing"]),
    "svmx-predict": ([HEART, "model", "out"], ["reading model", f"predicting {HEART}"]),
    "svmx-scale": ([HEART], [f"reading {HEART}", f"scaling {HEART}"]),
    "svmx-grid": ([*GRID, HEART], [f"reading {HEART}", "searching", "writing"]),
    "svmx-easy": (["few"], ["reading few", "scaling few", "searching", "writing", "training"]),
    "svmx-subset": ([HEART, "9"], [f"reading {HEART}", "writing"]),
    "svmx-checkdata": ([HEART], [f"checking {HEART}"]),
    "svmx-update": (
        ["--remove", "1-5", HEART, "model", "new"],
        ["updating", f"reading {HEART}", "writing"],
    ),
    "svmx-compress": (["--max-sv", "50", "model", "small"], ["reading model", "compressing", "writing"]),
    "svmx-export": (["model", "model.c"], ["reading model", "writing"]),
    "svmx-batch": (["--jobs", "2", "lines"], ["running"]),
    "svmx-toy": (["--no-browser", "--idle", "0.0001", "few"], ["reading few", "serving"]),
}


@pytest.fixture
def ready(folder):
    """With a model of heart_scale and a few rows of two classes."""
    folder.accepts("svmx-train", "-q", HEART, "model")
    folder.put("few", "".join(f"{y} 1:{x} 2:{x * x}\n" for y, x in [(1, 1), (-1, -1), (1, 2), (-1, -2)] * 5))
    folder.put("lines", f"svmx-predict {HEART} model other\n")
    return folder


def wide(text):
    """On a screen wide enough that no line of the commands wraps."""
    return Screen(300).feed(text).text


@pytest.mark.parametrize("name", COMMANDS)
def test_what_stays_on_a_terminal_is_the_output_alone(ready, name):
    args, told = COMMANDS[name]
    expected = process(*args, before=NO_PICTURES)
    assert expected.stderr == b""
    done, text = on_terminal(*args, before=AS_IF_LARGE, columns=300)
    assert done.returncode == expected.returncode == 0
    assert wide(text).rstrip() == expected.stdout.decode().rstrip()
    assert (told in text) == (name not in WRITES_ROWS)


@pytest.mark.parametrize(
    "name", quick_first(sorted(COMMANDS, key=["training", "folds", "grid"].__contains__, reverse=True), 3)
)
def test_standard_output_is_the_same_bytes_beside_it(ready, name):
    args, told = COMMANDS[name]
    expected = process(*args, before=NO_PICTURES)
    done, text = on_terminal(*args, streams=["stderr"], before=AS_IF_LARGE, columns=300)
    assert done.stdout == expected.stdout
    assert told in text
    assert wide(text).strip() == ""  # the line is erased


@pytest.mark.parametrize("command", MODULES)
def test_every_command_names_the_parts_of_its_work(ready, command):
    args, parts = PARTS[command]
    done, text = on_terminal(command, *args, streams=["stderr"], before=AT_BEGINNINGS, columns=300)
    assert done.returncode == 0
    told = [line.partition(", ")[0] for line in text.split("\r") if ", " in line]
    assert [part for part in dict.fromkeys(told) if part] == parts


def test_files_have_none(folder):
    assert folder.accepts("svmx-train", "-v", "3", HEART)[0] == ""


@pytest.mark.parametrize("args", [["-v", "5", "-q", HEART], ["-q", "-c", "1000", HEART, "model"]])
def test_quiet_commands_have_none(folder, args):
    expected = process("svmx-train", *args)
    assert on_terminal("svmx-train", *args)[1].replace("\r", "") == expected.stdout.decode()


def test_a_terminal_that_takes_nothing_back_has_none(folder):
    expected = process("svmx-train", "-v", "5", HEART).stdout.decode()
    assert on_terminal("svmx-train", "-v", "5", HEART, env={"TERM": "dumb"})[1].replace("\r", "") == expected


def test_what_is_soon_over_is_not_told_of(folder):
    expected = process("svmx-train", "-v", "5", HEART).stdout.decode()
    later = AT_ONCE.replace("= 0", "= 1e9")
    assert on_terminal("svmx-train", "-v", "5", HEART, before=later)[1].replace("\r", "") == expected


def test_a_model_that_goes_to_the_terminal_is_alone_there(folder):
    done, text = on_terminal("svmx-train", HEART, "-", streams=["stdout"])
    assert (done.returncode, "\x1b" in text) == (0, False)
    assert "\x1b" not in on_terminal("svmx-train", "-q", HEART, "-")[1]


def test_the_page_in_the_browser_tells_what_it_reads(folder):
    folder.put("d.gz", gzip.compress(b"1 1:1 2:1\n2 1:0.5 2:-1\n"))
    done, text = on_terminal("svmx-toy", "--no-browser", "--idle", "0.0001", "d.gz", columns=300)
    assert done.returncode == 0 and "reading d.gz" in text
    assert wide(text).startswith("http://127.0.0.1:") and len(wide(text).split()) == 1


@pytest.mark.parametrize("signum", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
@pytest.mark.parametrize("options", [[], ["--report", "report.json"]], ids=["at once", "by an exception"])
def test_a_signal_takes_the_line_away(folder, signum, options):
    before = f"{AT_ONCE}\nimport signal; progress.Progress.count = lambda *a: signal.raise_signal({signum})\n"
    before += "signal.signal(signal.SIGHUP, signal.SIG_DFL)"  # nohup ignores it, also for its children
    done, text = on_terminal("svmx-train", *options, "-v", "5", HEART, before=before)
    assert done.returncode == -signum
    assert text.endswith(ERASED)


@pytest.mark.parametrize("options", [["-b", "1", HEART], [str(data.DATA / "iris.scale")]], ids=["folds", "pairs"])
def test_a_gap_of_one_solve_of_many_is_no_end(folder, options):
    before = f"{AT_ONCE}\nfrom libsvmx._train import training\nsolve = training.solve_binary\n"
    before += "def told(*args, **more):\n    args[4].solving(0.5)\n    return solve(*args, **more)\n"
    before += "training.solve_binary = told"  # reports a gap, as no solve here does so early
    whole = ["svmx-train", "-c", "1000", "--threads", "1", "--solver", "chunked"]  # no queue
    assert "gap 0.5 (ends at 0.001)" in on_terminal(*whole, HEART, before=before, columns=300)[1]
    text = on_terminal(*whole, *options, before=before, columns=300)[1]
    assert "gap 0.5" in text
    assert "ends at" not in text


def test_a_name_of_a_file_does_not_steer_the_terminal(folder):
    name = folder.put("\x1b[2J\n\t rows", (data.DATA / "heart_scale").read_bytes())
    done, text = on_terminal("svmx-train", "-q", "--on-interrupt", "save", name, "model")
    assert (done.returncode, "\x1b[2J" in text) == (0, False)
    text = on_terminal("svmx-train", name, "model", columns=300)[1]
    assert "reading \\x1b[2J\\n\\t rows" in text


def test_characters_of_two_columns_are_counted(clock):
    assert cut("数数a", 5) == "数数a"
    assert cut("数数a", 4) == "数数"
    assert cut("数数a", 3) == "数"


# ---- the line itself -----------------------------------------------------------------------------


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


class Terminal(io.StringIO):
    """Shows the progress line and the text beside it."""

    def __init__(self, progress_shared, clock):
        super().__init__()
        self.progress = Progress(self, progress_shared, clock)
        self.progress.width = lambda: 40

    def say(self, text):
        self.progress.before(text)
        self.write(text.replace("\n", "\r\n"))

    @property
    def screen(self):
        return Screen(40).feed(self.getvalue().replace("\n", "\r\n").replace("\r\r\n", "\r\n"))


@pytest.mark.parametrize("dots", range(1, 130))
def test_marks_go_on_in_their_line_while_ours_is_below(clock, dots):
    """However many there are, on one line or several, at the end of the screen or above it."""
    terminal = Terminal(True, clock)
    terminal.say("\n" * (dots % 30))
    terminal.progress.begin("training")
    for _ in range(dots):
        clock.now += 3
        terminal.progress.tick()
        terminal.say(".")
    if dots % 40:
        clock.now += 3
        terminal.progress.tick()
        assert terminal.screen.lines[terminal.screen.row + 1].startswith("training, ")
    terminal.say("*\noptimization finished\n")
    text = "." * dots + "*"
    parts = [text[i : i + 40] for i in range(0, len(text), 40)]
    assert terminal.screen.text.lstrip("\n") == "\n".join([*parts, "optimization finished"]) + "\n"


def test_time_left_is_what_the_others_took(clock):
    progress = Progress(io.StringIO(), False, clock)
    progress.begin("validating")
    clock.now = 30.0
    progress.count("fold", 3, 10)
    assert progress.line(30.0) == "validating, fold 3 of 10, 30 s, about 1 min 10 s left"


def test_what_came_before_the_first_row_is_no_measure_of_rows(clock):
    """Such as the training over all rows."""
    progress = Progress(io.StringIO(), False, clock)
    progress.begin("validating")
    clock.now = 100.0
    progress.count("row", 1, 101)
    clock.now = 150.0
    progress.count("row", 51, 101)
    assert progress.line(150.0) == "validating, row 51 of 101, 2 min 30 s, about 50 s left"


def test_gaps_that_fall_evenly_tell_their_end(clock):
    progress = Progress(io.StringIO(), False, clock)
    progress.begin("training")
    progress.eps = 1e-3
    for k in range(201):
        clock.now = 0.1 * k
        progress.solving(10.0 ** (1 - clock.now / 10))
    assert progress.line(20.0) == "training, 20 s, gap 0.1 (ends at 0.001), about 20 s left"


def test_a_gap_that_rises_is_of_more_variables():
    """The shrunk ones: the fall of the gap before says nothing."""
    gaps = Gaps()
    for k in range(201):
        gaps.add(0.1 * k, 10.0 ** -(0.1 * k / 10))
    assert gaps.left(1e-6) == pytest.approx(40)
    gaps.add(20.1, 0.5)
    assert (gaps.left(1e-6), gaps.least) == (None, 0.5)


@pytest.mark.parametrize(
    "gap",
    [
        lambda t: 1.0,  # constant
        lambda t: 1.0 - 0.02 * t,  # slows down and does not reach its end
        lambda t: 10.0 ** (-t / 5 if t < 17 else -17 / 5),  # fell, and then stays constant
        lambda t: 10.0 ** (-t * 2 / (FORESIGHT * 30)),  # ends far away
    ],
)
def test_other_gaps_tell_nothing(gap):
    gaps = Gaps()
    for k in range(201):
        gaps.add(0.1 * k, gap(0.1 * k))
    assert gaps.left(1e-6) is None


def test_many_gaps_take_little_room():
    gaps = Gaps()
    for k in range(200_000):
        gaps.add(k / 1000, 1.0 / (k + 1))
    assert len(gaps.times) < 10_000


@pytest.mark.parametrize(
    "seconds, text",
    [(0, "0 s"), (59.4, "59 s"), (60, "1 min"), (61, "1 min 1 s"), (3600, "1 h"), (7500, "2 h 5 min")],
)
def test_durations(seconds, text):
    assert duration(seconds) == text


# ---- colours -------------------------------------------------------------------------------------


def test_colours_are_for_terminals_that_want_them(folder):
    coloured = {"NO_COLOR": ""}
    assert "\x1b[1;31merror:\x1b[m" in on_terminal("svmx-train", "nothing", env=coloured)[1]
    for env in ({"NO_COLOR": "1"}, {**coloured, "TERM": "dumb"}):
        assert "\x1b" not in on_terminal("svmx-train", "nothing", env=env)[1]
    assert process("svmx-train", "nothing").stderr.startswith(b"svmx-train: error: nothing: ")
