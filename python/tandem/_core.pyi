"""Devices. Arrays are objects with the buffer protocol: C-contiguous, of the right element type."""

import os
from collections.abc import Sequence
from typing import Any, Literal, SupportsFloat, SupportsIndex

import numpy as np
from numpy.typing import DTypeLike, NDArray
from typing_extensions import Buffer

_Path = str | bytes | os.PathLike[str] | os.PathLike[bytes]
_Pair = SupportsIndex | Sequence[SupportsIndex]
_Factor = SupportsFloat | Buffer
_Params = SupportsFloat | Sequence[SupportsFloat]
_Real = NDArray[np.float32]
_Map = NDArray[np.float32] | NDArray[np.int8]
_Act = str | SupportsIndex

DDR_BASE: int
COUNTERS: tuple[str, ...]
# name: (byte offset, {field: (lowest bit, bits, {name: value})})
REGISTERS: dict[str, tuple[int, dict[str, tuple[int, int, dict[str, int]]]]]

class Error(RuntimeError): ...

class DriverError(Error):
    status: int
    what: str

class DeviceError(Error):
    signature: str
    unit: str | None
    cycle: int
    path: str | None
    text: str

class Divergence(DeviceError): ...

def test_seed(run_seed: SupportsIndex, test: str, index: SupportsIndex) -> int: ...
def draw(seed: SupportsIndex, name: str, lowest: SupportsIndex, highest: SupportsIndex) -> int: ...
def rtl_builds() -> list[tuple[int, str]]: ...
def _wave_signals(path: _Path) -> tuple[int, int, int, list[tuple[str, int, str, bool, int]]]: ...
def _wave_read(
    path: _Path, handles: Sequence[SupportsIndex], first: SupportsIndex | None = None, last: SupportsIndex | None = None
) -> list[tuple[NDArray[np.uint64], NDArray[Any], NDArray[Any]]]: ...
def _check_axi(path: _Path, prefix: str | None = None, **options: Any) -> str: ...

class Device:
    def __new__(
        cls,
        kind: Literal["model", "rtl", "tandem"],
        n: SupportsIndex = 8,
        seed: SupportsIndex = 1,
        *,
        bus: str = "ideal",
        memory: SupportsIndex = 1073741824,
        wave: _Path | None = None,
        build: str | None = None,
        init_seed: SupportsIndex | None = None,
        poison_reads: bool = True,
        max_cycles: SupportsIndex = 0,
        watchdog: SupportsIndex = 100000,
        wait: Literal["irq", "poll"] = "irq",
        timeout_us: SupportsIndex = 1000000,
        plusargs: Sequence[str] | None = None,
        checks: bool = True,
    ) -> Device: ...
    @property
    def n(self) -> int: ...
    @property
    def kind(self) -> str: ...
    @property
    def seed(self) -> int: ...
    @property
    def cycles(self) -> int: ...
    @property
    def macs(self) -> int: ...
    @property
    def trace_hash(self) -> int: ...
    @property
    def seconds(self) -> tuple[float, float]: ...
    @property
    def failure(self) -> str | None: ...
    @property
    def closed(self) -> bool: ...
    def close(self) -> None: ...
    def __enter__(self) -> Device: ...
    def __exit__(self, *exc: object) -> None: ...
    def conv2d(
        self,
        x: Buffer,
        w: Buffer,
        *,
        in_scale: SupportsFloat = 1.0,
        w_scale: _Factor = 1.0,
        bias: _Factor | None = None,
        stride: _Pair = 1,
        dilation: _Pair = 1,
        padding: _Pair = 0,
        groups: SupportsIndex = 1,
        act: _Act = "none",
        act_p: _Params = (),
        out_scale: SupportsFloat | None = None,
        split: dict[str, int] | None = None,
    ) -> _Map: ...
    def qlinear_conv(
        self,
        x: Buffer,
        w: Buffer,
        *,
        x_step: SupportsFloat = 1.0,
        x_zero: SupportsIndex = 0,
        w_step: _Factor = 1.0,
        y_step: SupportsFloat = 1.0,
        y_zero: SupportsIndex = 0,
        bias: Buffer | None = None,
        stride: _Pair = 1,
        dilation: _Pair = 1,
        padding: _Pair = 0,
        groups: SupportsIndex = 1,
        split: dict[str, int] | None = None,
    ) -> _Map: ...
    def depthwise(
        self,
        x: Buffer,
        w: Buffer,
        *,
        in_scale: SupportsFloat = 1.0,
        w_scale: _Factor = 1.0,
        bias: _Factor | None = None,
        stride: _Pair = 1,
        dilation: _Pair = 1,
        padding: _Pair = 0,
        act: _Act = "none",
        act_p: _Params = (),
        out_scale: SupportsFloat | None = None,
        split: dict[str, int] | None = None,
    ) -> _Map: ...
    def linear(
        self,
        x: Buffer,
        w: Buffer,
        *,
        in_scale: SupportsFloat = 1.0,
        w_scale: _Factor = 1.0,
        bias: _Factor | None = None,
        act: _Act = "none",
        act_p: _Params = (),
        out_scale: SupportsFloat | None = None,
    ) -> _Map: ...
    def convert(self, x: Buffer, scale: SupportsFloat) -> _Map: ...
    def pool(
        self,
        x: Buffer,
        kernel: _Pair | None = None,
        *,
        stride: _Pair | None = None,
        padding: _Pair = 0,
        mode: Literal["max", "average"] = "max",
        exclude_pad: bool = False,
        ceil_mode: bool = False,
    ) -> _Map: ...
    def alu(
            self, op: str | SupportsIndex, a: Buffer, p: _Factor = 0, q: _Factor = 0,
            *, act: _Act = "none", act_p: _Params = ()
    ) -> NDArray[np.float32] | NDArray[np.int32]: ...
    def act(self, x: Buffer, act: _Act, act_p: _Params = ()) -> _Real: ...
    def dot(self, a: Buffer, b: Buffer, scale: SupportsFloat = 1.0) -> float: ...
    def global_average(self, x: Buffer) -> _Real: ...
    def upsample2x(self, x: Buffer) -> _Map: ...
    def copy(self, x: Buffer) -> _Map: ...
    def alloc(self, nbytes: SupportsIndex, align: SupportsIndex = 64,
              kind: Literal["in", "out", "scratch"] = "scratch") -> int: ...
    def free_all(self) -> None: ...
    def write(self, addr: SupportsIndex, data: Buffer) -> None: ...
    def read(self, addr: SupportsIndex, shape: SupportsIndex | Sequence[SupportsIndex],
             dtype: DTypeLike = "uint8") -> NDArray[Any]: ...
    def read_into(self, addr: SupportsIndex, out: Buffer) -> Any: ...
    def read_register(self, register: str | SupportsIndex) -> int: ...
    def write_register(self, register: str | SupportsIndex, value: SupportsIndex) -> None: ...
    def registers(self) -> dict[str, int]: ...
    def counters(self) -> dict[str, int]: ...
    def clear_counters(self) -> None: ...
    def bus_stats(self) -> list[dict[str, Any]]: ...
    def wave(self, path: _Path | None = None) -> None: ...
    def run(self, cycles: SupportsIndex) -> None: ...
    def reset(self) -> None: ...
    def compare(self) -> None: ...
    def finish(self) -> None: ...
    def inject_flip(self, channel: SupportsIndex, k: SupportsIndex) -> None: ...
    def inject_hang(self, channel: SupportsIndex, axi: Literal["AW", "W", "B", "AR", "R"],
                    k: SupportsIndex = 0) -> None: ...
    def inject_error(self, channel: SupportsIndex, direction: Literal["read", "write"],
                     k: SupportsIndex = 0) -> None: ...

class Network:
    def __new__(cls, param: _Path, bin: _Path | None = None, *, shape: Sequence[SupportsIndex] | None = None,
                seed: SupportsIndex = 1) -> Network: ...
    @property
    def inputs(self) -> list[tuple[str, tuple[int, ...]]]: ...
    @property
    def outputs(self) -> list[tuple[str, tuple[int, ...]]]: ...
    @property
    def layers(self) -> list[dict[str, Any]]: ...
    @property
    def macs(self) -> int: ...
    @property
    def int8(self) -> bool: ...
    @property
    def last_run(self) -> list[dict[str, Any]] | None: ...
    def calibrate(
            self, inputs: Buffer, method: Literal["auto", "kl", "minmax", "mse", "percentile"] = "auto",
            *, percent: SupportsFloat = 99.99
    ) -> str: ...
    def quantise(
            self, table: _Path | None = None, *, seed: SupportsIndex | None = None, keep: Sequence[str] = ()
    ) -> None: ...
    def optimise(self) -> int: ...
    def save(self, param: _Path, bin: _Path) -> None: ...
    def memory(self, n: SupportsIndex, *, tensors: bool = False) -> int: ...
    def run(self, device: Device, x: Buffer, *, tensors: bool = False, batch: bool = False) -> dict[str, _Real]: ...
    def reference(self, x: Buffer, *, tensors: bool = False, batch: bool = False) -> dict[str, _Real]: ...
