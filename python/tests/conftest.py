"""Fixtures of the package's tests: the package in TANDEM_PYTHON, or that in build/python, which is brought up to date
here."""

import os
import subprocess
import sys

import pytest

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", ".."))
BUILD = os.environ.get("BUILD", "build")
PACKAGE = os.environ.get("TANDEM_PYTHON") or os.path.join(ROOT, BUILD, "python")
FULL = os.environ.get("TANDEM_CHECK") == "1"


def pytest_configure(config):
    """Before the test files import the package. The RTL is that of N=4, with TANDEM_CHECK=1 also one with tracing."""
    sys.path.insert(0, PACKAGE)
    if os.environ.get("TANDEM_PYTHON"):
        return
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "SAN", "KIND", "CFG")}
    builds = "n4-fast n4-debug n8-fast" if FULL else "n4-fast"
    done = subprocess.run(["make", "-s", "python", "BUILD=" + BUILD, "PYTHON_RTL=" + builds,
                           "PYTHON=" + sys.executable], cwd=ROOT, env=env, capture_output=True, text=True)
    if done.returncode != 0:
        raise pytest.UsageError("make python failed:\n" + done.stdout[-4000:] + done.stderr[-4000:])


@pytest.fixture(scope="session")
def full():
    return FULL


@pytest.fixture(scope="session")
def root():
    return ROOT


@pytest.fixture(scope="session")
def package():
    """The folder to put on PYTHONPATH."""
    return PACKAGE
