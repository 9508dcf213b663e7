"""The program tandem-python: testcases in Python as jobs of a regression (docs/python.md, "Testcases in Python").

It has the interface of the program `tandem`: test NAME and repro FILE, the same options, result file, stored cases and
exit status (0 passed, 1 failed, 2 bad input, 3 the machine refused memory, space or the like).
"""

import argparse
import ast
import contextlib
import errno
import io
import os
import re
import signal
import sys
from pathlib import Path

from . import _core


class Trouble(Exception):
    """One line: why nothing could be run."""


class Refused(Trouble):
    """The machine refused memory, space or the like: no verdict (outcome host)."""


# the same list as rep_host_is() of report/host.c
REFUSALS = {errno.ENOSPC, errno.EDQUOT, errno.EIO, errno.EROFS, errno.ENOMEM, errno.EMFILE, errno.ENFILE, errno.EAGAIN,
            errno.ENOBUFS, errno.ESTALE}


def trouble_of(error, text):
    return (Refused if error.errno in REFUSALS else Trouble)(text)


def write(path, text):
    """Written to a temporary name, then renamed."""
    temp = "%s.%d.tmp" % (path, os.getpid())
    try:
        with open(temp, "w", encoding="utf-8", errors="replace") as out:
            out.write(text)
        os.replace(temp, path)
    except OSError as error:
        with contextlib.suppress(OSError):
            os.unlink(temp)
        raise trouble_of(error, "%s: cannot be written: %s" % (path, error.strerror)) from None


def line(text):
    return re.sub(r"[\x00-\x1f\x7f]", " ", text)


# ---- the command line ----

def number(text):
    value = int(text, 0)
    if not 0 <= value < 2**64:
        raise ValueError(text)
    return value


def parse(argv):
    parser = argparse.ArgumentParser(prog="tandem-python",
                                     description="Testcases in Python on the NPU (docs/python.md).",
                                     epilog="Exit status: 0 passed, 1 failed, 2 bad input, 3 the machine refused "
                                            "memory, space or the like.", allow_abbrev=False)
    parser.add_argument("command", choices=["test", "repro", "list"],
                        help="cases of a test, one stored case, or a list of the tests")
    parser.add_argument("what", nargs="?", help="test: NAME of testcases/npu/python/NAME.py; repro: a case file")
    parser.add_argument("pins", nargs="*", metavar="knob=value", help="a pinned knob is not drawn")
    parser.add_argument("--device", default="tandem", choices=["model", "rtl", "tandem"],
                        help="kind of the device of the fixture tandem")
    parser.add_argument("--run-seed", type=number, default=1, metavar="R", help="cases of run R (1)")
    parser.add_argument("--index", type=number, default=0, metavar="I", help="first case (0)")
    parser.add_argument("--count", type=number, default=1, metavar="K",
                        help="cases I .. I+K-1, up to the first failure (1)")
    parser.add_argument("--seed", type=number, metavar="S", help="the case of this seed")
    parser.add_argument("--result", metavar="F", help="write outcome, signature, message, cycles, trace_hash, case")
    parser.add_argument("--case-dir", default="build/cases", metavar="D",
                        help="store the case of a failure there (build/cases)")
    parser.add_argument("--wave", metavar="F", help="FST waveform of the whole run (a build with tracing, one case)")
    parser.add_argument("--fail-wave", metavar="F", help="FST waveform of a failing case, which is run again for it")
    parser.add_argument("--report", metavar="DIR",
                        help="after a failure: run it again and write the report into this folder")
    parser.add_argument("--quiet", action="store_true", help="print nothing unless there is a failure")
    for name in ("--cfg", "--kind", "--folder", "--build"):  # set by the program, not by its user
        parser.add_argument(name, required=True, help=argparse.SUPPRESS)
    o = parser.parse_intermixed_args(argv)
    if (o.what is None) != (o.command == "list"):
        parser.error("%s: expected %s" % (o.command, "no further argument" if o.command == "list" else "what to run"))
    if not 1 <= o.count <= 1000000 or (o.wave and o.command == "test" and o.count > 1):
        parser.error("--count: expected 1..1000000, with --wave 1")
    for pin in o.pins:
        if o.command != "test" or not re.fullmatch("[a-z][a-z0-9_]*=[^=]*", pin):
            parser.error("%s: expected knob=value together with a test" % pin)
    o.pins = dict(pin.split("=", 1) for pin in o.pins)
    return o


def testcases(folder):
    """name -> file"""
    return {path.stem: path for path in sorted(Path(folder).glob("*.py")) if path.stem != "conftest"}


def show_list(folder):
    for name, path in testcases(folder).items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        functions = [n.name for n in tree.body if isinstance(n, ast.FunctionDef) and n.name.startswith("test_")]
        print("%s: %s\n  %s" % (name, (ast.get_docstring(tree) or "").split("\n")[0], " ".join(functions)))


# ---- stored cases ----

def case_text(name, cfg, failure):
    rows = [("test", "python-" + name), ("cfg", cfg), ("seed", "0x%016x" % failure.case.seed),
            ("function", failure.function)]
    return "".join("%s=%s\n" % row for row in rows + sorted(failure.case.knobs.items()))


def load_case(path, cfg):
    """name, seed, function, pins"""
    try:
        text = Path(path).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise Trouble("%s: %s" % (path, getattr(error, "strerror", "is not text"))) from None
    rows = {}
    for n, row in enumerate(text.splitlines(), 1):
        key, equals, value = row.partition("=")
        if row and not row.startswith("#"):
            if not equals or not re.fullmatch("[a-z][a-z0-9_]*", key) or key in rows:
                raise Trouble("%s:%d: expected key=value, each key once" % (path, n))
            rows[key] = value
    test = rows.pop("test", "")
    if not re.fullmatch("python-[a-z][a-z0-9_-]*", test):
        raise Trouble("%s: test=%s: expected a testcase in Python" % (path, test))
    if rows.pop("cfg", "") != cfg:
        raise Trouble("%s: it is not for cfg=%s, which this program is built for" % (path, cfg))
    try:
        seed = number(rows.pop("seed", ""))
    except ValueError:
        raise Trouble("%s: seed: expected a number of 64 bits" % path) from None
    return test[len("python-"):], seed, rows.pop("function", None), rows


# ---- running ----

def run(setup, name, path, quietly=False):
    """Run the testcases of a file; the plugin, which has the outcome."""
    import pytest
    from . import pytest_plugin
    plugin = pytest_plugin.Plugin(setup, "python-" + name)
    args = ["-q", "-x", "--no-header", "--tb=short", "-p", "no:cacheprovider", "--rootdir", str(path.parent), str(path)]
    with contextlib.redirect_stdout(io.StringIO() if quietly else sys.stdout):
        status = pytest.main(args, plugins=[plugin])
    unused = sorted(set(setup.pins) - plugin.pinned)
    if plugin.trouble is None and plugin.failure is not None and not plugin.failure.failed:
        plugin.trouble = "%s: %s" % (plugin.failure.signature, plugin.failure.message)
    if plugin.trouble is None and plugin.failure is None and status not in (0, 5):
        plugin.trouble = "pytest ended with status %d" % status
    if plugin.trouble is None and plugin.failure is None and plugin.passed == 0:
        plugin.trouble = "%s: no test ran" % path
    if plugin.trouble is None and unused and plugin.failure is None:
        plugin.trouble = "%s: no test uses this knob" % unused[0]
    return plugin


def traced_build(o):
    """A kind of build with tracing in the package, preferably this one; None: there is none."""
    there = [build for n, build in _core.rtl_builds() if n == int(o.cfg[1:])]
    return next((build for build in (o.kind, "tap", "debug") if build in ("tap", "debug") and build in there), None)


def run_again(o, name, path, failure, wave):
    """The failing case with a waveform, if a build can write one. (why there is none or None, failure of the second run
    or None, build)"""
    from .pytest_plugin import Setup
    build = traced_build(o)
    if o.device == "model":
        return "the golden model has no waveform", None, None
    if build is None:
        return "no build with tracing is in the package: make python CFG=%s KIND=tap" % o.cfg, None, None
    pins = {key: str(value) for key, value in failure.case.knobs.items()}
    again = run(Setup(int(o.cfg[1:]), build, o.device, [(failure.case.index, failure.case.seed)],
                      pins, failure.function, str(wave)), name, path, quietly=True)
    if not os.path.exists(wave):
        return "the second run left none", again.failure, build
    return None, again.failure, build


def reproducer(o, case):
    words = ["make repro CASE=%s" % case]
    words += ["DEVICE=" + o.device] if o.device != "tandem" else []
    return " ".join(words)


def report_failure(o, name, path, plugin, result):
    """Print the failure, store the case, write waveform and report; their paths go into the result."""
    failure = plugin.failure
    text = case_text(name, o.cfg, failure)
    case = o.what if o.command == "repro" else os.path.join(o.case_dir, "python-%s-%s-%016x.case" %
                                                            (name, o.cfg, failure.case.seed))
    if o.command == "test":
        try:
            os.makedirs(o.case_dir, exist_ok=True)
            write(case, text)
        except (OSError, Trouble) as error:
            print("tandem-python: %s" % error, file=sys.stderr)
            case = ""
    again = reproducer(o, case)
    if not case:
        pins = "".join(" %s=%s" % pin for pin in sorted(o.pins.items()))
        again = "make repro TEST=python-%s SEED=0x%016x CFG=%s%s" % (name, failure.case.seed, o.cfg, pins)
    result.update(case=case, repro=again)
    print("FAIL test=python-%s seed=0x%016x cfg=%s : %s" % (name, failure.case.seed, o.cfg, line(failure.message)))
    if failure.cycle is not None:
        print("%s, unit %s, cycle %d" % (failure.signature, failure.unit or "not known", failure.cycle))
    print(again, flush=True)
    if o.wave and os.path.exists(o.wave):
        result["wave"] = o.wave
    if o.fail_wave:
        why = run_again(o, name, path, failure, o.fail_wave)[0]
        if why:
            print("no waveform: %s" % why)
        else:
            result["wave"] = o.fail_wave
    if o.report:
        from . import failure_report
        wave = failure_report.write_folder(o, name, plugin, text, again,
                                           lambda file: run_again(o, name, path, failure, file))
        if wave:
            result["wave"] = wave


def save(o, result):
    if o.result:
        write(o.result, "".join("%s=%s\n" % (key, line(str(value))) for key, value in result.items()))


def execute(o, result):
    """Run one test or stored case; the exit status."""
    try:
        from .pytest_plugin import Setup
    except ImportError:
        raise Trouble("testcases in Python need python3-pytest (make deps)") from None
    pins, function = o.pins, None
    if o.command == "repro":
        name, seed, function, pins = load_case(o.what, o.cfg)
        cases = [(0, seed)]
    else:
        name = o.what
        cases = [(0, o.seed)] if o.seed is not None else [(i, _core.test_seed(o.run_seed, "python-" + name, i))
                                                          for i in range(o.index, o.index + o.count)]
    path = testcases(o.folder).get(name)
    if path is None:
        raise Trouble("%s: no such testcase (expected one of %s)" % (name, " ".join(testcases(o.folder))))
    if o.report:
        from . import failure_report
        failure_report.check(o.report)
    plugin = run(Setup(int(o.cfg[1:]), o.kind, o.device, cases, pins, function, o.wave), name, path)
    result.update(cycles=plugin.cycles, trace_hash="0x%016x" % plugin.trace_hash)
    if plugin.trouble is not None:
        raise Trouble(plugin.trouble)
    if plugin.failure is None:
        if not o.quiet:
            print("PASS test=python-%s cfg=%s device=%s cases=%d cycles=%d hash=%016x" %
                  (name, o.cfg, o.device, len(cases), plugin.cycles, plugin.trace_hash))
        return 0
    result.update(outcome="fail", signature=plugin.failure.signature, message=plugin.failure.message)
    report_failure(o, name, path, plugin, result)
    return 1


def main(argv=None):
    o = parse(argv)
    result = {"outcome": "pass", "signature": "", "message": "", "cycles": 0, "trace_hash": "0x%016x" % 0, "case": ""}
    if o.command == "list":
        signal.signal(signal.SIGPIPE, signal.SIG_DFL)  # list | head
        show_list(o.folder)
        return 0
    try:
        status = execute(o, result)
    except (Trouble, OSError, MemoryError) as error:
        if isinstance(error, MemoryError):
            error = Refused("out of memory")
        elif isinstance(error, OSError):
            error = trouble_of(error, str(error))
        print("tandem-python: %s" % line(str(error)), file=sys.stderr)
        refused = isinstance(error, Refused)
        result.update(outcome="host" if refused else "error", signature="" if refused else "cannot run",
                      message=str(error))
        status = 3 if refused else 2
    try:
        save(o, result)
    except Trouble as error:
        print("tandem-python: %s" % error, file=sys.stderr)
        status = 3 if isinstance(error, Refused) else status or 1
    return status


if __name__ == "__main__":
    from tandem.testcase import main as start  # the module as others import it, not a second copy
    sys.exit(start())
