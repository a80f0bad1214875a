"""Check the built site: every internal link and anchor leads somewhere, and no page loads anything from elsewhere.

python docs/check_links.py docs/_build/html
"""

from __future__ import annotations

import re
import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

#: What a browser loads by itself when it opens a page, by tag and attribute. Links of <a> are followed only on a click.
LOADED = {
    ("script", "src"), ("img", "src"), ("source", "src"), ("video", "src"), ("audio", "src"), ("iframe", "src"),
    ("embed", "src"), ("object", "data"), ("link", "href"), ("img", "srcset"), ("source", "srcset"),
}  # fmt: skip
#: Kinds of <link> that name another page and load nothing.
_NAMED = {"canonical", "next", "prev", "search", "index", "author", "copyright", "genindex"}
_IN_STYLE = re.compile(r"url\(\s*['\"]?((?:https?:)?//[^)'\"]+)|@import\s+['\"]((?:https?:)?//[^'\"]+)")


class Page(HTMLParser):
    """The anchors of one page, its links, and what it loads."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take what a tag says."""
        given = {name: value for name, value in attrs if value is not None}
        self.anchors.update(given[name] for name in ("id", "name") if name in given)
        if tag == "a" and "href" in given:
            self.links.append(given["href"])
        if tag == "link" and given.get("rel", "") in _NAMED:
            return
        for name, value in given.items():
            if (tag, name) in LOADED:
                self.loads += [part.split()[0] for part in value.split(",")] if name == "srcset" else [value]
        self.loads += [found[0] or found[1] for found in _IN_STYLE.findall(given.get("style", ""))]


def html_files(site: Path) -> list[Path]:
    """The pages; not the templates that a theme leaves among its static files."""
    return [path for path in sorted(site.rglob("*.html")) if "_static" not in path.relative_to(site).parts]


def check(site: Path) -> list[str]:
    """Every fault of the site, one sentence each."""
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in html_files(site)}
    faults = [fault for path, page in pages.items() for fault in _faults(path, page, pages, site)]
    for sheet in sorted(site.rglob("*.css")):
        for found in _IN_STYLE.findall(sheet.read_text(encoding="utf-8")):
            faults.append(f"{sheet.relative_to(site)} loads {found[0] or found[1]}")
    return faults


def _faults(path: Path, page: Page, pages: dict[Path, Page], site: Path) -> list[str]:
    name, faults = path.relative_to(site), []
    for target in page.loads:
        if urlsplit(target).netloc:
            faults.append(f"{name} loads {target}")
    local = [target for target in page.loads if not urlsplit(target).netloc]
    for target in [*page.links, *local]:
        parts = urlsplit(target)
        if parts.scheme or parts.netloc:
            continue
        file = (path.parent / unquote(parts.path)).resolve() if parts.path else path
        file = file / "index.html" if file.is_dir() else file
        if not file.is_file():
            faults.append(f"{name}: {target} leads to no file")
        elif parts.fragment and file in pages and unquote(parts.fragment) not in pages[file].anchors:
            faults.append(f"{name}: {target} leads to no place on that page")
    return faults


def main(folder: str) -> int:
    """Print the faults of the site in *folder*; the exit code is 1 if there are any."""
    site = Path(folder).resolve()
    count = len(html_files(site))
    faults = check(site) if count else [f"{site} has no pages; build it with make docs"]
    print("\n".join([*faults, f"{count} pages, {len(faults)} faults"]))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
