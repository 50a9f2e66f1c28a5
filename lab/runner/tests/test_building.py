import io
import os
import tempfile
import unittest
from pathlib import Path

from runner.building import BuildProgress, watch
from runner.tests.test_progress import Terminal


class Building(unittest.TestCase):
    def test_counts_and_time_left_are_shown(self) -> None:
        progress = BuildProgress("building coflux", io.StringIO(), 0.0)
        self.assertEqual(progress.text(1.0), "scripts/lab: building coflux: 0, 1 s so far")
        progress.line("[1/40] Building CXX object a.o", 20.0)
        progress.line("[10/40] Building CXX object b.o", 60.0)
        self.assertEqual(progress.text(60.0), "scripts/lab: building coflux: 10 of 40, 60 s so far, about 2 min left")

    def test_a_second_build_is_counted_for_itself(self) -> None:
        progress = BuildProgress("building", io.StringIO(), 0.0)
        progress.line("[40/40] Linking a", 100.0)
        progress.line("[1/10] Building b.o", 100.0)
        progress.line("[5/10] Building c.o", 110.0)
        self.assertTrue(progress.text(110.0).endswith("about 10 s left"), progress.text(110.0))

    def test_crates_are_counted(self) -> None:
        progress = BuildProgress("building tokio's adapter", io.StringIO(), 0.0)
        for name in ("tokio", "mio"):
            progress.line(f"   Compiling {name} v1.0", 1.0)
        self.assertIn(": 2, 9 s so far", progress.text(9.0))

    def test_packages_are_counted(self) -> None:
        progress = BuildProgress("making a root", io.StringIO(), 0.0)
        for line in ("I: Retrieving apt 3.3.5", "I: Validating apt 3.3.5", "I: Unpacking apt...", "Setting up g++ (4:16.2) ...",
                     "Reading package lists..."):
            progress.line(line, 1.0)
        self.assertIn(": 3, 9 s so far", progress.text(9.0))

    def test_without_a_terminal_there_is_a_line_now_and_then(self) -> None:
        stream = io.StringIO()
        progress = BuildProgress("building", stream, 0.0)
        for second in range(61):
            progress.line(f"[{second + 1}/100] Building", float(second))
            progress.tick(float(second))
        progress.close(61.0)
        self.assertEqual(len(stream.getvalue().splitlines()), 1 + 4 + 1)

    def test_on_a_terminal_the_line_is_refreshed_and_ends_with_the_time_taken(self) -> None:
        stream = Terminal()
        progress = BuildProgress("building", stream, 0.0)
        for second in range(10):
            progress.tick(float(second))
        progress.close(10.0)
        self.assertEqual(stream.getvalue().count("\r\x1b[K"), 11)
        self.assertTrue(stream.getvalue().endswith("\r\x1b[Kscripts/lab: building: ended after 10 s\n"))

    def test_the_whole_output_is_in_the_log(self) -> None:
        reads, writes = os.pipe()
        os.write(writes, b"[1/2] a\n[2/2] b\nno end of line")
        os.close(writes)
        progress = BuildProgress("building", io.StringIO(), 0.0)
        with tempfile.TemporaryDirectory() as folder:
            log = Path(folder) / "log"
            watch(reads, log, progress)
            self.assertEqual(log.read_bytes(), b"[1/2] a\n[2/2] b\nno end of line")
        os.close(reads)
        self.assertIn("2 of 2", progress.text(1.0))
