"""The NPU and its testbench from Python: units of the golden model, devices, waveforms."""

from . import model

__all__ = ["model"]
