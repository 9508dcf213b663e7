"""Waveform files: signals as NumPy arrays, the rules of AXI on a port."""

import json
import os
from typing import NamedTuple

import numpy as np

from . import _core


class Signal(NamedTuple):
    """A signal of a waveform file."""

    path: str  # "TOP.npu_top.clk_i"
    width: int  # bits
    range: str  # "[31:0]", empty if the file has none
    parameter: bool  # a constant of the design
    handle: int  # signals of one handle are aliases of each other


class Changes(NamedTuple):
    """The changes of a signal; values[i] holds from times[i] on.

    times: uint64, units of the file. values, unknown: unsigned integers as wide as the signal needs (8, 16, 32, 64
    bits; wider signals have a second dimension of uint64 words, lowest word first). A bit that is x or z is 1 in
    unknown and 0 in values.
    """

    times: np.ndarray
    values: np.ndarray
    unknown: np.ndarray

    def at(self, times):
        """The values that hold at these times (a number or an array). A time before the first change is an
        IndexError."""
        index = np.searchsorted(self.times, np.asarray(times, dtype=np.uint64), side="right")
        if np.any(index == 0):
            raise IndexError("at: the signal has no value yet at this time")
        return self.values[index - 1]


class Fst:
    """Signals of an FST or VCD file.

    A damaged file raises Error and cannot crash the interpreter: it is read in a child process.

    path; first, last: times of the file, in units of 10**exponent seconds; signals: dict of Signal by full path.
    """

    def __init__(self, path):
        self.path = os.fspath(path)
        self.first, self.last, self.exponent, rows = _core._wave_signals(path)
        self.signals = {row[0]: Signal(*row) for row in rows}
        self._short = {}  # without the outermost scope
        for name in self.signals:
            self._short.setdefault(name.partition(".")[2], name)

    def __repr__(self):
        return "<tandem.Fst %r: %d signals, times %d..%d>" % (self.path, len(self.signals), self.first, self.last)

    def find(self, name):
        """The Signal of a full path, with or without the file's outermost scope. KeyError: there is none."""
        full = name if name in self.signals else self._short.get(name)
        if full is None:
            raise KeyError("%s: no signal %s" % (self.path, name))
        return self.signals[full]

    def read(self, names, first=None, last=None):
        """Changes of several signals in one pass: a list of Changes in the order of `names`.

        first, last: times; the values that hold at `first` come first.
        """
        if isinstance(names, str):
            raise TypeError("names: expected a list of str (fst[name] reads one signal)")
        wanted = [self.find(name).handle for name in names]
        handles = sorted(set(wanted))
        series = dict(zip(handles, _core._wave_read(self.path, handles, first, last)))
        return [Changes(*series[handle]) for handle in wanted]

    def __getitem__(self, name):
        return self.read([name])[0]

    def __contains__(self, name):
        return name in self.signals or name in self._short

    def __len__(self):
        return len(self.signals)

    def __iter__(self):
        return iter(self.signals)


def check_axi(path, prefix=None, **options):
    """The rules of AXI4 and AXI4-Lite on a port in an FST or VCD file (docs/axi-check.md): a dict with errors,
    warnings, violations, stats.

    prefix: the port (scope, beginning of its signals' names, or both); not needed where there is one. Options as of
    `tandem axi-check`: side ("master", "slave"), protocol ("lite", "axi4"), clock, reset, reset_level (0, 1), first,
    last (cycles), running, at_rest, open_end, npu_rules, project (dict: rule to True or a number), ranges (list of
    (base, bytes)), severity (dict: rule to "off", "note", "warning", "error"), max_waits, strict, error_data_x, notes,
    most (violations that are listed, 100). all_ports=True: every port of the file, whose reports are a list `ports`.

    Error: no such port, no clock, a damaged file ... TypeError, ValueError: options.
    """
    if options.pop("list", None):
        raise TypeError("check_axi() has no argument 'list' (axi_ports() lists ports)")
    return json.loads(_core._check_axi(path, prefix, **options))


def axi_ports(path):
    """The AXI ports of a waveform file: a list of (name, description)."""
    lines = _core._check_axi(path, list=True).splitlines()
    return [tuple(line.split(": ", 1)) for line in lines]
