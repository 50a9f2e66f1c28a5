"""Runtimes that cheat: what the answer of a workload tells of them."""

import subprocess
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

from runner import catalog
from runner.paths import LAB
from runner.tests.fakes import COMPILER

# A scheduler of one thread. With `nothing` its yield does not go to the back of the queue.
YIELDS = r"""
#include "definitions.hpp"

#include <coroutine>
#include <cstdlib>
#include <deque>
#include <exception>
#include <iostream>
#include <string>

namespace {

struct task {
    struct promise_type {
        task get_return_object() { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() {}
        void unhandled_exception() { std::terminate(); }
    };
    std::coroutine_handle<> frame;
};

std::deque<std::coroutine_handle<>> queue;

struct yields {
    bool goes_on;
    bool await_ready() const noexcept { return goes_on; }
    void await_suspend(std::coroutine_handle<> h) const { queue.push_back(h); }
    void await_resume() const noexcept {}
};

task counts(std::uint64_t times, std::uint64_t& done, harness::roll_call& all, bool goes_on) {
    all.come();
    while (all.waits()) co_await yields{goes_on};
    for (std::uint64_t i = 0; i < times; ++i, ++done) co_await yields{goes_on};
}

}  // namespace

int main(int, char** arguments) {
    const std::uint64_t tasks = std::strtoull(arguments[2], nullptr, 10);
    std::uint64_t done = 0;
    harness::roll_call roll{tasks};
    for (std::uint64_t i = 0; i < tasks; ++i)
        queue.push_back(counts(100, done, roll, std::string(arguments[1]) == "nothing").frame);
    while (!queue.empty()) {
        const std::coroutine_handle<> next = queue.front();
        queue.pop_front();
        next.resume();
        if (next.done()) next.destroy();
    }
    std::cout << (roll.complete() ? done : 0);
}
"""


@unittest.skipUnless(COMPILER, "no C++ compiler")
class Yields(unittest.TestCase):
    def test_a_yield_that_does_nothing_is_a_wrong_answer(self) -> None:
        with TemporaryDirectory() as folder:
            source, program = Path(folder) / "yields.cpp", str(Path(folder) / "yields")
            source.write_text(YIELDS, encoding="utf-8")
            subprocess.run([COMPILER, "-std=c++20", "-I", str(LAB / "runtimes" / "common"), str(source), "-o", program],
                           check=True)
            workload = catalog.all_workloads()["yield"]
            params = {"tasks": 8, "yields": 100}
            self.assertIsNone(workload.check(self.answer(program, "queue", "8"), params, 1))
            self.assertEqual(self.answer(program, "nothing", "8"), "0")
            self.assertIsNotNone(workload.check("0", params, 1))

    @staticmethod
    def answer(program: str, *arguments: str) -> str:
        return subprocess.run([program, *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    unittest.main()
