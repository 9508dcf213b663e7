"""pip install --no-build-isolation ./python: the package that `make python` builds, packed as a wheel.

The folder must stand in the repository (make, a C and a C++ compiler and Verilator do the work: `make deps`).
PYTHON_RTL="n4-fast n8-debug" in the environment says which builds of the RTL the package holds (n4-fast and n8-fast),
JOBS how many processes build it.
"""

import os
import subprocess
import sys

from setuptools import Distribution, setup
from setuptools.command.build_py import build_py

ROOT = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
PACKAGES = ["tandem", "tandem.onnx"]
RTL = os.environ.get("PYTHON_RTL", "n4-fast n8-fast").split()


class Build(build_py):
    """Everything comes from make."""

    def run(self):
        if not os.path.isfile(os.path.join(ROOT, "scripts", "python.mk")):
            raise SystemExit(
                "setup.py: expected to stand in python/ of the repository: ../scripts/python.mk is missing")
        env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS")}
        subprocess.check_call(["make", "-s", "python", "PYTHON=" + sys.executable, "PYTHON_RTL=" + " ".join(RTL)],
                              cwd=ROOT, env=env)
        made = os.path.join(ROOT, env.get("BUILD", "build"), "python")
        wanted = {"_rtl_%s.so" % build.replace("-", "_") for build in RTL}
        for package in PACKAGES:
            folder = package.replace(".", os.sep)
            self.mkpath(os.path.join(self.build_lib, folder))
            for name in sorted(os.listdir(os.path.join(made, folder))):
                path = os.path.join(made, folder, name)
                if (os.path.isfile(path) and not name.endswith((".pyc", ".tmp")) and
                    (not name.startswith("_rtl_") or name in wanted)):
                    self.copy_file(path, os.path.join(self.build_lib, folder, name))


class Binary(Distribution):
    """The wheel holds machine code."""

    def has_ext_modules(self):
        return True


setup(packages=PACKAGES, cmdclass={"build_py": Build}, distclass=Binary)
