"""Testcases may use the operators in NumPy that the tests of the package have (python/tests/reference.py)."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "python" / "tests"))
