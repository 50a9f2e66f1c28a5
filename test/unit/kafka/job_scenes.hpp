// Shared by the tests of Kafka's ends of stream jobs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/kafka/decode.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/stream/stream.hpp>

#include "kafka_scenes.hpp"

namespace coflux_test {

namespace stream = coflux::stream;

/// The number that a message is; what is none is poison.
inline int number_of(std::string_view text) {
    std::size_t read = 0;
    const int n = text.empty() ? -1 : std::stoi(std::string(text), &read);
    if (read != text.size()) throw std::invalid_argument("it is no number");
    return n;
}

inline std::string text_of_number(int n) {
    return std::to_string(n);
}

/// Keeps what it is given, and drains the job once it has `most`.
class draining_sink {
public:
    draining_sink(std::size_t most, stream::job_control& of) : most_(most), of_(of) {
        if (most == 0) of.drain();
    }

    [[nodiscard]] coflux::call<void> write(coflux::environment&, std::span<stream::record<int>> records) {
        for (const auto& r : records) values.push_back(r.value);
        if (values.size() >= most_) of_.drain();
        co_return;
    }
    [[nodiscard]] coflux::call<void> flush(coflux::environment&) { co_return; }

    std::vector<int> values;

private:
    std::size_t most_;
    stream::job_control& of_;
};

/// Reads until there are `count` records; changes are noted, and what is revoked is released.
template <typename Source>
coflux::call<void> reads_until(coflux::environment&, Source& from, stream::batch<kafka::message>& into,
                               std::size_t count, std::vector<stream::partition_change>* changes = nullptr) {
    auto&& here = co_await coflux::context();
    while (into.size() < count) {
        EXPECT_TRUE(co_await from.read(here, into, count - into.size()));
        if constexpr (stream::rebalanced_source<Source>) {
            while (const auto change = from.take_change()) {
                if (changes != nullptr) changes->push_back(*change);
                if (change->what == stream::partition_event::revoked) co_await from.release(here, change->partition);
            }
        }
    }
}

/// Reads until a change comes.
inline coflux::call<stream::partition_change> reads_change(coflux::environment&, kafka::source& from,
                                                           stream::batch<kafka::message>& into) {
    auto&& here = co_await coflux::context();
    for (;;) {
        if (const auto change = from.take_change()) co_return *change;
        EXPECT_TRUE(co_await from.read(here, into, 1'000));
    }
}

/// Runs a job twice that fails at the first record. A second run would begin behind what was not committed.
template <typename Source, typename Sink, typename Job>
coflux::call<void> refuses_a_second_run(coflux::environment&, Source& in, Sink& out, const Job& how) {
    auto&& here = co_await coflux::context();
    std::vector<std::string> errors;
    for (int run = 0; run != 2; ++run) {
        try {
            const auto fails = [](std::string_view) -> int { throw std::runtime_error("no"); };
            (void)co_await stream::run(here, stream::from(in) | kafka::decode(fails) | stream::to(out), how);
        } catch (const std::exception& e) {
            errors.emplace_back(e.what());
        }
    }
    EXPECT_EQ(errors.size(), 2U);
    expect_in(errors.at(0), "numbers");
    expect_in(errors.at(1), "a source serves one run");
}

}  // namespace coflux_test
