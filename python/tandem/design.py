"""A device of any design from Python: the bench of its program, request by request (docs/python.md).

    with Device("build/base-debug/tandem", bus="typical") as dev:
        dev.load(0x1000, numpy_array)                # memory of RTL and golden model
        dev.write("regs", 0x08, 0x1000)              # an AXI4-Lite register
        dev["enable_i"] = 1                          # an input of the design
        dev.until("irq_o", 1, cycles=10000)
        dev.fetch(0x2000, 64), dev.counters()["mem"]["read"]
        dev.send("s_axis", b"..."), dev.step(100), dev.take("m_axis")   # packets of streams
        dev.store("s_axi", 0x40, b"..."), dev.retrieve("s_axi", 0x40, 16)   # bursts into an AXI slave

The program runs as a process of its own: a failure of the run, a hang or a crash is an exception here. Needs no
extension and no NumPy.
"""

import json
import subprocess
import tempfile
from pathlib import Path


class Error(Exception):
    """A request that cannot be done: one line."""


class Failure(Error):
    """The run has failed: `signature`, `cycle`, `message`, and `text`, the report on a hang (or empty)."""

    def __init__(self, signature, cycle, message, text):
        super().__init__(f"{signature} at cycle {cycle}: {message}")
        self.signature, self.cycle, self.message, self.text = signature, cycle, message, text


class Device:
    """The bench of a test of a program `tandem`, after reset.

    test: its name (the first one with a bench that is a table). seed: of bus timing and initial values. wave: an FST
    file. Other keywords are knobs; `bus` chooses the timing of the buses. `cfg`, `inputs` and `outputs` (name: bits),
    `buses` (name: "registers", "memory" or "slave"), `streams` (name: "in" or "out"), `memory` (base and size, or
    None)."""

    def __init__(self, program, test=None, seed=1, wave=None, **knobs):
        words = [str(Path(program).absolute()), "device", "--seed", str(seed)]
        words += (["--test", test] if test else []) + (["--wave", str(wave)] if wave else [])
        self.process = None
        self.said = tempfile.TemporaryFile()  # what the design prints may be long
        try:
            self.process = subprocess.Popen(words + [f"{k}={v}" for k, v in knobs.items()], stdin=subprocess.PIPE,
                                            stdout=subprocess.PIPE, stderr=self.said)
        except OSError as err:
            raise Error(f"{program}: {err.strerror}") from None
        try:
            self.cfg = self._answer()[0]
            self._ports()
        except BaseException:
            self.close()
            raise

    # ---- requests ----
    def _ended(self):
        status = self.process.wait()
        said = self.printed().strip()
        return Error((said or f"the program ended with status {status}").splitlines()[-1])

    def _answer(self):
        line = self.process.stdout.readline().decode(errors="replace")
        if not line.endswith("\n"):
            raise self._ended()
        status, size, text = line[:-1].split(" ", 2)
        data = self.process.stdout.read(int(size))
        if status == "bad":
            raise Error(text)
        if status == "fail":
            signature, cycle, message = text.split("\t", 2)
            raise Failure(signature, int(cycle), message, data.decode(errors="replace"))
        return text, data

    def _ask(self, *words, data=b""):
        if self.process is None:
            raise Error("the device is closed")
        try:
            self.process.stdin.write(" ".join(map(str, words)).encode() + b"\n" + data)
            self.process.stdin.flush()
        except OSError:
            raise self._ended() from None
        return self._answer()

    def _ports(self):
        self.inputs, self.outputs, self.buses, self.streams, self.memory = {}, {}, {}, {}, None
        for line in self._ask("ports")[1].decode().splitlines():
            kind, *rest = line.split()
            if kind == "port":
                (self.inputs if rest[2] == "in" else self.outputs)[rest[0]] = int(rest[1])
            elif kind == "bus":
                self.buses[rest[0]] = rest[1]
            elif kind == "stream":
                self.streams[rest[0]] = rest[1]
            else:
                self.memory = (int(rest[0]), int(rest[1]))

    def printed(self):
        """What the program and the design have printed so far."""
        self.said.seek(0)
        return self.said.read().decode(errors="replace")

    # ---- registers, memory, ports ----
    def read(self, bus, addr):
        """A register through an AXI4-Lite slave or an APB completer of the design; bus "-": the first one."""
        return int(self._ask("read", bus, addr)[0])

    def write(self, bus, addr, value, strobes=15):
        """A register; of AXI4-Lite only the bytes whose bit of `strobes` is 1."""
        self._ask("write", bus, addr, value, strobes)

    def load(self, addr, data, side="both"):
        """Bytes into memory: of "both" sides, of "rtl", or of "model" alone, as a golden model does (`compare`).
        data: anything with the buffer protocol."""
        data = bytes(memoryview(data).cast("B"))
        self._ask("load", side, addr, len(data), data=data)

    def fetch(self, addr, size, side="rtl"):
        """Bytes of memory."""
        return self._ask("fetch", side, addr, size)[1]

    # ---- streams, AXI slaves ----
    def send(self, stream, data):
        """A packet into a stream of the design, which is sent in the cycles to come; without TLAST transfers, whose
        bytes are those of the payload's signals. data: anything with the buffer protocol."""
        data = bytes(memoryview(data).cast("B"))
        self._ask("send", stream, len(data), data=data)

    def take(self, stream):
        """The packets that have come out of a stream since the last time, as a list of bytes; without TLAST each
        transfer is one."""
        lengths, data = self._ask("take", stream)
        packets, at = [], 0
        for length in (int(n) for n in lengths.split(",") if n):
            packets.append(data[at:at + length])
            at += length
        return packets

    def stall(self, port, percent):
        """How often the bench stands on a stream or an APB port, in percent of the cycles (0 at first)."""
        self._ask("stall", port, percent)

    def store(self, bus, addr, data):
        """Bytes into an AXI slave of the design, in INCR bursts; takes cycles."""
        data = bytes(memoryview(data).cast("B"))
        self._ask("store", bus, addr, len(data), data=data)

    def retrieve(self, bus, addr, size):
        """Bytes out of an AXI slave of the design; takes cycles."""
        return self._ask("retrieve", bus, addr, size)[1]

    def __getitem__(self, port):
        """A port of the design as an unsigned number of any width, settled in this cycle."""
        return int(self._ask("get", port)[0], 16)

    def __setitem__(self, port, value):
        """An input of the design, from this cycle on."""
        if port in self.outputs:
            raise Error(f"{port} is an output")
        self._ask("set", port, format(value, "x"))

    # ---- time ----
    def step(self, cycles=1):
        """Clock cycles; buses, rules and checks are at work in each. Returns the number of the cycle."""
        return int(self._ask("step", cycles)[0])

    @property
    def cycle(self):
        return self.step(0)

    def until(self, port, value, cycles=100000):
        """Step until a port of up to 64 bits has a value. False: it had not within so many cycles."""
        return self._ask("until", port, value, cycles)[0] == "1"

    @property
    def irq(self):
        """The interrupts that the bench watches, a bit each."""
        return int(self._ask("irq")[0])

    def reset(self):
        """Reset the design; memory is kept."""
        self._ask("reset")

    # ---- what it says ----
    def counters(self):
        """{bus or stream: its traffic since the start}: bursts, bytes, stalls, latencies; transfers, packets."""
        return json.loads(self._ask("counters")[1])

    def fault(self, bus, direction, number=0):
        """An error response to a burst of "read" or "write", `number` bursts from now (0: the next one)."""
        self._ask("fault", bus, direction, number)

    def stop(self, bus, channel, handshakes=0):
        """The memory behind a bus stands for ever after so many more handshakes of a channel, "AW" "W" "B" "AR" "R":
        the Failure watchdog:hang that follows has the report on a hang as its text."""
        self._ask("stop", bus, channel, handshakes)

    def compare(self):
        """Both sides must have written the same to memory: Failure mem:mismatch."""
        self._ask("compare")

    def finish(self):
        """The end: nothing may be in flight or missing. Returns the trace hash."""
        return int(self._ask("finish")[0])

    def close(self):
        if self.process is not None:
            for pipe in (self.process.stdin, self.process.stdout):
                try:
                    pipe.close()
                except OSError:
                    pass
            self.process.wait()
            self.process = None
        self.said.close()

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        try:
            if kind is None:
                self.finish()
        finally:
            self.close()
