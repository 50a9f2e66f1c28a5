"""The report in a browser: Chromium, where one is installed."""

import html
import json
import re
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

from runner import comparison, report
from runner.tests.fakes import LabTest, near, result_row, results_of

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
PDFTOTEXT = shutil.which("pdftotext")
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking",
         "--disable-component-update", "--disable-sync", "--enable-logging=stderr", "--virtual-time-budget=5000")
# What a page says to the console, and what it failed at, whatever the level.
SAID = re.compile(r":CONSOLE(?::\d+)?(?:\(\d+\))?\] (.*)")
# Looks at the page as a reader does who filters it, and leaves what it saw in the document.
READER = """
const seen = {};
const select = (name) => document.querySelector(`[data-filter="${name}"]`);
const choose = (name, value) => { select(name).value = value; select(name).dispatchEvent(new Event("change")); };
const shown = (what) => [...document.querySelectorAll(what)].filter((each) => each.checkVisibility());
for (const each of document.querySelectorAll("details")) each.open = true;
const look = () => ({
  rows: shown("section tr[data-dress]").map(({ dataset }) => `${dataset.workload} ${dataset.runtime} ${dataset.dress} ${dataset.allocator}`),
  losses: shown("tr:has(.rival)").length, sections: shown("section").length, said: document.querySelector("output").textContent,
  empty: shown(".scroll table").filter((each) => ![...each.querySelectorAll("td")].some((cell) => cell.checkVisibility())).length,
});
seen.all = look();
for (const [name, value] of [["workload", "skynet"], ["runtime", "tokio"], ["dress", "expert"], ["allocator", "glibc"]]) {
  choose(name, value);
  seen[name] = look();
  document.querySelector(".filters button").click();
}
seen.cleared = look();
seen.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
seen.pictures = [...document.images].map((each) => each.complete && each.naturalWidth > 0);
seen.targets = [...document.querySelectorAll("nav a")].map((each) => document.querySelector(each.getAttribute("href")) !== null);
leave(seen);
"""

# The least contrast of a word with what is behind it (WCAG 2.1, 1.4.3), for each word that is seen.
CONTRASTS = """
for (const each of document.querySelectorAll("details")) each.open = true;
const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
const channels = (colour) => {
  canvas.clearRect(0, 0, 1, 1);
  canvas.fillStyle = colour;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
};
const light = (colour) => channels(colour).slice(0, 3).map((c) => c / 255)
  .map((c) => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4)
  .reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
const ground = (each) => {
  for (let at = each; at; at = at.parentElement) {
    const colour = getComputedStyle(at).backgroundColor;
    if (channels(colour)[3] === 255) return colour;
  }
  return "white";
};
const words = [...document.body.querySelectorAll("*")].filter((each) => each.checkVisibility()
  && [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.data.trim()));
const contrast = (each) => {
  const [low, high] = [light(getComputedStyle(each).color), light(ground(each))].sort((a, b) => a - b);
  return (high + 0.05) / (low + 0.05);
};
const pale = words.filter((each) => contrast(each) < 4.5).map((each) => `${each.tagName}.${each.className} ${contrast(each).toFixed(2)}`);
leave({ dark: matchMedia("(prefers-color-scheme: dark)").matches, words: words.length, pale: [...new Set(pale)],
  paper: light(ground(document.body)) });
"""
# Goes where the Tab key would stop. A region that scrolls is a stop once the page has been laid out, so it looks again for a while.
KEYS = """
const seen = (selector) => [...document.querySelectorAll(selector)].filter((each) => each.checkVisibility());
const start = (each) => each.outerHTML.slice(0, 80);
const look = (left) => {
  const wide = seen(".scroll, .chart").filter((each) => each.scrollWidth > each.clientWidth);
  const unreached = wide.filter((each) => each.tabIndex !== 0);
  if (unreached.length && left) return setTimeout(look, 100, left - 1);
  const stops = seen("a[href], button, select, summary, [tabindex]");
  const unmarked = stops.filter((each) => {
    each.focus({ focusVisible: true });
    const { outlineStyle, outlineWidth } = getComputedStyle(each);
    return document.activeElement !== each || outlineStyle === "none" || parseFloat(outlineWidth) < 1;
  });
  leave({ stops: stops.length, unmarked: unmarked.map(start), wide: wide.length, unreached: unreached.map(start),
    jumps: stops.filter((each) => each.tabIndex > 0).length, unnamed: seen("select").filter((each) => !each.labels.length).length });
};
setTimeout(look, 100, 30);
"""
LEAVE = """
const leave = (seen) => {
  const answer = document.createElement("pre");
  answer.id = "seen";
  answer.textContent = JSON.stringify(seen);
  document.body.append(answer);
};
"""


@unittest.skipUnless(CHROMIUM, "no Chromium is installed (Debian: chromium)")
class InChromium(LabTest):
    def loaded(self, page: Path, *flags: str) -> tuple[str, list[str]]:
        """The document after its scripts, and what it said to the console."""
        with tempfile.TemporaryDirectory() as profile:
            done = subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", *flags, "--dump-dom", page.as_uri()], capture_output=True,
                                  text=True, timeout=240, check=True)
        return done.stdout, SAID.findall(done.stderr)

    def page(self, script: str = "") -> Path:
        """A report with a loss, an expert's dress, another allocator, a failure, and an older run beside it."""
        self.out.mkdir(exist_ok=True)
        rows = [near("coflux", 10.0), near("tokio", 30.0, malloc="tcmalloc"), near("tokio", 8.0, malloc="tcmalloc", dress="expert"),
                near("tokio", 40.0, malloc="glibc", recommended=False), near("coflux", 5.0, workload="skynet", params={"depth": 3}),
                near("coflux", 4.0, workload="skynet", params={"depth": 4}), near("asio", 2.0, workload="skynet", params={"depth": 4}),
                result_row("tbb", [], workload="skynet", params={"depth": 4})]
        collected = results_of(*rows)
        report.write(collected, comparison.compare(results_of(near("coflux", 5.0), *rows[1:]), collected), self.out)
        page = self.out / report.HTML
        if script:
            page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"<script>{LEAVE}{script}</script></body>"), encoding="utf-8")
        return page

    def seen(self, page: Path, *flags: str) -> dict:
        """What the script of the page has left."""
        text, said = self.loaded(page, *flags)
        self.assertEqual(said, [])
        return json.loads(html.unescape(re.search(r'<pre id="seen">(.*?)</pre>', text, re.DOTALL)[1]))

    def test_the_report_loads_and_is_filtered_without_a_word_in_the_console(self) -> None:
        seen = self.seen(self.page(READER), "--window-size=420,900")
        # fib of Coflux and three of tokio, skynet of Coflux twice and of asio; both cases are losses.
        self.assertEqual((len(seen["all"]["rows"]), seen["all"]["losses"], seen["all"]["sections"]), (7, 2, 2))
        self.assertEqual(seen["cleared"], seen["all"])
        for place, name, value in ((0, "workload", "skynet"), (1, "runtime", "tokio"), (2, "dress", "expert"), (3, "allocator", "glibc")):
            left = [row for row in seen["all"]["rows"] if row.split()[place] == value]
            self.assertEqual(seen[name]["rows"], left, name)
            self.assertTrue(seen[name]["said"].startswith(f"{len(left)} of 7 rows"), name)
            # A table of which no row is left is away.
            self.assertEqual(seen[name]["empty"], 0, name)
        self.assertEqual([seen[name]["losses"] for name in ("workload", "runtime", "dress")], [1, 1, 1])
        self.assertEqual(seen["wide"], 0, "the page is wider than a narrow window")
        self.assertTrue(seen["pictures"] and all(seen["pictures"]))
        self.assertTrue(seen["targets"] and all(seen["targets"]))

    def test_each_word_is_read_in_light_and_in_dark(self) -> None:
        page = self.page(CONTRASTS)
        for dark, flag in ((False, "preferredColorScheme=1"), (True, "preferredColorScheme=0")):
            seen = self.seen(page, f"--blink-settings={flag}")
            self.assertEqual(seen["dark"], dark)
            self.assertGreater(seen["words"], 100)
            self.assertEqual(seen["pale"], [], f"dark: {dark}")
            self.assertEqual(seen["paper"] < 0.2, dark)

    def test_the_keyboard_stops_at_what_can_be_used_and_shows_where(self) -> None:
        page = self.page(KEYS)
        page.write_text(page.read_text(encoding="utf-8").replace("<details", "<details open"), encoding="utf-8")
        # A Chromium without a screen may lay out no frame, now and then: then the page has not been told what scrolls.
        seen = next((each for each in (self.seen(page, "--window-size=420,900") for _ in range(3)) if not each["unreached"]), None)
        self.assertIsNotNone(seen, "what scrolls is no stop of the keyboard")
        self.assertGreater(seen["stops"], 10)
        self.assertGreater(seen["wide"], 0)
        self.assertEqual([seen[name] for name in ("unmarked", "jumps", "unnamed")], [[], 0, 0])

    @unittest.skipUnless(PDFTOTEXT, "there is no pdftotext (Debian: poppler-utils)")
    def test_a_print_has_the_figures_and_not_the_filters(self) -> None:
        page = self.page()
        printed = self.out / "report.pdf"
        with tempfile.TemporaryDirectory() as profile:
            subprocess.run([CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--print-to-pdf={printed}", page.as_uri()], capture_output=True,
                           timeout=240, check=True)
        text = subprocess.run([PDFTOTEXT, "-layout", printed, "-"], capture_output=True, text=True, timeout=300, check=True).stdout
        for word in ("skynet", "fib", "tokio", "Where Coflux loses", "verdict"):
            self.assertIn(word, text)
        self.assertNotIn("Clear", text)
        self.assertNotIn("allocator all", text)
        # The last column of the table with most words in a row.
        self.assertIn("slower (holds)", text)

    def test_an_error_of_a_page_is_found(self) -> None:
        _, said = self.loaded(self.page("console.error('planted'); nothing_of_this_name()"))
        self.assertEqual(len(said), 2, said)
        self.assertIn("planted", said[0])
        self.assertIn("nothing_of_this_name", said[1])


if __name__ == "__main__":
    unittest.main()
