"""The ledger on disk: safe before it is acknowledged, one writer, and every fault found and named."""

from __future__ import annotations

import errno
import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.strategies import mechanisms

import edgeworth as ew
from edgeworth.errors import InvalidArgument
from edgeworth.ledger import Budget, Ledger, LedgerBusy, LedgerDamaged, NotWritten
from edgeworth.ledger import file as ledger_file

LOUD = ew.Gaussian(10.0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "run.jsonl"


@pytest.fixture
def three(path):
    """A closed file with three events."""
    with Ledger.planned(path) as ledger:
        ledger.add(LOUD**5).add(ew.Laplace(20.0), note="a count").add(LOUD)
    return path


def test_a_resumed_ledger_equals_an_uninterrupted_one(path):
    step = ew.PoissonSampled(ew.Gaussian(0.8), rate=256 / 50_000)
    mechanisms = [step**100, ew.Laplace(20.0), step**400, ew.Gaussian(7.3)]
    whole = Ledger.planned()
    for mechanism in mechanisms:
        whole = whole.add(mechanism)
    Ledger.planned(path).close()
    for mechanism in mechanisms:
        with Ledger.open(path) as ledger:
            ledger.add(mechanism)
    resumed = Ledger.read(path)
    assert resumed == whole
    first, second = whole.account().epsilon(1e-5), resumed.account().epsilon(1e-5)
    assert (first.lower, first.value, first.upper) == (second.lower, second.value, second.upper)


@settings(max_examples=30)
@given(st.lists(st.tuples(mechanisms(max_leaves=4), st.text(max_size=20)), max_size=4))
def test_every_mechanism_and_note_is_read_back(tmp_path_factory, entries):
    path = tmp_path_factory.mktemp("ledger") / "run.jsonl"
    ledger = Ledger.planned(path)
    for mechanism, note in entries:
        ledger = ledger.add(mechanism, note=note)
    ledger.close()
    assert Ledger.read(path) == ledger


@pytest.mark.parametrize(
    "budget",
    [Budget(mu=0.1), Budget(epsilon=1.0, delta=1e-5), Budget(points=[(1.0, 1e-5), (2.0, 1e-9)])],
    ids=repr,
)
def test_the_mode_and_the_budget_are_in_the_header(path, budget):
    with Ledger.adaptive(budget, path) as ledger:
        charged = ledger.add(ew.Gaussian(123.456))
    again = Ledger.read(path)
    assert (again.mode, again.budget, again.mu) == ("adaptive", budget, ledger.mu)
    assert again.spent == charged.spent
    header = json.loads(path.read_text().splitlines()[0])
    assert (header["format"], header["version"], header["mode"]) == ("edgeworth-ledger", 1, "adaptive")


def test_a_planned_budget_is_in_the_header(path):
    budget = Budget(epsilon=1.0, delta=1e-5)
    Ledger.planned(path, budget=budget).close()
    assert Ledger.read(path).budget == budget


def test_what_version_1_means_never_changes(path):
    path.write_bytes(
        b'{"format": "edgeworth-ledger", "version": 1, "mode": "planned", "budget": null, "mu": null, '
        b'"checksum": "HEADER"}\n'.replace(b"HEADER", STORED[0])
        + b'{"sequence": 1, "event": {"type": "Gaussian", "noise_multiplier": 2.0}, "note": "a", '
        b'"checksum": "EVENT"}\n'.replace(b"EVENT", STORED[1])
    )
    assert Ledger.read(path) == Ledger.planned().add(ew.Gaussian(2.0), note="a")


STORED = (b"86e13eb4dd76163956a1a348db3f7a4d", b"fcd1b47d2829574cd6c5540460bb2646")


def test_an_event_is_confirmed_by_the_disk_before_it_is_acknowledged(path, monkeypatch):
    done = []
    write, confirm = os.write, os.fsync
    monkeypatch.setattr(ledger_file.os, "write", lambda *a: (done.append("write"), write(*a))[1])
    monkeypatch.setattr(ledger_file.os, "fsync", lambda *a: (done.append("confirm"), confirm(*a))[1])
    ledger = Ledger.planned(path)
    assert done == ["write", "confirm", "confirm"]  # the file, then the folder that names it
    done.clear()
    ledger.add(LOUD)
    assert done == ["write", "confirm"]
    ledger.close()


# ---- torn and altered lines ----


def test_a_last_line_torn_anywhere_is_named_and_repaired(three):
    whole = three.read_bytes()
    lines = whole.splitlines(keepends=True)
    before = len(whole) - len(lines[-1])
    for size in range(before + 1, len(whole)):
        three.write_bytes(whole[:size])
        for read in (Ledger.read, Ledger.open):
            with pytest.raises(LedgerDamaged) as torn:
                read(three)
            assert str(torn.value) == (
                f"{three}, line 4: the last line is torn, it was never acknowledged; "
                "Ledger.open(path, repair=True) drops it and nothing else"
            )
        assert three.read_bytes() == whole[:size]
    with Ledger.open(three, repair=True) as repaired:
        assert three.read_bytes() == whole[:before]
        assert [event.mechanism for event in repaired.events] == [LOUD**5, ew.Laplace(20.0)]
        repaired.add(LOUD)
    assert three.read_bytes() == whole


def test_a_last_line_of_zeros_is_torn(three):
    """What a machine that lost power may leave: a longer file whose blocks were never written."""
    whole = three.read_bytes()
    for rest in (b"\0" * 40, b"\0" * 40 + b"\n"):
        three.write_bytes(whole + rest)
        with pytest.raises(LedgerDamaged, match=r"line 5: the last line is torn"):
            Ledger.read(three)
        Ledger.open(three, repair=True).close()
        assert three.read_bytes() == whole


def test_repair_leaves_a_good_file_alone(three):
    whole = three.read_bytes()
    Ledger.open(three, repair=True).close()
    assert three.read_bytes() == whole


def altered(lines):
    """Every way in which a line may not be the one that was written, with its number."""
    edited = [line.replace(b'"noise_multiplier": 10.0', b'"noise_multiplier": 99.0') for line in lines]
    yield 2, [lines[0], edited[1], *lines[2:]]
    yield 4, [*lines[:3], edited[3]]  # the last one, whole but changed: not torn, and not dropped
    yield 2, [lines[0], *lines[2:]]
    yield 3, [lines[0], lines[1], lines[1], *lines[2:]]
    yield 2, [lines[0], lines[2], lines[1], lines[3]]
    yield 3, [*lines[:2], b"\n", *lines[2:]]
    yield 3, [*lines[:2], lines[2][:30] + b"\n", lines[3]]
    yield 3, [*lines[:2], b'{"sequence": 2}\n', lines[3]]
    yield 1, [lines[0].replace(b"planned", b"adaptive"), *lines[1:]]


@pytest.mark.parametrize("case", range(9))
@pytest.mark.parametrize("repair", [False, True])
def test_an_altered_line_is_named_and_never_dropped(three, case, repair):
    number, lines = list(altered(three.read_bytes().splitlines(keepends=True)))[case]
    three.write_bytes(b"".join(lines))
    with pytest.raises(LedgerDamaged) as damaged:
        Ledger.open(three, repair=repair)
    assert str(damaged.value) == (
        f"{three}, line {number}: this is not the line that was written here; restore the file from a copy"
    )
    assert three.read_bytes() == b"".join(lines)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "line 1: there is no header; this is not a ledger, or it was never finished"),
        (b"{}\n", "line 1: this is not the header of a ledger; give a file that Ledger wrote"),
        (b"hello\n", "line 1: this is not the header of a ledger; give a file that Ledger wrote"),
        (
            b'{"format": "edgeworth-ledger", "version": 2}\n',
            "line 1: version=2 is unknown; this release reads version 1, a newer one may read yours",
        ),
    ],
)
def test_what_is_not_a_ledger_is_refused(path, text, message):
    path.write_bytes(text)
    with pytest.raises(LedgerDamaged) as refused:
        Ledger.read(path)
    assert str(refused.value) == f"{path}, {message}"


def test_a_file_that_is_not_there(path):
    for read in (Ledger.read, Ledger.open):
        with pytest.raises(InvalidArgument) as refused:
            read(path)
        assert str(refused.value) == (
            f"path={str(path)!r} cannot be read: No such file or directory; give a file that is there"
        )


def test_a_file_that_is_there_is_not_written_over(three):
    whole = three.read_bytes()
    with pytest.raises(InvalidArgument) as refused:
        Ledger.planned(three)
    assert str(refused.value) == (f"path={str(three)!r} is there already; open it with Ledger.open, or give another")
    assert three.read_bytes() == whole


def test_a_folder_that_is_not_there(path):
    with pytest.raises(InvalidArgument, match=r"cannot be made: No such file or directory; give a path in a folder"):
        Ledger.planned(path / "run.jsonl")


# ---- one writer ----


def test_a_second_writer_in_this_process_is_refused(path):
    with Ledger.planned(path):
        with pytest.raises(LedgerBusy) as busy:
            Ledger.open(path)
        assert str(busy.value) == f"{path} is open in this process already; close that ledger first"
    Ledger.open(path).close()


def test_a_second_process_is_refused_and_told_who_writes(path):
    code = f"import edgeworth as ew\ntry: ew.Ledger.open({str(path)!r})\nexcept ew.LedgerBusy as busy: print(busy)"
    with Ledger.planned(path) as ledger:
        ledger.add(LOUD)
        told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)  # noqa: S603
        assert len(Ledger.read(path)) == 1  # reading needs no lock
    assert told.stdout.strip() == (
        f"{path} is being written to by process {os.getpid()}; wait for it, "
        "or give each process its own file and merge them"
    )


def test_a_forgotten_ledger_gives_its_file_up(path):
    ledger = Ledger.planned(path)
    del ledger
    Ledger.open(path).close()


def test_an_old_value_cannot_write_behind_the_newest(path):
    with Ledger.planned(path) as empty:
        newest = empty.add(LOUD)
        with pytest.raises(LedgerBusy) as stale:
            empty.add(ew.Laplace(3.0))
        assert str(stale.value) == f"{path} has 1 events and this value knows 0; add to the newest value"
        assert len(newest.add(LOUD)) == 2
    assert len(Ledger.read(path)) == 2


def test_of_several_threads_one_adds_to_a_value(path):
    with Ledger.planned(path) as empty:

        def add(number):
            try:
                return empty.add(LOUD, note=str(number))
            except LedgerBusy:
                return None

        with ThreadPoolExecutor(8) as threads:
            added = [ledger for ledger in threads.map(add, range(8)) if ledger is not None]
    (winner,) = added
    assert Ledger.read(path) == winner


def test_a_closed_ledger_is_not_written_to(path):
    ledger = Ledger.planned(path)
    ledger.close()
    ledger.close()
    with pytest.raises(LedgerBusy, match=r"was closed; open it again with Ledger\.open$"):
        ledger.add(LOUD)


def something_appends(path):
    with path.open("ab") as other:
        other.write(b"x")


def something_replaces(path):
    copy = path.with_name("copy")
    copy.write_bytes(path.read_bytes())
    copy.replace(path)


@pytest.mark.parametrize("change", [something_appends, something_replaces, Path.unlink])
def test_a_file_that_something_else_changed_is_not_written_to(path, change):
    with Ledger.planned(path) as ledger:
        change(path)
        with pytest.raises(LedgerBusy, match=r"was changed by something else; close it and open it again$"):
            ledger.add(LOUD)


def test_another_process_that_inherits_the_file_may_not_write(path, monkeypatch):
    with Ledger.planned(path) as ledger:
        own = os.getpid()
        monkeypatch.setattr(ledger_file.os, "getpid", lambda: own + 1)
        with pytest.raises(LedgerBusy, match=rf"was opened by process {own}, not by {own + 1}; let one process write"):
            ledger.add(LOUD)
        monkeypatch.undo()
        ledger.add(LOUD)


def test_an_open_ledger_is_not_pickled(path):
    with Ledger.planned(path) as ledger, pytest.raises(TypeError, match=r"is open for writing and cannot be copied"):
        pickle.dumps(ledger)


# ---- a disk that refuses ----


def test_a_full_disk_leaves_the_ledger_and_the_file_as_they_were(path, monkeypatch):
    write = os.write

    def half(handle, text):
        write(handle, text[: len(text) // 2])
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with Ledger.planned(path) as ledger:
        one = ledger.add(LOUD)
        whole = path.read_bytes()
        monkeypatch.setattr(ledger_file.os, "write", half)
        with pytest.raises(NotWritten) as refused:
            one.add(ew.Laplace(3.0))
        assert str(refused.value) == f"{path}: No space left on device; nothing was added, make room and try again"
        assert path.read_bytes() == whole
        monkeypatch.undo()
        assert len(one.add(LOUD)) == 2
    assert len(Ledger.read(path)) == 2


def test_an_interrupt_in_the_middle_of_a_line_takes_it_back(path, monkeypatch):
    write = os.write

    def interrupted(handle, text):
        write(handle, text[:10])
        raise KeyboardInterrupt

    with Ledger.planned(path) as ledger:
        whole = path.read_bytes()
        monkeypatch.setattr(ledger_file.os, "write", interrupted)
        with pytest.raises(KeyboardInterrupt):
            ledger.add(LOUD)
        assert path.read_bytes() == whole


def test_a_disk_that_does_not_confirm_makes_no_file(path, monkeypatch):
    def refuse(_):
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(ledger_file.os, "fsync", refuse)
    with pytest.raises(NotWritten, match=r"Input/output error; no file was made, make room and try again$"):
        Ledger.planned(path)
    assert not path.exists()


def test_short_writes_are_continued(path, monkeypatch):
    write = os.write
    monkeypatch.setattr(ledger_file.os, "write", lambda handle, text: write(handle, text[:7]))
    with Ledger.planned(path) as ledger:
        ledger.add(LOUD, note="é")
    assert len(Ledger.read(path)) == 1


def test_saving_a_merged_ledger(path, tmp_path):
    merged = Ledger.planned().add(LOUD).merge(Ledger.planned().add(ew.Laplace(3.0)))
    with merged.save(path) as saved:
        assert saved == merged
        assert repr(saved) == f"Ledger(mode='planned', releases=2, events=2, path={str(path)!r})"
        saved.add(LOUD)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["run.jsonl", "run.jsonl.lock"]
