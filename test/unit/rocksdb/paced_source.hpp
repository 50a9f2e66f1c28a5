// A source for tests that count commits.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

namespace coflux_test {

/// A memory_source that gives the next `step` values once there has been a commit for each `step` before.
template <typename T>
struct paced_source : coflux::stream::memory_source<T> {
    std::size_t step;
    coflux::stream::job_control& control;
    std::size_t given = 0;
    std::uint64_t commits = 0;

    paced_source(std::vector<T> values, std::size_t n, coflux::stream::job_control& watched)
        : coflux::stream::memory_source<T>(std::move(values)),
          step(n),
          control(watched) {}
    coflux::call<bool> read(coflux::environment&, coflux::stream::batch<T>& into, std::size_t most) {
        auto& here = co_await coflux::context();
        if (given == step) {
            given = 0;
            ++commits;
            while (control.snapshot().commits < commits) co_await coflux::sleep_for(std::chrono::milliseconds(1));
        }
        const std::size_t before = into.size();
        const bool has_more = co_await coflux::stream::memory_source<T>::read(here, into, std::min(most, step - given));
        given += into.size() - before;
        co_return has_more;
    }
};

}  // namespace coflux_test
