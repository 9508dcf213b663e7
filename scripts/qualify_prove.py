"""Functional qualification: mutants that Yosys proves to be the design (docs/qualification.md, "Proofs").

A mutant is compared with the design in the module that has it, with the parameters of each of its instances. Both
have the same registers, so it suffices that equal registers and inputs give equal outputs and equal next values."""
import concurrent.futures
import os
import re
import resource
import subprocess
import tempfile
import threading
import time
import xml.etree.ElementTree as xml

from qualify_run import Bad, clock

# verdicts that may hide one; of those that the reviewed file lists, too: a proof is better than a reason
TRIED = ("survived", "limit-cycles", "reached", "not-reached", "equivalent")
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


def side(name, module, values, include, sources):
    """Commands that make one design of one side: all registers become outputs (their next values) and inputs."""
    chosen = "".join(" -chparam %s %d" % item for item in sorted(values.items()))
    folders = " ".join("-I" + path for path in include)
    return ["read_verilog -sv -defer %s %s" % (folders, " ".join(sources)),
            "hierarchy -top %s%s" % (module, chosen), "rename -top " + name, "proc", "flatten", "memory_map",
            "dffunmap", "opt_clean -purge", "expose -evert-dff -dff", "design -stash " + name]


def script(args, kept, m, values, changed):
    sources = sources_of(kept, m["module"], args.sources)
    include = [os.path.abspath(path) for path in args.include]
    mutated = [changed if path == os.path.abspath(m["file"]) else path for path in sources]
    return "\n".join(side("gold", m["module"], values, include, sources) +
                     side("gate", m["module"], values, include, mutated) +
                     ["design -copy-from gold -as gold gold", "design -copy-from gate -as gate gate",
                      "miter -equiv -make_assert -flatten gold gate miter", "hierarchy -top miter", "opt_expr",
                      "opt_merge", "opt_expr", "opt_clean",
                      "sat -ignore_unknown_cells -verify -prove-asserts miter"]) + "\n"


def edited(text, edits):
    for start, end, new in sorted(edits, reverse=True):
        text = text[:start] + new + text[end:]
    return text


def one(args, kept, m, sets, folder):
    """Is it proven for all sets of parameters?"""
    changed = os.path.join(folder, "%d.sv" % m["id"])
    with open(changed, "w", encoding="utf-8") as out:
        out.write(edited(kept["sources"][m["file"]], m["edits"]))
    for values in sets:
        path = os.path.join(folder, "%d.ys" % m["id"])
        with open(path, "w", encoding="utf-8") as out:
            out.write(script(args, kept, m, values, changed))
        limit = (args.seconds, args.seconds)
        done = subprocess.run(["yosys", "-q", "-s", path], capture_output=True, text=True, cwd=folder,
                              preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CPU, limit))
        if done.returncode < 0:
            return "time"
        if done.returncode != 0:
            lines = [line for line in done.stderr.splitlines() if "ERROR" in line] or ["ERROR"]
            # a register that one side does not need is a difference, too
            return "not" if "proof did fail" in lines[0] or "No matching port" in lines[0] else lines[0]
    return "proven"


def prove(kept, args):
    """Mark the mutants that are proven; (how many, of how many that were tried)."""
    begin, lock, said = time.monotonic(), threading.Lock(), {}
    with tempfile.TemporaryDirectory(prefix="prove-") as folder:
        sets = instances(args, folder)
        todo = [m for m in kept["mutants"] if m["verdict"] in TRIED and sets.get(m["module"])]
        todo.sort(key=lambda m: TRIED.index(m["verdict"]))

        def attempt(m):
            if time.monotonic() - begin > args.total:
                return
            result = one(args, kept, m, sets[m["module"]], folder)
            with lock:
                said[m["id"]] = result
                print("qualify: proof [%d/%d, %s] %d %s:%d %s: %s" % (
                    len(said), len(todo), clock(time.monotonic() - begin), m["id"], m["file"], m["line"], m["operator"],
                    result), flush=True)

        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            list(pool.map(attempt, todo))
    for m in todo:
        if said.get(m["id"]) == "proven":
            m.update(verdict="proven", why="Yosys: the module is the same with and without it")
    return sum(r == "proven" for r in said.values()), len(said)
