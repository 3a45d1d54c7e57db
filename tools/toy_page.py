"""svmx-toy in headless Chromium: a screenshot for the docs, and frame times while a row is dragged.

Usage: python tools/toy_page.py --screenshot docs/figures/toy.png [--dark] [--width N --height N]
       python tools/toy_page.py --frames 300

A frame begins with the pointer event and ends when its last drawing command has been issued; `shown` is the end of the
browser's frame, at 60 Hz, in which it becomes visible. The page's own measurements are printed as medians and 90th
percentiles, in milliseconds. Needs selenium, Chromium and ChromeDriver.
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
import tempfile
import time

import numpy as np

SWITCHES = (
    "--headless=new --no-sandbox --disable-gpu --no-first-run --disable-background-networking "
    "--disable-component-update --disable-sync --hide-scrollbars"
)
PROGRAMS = ("chromium", "chromium-browser", "google-chrome")
PHONE = 600  # pixels: narrower screens are phones
LOOKS = 0.02  # seconds between checks of a busy page
AT_REST = """
return document.getElementById('plane').getAttribute('aria-busy') === null && svmxToy.drawn().head !== null
"""


def browser_programs():
    """Paths of Chromium and of ChromeDriver; None if missing."""
    return next(filter(None, map(shutil.which, PROGRAMS)), None), shutil.which("chromedriver")


@contextlib.contextmanager
def served(*words, before="pass"):
    """The address of a page of a new process, without rows unless ``words`` add them; ``before``: a statement run there
    first."""
    program = f"from libsvmx.cli.toy import entry\n{before}\nentry()"
    words = list(map(str, words)) or ["--example", "none"]
    command = [sys.executable, "-c", program, "--no-browser", *words]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        try:
            yield child.stdout.readline().strip()
        finally:
            child.kill()


@contextlib.contextmanager
def browser(width=1280, height=800, dark=False, folder=None):
    """A browser with an empty profile; downloads go to ``folder``."""
    from selenium import webdriver

    program, driver = browser_programs()
    options = webdriver.ChromeOptions()
    options.binary_location = program
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        for switch in [*SWITCHES.split(), f"--user-data-dir={profile}"]:
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        if folder:
            options.add_experimental_option("prefs", {"download.default_directory": str(folder)})
        page = webdriver.Chrome(options=options, service=webdriver.ChromeService(driver))
        try:
            screen = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": width < PHONE}
            page.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", screen)
            scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
            page.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
            yield page
        finally:
            page.quit()


def rest(page):
    """Wait until all steps are answered and drawn."""
    while not page.execute_script(AT_REST):
        time.sleep(LOOKS)


def choose(page, control, value):
    """Set a select or a field of the page like a user, and wait for the answer."""
    page.execute_script(
        "const [id, value] = arguments, control = document.getElementById(id);"
        "control.value = value; control.dispatchEvent(new Event('change'))",
        control,
        value,
    )
    rest(page)


def pixel_of(page, key):
    """Position of a row in pixels from the centre of the plane, selenium's origin."""
    x, y = page.execute_script(
        "const { rows } = svmxToy.drawn().head, at = rows.key.indexOf(arguments[0]);"
        "const plane = document.getElementById('plane'), [x, y] = svmxToy.pixel(rows.x[at], rows.y[at]);"
        "return [x - plane.clientWidth / 2, y - plane.clientHeight / 2]",
        key,
    )
    return round(x), round(y)


def drag(page, key, steps):
    """Press on a row, move the pointer by these steps in pixels, and release."""
    from selenium.webdriver import ActionChains

    x, y = pixel_of(page, key)
    plane = page.find_element("id", "plane")
    hand = ActionChains(page, duration=0).move_to_element_with_offset(plane, x, y).click_and_hold()
    for right, down in steps:
        hand = hand.move_by_offset(right, down).pause(0.016)
    hand.release().perform()
    rest(page)


def screenshot(path, width, height, dark):
    """Two moons, with one row moved into the other class."""
    with served() as address, browser(width, height, dark) as page:
        page.get(address)
        rest(page)
        choose(page, "example", "moons")
        on_margin = "const { key, mark } = svmxToy.drawn().head.rows; return key[mark.indexOf(1)]"
        drag(page, page.execute_script(on_margin), [(4, 6)] * 3)
        time.sleep(0.5)  # until the hover is drawn
        page.save_screenshot(path)


def frames(count, out):
    """Drag a row of each example around, and print the times of the frames."""
    for example in ("moons", "blobs", "sine"):
        with served() as address, browser() as page:
            page.get(address)
            rest(page)
            choose(page, "example", example)
            key = page.execute_script("return svmxToy.drawn().head.rows.key[0]")
            drag(page, key, [(3, 0)] * 10)
            page.execute_script("svmxToy.frames.length = 0")
            turns = 2 * np.pi * np.arange(count) / 60
            steps = np.round(np.column_stack([14 * np.cos(turns), 14 * np.sin(turns)])).astype(int)
            drag(page, key, steps.tolist())
            time.sleep(0.2)  # until the last frame is shown
            found = page.execute_script("return svmxToy.frames")
            n_sv = page.execute_script("return svmxToy.drawn().head.model.n_sv")
        table = {name: np.array([frame[name] for frame in found]) for name in found[0]}
        server = table["change"] + table["picture"]
        parts = {
            "frame": table["drawn"] - table["event"],
            "  wait": table["sent"] - table["event"],
            "  change": table["change"],
            "  values": table["picture"],
            "  transfer": table["received"] - table["sent"] - server,
            "  drawing": table["drawn"] - table["received"],
            "shown": table["shown"] - table["event"],
        }
        print(f"{example}: {len(found)} frames, 200 rows, {n_sv} support vectors", file=out)
        for name, values in parts.items():
            print(f"  {name:11}{np.median(values):6.1f}{np.quantile(values, 0.9):6.1f}", file=out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--screenshot", metavar="FILE")
    parser.add_argument("--dark", action="store_true")
    parser.add_argument("--width", type=int, default=1280)
    parser.add_argument("--height", type=int, default=800)
    parser.add_argument("--frames", type=int, metavar="N")
    given = parser.parse_args()
    if not (given.screenshot or given.frames):
        parser.error("say --screenshot FILE or --frames N")
    if None in browser_programs():
        parser.error("Chromium and ChromeDriver are not on the PATH")
    if given.screenshot:
        screenshot(given.screenshot, given.width, given.height, given.dark)
    if given.frames:
        frames(given.frames, sys.stdout)


if __name__ == "__main__":
    main()
