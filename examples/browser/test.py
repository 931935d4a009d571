"""Tests the page in headless Chromium, against the native programs. Run by test.sh.

    --programs FOLDER   the examples folder of a build that has `forecast` and `generate_text` (built if omitted)
    --pictures FOLDER   where to write screenshots (build/browser/pictures)
"""
import argparse
import csv
import functools
import http.server
import pathlib
import shutil
import subprocess
import tempfile
import threading
import time

from selenium import webdriver
from selenium.webdriver.chrome.service import Service
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGE = ROOT / "build/browser"
BIRTHS = ROOT / "examples/forecast/us_births_daily.csv"
TABS = ["draw", "teach", "forecast", "text", "speed"]
PROMPT = "And Noah opened the gate"


class Server(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_):
        pass


class Browser:
    """The page in a browser."""

    def __init__(self, pictures):
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), functools.partial(Server, directory=str(PAGE)))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.url = f"http://127.0.0.1:{server.server_port}/"
        self.pictures = pictures
        options = webdriver.ChromeOptions()
        for flag in ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]:
            options.add_argument(flag)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL"})
        self.driver = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
        self.driver.set_script_timeout(60)

    def open(self, tab, width=1180, height=1400, dark=False):
        phone = width < 500
        metrics = {"width": width, "height": height, "deviceScaleFactor": 2 if phone else 1, "mobile": phone}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.get("about:blank")
        self.driver.get(f"{self.url}#{tab}")
        self.tab = tab
        ready = {"draw": "#draw-panel[data-first-answer]", "forecast": "#forecast-panel svg path", "teach": ".counts button"}
        self.wait(lambda: tab not in ready or self.driver.find_elements(By.CSS_SELECTOR, ready[tab]), f"{tab} opens")

    def find(self, selector):
        return self.driver.find_element(By.CSS_SELECTOR, f"#{self.tab}-panel {selector}")

    def text(self, selector):
        """The element's text, or "" if there is no element. Uses one script because the page may replace the element."""
        return self.script("return document.querySelector(arguments[0])?.textContent ?? ''", f"#{self.tab}-panel {selector}")

    def script(self, code, *arguments):
        return self.driver.execute_script(code, *arguments)

    def wait(self, condition, what, seconds=60):
        end = time.monotonic() + seconds
        while not condition():
            assert time.monotonic() < end, f"timed out: {what}"
            time.sleep(0.02)

    def picture(self, name):
        time.sleep(0.4)  # transitions
        self.driver.save_screenshot(str(self.pictures / f"{name}.png"))

    def drop(self, name, content=None, size=0):
        """Drops a file on the panel, with `content` or with `size` zero bytes."""
        self.script("""
          const transfer = new DataTransfer();
          transfer.items.add(new File([arguments[1] ?? new Uint8Array(arguments[2])], arguments[0]));
          document.querySelector("#forecast-panel").dispatchEvent(new DragEvent("drop", {dataTransfer: transfer, bubbles: true}));
        """, name, content, size)

    def expect_quiet(self):
        loud = [entry["message"] for entry in self.driver.get_log("browser") if entry["level"] in ("SEVERE", "WARNING")]
        assert not loud, loud


def expect_equal(got, wanted, what):
    assert got == wanted, f"{what}: got {got!r}, expected {wanted!r}"


def check_engine(browser):
    browser.open("draw")
    views, failed = browser.driver.execute_async_script("""
      const done = arguments[0];
      (async () => {
        const { start } = await import("./engine.js");
        const { flat, written } = await import("./pad.js");
        const strokes = flat(written(3)), inside = new Float32Array(strokes.length + 2).fill(NaN);
        inside.set(strokes, 1);
        const engine = start("digits", "mnist.safetensors");
        const views = [];
        for (const view of [strokes, inside.subarray(1, -1)]) views.push((await engine.call("classify", view)).numbers.join());
        window.Worker = class {
          constructor() { setTimeout(() => this.onerror({ message: "broken worker" })); }
          postMessage() {}
        };
        const broken = start("digits"), failed = [];
        await broken.opened.catch((error) => failed.push(error.message));
        await broken.call("classify").catch((error) => failed.push(error.message));
        return [views, failed];
      })().then(done, (error) => done([[], [String(error)]]));
    """)
    expect_equal(failed, ["broken worker"] * 2, "the errors of calls before and after a worker fails")
    expect_equal(views[1], views[0], "the answer for a view inside a larger buffer")
    print("engine           views and worker failures are handled")


def check_drawing(browser):
    firsts = []
    for _ in range(5):
        browser.open("draw")
        firsts.append(float(browser.script("return document.querySelector('#draw-panel').dataset.firstAnswer")))
    expect_equal(browser.text(".answer output"), "3", "the initial digit")
    pad = browser.find(".pad")
    browser.wait(lambda: int(browser.script("return document.querySelector('#draw-panel').dataset.readings")) >= 2, "warm-up")
    browser.find(".clear").click()
    pen = ActionChains(browser.driver, duration=20).move_to_element_with_offset(pad, -80, -100).click_and_hold()
    for x, y in [(-40, -102), (0, -101), (40, -100), (80, -98), (60, -50), (35, 0), (10, 60), (-10, 110)]:
        pen.move_to_element_with_offset(pad, x, y)
    pen.release().perform()
    browser.wait(lambda: browser.text(".answer output") == "7", "a drawn seven is recognized as 7")
    times = []
    for digit in "0123456789":
        pad.send_keys(digit)
        browser.wait(lambda: browser.text(".answer output") == digit, f"the key {digit} draws a {digit}")
        times.append(float(browser.text(".sure").split(" in ")[1].split()[0]))
    pad.send_keys(Keys.DELETE, *[Keys.ARROW_LEFT] * 2, " ", *[Keys.ARROW_DOWN] * 14)  # arrow keys draw a 1
    browser.wait(lambda: browser.text(".answer output") == "1", "arrow keys draw a 1")
    print(f"first answer     {sorted(firsts)[2]:.0f} ms after opening (median of 5, {min(firsts):.0f} to {max(firsts):.0f})")
    print(f"reading a digit  {sorted(times)[5]:.1f} ms (median of 10, at most {max(times):.1f})")


def check_forecast(browser, programs):
    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "twice.csv"
        lines = BIRTHS.read_text().split()[1:1501]
        rows = [line.split(",") for line in lines]
        table = [f"{day},{births},{'' if i == 700 else 2 * int(births) + i}" for i, (day, births) in enumerate(rows)]
        data.write_text("\n".join(["date,births,twice"] + table) + "\n")
        subprocess.run([programs / "forecast/forecast", data, "--model", PAGE / "births.safetensors", "--out", folder], check=True,
                       stdout=subprocess.DEVNULL)
        with open(pathlib.Path(folder) / "forecast.csv") as file:
            wanted = list(csv.reader(file))[1:]
        browser.open("forecast")
        browser.drop("twice.csv", data.read_text())
    browser.wait(lambda: "1,500 rows" in browser.text(".source"), "the CSV is loaded")
    browser.wait(lambda: "gaps 1" in browser.text(".status"), "the gap is reported")
    worst = 0
    for column, name in enumerate(["births", "twice"]):
        browser.script("const s = document.querySelector('#forecast-panel select'); s.selectedIndex = arguments[0];"
                       "s.dispatchEvent(new Event('change'))", column)
        browser.find("input[type=range]").send_keys(Keys.END)
        browser.wait(lambda: browser.text("svg text") == name and browser.text(".numbers td") == wanted[0][0], "the last day")
        cells = browser.script("return [...document.querySelectorAll('.numbers tbody tr')].map(r => [...r.cells].map(c => c.textContent))")
        expect_equal([row[0] for row in cells], [row[0] for row in wanted], "the times")
        worst = max(worst, *(abs(float(ours[1]) / float(theirs[column + 1]) - 1) for ours, theirs in zip(cells, wanted)))
    assert worst < 1e-4, f"the forecast differs from the native program's by {worst}"
    print(f"forecast         differs from the native program's by {worst:.1e} at most")
    bad = "\n".join(["date,births"] + lines[:500] + ["2001-05-15,many"])
    for name, content, size, sentence in [
        ("bad.csv", bad, 0, 'bad.csv: line 502, column 2: "many" is not a number'),
        ("short.csv", "\n".join(["date,births"] + lines[:100]), 0, "the series have 100 rows"),
        ("large.csv", None, 100_000_000, "large.csv: 100 MB is over the limit of 20 MB"),
        ("none.csv", "date,name\n2001-01-01,a\n2001-01-02,b\n", 0, "is not a number"),
    ]:
        browser.drop(name, content, size)
        browser.wait(lambda: sentence in browser.text(".status"), f"{name}: an error message")
    browser.find(".example").click()
    browser.wait(lambda: "5,479 rows" in browser.text(".source") and browser.text(".status") == "", "the example loads after errors")


def check_text(browser, programs):
    browser.open("text")
    browser.script("for (let i = 0; i < 2; ++i) arguments[0].click()", browser.find(".write"))  # a double click starts one loop
    browser.wait(lambda: len(browser.text(".page span")) > 400, "400 bytes")
    browser.find(".stop").click()
    browser.wait(lambda: browser.find(".on").is_enabled(), "writing stops")
    stopped = browser.text(".page")
    time.sleep(0.1)
    expect_equal(browser.text(".page"), stopped, "the stopped text")
    browser.find(".on").click()
    browser.wait(lambda: len(browser.text(".page span")) > 1200, "writing continues")
    browser.find(".stop").click()
    browser.wait(lambda: browser.find(".on").is_enabled(), "writing stops again")
    ours = browser.text(".page")
    command = [programs / "generate_text/generate_text", "--prompt", PROMPT, "--temperature", "0.6", "--tokens", str(len(ours))]
    theirs = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    expect_equal(ours, theirs[:len(ours)], "the text")
    print(f"text             {len(ours)} characters equal to the native program's, {browser.text('.rate')} tokens per second")


def check_teaching(browser):
    browser.open("teach")
    browser.find(".counts button:nth-child(8)").click()
    pad = browser.find(".pad")
    for _ in range(5):
        pad.send_keys("7", Keys.ENTER)
    assert browser.find(".learn").is_enabled(), "five drawings of one digit are not enough"
    browser.find(".mirror").click()
    browser.find(".learn").click()
    browser.wait(lambda: "Trained in" in browser.text(".status"), "training ends")
    before, after = [int(browser.text(f".result tr:first-child td:nth-child({i})").split()[0]) for i in (2, 3)]
    assert after > before and after >= 8, f"{before} of 10 recognized before, {after} after"
    kept = browser.text(".result tr:nth-child(2) td:nth-child(3)")
    print(f"teaching         {before} of 10 recognized before, {after} after; the page's own digits: {kept}; "
          f"{browser.text('.status')}")


def check_speed(browser):
    browser.open("speed")
    browser.find(".measure").click()
    browser.wait(lambda: browser.text(".int8 output") != "–", "int8 is measured")
    print(f"speed            gMLP-S/16 in float {browser.text('.float output')}, in int8 {browser.text('.int8 output')}")


def check_looks(browser):
    for width, height, kind in [(1180, 1280, "desk"), (360, 740, "phone")]:
        for dark in (False, True):
            for tab in TABS:
                browser.open(tab, width, height, dark)
                wide = browser.script("return document.documentElement.scrollWidth")
                assert wide <= width, f"{tab} is {wide} pixels wide at a width of {width}"
                browser.picture(f"{tab}-{kind}{'-dark' if dark else ''}")


def build_programs():
    folder = ROOT / "build/browser-native"
    with open(ROOT / "build/browser-native.log", "w") as log:
        run = functools.partial(subprocess.run, cwd=ROOT, check=True, stdout=log, stderr=log)
        run(["cmake", "-S", ".", "-B", folder, "-DCMAKE_BUILD_TYPE=Release", "-DGATED_BUILD_TESTS=OFF", "-DGATED_BUILD_BENCH=OFF"])
        run(["cmake", "--build", folder, "--target", "forecast", "generate_text"])
    return folder / "examples"


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--programs", type=pathlib.Path)
    parser.add_argument("--pictures", type=pathlib.Path, default=PAGE / "pictures")
    arguments = parser.parse_args()
    arguments.pictures.mkdir(parents=True, exist_ok=True)
    programs = arguments.programs or build_programs()
    browser = Browser(arguments.pictures)
    try:
        check_engine(browser)
        check_drawing(browser)
        check_forecast(browser, programs)
        check_text(browser, programs)
        check_teaching(browser)
        check_speed(browser)
        check_looks(browser)
        browser.expect_quiet()
    finally:
        browser.driver.quit()
    print("console          no warnings or errors")


if __name__ == "__main__":
    main()
