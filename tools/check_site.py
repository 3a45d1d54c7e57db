"""Check the links inside a built site: each leads to an existing file and anchor.

Sphinx checks the sources; this checks its output, navigation, indices and pictures included.

Usage: python tools/check_site.py build/site        exit code 1 and a line for each broken link
"""

import sys
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINKS = {"a": "href", "link": "href", "img": "src", "script": "src", "source": "src", "iframe": "src"}


class Page(HTMLParser):
    """The links and the anchors of a page."""

    def __init__(self, text):
        super().__init__()
        self.links, self.anchors = [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.update(value for name in ("id", "name") if (value := given.get(name)))
        if link := given.get(LINKS.get(tag, "")):
            self.links.append(link)


def problems(folder):
    """Lines about broken links, page by page."""
    folder = Path(folder).resolve()
    pages = {path: Page(path.read_text(encoding="utf-8")) for path in sorted(folder.rglob("*.html"))}
    if not pages:
        yield f"{folder}: has no page"
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue  # an external link
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if target.is_dir():
                target /= "index.html"
            if not target.is_relative_to(folder) or not target.exists():
                yield f"{path.relative_to(folder)}: {link} leads to no file"
            elif parts.fragment and target in pages and unquote(parts.fragment) not in pages[target].anchors:
                yield f"{path.relative_to(folder)}: {link} leads to no anchor"


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    found = list(problems(sys.argv[1]))
    print("\n".join(found) or "site: every link inside it leads somewhere")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
