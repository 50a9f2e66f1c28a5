"""The report in a browser: Chromium, where one is installed."""

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
const answer = document.createElement("pre");
answer.id = "seen";
answer.textContent = JSON.stringify(seen);
document.body.append(answer);
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
            page.write_text(page.read_text(encoding="utf-8").replace("</body>", f"<script>{script}</script></body>"), encoding="utf-8")
        return page

    def test_the_report_loads_and_is_filtered_without_a_word_in_the_console(self) -> None:
        text, said = self.loaded(self.page(READER), "--window-size=420,900")
        self.assertEqual(said, [])
        seen = json.loads(re.search(r'<pre id="seen">(.*?)</pre>', text, re.DOTALL)[1].replace("&amp;", "&"))
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

    def test_an_error_of_a_page_is_found(self) -> None:
        _, said = self.loaded(self.page("console.error('planted'); nothing_of_this_name()"))
        self.assertEqual(len(said), 2, said)
        self.assertIn("planted", said[0])
        self.assertIn("nothing_of_this_name", said[1])


if __name__ == "__main__":
    unittest.main()
