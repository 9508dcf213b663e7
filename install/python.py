"""Designs from Python: Device drives the bench of a program, Program runs its tests (docs/python.md, "Any design")."""

from .design import Device, Error, Failure
from .program import Program, ProgramError, Result, read_streams

__all__ = ["Device", "Error", "Failure", "Program", "ProgramError", "Result", "read_streams"]
