"""Testcases of the NPU as pytest functions (docs/python.md, "Testcases in Python").

Fixtures, all from the seed of the case:

tandem    a Device, RTL and golden model compared unless the command line says otherwise; closed with its
          end-of-simulation checks
device    a function that opens further devices of the same build: device("model"), device(bus="slow")
seed      the seed, an integer of 64 bits
rng       a numpy.random.Generator of this seed
knob      knob("k", 1, 7) or knob("act", ["none", "relu"]): a value drawn from the seed and its name, unless the command
          line pins it

The program tandem-python (tandem/testcase.py) runs them as jobs of a regression; with pytest itself:

    PYTHONPATH=build/python python3 -m pytest -p tandem.pytest_plugin testcases/npu/python/conv.py --cfg n4 --cases 3
"""

import hashlib
import os
import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

import tandem as package

BUS = ["ideal", "fast", "typical", "slow", "bursty", "hostile"]
RESERVED = ("test", "cfg", "seed", "function")
_CASE = pytest.StashKey["Case"]()


class Refused(Exception):
    """The command line or a stored case needs something that is not available."""


@dataclass
class Case:
    """One call of a test function."""
    index: int
    seed: int
    knobs: dict = field(default_factory=dict)


@dataclass
class Setup:
    """The cases to run, and the device."""
    n: int = 4
    build: str = "fast"
    device: str = "tandem"
    cases: list = field(default_factory=list)  # (index, seed)
    pins: dict = field(default_factory=dict)  # name: text
    function: str | None = None  # this one only
    wave: str | None = None  # file of the first device that a case opens; others get a number


class Failure:
    """The first failure."""

    def __init__(self, test, item, call, report):
        error = call.excinfo.value
        self.case = item.stash.get(_CASE, None) or Case(0, 0)
        self.function = item.originalname
        self.signature = getattr(error, "signature", None)
        self.unit = getattr(error, "unit", None)
        self.cycle = getattr(error, "cycle", None)
        self.text = getattr(error, "text", None) or str(error)
        self.trace = report.longreprtext
        self.failed = isinstance(error,
                                 (AssertionError, package.DeviceError, package.DriverError, pytest.fail.Exception))
        if self.signature is None:
            self.signature = "%s: %s: %s" % (test, self.function, type(error).__name__)
        lines = [line for line in self.text.splitlines() if line.strip()]
        self.message = "%s: %s" % (self.function, lines[0] if lines else type(error).__name__)


class Plugin:
    """Hooks and fixtures of one run, and its outcome."""

    def __init__(self, setup, test=None):
        self.setup = setup
        self.test = test
        self.failure = None
        self.trouble = None  # one line: why the run could not be executed
        self.passed = 0
        self.cycles = 0
        self.trace_hash = 0
        self.pinned = set()

    # ---- cases ----

    def pytest_generate_tests(self, metafunc):
        ids = ["%d-0x%016x" % case for case in self.setup.cases]
        metafunc.parametrize("tandem_case", self.setup.cases, indirect=True, ids=ids)

    def pytest_collection_modifyitems(self, items):
        """All functions of a case before the next case; of a stored case the function that failed."""
        if self.setup.function is not None:
            items[:] = [item for item in items if item.originalname == self.setup.function]
        order = {case: i for i, case in enumerate(self.setup.cases)}
        items.sort(key=lambda item: order[item.callspec.params["tandem_case"]])

    @pytest.fixture(autouse=True)
    def tandem_case(self, request):
        case = Case(*request.param)
        request.node.stash[_CASE] = case
        return case

    # ---- fixtures ----

    @pytest.fixture
    def seed(self, tandem_case):
        return tandem_case.seed

    @pytest.fixture
    def rng(self, tandem_case):
        return np.random.Generator(np.random.PCG64(tandem_case.seed))

    @pytest.fixture
    def knob(self, tandem_case):
        def draw(name, *values):
            value = self.value_of(tandem_case, name, values)
            tandem_case.knobs[name] = value
            return value
        return draw

    @pytest.fixture
    def device(self, tandem_case):
        opened = []

        def start(kind=None, **options):
            kind = kind or self.setup.device
            options = {"seed": tandem_case.seed, "build": self.setup.build, **options}
            if self.setup.wave is not None and kind != "model":
                stem, end = os.path.splitext(self.setup.wave)
                options["wave"] = self.setup.wave if not opened else "%s-%d%s" % (stem, len(opened) + 1, end)
            opened.append(package.Device(kind, self.setup.n, **options))
            return opened[-1]

        yield start
        self.close(opened)

    @pytest.fixture
    def tandem(self, device, knob):
        return device(bus=knob("bus", BUS))

    def value_of(self, case, name, values):
        """The pinned value, else a draw from the stream of this name."""
        if not re.fullmatch("[a-z][a-z0-9_]*", name) or name in RESERVED:
            raise Refused("knob %r: expected a name of small letters, digits and _, other than %s" %
                          (name, ", ".join(RESERVED)))
        choices = list(values[0]) if len(values) == 1 else None
        if choices is None and len(values) != 2:
            raise Refused("knob %s: expected the lowest and the highest value, or a list" % name)
        text = self.setup.pins.get(name)
        if text is None:
            return (choices[package.draw(case.seed, name, 0, len(choices) - 1)]
                    if choices else package.draw(case.seed, name, *values))
        self.pinned.add(name)
        if choices:
            named = {str(c): c for c in choices}
            if text not in named:
                raise Refused("%s=%s: expected one of %s" % (name, text, " ".join(named)))
            return named[text]
        try:
            value = int(text, 0)
        except ValueError:
            value = None
        if value is None or not values[0] <= value <= values[1]:
            raise Refused("%s=%s: expected %d..%d" % (name, text, *values))
        return value

    def close(self, devices):
        """End-of-simulation checks of all devices; the first one that does not pass is raised."""
        first = None
        for dev in devices:
            try:
                if not dev.closed:
                    if dev.failure is None:
                        dev.finish()
                    self.count(dev)
                    dev.close()
            except package.Error as error:
                first = first or error
                self.count(dev)
                dev.close()
        if first is not None:
            raise first

    def count(self, dev):
        self.cycles += dev.cycles
        both = self.trace_hash.to_bytes(8, "little") + dev.trace_hash.to_bytes(8, "little")
        self.trace_hash = int.from_bytes(hashlib.blake2b(both, digest_size=8).digest(), "little")

    # ---- outcome ----

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_makereport(self, item, call):
        report = (yield).get_result()
        if report.failed and self.failure is None:
            if isinstance(call.excinfo.value, Refused):
                self.trouble = self.trouble or str(call.excinfo.value)
            self.failure = Failure(self.test or Path(item.path).stem, item, call, report)
        elif report.skipped:  # a skipped test makes the run fail
            self.trouble = self.trouble or "%s: skipped: %s" % (
                item.originalname, call.excinfo.value if call.excinfo else report.longreprtext)
        elif report.when == "call" and report.passed:
            self.passed += 1

    def pytest_collectreport(self, report):
        if report.failed:
            self.trouble = (self.trouble or "cannot be collected: " +
                            report.longreprtext.strip().splitlines()[-1].removeprefix("E").strip())


# ---- pytest -p tandem.pytest_plugin ----

def pytest_addoption(parser):
    group = parser.getgroup("tandem")
    group.addoption("--cfg", default="n4", choices=["n4", "n8", "n16", "n32"], help="mesh size (n4)")
    group.addoption("--kind", default="fast", help="kind of build (fast)")
    group.addoption("--device", default="tandem", choices=["model", "rtl", "tandem"],
                    help="what the fixture tandem opens (tandem)")
    group.addoption("--run-seed", default="1", help="seed of the run (1)")
    group.addoption("--index", type=int, default=0, help="first case (0)")
    group.addoption("--cases", type=int, default=1, help="how many cases (1)")
    group.addoption("--seed", default=None, help="the case of this seed alone")
    group.addoption("--pin", action="append", default=[], metavar="KNOB=VALUE", help="pin a knob")


class _ByFile(Plugin):
    """Seeds are derived from the name of the file, as by tandem-python."""

    def __init__(self, config):
        get = config.getoption
        pins = dict(pin.split("=", 1) if "=" in pin else (pin, "") for pin in get("pin"))
        super().__init__(Setup(int(get("cfg")[1:]), get("kind"), get("device"), [], pins))
        self.run_seed, self.first = int(get("run_seed"), 0), get("index")
        self.count_of, self.one = get("cases"), get("seed")

    def pytest_generate_tests(self, metafunc):
        test = "python-" + Path(metafunc.definition.path).stem
        one = [(0, int(self.one, 0))] if self.one is not None else None
        cases = one or [(i, package.test_seed(self.run_seed, test, i))
                        for i in range(self.first, self.first + self.count_of)]
        metafunc.parametrize("tandem_case", cases, indirect=True, ids=["%d-0x%016x" % case for case in cases])

    def pytest_collection_modifyitems(self, items):
        items.sort(key=lambda item: (str(item.path), item.callspec.params["tandem_case"][0]))


def pytest_configure(config):
    config.pluginmanager.register(_ByFile(config), "tandem-cases")
