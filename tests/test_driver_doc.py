"""Every status of the driver has a row with its text in docs/npu/driver.md and is expected by a test of the driver."""

import glob
import os
import re

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def read(*path):
    with open(os.path.join(ROOT, *path), encoding="utf-8") as f:
        return f.read()


def statuses():
    body = re.search(r"typedef enum npu_status \{(.*?)\} npu_status", read("drivers/npu", "npu.h"), re.S).group(1)
    return re.findall(r"^\s+(NPU_(?:OK|ERR_\w+))", body, re.M)


def test_rows():
    texts = dict(re.findall(r'case (NPU_\w+):\s*return "([^"]*)";', read("drivers/npu", "npu_core.c")))
    rows = re.findall(r"^\| `(NPU_\w+)` \| ([^|]*) \| [^|]+ \| [^|]+ \|$", read("docs/npu", "driver.md"), re.M)
    names = statuses()
    assert len(names) > 25
    assert rows == [(name, texts[name]) for name in names]


def test_expected_somewhere():
    tests = "".join(read(os.path.relpath(path, ROOT))
                    for path in sorted(glob.glob(os.path.join(ROOT, "tests", "test_driver*.c"))))
    for name in statuses():
        assert re.search(r"\b%s\b" % name, tests), name
