"""docs/tutorial.md: every block runs and prints what stands there."""

import doctest
import os
import re
import subprocess
import textwrap
from pathlib import Path

import pytest
import tandem

TRACED = any(n == 4 and build in ("debug", "tap") for n, build in tandem.rtl_builds())


@pytest.fixture
def page(root):
    return Path(root, "docs", "tutorial.md").read_text(encoding="utf-8")


def test_session(page, root, tmp_path, monkeypatch):
    """All blocks, from top to bottom; the section on waveforms where the package has a build with tracing."""
    for name in ("docs", "models"):
        (tmp_path / name).symlink_to(os.path.join(root, name))
    monkeypatch.chdir(tmp_path)
    parser, names, done = doctest.DocTestParser(), {}, 0
    runner = doctest.DocTestRunner(verbose=False)
    for section in re.split(r"(?m)^## ", page):
        title = section.splitlines()[0]
        examples = parser.get_examples(section)
        if "wave=" in section and not TRACED:
            print("not run: %s (no build with tracing in the package)" % title)
            continue
        report = []
        test = doctest.DocTest(examples, names, title, "docs/tutorial.md", None, None)
        runner.run(test, out=report.append, clear_globs=False)
        names = test.globs
        assert not report, "".join(report)
        done += len(examples)
    assert done >= (60 if TRACED else 45)


def test_testcase(page, root, tmp_path):
    """The testcase of the last section, run as the page says."""
    text = re.search(r"(?m)^    # testcases/npu/python/residual\.py\n(?:(?:    .*)?\n)+?(?=\S)", page)[0]
    code, command, shown = re.fullmatch(r"(?s)(.*?)\n(make run [^\n]*)\n\n(.*?)\n+", textwrap.dedent(text)).groups()
    (tmp_path / "residual.py").write_text(code)
    count = re.fullmatch(r"make run PY=residual CFG=n4 COUNT=(\d+)", command)[1]
    build = os.environ.get("BUILD", "build")
    env = {k: v for k, v in os.environ.items() if k not in ("MAKEFLAGS", "MFLAGS", "SAN", "KIND", "CFG")}
    subprocess.run(["make", "-s", build + "/n4-fast/tandem-python", "CFG=n4", "KIND=fast"],
                   cwd=root, env=env, check=True)
    program = os.path.join(root, build, "n4-fast", "tandem-python")
    done = subprocess.run([program, "test", "residual", "--count", count, "--folder", tmp_path],
                          cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0 and done.stdout.splitlines()[-1] == shown, done.stdout + done.stderr
