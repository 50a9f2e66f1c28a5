#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <chrono>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "jobs.hpp"

namespace {

using stream_test::on_pool;
namespace stream = coflux::stream;

TEST(transform, runs_stages_in_their_order) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        std::vector<int> seen;
        stream::memory_sink<std::string> sink;
        (void)co_await stream::run(here, stream::from(stream::memory_source<int>(std::vector{1, 2, 3, 4})) |
                                             stream::filter([](int i) { return i % 2 == 0; }) |
                                             stream::tap([&](int i) { seen.push_back(i); }) |
                                             stream::flat_map<int>([](int i, const auto& emit) {
                                                 for (int n = 0; n != i; ++n) emit(n);
                                             }) |
                                             stream::map([](int i) { return std::to_string(i); }) | stream::to(sink));
        EXPECT_EQ(seen, (std::vector{2, 4}));
        EXPECT_EQ(sink.values(), (std::vector<std::string>{"0", "1", "0", "1", "2", "3"}));
    });
}

struct named {
    std::string name;
};

TEST(transform, takes_pointers_to_members) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_sink<std::string> sink;
        (void)co_await stream::run(here, stream::from(stream::memory_source<named>(std::vector<named>{{"a"}, {"b"}})) |
                                             stream::map(&named::name) | stream::to(sink));
        EXPECT_EQ(sink.values(), (std::vector<std::string>{"a", "b"}));
    });
}

TEST(transform, tries_a_record_again_as_it_was) {
    on_pool(1, [](coflux::environment& here) -> coflux::call<void> {
        bool fails = true;
        const auto once = [&](const named& n) {
            if (std::exchange(fails, false)) throw std::runtime_error("once");
            return n.name;
        };
        const auto doubled = [](named n) { return named{std::move(n.name) + "!"}; };
        stream::memory_sink<std::string> sink;
        (void)co_await stream::run(here,
                                   stream::from(stream::memory_source<named>(std::vector<named>{{"a"}, {"b"}})) |
                                       stream::map(doubled) | stream::map(once) | stream::to(sink),
                                   stream::job{.retries = {.attempts = 1, .first = std::chrono::milliseconds(1)}});
        EXPECT_EQ(sink.values(), (std::vector<std::string>{"a!", "b!"}));
    });
}

}  // namespace
