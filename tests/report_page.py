"""What the tests of the pages of a report share: a parser that finds what is not in order, and a browser where there is
one."""

import json
import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser")


class Page(HTMLParser):
    """Elements that are not closed, ids, what is linked or loaded."""

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self, path):
        super().__init__(convert_charrefs=True)
        self.path, self.open, self.ids, self.links, self.loads, self.tags, self.texts = path, [], [], [], [], [], []
        self.wrong = []
        self.source = path.read_bytes().decode("utf-8")
        self.feed(self.source)
        self.close()

    def handle_starttag(self, tag, attrs):
        names = [name for name, _ in attrs]
        if len(names) != len(set(names)):
            self.wrong.append(f"<{tag}> has an attribute twice")
        attrs = dict(attrs)
        self.tags.append(tag)
        if "id" in attrs:
            self.ids.append(attrs["id"])
        if tag == "a" and "href" in attrs:
            self.links.append(attrs["href"])
        self.loads += [attrs[name] for name in ("src", "srcset", "data", "poster", "action") if name in attrs]
        if tag == "link":
            self.loads.append(attrs.get("href"))
        self.wrong += [f"<{tag} {name}>" for name in names if name.startswith("on")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        if not self.open or self.open.pop() != tag:
            self.wrong.append(f"</{tag}> at {self.getpos()}")

    def handle_data(self, data):
        self.texts.append(data)

    @property
    def text(self):
        return "".join(self.texts)


def check_page(path):
    """In order, nothing from a network, no script, every link leads to a file of the folder or a place of the page."""
    page = Page(path)
    assert page.wrong == [] and page.open == []
    assert (page.source.startswith("<!DOCTYPE html>") and 'name="viewport"' in page.source and
            "prefers-color-scheme:dark" in page.source)
    assert re.search(r"<style>(/\*[^*]*\*/)?:root\{", page.source), "the colours are in the first rule"
    assert len(page.ids) == len(set(page.ids))
    assert page.loads == [] and "script" not in page.tags
    assert not re.search(r"url\(|@import", page.source) and not re.search(r'(href|src)="(https?:)?//', page.source)
    for link in page.links:
        target, _, place = unquote(link).partition("#")
        assert not target.startswith("/")
        if target:
            assert (path.parent / target).is_file(), link
        if place and not target:
            assert place in page.ids, link
    return page


# Widths of the document and of its window, smallest contrast of a text, whether the page is dark.
PROBE = """<script>addEventListener("load", () => {
  for (const d of document.querySelectorAll("details")) d.open = true;
  const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const light = c => { const [r, g, b] = c.map(v => {
    v /= 255; return v <= 0.03928 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const ground = e => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length == 3 || c[3] == 1) return c;
    } return [255, 255, 255]; };
  let least = 99, worst = "";
  for (const e of document.querySelectorAll("body *")) {
    if (e.closest("script, title") || ![...e.childNodes].some(n => n.nodeType == 3 && n.data.trim())) continue;
    const style = getComputedStyle(e),
      a = light(rgb(e.closest("svg") ? style.fill : style.color).slice(0, 3)),
      b = light(ground(e).slice(0, 3));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < least) { least = ratio; worst = e.tagName + " " + e.className + " " + e.textContent.slice(0, 40); }
  }
  const root = document.scrollingElement,
    wide = [...document.querySelectorAll("body *")].filter(
    e => !e.closest(".scroll, pre, svg") && e.getBoundingClientRect().right > innerWidth + 1);
  parent.postMessage(JSON.stringify({scroll: root.scrollWidth, window: innerWidth, contrast: least, worst,
    dark: matchMedia("(prefers-color-scheme:dark)").matches,
    wide: wide.map(e => e.tagName + "." + e.className).slice(0, 5),
    rules: document.styleSheets[0].cssRules.length}), "*");
});</script>"""
FRAME = """<!DOCTYPE html><html style="color-scheme:light dark"><body>
<iframe src="probe.html" style="width:%dpx;height:800px;border:0"></iframe>
<script>addEventListener("message", e => {
  document.body.dataset.found = btoa(unescape(encodeURIComponent(e.data)));
  });</script></body></html>"""


def browser(*args, cwd):
    """Chromium without a window, its profile in a folder of its own."""
    command = [BROWSER, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
               f"--user-data-dir={cwd}/profile", *(["--no-sandbox"] if os.geteuid() == 0 else []), *args]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, errors="replace", timeout=120)


def measure(page, folder, width, dark):
    """How a copy of the page looks in a window of that width."""
    import base64

    folder.mkdir(parents=True, exist_ok=True)
    (folder / "probe.html").write_text(page.read_text().replace("</head>", PROBE + "</head>"))
    (folder / "frame.html").write_text(FRAME % width)
    done = browser("--window-size=1400,900", *(["--force-dark-mode"] if dark else []),
                   "--virtual-time-budget=5000", "--dump-dom", (Path(folder) / "frame.html").as_uri(), cwd=folder)
    found = re.search(r'data-found="([^"]*)"', done.stdout)
    assert found, done.stderr[-2000:]
    return json.loads(base64.b64decode(found.group(1)))
