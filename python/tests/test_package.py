"""The package itself: stubs say what the functions say, it can be installed with pip, C files of the extension keep no
state of their own."""

import ast
import inspect
import os
import re
import shutil
import subprocess
import sys

import pytest
import tandem
from tandem import _core, model

FULL = os.environ.get("TANDEM_CHECK") == "1"


def stub_functions(root, name):
    """name -> ast node; methods as Class.name."""
    with open(os.path.join(root, "python", "tandem", name + ".pyi"), encoding="utf-8") as src:
        tree = ast.parse(src.read())
    found = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            found[node.name] = node
        elif isinstance(node, ast.ClassDef):
            found.update({node.name + "." + n.name: n for n in node.body if isinstance(n, ast.FunctionDef)})
    return found


def parameters(node):
    """(name, default as text or None, keyword only) of a stub."""
    args = node.args.posonlyargs + node.args.args
    defaults = [None] * (len(args) - len(node.args.defaults)) + node.args.defaults
    rows = ([(a.arg, d, False) for a, d in zip(args, defaults)] +
            [(a.arg, d, True) for a, d in zip(node.args.kwonlyargs, node.args.kw_defaults)])
    return [(n, None if d is None else ast.literal_eval(d), k) for n, d, k in rows if n not in ("self", "cls")]


def real_parameters(func):
    return [(p.name, None if p.default is p.empty else p.default, p.kind == p.KEYWORD_ONLY)
            for p in inspect.signature(func).parameters.values() if p.kind != p.VAR_POSITIONAL and p.name != "self"]


def test_stub_of_model(root):
    stubs = stub_functions(root, "model")
    assert set(stubs) == {n for n in dir(model) if callable(getattr(model, n)) and not n.startswith("_")}
    for name, node in stubs.items():
        assert parameters(node) == real_parameters(getattr(model, name)), name


@pytest.mark.parametrize("kind", [tandem.Device, tandem.Network])
def test_stub_of_types(kind, root):
    prefix = kind.__name__ + "."
    stubs = {n[len(prefix):]: node for n, node in stub_functions(root, "_core").items() if n.startswith(prefix)}
    names = {n for n in dir(kind) if not n.startswith("_")}
    assert {n for n in stubs if not n.startswith("_")} == names
    for name in names:
        member = getattr(kind, name)
        if callable(member):
            assert parameters(stubs[name]) == real_parameters(member), name
        assert member.__doc__, name
    assert parameters(stubs["__new__"]) == real_parameters(kind)


def test_positions_and_keywords_are_as_they_say():
    """What a signature calls keyword-only is refused by position."""
    with tandem.Device("model", 4) as dev:
        for func in [getattr(dev, n)
                     for n in ("conv2d", "depthwise", "linear", "pool", "alu")] + [model.post, model.im2col_block]:
            by_position = [p for p in real_parameters(func) if not p[2]]
            with pytest.raises(TypeError, match="at most %d positional" % len(by_position)):
                func(*[1] * (len(by_position) + 1))
            with pytest.raises(TypeError, match="has no argument 'no_such'"):
                func(no_such=1)


def test_errors():
    assert (issubclass(tandem.Divergence, tandem.DeviceError) and issubclass(tandem.DeviceError, tandem.Error) and
            issubclass(tandem.DriverError, tandem.Error))
    assert tandem.Error.__module__ == "tandem" and tandem.Device.__module__ == "tandem"
    with pytest.raises(TypeError):
        tandem.Device.n = 3  # nobody changes the type


def test_no_static_state(root):
    """Variables of the extension's C files are constants, but for the tables that Python wants to be able to write."""
    folder = os.path.join(root, os.environ.get("BUILD", "build"), "host", "obj", "python")
    allowed = re.compile(r"^(model_slots|model_def|core_slots|core_def|core_methods|slots|methods|device_spec|"
                         r"device_getset|network_spec|network_getset|network_methods)$")
    seen = 0
    for name in sorted(os.listdir(folder)):
        if name.endswith(".o"):
            text = subprocess.run(["objdump",
                                   "-t", os.path.join(folder, name)], capture_output=True, text=True, check=True).stdout
            for section, symbol in re.findall(r"^\S+ .{7} (\S+)\s+[0-9a-f]+ +(?:\.hidden )?(\S+)$", text, re.M):
                if (re.match(r"\.bss|\.tbss|\.tdata|\*COM\*|\.data(?!\.rel\.ro)", section) and
                    not symbol.startswith(".")):
                    seen += 1
                    assert allowed.match(re.sub(r"\.\d+$", "", symbol)), "%s: %s in %s" % (name, symbol, section)
    assert seen >= 8


SUBINTERPRETER = """
import _xxsubinterpreters as sub, sys
code = '''
import sys
sys.path[:] = %r
import numpy as np, tandem
with tandem.Device("tandem", 4) as dev:
    x = np.ones((2, 4, 4), np.float32)
    assert dev.copy(x).sum() == 32 and tandem.model.fp_add(x, 1.0).sum() == 64
    try:
        tandem.Device("model", 5)
    except ValueError:
        pass
''' % (sys.path,)
interpreter = sub.create()
sub.run_string(interpreter, code)
sub.run_string(interpreter, code)
print("tandem" in sys.modules)
"""


def test_subinterpreters(package):
    """As far as NumPy goes along: a process may import NumPy 1.24 in one interpreter, so here that one is not the main
    one."""
    env = {**os.environ, "PYTHONPATH": package}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", SUBINTERPRETER],
                          env=env, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout == "False\n", done.stderr


@pytest.mark.skipif(not FULL, reason="TANDEM_CHECK=1: a virtual environment")
def test_pip(root, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", tmp_path / "venv"], check=True)
    python = tmp_path / "venv" / "bin" / "python"
    env = {**{k: v for k, v in os.environ.items() if k not in ("SAN", "KIND", "CFG")}, "PYTHON_RTL": "n4-fast"}
    done = subprocess.run([python, "-m", "pip", "install", "--no-build-isolation", "--no-index",
                           os.path.join(root, "python")], env=env, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    code = ("import numpy as np, tandem; d = tandem.Device('tandem', 4); "
            "print(tandem.__file__, d.copy(np.ones((1, 2, 2), np.float32)).sum())")
    done = subprocess.run([python, "-c", code], capture_output=True, text=True,
                          cwd=tmp_path, env={k: v for k, v in env.items() if k != "PYTHONPATH"})
    assert (done.returncode == 0 and done.stdout.startswith(str(tmp_path)) and
            done.stdout.endswith(" 4.0\n")), done.stdout + done.stderr


def test_design_of_another_version(package, tmp_path):
    """A design that was built before the tables between it and the package changed is refused, instead of being read
    as something else."""
    shutil.copytree(os.path.join(package, "tandem"), tmp_path / "tandem")
    source = tmp_path / "old.c"
    source.write_text('const void *tb_shim_get(void) { return 0; }\n'
                      '#ifdef LAYOUT\nconst unsigned tb_shim_layout = LAYOUT;\n#endif\n')
    for define in ([], ["-DLAYOUT=1"]):
        library = tmp_path / "tandem" / "_rtl_n4_old.so"
        subprocess.run(["cc", "-shared", "-fPIC", *define, source, "-o", library], check=True)
        done = subprocess.run([sys.executable, "-c", "import tandem; tandem.Device(kind='rtl', n=4, build='old')"],
                              env={**os.environ, "PYTHONPATH": str(tmp_path)}, cwd=tmp_path, capture_output=True,
                              text=True)
        assert done.returncode == 1 and "_rtl_n4_old.so: made by another version of tandem: make python CFG=n4" in (
            done.stderr), done.stderr
