"""The site's link checker finds each kind of broken link."""

import pytest

from tools.check_site import problems

GOOD = {
    "index.html": '<a href="page.html#there">x</a> <a href="#top" id="top">y</a> <a href="https://example.org/">z</a>',
    "page.html": '<h1 id="there">x</h1> <a href="folder/">x</a> <img src="a%20b.png">',
    "folder/index.html": '<a name="old"></a> <a href="../index.html?x=1#top">x</a> <link href="../a%20b.png">',
    "a b.png": "",
}


def found(folder, **change):
    for name, text in {**GOOD, **change}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return list(problems(folder))


def test_good_links_pass(tmp_path):
    assert found(tmp_path) == []


@pytest.mark.parametrize(
    "link, told",
    [
        ('<a href="gone.html">', "gone.html leads to no file"),
        ('<img src="gone.png">', "gone.png leads to no file"),
        ('<a href="../outside.html">', "../outside.html leads to no file"),
        ('<a href="page.html#gone">', "page.html#gone leads to no anchor"),
        ('<a href="#gone">', "#gone leads to no anchor"),
        ('<a href="folder/#gone">', "folder/#gone leads to no anchor"),
    ],
)
def test_broken_links_are_told(tmp_path, link, told):
    (tmp_path / "outside.html").write_text("")
    site = tmp_path / "site"
    site.mkdir()
    assert found(site, **{"index.html": link + '<a id="top">'}) == [f"index.html: {told}"]


def test_an_empty_folder_is_no_site(tmp_path):
    assert list(problems(tmp_path)) == [f"{tmp_path.resolve()}: has no page"]
