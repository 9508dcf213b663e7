"""The NPU and its testbench from Python (docs/python.md).

tandem.model     the units of the golden model as functions on arrays
tandem.Device    an NPU with memory and driver: golden model, Verilated RTL, or both in tandem
tandem.Network   a neural network in ncnn's files: calibrate, quantise, run on a device
tandem.onnx      ONNX models as ncnn's files, and ONNX's node tests on a device; not imported with tandem
tandem.Fst       signals of a waveform file as arrays
tandem.check_axi the rules of AXI4 and AXI4-Lite on a port in a waveform file
"""

from . import model
from ._core import (COUNTERS, DDR_BASE, REGISTERS, Device, DeviceError, Divergence, DriverError, Error, Network, draw,
                    rtl_builds, test_seed)
from .wave import Changes, Fst, Signal, axi_ports, check_axi

__all__ = [
    "COUNTERS", "DDR_BASE", "REGISTERS", "Changes", "Device", "DeviceError", "Divergence", "DriverError",
    "Error", "Fst", "Network", "Signal", "axi_ports", "check_axi", "draw", "model", "rtl_builds", "test_seed",
]
