// The common part of the tests of stream jobs: records, sources and sinks that misbehave.
#pragma once

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace stream_test {

namespace stream = coflux::stream;

struct order {
    std::uint64_t customer;
    std::int64_t amount;
};

inline std::vector<order> orders(std::size_t n) {
    std::vector<order> all(n);
    for (std::size_t i = 0; i != n; ++i) all[i] = {i % 100, static_cast<std::int64_t>(i % 300)};
    return all;
}

struct total {
    std::int64_t sum = 0;
    template <typename A>
    void fields(A& all) {
        all(sum);
    }
};

/// Runs `block(here)` as a root on a pool.
template <typename Block>
void on_pool(std::size_t threads, Block block) {
    coflux::thread_pool_executor pool{threads};
    auto env = coflux::make_environment(pool);
    constexpr auto root = [](coflux::environment&,
                             coflux::borrowed<Block> b) -> coflux::task<void, coflux::thread_pool_executor> {
        auto& here = co_await coflux::context();
        co_await (*b)(here);
    };
    root(env, coflux::borrowed(block)).get();
}

/// Refuses a whole write where `refuses` says so of one of its records.
template <typename T>
struct refusing_sink {
    std::function<bool(const T&)> refuses;
    std::vector<T> values{};

    explicit refusing_sink(std::function<bool(const T&)> f) : refuses(std::move(f)) {}
    coflux::call<void> write(coflux::environment&, std::span<stream::record<T>> records) {
        for (const auto& each : records) {
            if (refuses(each.value)) throw std::runtime_error("the sink refuses");
        }
        for (const auto& each : records) values.push_back(each.value);
        co_return;
    }
    coflux::call<void> flush(coflux::environment&) { co_return; }
};

/// Waits in its first write until the gate is open.
template <typename T>
struct gated_sink {
    coflux::manual_reset_event has_begun{};
    coflux::manual_reset_event gate{};
    std::size_t written = 0;
    coflux::call<void> write(coflux::environment&, std::span<stream::record<T>> records) {
        has_begun.set();
        co_await gate.wait();
        written += records.size();
    }
    coflux::call<void> flush(coflux::environment&) { co_return; }
};

struct failing_source {
    using value_type = order;
    bool has_given = false;
    coflux::call<bool> read(coflux::environment&, stream::batch<order>& into, std::size_t) {
        if (has_given) throw std::runtime_error("the source has failed");
        has_given = true;
        into.push_back({{1, 1}, {}, 1});
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
};

struct endless_source {
    using value_type = order;
    std::atomic<std::int64_t> given{0};
    coflux::call<bool> read(coflux::environment&, stream::batch<order>& into, std::size_t most) {
        co_await coflux::yield();
        for (std::size_t i = 0; i != most; ++i) {
            const std::int64_t n = given++;
            into.push_back({{static_cast<std::uint64_t>(n % 10), 1}, {}, n + 1});
        }
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
};

/// Gives `values`, and waits for a commit behind each `step` of them.
struct paced_source {
    using value_type = order;
    std::vector<order> values;
    std::size_t step;
    stream::job_control& control;
    std::size_t next = 0;

    coflux::call<bool> read(coflux::environment&, stream::batch<order>& into, std::size_t most) {
        if (next == values.size()) co_return false;
        if (next != 0 && next % step == 0) {
            const auto before = control.snapshot().commits;
            while (control.snapshot().commits == before) co_await coflux::sleep_for(std::chrono::milliseconds(1));
        }
        for (std::size_t i = 0; i != most && next != values.size(); ++i) {
            into.push_back({values[next], {}, static_cast<std::int64_t>(next + 1)});
            if (++next % step == 0) break;
        }
        co_return true;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
};

/// Never gives anything.
struct waiting_source {
    using value_type = order;
    coflux::manual_reset_event never{};
    coflux::call<bool> read(coflux::environment&, stream::batch<order>&, std::size_t) {
        co_await never.wait();
        co_return false;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
};

}  // namespace stream_test
