"""Coverage in the runner: marked jobs, files of jobs, figures of a run."""

import json
import sqlite3

import pytest

from regress_bench import UNITS, bench, programs, write_program  # noqa: F401

