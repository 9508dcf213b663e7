"""Links of README.md and docs/: files, pictures and headings exist, every page can be reached from docs/index.md, and
every page is in the table of contents of `make docs`."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]


def without_code(text):
    """The text without indented and fenced blocks and without code spans, whose brackets are no links."""
    text = re.sub(r"(?ms)^```.*?^```", "", text)
    text = re.sub(r"(?m)(?:^\n)(?:^ {4}(?! *[-*|\d]).*\n)+", "\n", text)
    return re.sub(r"`[^`\n]*`", "code", text)


def links(page):
    return re.findall(r"\]\(([^)\s]+)\)", without_code(page.read_text(encoding="utf-8")))


def anchors(page):
    """Of headings, as the sites that show Markdown make them."""
    found = set()
    for title in re.findall(r"(?m)^#+ +(.*?) *$", page.read_text(encoding="utf-8")):
        name = re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
        found.add(name)
    return found


def test_links():
    wrong = []
    for page in PAGES:
        for link in links(page):
            if re.match(r"[a-z]+:", link):
                continue
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve() if path else page
            if not target.exists():
                wrong.append(f"{page.relative_to(ROOT)}: {link}: there is no such file")
            elif page != PAGES[0] and target.suffix == ".md" and ROOT / "docs" not in target.parents:
                wrong.append(f"{page.relative_to(ROOT)}: {link}: outside docs/, which `make docs` refuses")
            elif anchor and anchor not in anchors(target):
                wrong.append(f"{page.relative_to(ROOT)}: {link}: there is no such heading")
    assert not wrong, "\n".join(wrong)


def test_every_page_is_found():
    index = ROOT / "docs/index.md"
    seen, todo = set(), [index]
    while todo:
        page = todo.pop()
        if page in seen:
            continue
        seen.add(page)
        todo += [(page.parent / link.partition("#")[0]).resolve() for link in links(page)
                 if link.partition("#")[0].endswith(".md") and ":" not in link]
    assert not [p for p in PAGES[1:] if p not in seen]
    contents = (ROOT / "scripts/mkdocs.yml").read_text(encoding="utf-8")
    listed = set(re.findall(r"[\w/-]+\.md", contents))
    assert listed == {str(p.relative_to(ROOT / "docs")) for p in PAGES[1:]}
