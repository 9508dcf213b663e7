"""Functional qualification: mutants that Yosys proves to be the design (docs/qualification.md, "Proofs").

A mutant is compared with the design in the module that has it, with the parameters of each of its instances: Yosys
makes netlists of both, and ABC, which is part of it, proves that after a reset no sequence of inputs makes an output
differ."""
import concurrent.futures
import os
import re
import resource
import signal
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

from qualify_aig import Netlist, Unsupported, has_payloads, miter
from qualify_run import Bad, clock, edited

# verdicts that may hide one; of those that the reviewed file lists, too: a proof is better than a reason
TRIED = ("survived", "limit-cycles", "reached", "not-reached", "equivalent")
WHY = {"proven": "Yosys: no input makes an output of the module differ",
       "valid": "Yosys: no input makes an output of the module differ, payloads while they are valid"}
CONST = {"h": 16, "b": 2, "d": 10, "o": 8}


def number(text):
    """The value of a constant of Verilator's tree, 32'sh10; None: it is none (a string)."""
    _, quote, rest = text.partition("'")
    rest = rest.lstrip("s")
    try:
        return int(rest[1:], CONST[rest[0]]) if quote else int(text)
    except (KeyError, ValueError, IndexError):
        return None


def instances(args, folder):
    """{module: its sets of parameters}, of all instances below the top."""
    tree = os.path.join(folder, "tree.xml")
    command = [os.environ.get("VERILATOR", "verilator"), "--xml-only", "--xml-output", tree, "-Wno-lint", "-Wno-style",
               "--top-module", args.top, "--Mdir", folder] + ["-G" + p for p in args.parameters] + [
                   "-I" + path for path in args.include] + args.sources
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0:
        raise Bad("prove: %s" % (done.stderr.strip().splitlines() or ["verilator failed"])[0])
    found = {}
    for module in xml.parse(tree).getroot().iter("module"):
        values = {}
        for var in module.findall("var"):
            const = var.find("const")
            if var.get("param") == "true" and const is not None:
                values[var.get("name")] = number(const.get("name"))
        if None not in values.values():
            sets = found.setdefault(module.get("origName"), [])
            sets += [values] if values not in sets else []
        else:
            found[module.get("origName")] = None  # not comparable
    return found


# ---- functions of packages ----
FUNCTION = re.compile(r"^\s*function\s+automatic\s+([^;()]*?)(\w+)\s*\(([^;]*?)\)\s*;", re.M)
DECLARED = re.compile(r"(?:localparam|parameter)[^=;]*?(\w+)\s*=|\}\s*(\w+)\s*;")
AROUND = "qualify_function"
LARGE = 500  # flip-flops; beyond them what a module contains stays a box


def function_module(text, at):
    """A module around the function of a package at this place of its text, and its name; None: there is none."""
    package = re.findall(r"^\s*package\s+(\w+)", text[:at], re.M)
    found = [f for f in FUNCTION.finditer(text) if f.start() < at < text.find("endfunction", f.end())]
    if not package or not found:
        return None
    kind, function, arguments = found[0].groups()
    names = re.findall(r"(\w+)\s*(?:,|$)", arguments.strip())
    header = "%s, output %s y_o" % (arguments, kind.strip() or "logic")
    for own in sorted({a or b for a, b in DECLARED.findall(text)}):
        header = re.sub(r"\b%s\b" % own, "%s::%s" % (package[-1], own), header)
    return "module %s (%s);\n  assign y_o = %s::%s(%s);\nendmodule\n" % (
        AROUND, header, package[-1], function, ", ".join(names)), function


def sources_of(kept, module, sources):
    """Packages, and the files of the module and of those that it contains."""
    parts = {module} | {name for name, above in kept["parents"].items() if module in above}
    chosen = []
    for path in sources:
        with open(path, encoding="utf-8") as src:
            defined = re.findall(r"^\s*(module|package)\s+(\w+)", src.read(), re.M)
        if any(kind == "package" or name in parts for kind, name in defined):
            chosen.append(os.path.abspath(path))
    return chosen


# in the place of the gates of clocks: what they do is known (qualify_aig.py)
BLACK = """(* blackbox *) module clk_gate #(parameter bit Gate = 1'b1)
  (input logic clk_i, input logic en_i, output logic clk_o);
endmodule
"""
GATE = re.compile(r"^module clk_gate\b", re.M)


def netlist(args, m, values, sources, path, folder, boxes):
    """The script that writes the module with these parameters as a netlist of gates and flip-flops. boxes: and of the
    modules in it, whose contents do not count."""
    black = os.path.join(folder, "clk_gate.sv")
    chosen = "".join(" -chparam %s %d" % item for item in sorted(values.items()))
    include = " ".join("-I" + os.path.abspath(name) for name in args.include)
    return "\n".join([
        "read_verilog -sv %s" % black, "read_verilog -sv -defer %s %s" % (include, " ".join(sources)),
        "hierarchy -top %s%s" % (m["module"], chosen), "blackbox * A:top %d" if boxes else "", "proc",
        "flatten", "opt_expr", "opt_clean", "memory_map", "opt",
        "techmap", "opt", "dfflegalize -cell $_DFF_P_ x -cell $_DFF_PN0_ x -cell $_DFF_PN1_ x", "aigmap",
        "opt_clean", "write_json %s" % path]) + "\n"


def run_tool(command, folder, seconds):
    """(exit status, output); the status is negative if its time was over."""
    limit = (seconds, seconds)
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, errors="replace",
                          preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
    return done.returncode, done.stdout + done.stderr


class Prover:
    """Netlists of the design, and proofs in a folder."""

    def __init__(self, args, kept, folder):
        self.args, self.kept, self.folder = args, kept, folder
        self.golds, self.lock = {}, threading.Lock()
        self.clean = [os.path.abspath(path) for path in args.sources]
        with open(os.path.join(folder, "clk_gate.sv"), "w", encoding="utf-8") as out:
            out.write(BLACK)

    def around(self, m):
        """For a mutant of a package: the module around its function; others have a module."""
        made = function_module(self.kept["sources"][m["file"]], m["edits"][0][0])
        if made is None:
            return None
        path = os.path.join(self.folder, made[1] + ".sv")
        with self.lock:
            if not os.path.exists(path):
                with open(path, "w", encoding="utf-8") as out:
                    out.write(made[0])
        return dict(m, module=AROUND, around=path)

    def sources(self, m):
        """Of the module, without the gates of clocks."""
        chosen = []
        for path in sources_of(self.kept, m["module"], self.args.sources):
            with open(path, encoding="utf-8") as src:
                if not GATE.search(src.read()):
                    chosen.append(path)
        return chosen + ([m["around"]] if "around" in m else [])

    def read(self, m, values, sources, name, boxes):
        """The netlist, or a word that says why there is none."""
        script, path = (os.path.join(self.folder, name + end) for end in (".ys", ".json"))
        with open(script, "w", encoding="utf-8") as out:
            out.write(netlist(self.args, m, values, sources, path, self.folder, boxes))
        status, said = run_tool(["yosys", "-q", "-s", script], self.folder, 2 * self.args.seconds)
        if status != 0:
            return "time" if status < 0 else next((line for line in said.splitlines() if "ERROR" in line), "ERROR")
        try:
            return Netlist(path)
        except Unsupported as err:
            return "not tried: %s" % err
        finally:
            os.unlink(path)

    def gold(self, m, values, boxes):
        """That of the design, read once."""
        key = (boxes, m["module"], m.get("around")) + tuple(sorted(values.items()))
        with self.lock:
            if key not in self.golds:
                self.golds[key] = self.read(m, values, self.sources(m), "gold-%d" % len(self.golds), boxes)
        return self.golds[key]

    def same(self, gold, gate, name, handshakes):
        """Does ABC prove that no output ever differs?"""
        path = os.path.join(self.folder, name + ".aig")
        data, trivial = miter(gold, gate, handshakes)
        if trivial:
            return True
        with open(path, "wb") as out:
            out.write(data)
        seconds = self.args.seconds
        _, said = run_tool(["yosys-abc", "-q", "read_aiger %s; strash; scorr; pdr -T %d" % (path, seconds)],
                           self.folder, 2 * seconds)
        os.unlink(path)
        return "Property proved" in said

    def one(self, m, sets):
        """"proven" if it is for all sets of parameters; `valid`: if payloads count only while they are valid. No sets:
        it is a function of a package."""
        if not sets:
            m, sets = self.around(m), [{}]
            if m is None:
                return "not tried: no function"
        changed, how = os.path.join(self.folder, "%d.sv" % m["id"]), "proven"
        with open(changed, "w", encoding="utf-8") as out:
            out.write(edited(self.kept["sources"][m["file"]], m["edits"]))
        for values in sets:
            said = self.compared(m, values, changed)
            if said not in WHY:
                return said
            how = max(how, said)
        return how

    def compared(self, m, values, changed):
        """One set of parameters: first with what the module contains as boxes, which is less to do and often enough."""
        for boxes in (True, False):
            gold = self.gold(m, values, boxes)
            if not isinstance(gold, Netlist):
                return gold if boxes else "not"
            if not boxes and (not self.gold(m, values, True).boxes or len(gold.flops) > LARGE):
                return "not"
            mutated = [changed if path == os.path.abspath(m["file"]) else path for path in self.sources(m)]
            gate = self.read(m, values, mutated, str(m["id"]), boxes)
            if not isinstance(gate, Netlist):
                return gate
            try:
                for handshakes in (False, True) if has_payloads(gold) else (False,):
                    if self.same(gold, gate, str(m["id"]), handshakes):
                        return "valid" if handshakes else "proven"
            except Unsupported as err:
                if not boxes:
                    return "not tried: %s" % err
        return "not"


def prove(kept, args):
    """Mark the mutants that are proven; (how many, of how many that were tried)."""
    begin, lock, said, stopped = time.monotonic(), threading.Lock(), {}, threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):  # what is proven by then is kept
        signal.signal(number, lambda *_: stopped.set())
    with tempfile.TemporaryDirectory(prefix="prove-") as folder:
        sets, prover = instances(args, folder), Prover(args, kept, folder)
        packages = set(re.findall(r"^\s*package\s+(\w+)", "\n".join(kept["sources"].values()), re.M))
        todo = [m for m in kept["mutants"] if m["verdict"] in TRIED and
                (sets.get(m["module"]) or m["module"] in packages) and
                (not args.modules or m["module"] in args.modules)]
        todo.sort(key=lambda m: TRIED.index(m["verdict"]))

        def attempt(m):
            if stopped.is_set() or time.monotonic() - begin > args.total:
                return
            result = prover.one(m, sets.get(m["module"]))
            with lock:
                said[m["id"]] = result
                print("qualify: proof [%d/%d, %s] %d %s:%d %s: %s" % (
                    len(said), len(todo), clock(time.monotonic() - begin), m["id"], m["file"], m["line"], m["operator"],
                    result), flush=True)

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(attempt, todo))
    for m in todo:
        if said.get(m["id"]) in WHY:
            m.update(verdict="proven", why=WHY[said[m["id"]]])
    return sum(r in WHY for r in said.values()), len(said)
