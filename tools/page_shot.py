#!/usr/bin/python3
"""A picture of a report of a regression: its first page at desktop width, and the trends at the width of a phone, side
by side (Chromium: make deps-dev)."""
import argparse
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

GAP = 14
FRAME = '<iframe src="%s" style="width:%dpx;height:%dpx;border:0"></iframe>'
PAGE = ('<!DOCTYPE html><html style="color-scheme:light dark"><body '
        'style="margin:0;display:flex;gap:%dpx;padding:%dpx;background:#8a9097">%s</body></html>')


def main():
    ap = argparse.ArgumentParser(description=__doc__)
    ap.add_argument("report", type=pathlib.Path, help="folder of the report")
    ap.add_argument("output", type=pathlib.Path, help="PNG file")
    ap.add_argument("--height", type=int, default=1000, help="of the pages, in CSS pixels (1000)")
    ap.add_argument("--scale", type=float, default=0.75, help="pixels of the picture for each of them (0.75)")
    ap.add_argument("--dark", action="store_true", help="with the dark colour scheme")
    args = ap.parse_args()
    browser = shutil.which("chromium")
    page = (args.report / "index.html").resolve()
    if browser is None or not page.is_file():
        print("page_shot.py: %s" % ("not run: needs chromium (make deps-dev)"
                                    if browser is None else "%s: no such page" % page), file=sys.stderr)
        return 1
    widths = (1000, 390)
    frames = "".join(FRAME % (page.as_uri() + place, width, args.height)
                     for place, width in zip(("", "#trends"), widths))
    with tempfile.TemporaryDirectory(prefix="page-shot-") as folder:
        frame, picture = pathlib.Path(folder, "frame.html"), pathlib.Path(folder, "picture.png")
        frame.write_text(PAGE % (GAP, GAP, frames), encoding="utf-8")
        command = [browser, "--headless", "--disable-gpu", "--hide-scrollbars", "--disable-lcd-text",
                   "--no-first-run", "--allow-file-access-from-files", "--user-data-dir=%s/profile" % folder]
        command += ["--no-sandbox"] if os.geteuid() == 0 else []
        command += ["--force-dark-mode"] if args.dark else []
        command += ["--force-device-scale-factor=%g" % args.scale,
                    "--window-size=%d,%d" % (sum(widths) + 3 * GAP, args.height + 2 * GAP),
                    "--screenshot=%s" % picture, frame.as_uri()]
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, timeout=120, check=False)
        if not picture.is_file():
            print("page_shot.py: the browser left no picture", file=sys.stderr)
            return 1
        shutil.move(picture, args.output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
