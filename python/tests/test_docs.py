"""The examples of docs/python.md run, and those that show a value show the right one."""

import doctest
import os
import re

import pytest

FULL = os.environ.get("TANDEM_CHECK") == "1"


def blocks(root):
    """Parsed examples of the page, block by block."""
    with open(os.path.join(root, "docs", "python.md"), encoding="utf-8") as page:
        text = page.read()
    parser = doctest.DocTestParser()
    for block in re.findall(r"(?:^    .*\n)+", text, re.M):
        examples = parser.get_examples(block)
        if examples:
            yield examples


def test_page(root, tmp_path):
    names = {}
    done = 0
    os.chdir(tmp_path)
    os.symlink(os.path.join(root, "models"), "models")
    try:
        for examples in blocks(root):
            if any("f.fst" in e.source for e in examples) and not FULL:
                continue  # needs a build with tracing
            for e in examples:
                done += 1
                if e.want:
                    assert repr(eval(e.source, names)) == e.want.strip(), e.source
                else:
                    exec(e.source, names)
    finally:
        os.chdir(root)
    assert done >= (13 if FULL else 8)
    assert names["y"].shape == ((2, 28, 28) if FULL else (32, 28, 28))


@pytest.mark.parametrize("module", ["model", "Device"])
def test_page_names_everything(module, root):
    """Nothing public is missing on the page."""
    import tandem
    with open(os.path.join(root, "docs", "python.md"), encoding="utf-8") as page:
        words = set(re.findall(r"\w+", page.read()))
    thing = getattr(tandem, module)
    missing = [n for n in dir(thing)
               if not n.startswith("_") and callable(getattr(thing, n)) and n not in words and n != "close"]
    assert not missing
