"""make help: every command in one line of 80 columns, in one of four groups; the details of each."""

import os
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ENV = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "MAKELEVEL", "MAKEOVERRIDES", "DUT")}


def table(*args):
    return subprocess.run(["make", "-s", "--no-print-directory", "help", *args], cwd=ROOT, env=ENV, capture_output=True,
                          text=True, check=False)


def test_table():
    made = table()
    assert made.returncode == 0 and not made.stderr
    lines = made.stdout.splitlines()
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    assert [line for line in lines if re.fullmatch(r"[a-z-]+( [a-z]+)*:", line)] == \
        ["every day:", "debugging:", "networks:", "sign-off:"]
    commands = [line.split()[1] for line in lines if line.startswith("  make ")]
    assert len(commands) == len(set(commands)) > 40


def test_details():
    made = table("C=regress")
    assert made.returncode == 0 and made.stdout.startswith("make regress: ")
    assert "\n  CFG=: one configuration\n" in made.stdout
    assert max(map(len, made.stdout.splitlines())) <= 80
    made = table("C=regres")
    assert made.returncode != 0 and "C=regres: expected a command" in made.stderr and not made.stdout
