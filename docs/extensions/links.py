"""What links of a page become on the site; a code host follows them as they stand.

[CONTRIBUTING.md](../CONTRIBUTING.md)   to where the file is kept, as it is no page; a warning if it is not there
[solvers.md](solvers.md#auto)           the title of the page or section stands in the place of the file's name
[gallery](gallery)                      the pages that sphinx-gallery makes of the folder
"""

import re
from pathlib import Path

from sphinx.util.logging import getLogger

ROOT = Path(__file__).resolve().parents[2]
BASE = "https://github.com/libsvmx/libsvmx/blob/main/"
OUTSIDE = re.compile(r"\]\(\.\./([^)#\s]+)")
BY_FILE = re.compile(r"\[([\w-]+\.md)\]\((\1(?:#[^)]*)?)\)")


def change_links(app, name, source):
    def moved(link):
        if not (ROOT / link[1]).exists():
            getLogger(__name__).warning("%s: there is no such file in the repository", link[1], location=name)
        return f"]({BASE}{link[1]}"

    if "/" not in name:  # in a page of a folder ../ is another page
        text = BY_FILE.sub(r"*[](\2)*", OUTSIDE.sub(moved, source[0]))
        source[0] = text.replace("](gallery)", "](examples/index.rst)")


def setup(app):
    app.connect("source-read", change_links)
    return {"parallel_read_safe": True}
