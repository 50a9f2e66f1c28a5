import os
import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from runner.paths import LAB
from runner.tests.fakes import COMPILER, LabTest

# As the lab's own project: a folder of a runtime, and what the adapters share.
PROJECT = f"""cmake_minimum_required(VERSION 3.24)
project(lab LANGUAGES CXX)
add_library(lab_common INTERFACE)
add_subdirectory("{LAB / "runtimes" / "folly"}" folly)
if(TARGET lab_folly)
    get_target_property(definitions lab_folly COMPILE_DEFINITIONS)
    message(STATUS "lab_folly has ${{definitions}}")
endif()
"""
PACKAGE = """set(FOLLY_PREFIX_DIR "${CMAKE_CURRENT_LIST_DIR}/../../..")
add_library(Folly::folly INTERFACE IMPORTED)
"""


class WithoutIt(LabTest):
    def test_a_row_says_what_to_do_and_is_no_failure(self) -> None:
        self.fake("coflux")
        done = self.measure("--workload", "fib", "--size", "smoke", "--runtime", "coflux", "folly", "--reps", "1")
        self.assertEqual(done.status, 0)
        self.assertEqual(self.row("folly")["status"], "unavailable")
        self.assertIn("no Folly where CMake looks", self.row("folly")["reason"])
        self.assertIn("CMAKE_PREFIX_PATH", self.row("folly")["reason"])


@unittest.skipUnless(COMPILER, "no C++ compiler")
class Found(unittest.TestCase):
    """Whether CMake makes the adapter; Folly is a file that only states a library."""

    def setUp(self) -> None:
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        (self.root / "CMakeLists.txt").write_text(PROJECT, encoding="utf-8")
        self.prefix = self.root / "prefix"

    def install(self, version: str | None) -> None:
        package = self.prefix / "lib" / "cmake" / "folly"
        package.mkdir(parents=True)
        (package / "folly-config.cmake").write_text(PACKAGE, encoding="utf-8")
        if version is not None:
            (self.prefix / "lib" / "pkgconfig").mkdir()
            (self.prefix / "lib" / "pkgconfig" / "libfolly.pc").write_text(f"Name: libfolly\nVersion: {version}\n", encoding="utf-8")

    def configure(self) -> str:
        # What CMake would choose itself, make and c++, need not be installed.
        done = subprocess.run(["cmake", "-S", str(self.root), "-B", str(self.root / "build"), "-G", "Ninja",
                               f"-DCMAKE_CXX_COMPILER={COMPILER}"], text=True, capture_output=True,
                              env=os.environ | {"CMAKE_PREFIX_PATH": str(self.prefix)}, check=False)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def test_without_it_the_adapter_is_left_out_and_with_it_made(self) -> None:
        self.assertIn("lab: no Folly in CMAKE_PREFIX_PATH, leaving out lab_folly", self.configure())
        self.install("2026.08.17.00")
        self.assertIn('lab_folly has LAB_FOLLY_VERSION="2026.08.17.00"', self.configure())

    def test_a_version_that_is_stated_nowhere_is_unknown(self) -> None:
        self.install(None)
        self.assertIn('lab_folly has LAB_FOLLY_VERSION="unknown"', self.configure())
