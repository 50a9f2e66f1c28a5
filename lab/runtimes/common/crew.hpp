// Threads that exist before the clock starts and begin together: for the runtimes whose tasks are threads.
#pragma once

#include "harness.hpp"

#include <cstddef>
#include <latch>
#include <thread>
#include <vector>

namespace harness {

// add() exactly `size` bodies, then run() once: it times them from the first step to the end of the last.
class crew {
public:
    explicit crew(std::size_t size) : begin_{static_cast<std::ptrdiff_t>(size) + 1} { threads_.reserve(size); }

    template <std::invocable Body>
    void add(Body body) {
        threads_.emplace_back([this, body]() mutable {
            begin_.arrive_and_wait();
            body();
        });
    }

    void run(stopwatch& watch) {
        watch.start();
        begin_.arrive_and_wait();
        threads_.clear();
        watch.stop();
    }

private:
    std::latch begin_;
    std::vector<std::jthread> threads_;
};

}  // namespace harness
