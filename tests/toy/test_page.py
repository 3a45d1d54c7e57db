"""The page in Chromium: user actions reach the session, and the picture is that of a fresh training."""

import re
import time

import numpy as np
import pytest

pytest.importorskip("selenium")
from selenium.webdriver import ActionChains, Keys
from support.commands import PATIENCE

import libsvmx
from tools import toy_page
from tools.toy_page import choose, drag, rest

if None in toy_page.browser_programs():
    pytest.skip("Chromium and ChromeDriver are not on the PATH", allow_module_level=True)

# Like the fixture ``patient``, for the server process.
PATIENT = "from libsvmx.toy import session; session.START = session.changed(session.START, {'time_limit': 0.0})"
MINUS = "\N{MINUS SIGN}"
NUMBER = rf"[{MINUS}\d.]+"
SETTINGS = ("svm_type", "kernel_type", "C", "gamma", "degree", "coef0", "nu", "p")


@pytest.fixture(scope="module")
def downloads(tmp_path_factory):
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def chromium(downloads):
    with toy_page.browser(folder=downloads) as driver:
        yield driver


@pytest.fixture
def page(chromium):
    with toy_page.served(before=PATIENT) as address:
        chromium.get(address)
        rest(chromium)
        yield chromium
        # no errors of scripts or of the content security policy; refusals by the server are logged as network
        assert [line for line in chromium.get_log("browser") if line["source"] != "network"] == []


def drawn(page):
    return page.execute_script("return svmxToy.drawn()")


def rows_of(page):
    """{key: (x, y, label)}"""
    rows = drawn(page)["head"]["rows"]
    return dict(zip(rows["key"], zip(rows["x"], rows["y"], rows["label"], strict=True), strict=True))


def press_at(page, x, y):
    """A click, in pixels from the centre of the plane."""
    ActionChains(page, duration=0).move_to_element_with_offset(page.find_element("id", "plane"), x, y).click().perform()
    rest(page)


def keys(page, *words):
    page.find_element("id", "plane").send_keys(*words)
    rest(page)


def text(page, name):
    return page.execute_script("return document.getElementById(arguments[0]).textContent", name)


def assert_fresh(page):
    """The picture equals that of a cold start on these rows."""
    found = drawn(page)
    head, view = found["head"], found["view"]
    X = np.column_stack([head["rows"]["x"], head["rows"]["y"]])
    settings = {name: head["settings"][name] for name in SETTINGS}
    model = libsvmx.train(X, np.array(head["rows"]["label"], dtype=float), **settings, keep_state=True).model
    x, y = (np.linspace(view[f"{axis}0"], view[f"{axis}1"], view[f"n{axis}"]) for axis in "xy")
    expected = libsvmx.decision_values(model, np.stack(np.meshgrid(x, y), axis=-1).reshape(-1, 2)).T
    values = np.reshape(found["values"], expected.shape)
    np.testing.assert_allclose(values, expected, rtol=0, atol=1e-5 * max(1, abs(expected).max()))
    assert tuple(head["model"]["classes"]) == model.class_labels


def test_a_hand_adds_moves_and_removes_rows(page):
    for k, (x, y) in enumerate([(-200, 0), (-150, 60), (200, 0), (150, -80)]):
        page.execute_script("document.querySelectorAll('.chips input')[arguments[0]].click()", k // 2)
        press_at(page, x, y)
    rows = rows_of(page)
    assert [label for _, _, label in rows.values()] == [1, 1, 2, 2]
    first, *_, last = rows
    assert_fresh(page)
    drag(page, first, [(10, 5)] * 8)
    moved = rows_of(page)
    scale = (rows[last][0] - rows[first][0]) / 350  # of a pixel
    np.testing.assert_allclose(np.subtract(moved[first], rows[first])[:2], [80 * scale, -40 * scale], atol=2 * scale)
    assert moved[last] == rows[last] and list(moved) == list(rows)
    assert drawn(page)["head"]["model"]["way"] == "path"
    assert_fresh(page)
    press_at(page, 150, -80)
    assert list(rows_of(page)) == list(rows)[:-1]
    keys(page, Keys.CONTROL, "z", Keys.NULL)
    assert rows_of(page) == moved
    keys(page, Keys.CONTROL, "z", Keys.NULL)
    assert rows_of(page) == rows  # the whole drag is one step


def test_it_says_what_the_model_says_under_the_pointer(page):
    """As the model does, up to interpolation on a grid of a few pixels."""
    plane = page.find_element("id", "plane")

    def under():
        ActionChains(page, duration=0).move_to_element_with_offset(plane, 40, 30).perform()
        rest(page)
        return text(page, "under")

    assert under() == ""
    choose(page, "example", "moons")
    x, y, value = (float(word.replace(MINUS, "-")) for word in re.findall(NUMBER, under()))
    head = drawn(page)["head"]
    X = np.column_stack([head["rows"]["x"], head["rows"]["y"]])
    settings = {name: head["settings"][name] for name in SETTINGS}
    model = libsvmx.train(X, np.array(head["rows"]["label"], dtype=float), **settings, keep_state=True).model
    assert value == pytest.approx(libsvmx.decision_values(model, [[x, y]])[0, 0], abs=0.05)
    choose(page, "example", "blobs")
    assert re.fullmatch(f"{NUMBER}, {NUMBER}: class [123]", under())
    choose(page, "example", "sine")
    assert re.fullmatch(rf"f\({NUMBER}\) = {NUMBER}", under())
    assert text(page, "of-margins") == "tube"


def test_a_remark_goes_away(page):
    page.execute_script(
        "globalThis.later = setTimeout; globalThis.setTimeout = (f, ms) => later(f, ms > 5000 ? 0 : ms)"
    )
    choose(page, "kernel_type", "3")
    press_at(page, -50, 0)
    page.execute_script("document.querySelectorAll('.chips input')[1].click()")
    press_at(page, 50, 0)
    message = page.find_element("id", "message")
    assert message.get_attribute("textContent")
    end = time.monotonic() + PATIENCE
    while message.is_displayed() and time.monotonic() < end:
        time.sleep(0.01)
    assert not message.is_displayed()


PIXELS = """
const { width, height } = document.getElementById('picture');
const all = document.getElementById('picture').getContext('2d').getImageData(0, 0, width, height).data;
const style = getComputedStyle(document.documentElement), of = (name) => style.getPropertyValue(`--${name}`).trim();
return [arguments[0].map(([x, y]) => {
  const [px, py] = svmxToy.pixel(x, y).map(Math.round), at = 4 * (py * width + px);
  return [...all.slice(at, at + 3)];
}), of('paper'), [1, 2, 3].map((k) => of(`class-${k}`))];
"""


def rgb(text):
    return np.array([int(text[k : k + 2], 16) for k in (1, 3, 5)], dtype=float)


@pytest.mark.parametrize("example", ["moons", "blobs"])
def test_pixels_have_the_colour_of_the_class_that_is_predicted(page, example):
    choose(page, "example", example)
    head = drawn(page)["head"]
    X = np.column_stack([head["rows"]["x"], head["rows"]["y"]])
    y = np.array(head["rows"]["label"], dtype=float)
    model = libsvmx.train(X, y, C=10, gamma=2, keep_state=True).model
    points = np.random.default_rng(0).uniform(-0.85, 0.85, size=(3000, 2))
    values, labels = libsvmx.decision_values(model, points), libsvmx.predict(model, points)
    wins = np.full(len(points), np.inf)  # the margin by which the predicted class wins
    pairs = [(i, j) for i in range(model.nr_class) for j in range(i + 1, model.nr_class)]
    for f, (i, j) in zip(values.T, pairs, strict=True):
        for own, sign in ((i, 1), (j, -1)):
            wins = np.where(labels == model.labels[own], np.minimum(wins, sign * f), wins)
    rows_away = np.hypot(*(points[:, None] - X).T).min(axis=0) > 0.06
    lines_away = (abs(values) > 0.1).all(axis=1) & (abs(abs(values) - 1) > 0.1).all(axis=1)
    points, labels, wins = (array[rows_away & lines_away] for array in (points, labels, wins))
    assert len(points) > 200 and {True, False} == set((wins >= 1).tolist())
    seen, paper, colours = page.execute_script(PIXELS, points.tolist())
    for pixel, label, win in zip(seen, labels, wins, strict=True):
        expected = rgb(paper)
        for share in (0.11, 0.15) if win >= 1 else (0.11,):
            expected = expected + share * (rgb(colours[int(label) - 1]) - expected)
        assert abs(pixel - expected).max() < 3


def test_waiting_changes_are_merged_only_where_the_later_makes_the_earlier_void(page):
    merged = """
    const [before, after, done] = arguments;
    import(document.baseURI + 'requests.js').then((module) => done(module.merged(before, after)));
    """
    move = [{"do": "move", "row": row, "x": x} for row, x in ((1, 0.1), (2, 0.2), (1, 0.3))]
    one, both = {"do": "set", "C": 1}, {"do": "set", "C": 2, "gamma": 3}
    add = {"do": "add", "x": 0.1}
    for before, after, expected in (
        ([move[0]], [move[2]], [move[2]]),
        ([move[0], move[1]], [move[2]], [move[1], move[2]]),
        ([add], [add], [add, add]),
        ([one], [both], [both]),
        ([both], [one], [both, one]),
    ):
        assert page.execute_async_script(merged, before, after) == expected


def test_a_step_that_meets_a_waiting_look_is_continued_all_the_same(page):
    asked = """
    const done = arguments[0];
    import(document.baseURI + 'requests.js').then(({ Link }) => {
      const link = new Link();
      link.busy = true;
      link.send();
      link.send({ changes: [{ do: 'move' }], continued: true });
      done(link.queue.map(({ changes, continued }) => [changes.length, continued]));
    });
    """
    assert page.execute_async_script(asked) == [[1, True]]


@pytest.mark.parametrize("example", ["moons", "blobs"])
def test_after_drags_and_other_parameters_it_is_a_fresh_training(page, example):
    choose(page, "example", example)
    r = np.random.default_rng(1)
    for key in list(rows_of(page))[:4]:
        drag(page, key, r.integers(-25, 26, size=(12, 2)).tolist())
        assert drawn(page)["head"]["model"]["way"] == "path"
        assert_fresh(page)
        choose(page, "C", str(round(10 ** r.uniform(-1, 2), 3)))
        assert_fresh(page)
        choose(page, "gamma", str(round(10 ** r.uniform(-1, 1), 3)))
        assert_fresh(page)
    frames = page.execute_script("return svmxToy.frames")
    assert frames and all(f["event"] <= f["sent"] <= f["received"] <= f["drawn"] for f in frames)


def test_a_slider_is_followed_while_it_moves(page):
    choose(page, "example", "moons")
    before = drawn(page)["head"]["settings"]["C"]
    slider = page.find_element("id", "C-range")
    slider.send_keys(Keys.ARROW_RIGHT * 5)
    rest(page)
    head = drawn(page)["head"]
    assert head["settings"]["C"] > before and head["model"]["way"] == "path"
    assert page.find_element("id", "C").get_attribute("value") == f"{head['settings']['C']:g}"
    assert_fresh(page)


def slide(page, name, shift):
    """Drag the thumb of a slider ``shift`` pixels to the right, or there and back, and release it."""
    slider = page.find_element("id", f"{name}-range")
    share = "const s = arguments[0]; return [(s.value - s.min) / (s.max - s.min), s.clientWidth]"
    at, width = page.execute_script(share, slider)
    thumb = 16  # pixels; its middle moves along the rest of the width
    hand = ActionChains(page, duration=0)
    hand.move_to_element_with_offset(slider, round((at - 0.5) * (width - thumb)), 0).click_and_hold()
    for step in shift:
        hand = hand.move_by_offset(step, 0).pause(0.016)
    hand.release().perform()
    rest(page)


def test_a_slider_that_is_back_at_its_value_follows_again(page):
    choose(page, "example", "moons")
    choose(page, "C", "100")
    range_value = "return Number(document.getElementById('C-range').value)"
    held = page.execute_script(range_value)
    page.execute_script(  # like a browser that fires no change event, as there is no change
        "const range = document.getElementById('C-range'), event = (name) => range.dispatchEvent(new Event(name));"
        "const before = range.value; range.value = 0; event('input');"
        "range.value = before; event('input'); event('pointerup')"
    )
    rest(page)
    choose(page, "C", "1")
    assert page.execute_script(range_value) == pytest.approx(0, abs=0.02) != held
    slide(page, "C", [10, 10])
    assert drawn(page)["head"]["settings"]["C"] > 1.5
    page.find_element("id", "undo").click()
    rest(page)
    assert drawn(page)["head"]["settings"]["C"] == 1


def test_the_slider_of_coef0_begins_where_the_kernel_is_positive_semidefinite(page):
    least = "return Number(document.getElementById('coef0-range').min)"
    for kernel, expected in (("1", 0), ("3", -5), ("1", 0)):
        choose(page, "kernel_type", kernel)
        assert page.execute_script(least) == expected


def press_keys(page, *events):
    """Key events, all before the first answer."""
    page.execute_script(
        "for (const event of arguments[0])"
        "  document.getElementById('plane').dispatchEvent(new KeyboardEvent('keydown', event))",
        events,
    )
    rest(page)


def undone(page):
    keys(page, Keys.CONTROL, "z", Keys.NULL)
    return rows_of(page)


def test_a_held_key_is_a_step_of_its_own(page):
    keys(page, "a")
    keys(page, Keys.ESCAPE)
    start = rows_of(page)
    first, again = ({"key": "ArrowRight", "repeat": repeat} for repeat in (False, True))
    for event in (first, again, again):  # the first selects
        press_keys(page, event)
    ((key, moved),) = rows_of(page).items()
    assert moved[0] > start[key][0]
    assert undone(page) == start
    press_keys(page, {"key": "1"}, {"key": "2"}, again, again)  # some of them wait for answers to others
    assert rows_of(page)[key][0] > start[key][0]
    assert undone(page)[key] == (*start[key][:2], 2)
    for expected in (start, start, {}):
        assert undone(page) == expected


def test_rows_stay_in_the_plane(page):
    width, height = page.execute_script(
        "const p = document.getElementById('plane'); return [p.clientWidth, p.clientHeight]"
    )
    keys(page, "a")
    for arrow in ("ArrowRight", "ArrowUp"):
        press_keys(page, *[{"key": arrow, "shiftKey": True}] * (max(width, height) // 25 + 2))
    places = "return svmxToy.drawn().head.rows.x.map((x, k) => svmxToy.pixel(x, svmxToy.drawn().head.rows.y[k]))"
    (place,) = page.execute_script(places)
    assert place == pytest.approx([width, 0], abs=1)
    keys(page, "a")
    first, second = page.execute_script(places)
    assert first == place and second == pytest.approx([width - 25, 0], abs=1)


def test_all_is_done_by_keys(page):
    keys(page, "a")
    ((key, start),) = rows_of(page).items()
    keys(page, Keys.ARROW_LEFT, Keys.ARROW_LEFT, Keys.ARROW_UP, "2")
    x, y, label = rows_of(page)[key]
    assert x < start[0] and y > start[1] and label == 2
    keys(page, Keys.SHIFT, Keys.ARROW_RIGHT, Keys.NULL, "1", "a", "n", Keys.DELETE)
    assert len(rows_of(page)) == 1
    assert "rows: 1" in text(page, "told") and "class" in text(page, "told")
    keys(page, Keys.ESCAPE)
    assert text(page, "told").startswith("rows: 1")


def test_tab_reaches_every_control_in_the_order_of_the_page(page):
    choose(page, "example", "moons")
    page.execute_script("document.activeElement.blur()")
    found = []
    for _ in range(30):
        ActionChains(page).send_keys(Keys.TAB).perform()
        found.append(page.execute_script("return document.activeElement.id || document.activeElement.name"))
        if found.count("plane") > 1 or found[-1] == "":
            break
    wanted = (
        "plane class svm_type kernel_type C-range C gamma-range gamma example undo clear open save-rows save-model copy"
    )
    assert [name for name in found if name in wanted.split()][: len(wanted.split())] == wanted.split()


def test_each_control_has_a_name(page):
    unnamed = page.execute_script(
        "return [...document.querySelectorAll('input, select, button')].filter((c) =>"
        "!(c.labels?.length || c.ariaLabel || c.textContent.trim())).map((c) => c.outerHTML)"
    )
    assert unnamed == []


def test_errors_are_sentences_and_the_page_goes_on(page, tmp_path):
    choose(page, "example", "moons")
    press_at(page, *toy_page.pixel_of(page, next(iter(rows_of(page)))))  # now the classes differ in size
    choose(page, "svm_type", "1")
    choose(page, "nu", "1")
    assert drawn(page)["head"]["model"] is None
    assert page.find_element("id", "message").text.startswith("nu = 1 is infeasible")
    choose(page, "svm_type", "0")
    assert not page.find_element("id", "message").is_displayed()
    bad = tmp_path / "bad.txt"
    bad.write_text("1 1:x\n")
    page.find_element("id", "file").send_keys(str(bad))
    wait_for(lambda: page.find_element("id", "message").is_displayed())
    assert page.find_element("id", "message").text.startswith("bad.txt:1:")
    choose(page, "kernel_type", "2")
    assert not page.find_element("id", "message").is_displayed()
    assert_fresh(page)


def test_files_are_opened_and_saved(page, tmp_path, downloads, folder):
    choose(page, "example", "xor")
    command, *words = text(page, "command").split()
    for button in ("save-rows", "save-model"):
        page.find_element("id", button).click()
    wait_for(lambda: (downloads / "rows.txt.model").exists() and (downloads / "rows.txt").exists())
    rows = rows_of(page)
    folder.put("rows.txt", (downloads / "rows.txt").read_bytes())
    folder.accepts(command, *words)
    assert folder.get("rows.txt.model") == (downloads / "rows.txt.model").read_bytes()
    page.find_element("id", "clear").click()
    rest(page)
    assert rows_of(page) == {}
    page.find_element("id", "file").send_keys(str(tmp_path / "rows.txt"))
    wait_for(lambda: len(rows_of(page)) == len(rows))
    assert list(rows_of(page).values()) == list(rows.values())
    page.find_element("id", "file").send_keys(str(tmp_path / "rows.txt.model"))
    wait_for(lambda: drawn(page)["head"]["model"]["way"] == "file")
    assert "model of the file" in page.find_element("id", "message").text


def test_rows_that_differ_by_a_rounding_are_drawn(page, tmp_path):
    (tmp_path / "d").write_text("1 1:0.3 2:1\n2 1:0.30000000000000004 2:5\n")
    page.find_element("id", "file").send_keys(str(tmp_path / "d"))
    wait_for(lambda: len(rows_of(page)) == 2)
    rest(page)
    assert drawn(page)["head"]["shape"][0] == 1


def test_an_axis_has_some_ticks_whatever_its_length(page):
    found = """
    const [centre, length, done] = arguments;
    import(document.baseURI + 'drawing.js').then(({ ticks }) => done(ticks(centre, length)));
    """
    assert [value for value, _ in page.execute_async_script(found, 0, 2)] == [-1, -0.5, 0, 0.5, 1]
    for centre, length in ((0.3, 6e-17), (1e300, 1e280), (1e300, 1.0), (1e-300, 1e-302), (1e6, 1e-3), (0, 0)):
        assert len(page.execute_async_script(found, centre, length)) <= 7


def wait_for(condition):
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.mark.parametrize("dark", [False, True])
def test_a_phone(dark):
    with toy_page.served() as address, toy_page.browser(390, 844, dark) as page:
        page.execute_cdp_cmd("Emulation.setTouchEmulationEnabled", {"enabled": True})
        page.get(address)
        rest(page)
        size = "return [document.documentElement.scrollWidth, document.getElementById('plane').clientHeight]"
        width, height = page.execute_script(size)
        assert width <= 390 and 250 < height < 600
        for kind in ("touchStart", "touchEnd"):
            points = [{"x": 195, "y": 200}] if kind == "touchStart" else []
            page.execute_cdp_cmd("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        wait_for(lambda: len(rows_of(page)) == 1)
        ground = page.execute_script("return getComputedStyle(document.body).backgroundColor")
        assert (sum(map(int, ground[4:-1].split(","))) < 300) == dark
