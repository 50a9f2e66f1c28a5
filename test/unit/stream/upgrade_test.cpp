// A job whose state has another layout than that which was stored.
#include <coflux/stream/state.hpp>

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include "jobs.hpp"

// A namespace with a name, because frames of coroutines have these types.
namespace {

namespace stream = coflux::stream;
using numbers = std::vector<std::uint64_t>;
using outputs = std::vector<std::pair<std::uint64_t, std::int64_t>>;

/// Its first release has `whole`, the second one has hundredths, the third one counts.
template <std::uint32_t Version>
struct total {
    std::int64_t hundredths = 0;
    std::int64_t count = 0;

    template <typename A>
    void fields(A& all) {
        if (all.version() == 0) {
            auto whole = static_cast<std::int32_t>(hundredths / 100);
            all(whole);
            hundredths = std::int64_t{100} * whole;
            return;
        }
        all(hundredths);
        if (all.version() >= 2) all(count);
    }
};

/// Adds the values of each key, from where the last run has ended. Returns: the last output of each.
template <std::uint32_t Version>
outputs run(stream::memory_store& store, numbers values) {
    outputs last(2);
    stream_test::on_pool(2, [&](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(std::move(values));
        stream::memory_sink<std::pair<std::uint64_t, std::int64_t>> sink;
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::by_key([](std::uint64_t v) { return v % 2; }) |
                                       stream::fold<total<Version>, std::pair<std::uint64_t, std::int64_t>>(
                                           [](total<Version>& t, std::uint64_t v, const auto& emit) {
                                               t.hundredths += 100 * static_cast<std::int64_t>(v);
                                               ++t.count;
                                               emit({v % 2, t.hundredths + t.count});
                                           }) |
                                       stream::to(sink),
                                   stream::job{.workers = 2, .state_version = Version, .state = std::ref(store)});
        for (const auto& each : sink.values()) last[each.first] = each;
    });
    return last;
}

TEST(upgrade, reads_a_layout_of_each_older_version) {
    stream::memory_store store;
    EXPECT_EQ(run<0>(store, {1, 2, 3, 4}), (outputs{{0, 602}, {1, 402}}));
    // The positions are those of the first four.
    EXPECT_EQ(run<1>(store, {1, 2, 3, 4, 5, 6}), (outputs{{0, 1201}, {1, 901}}));
    EXPECT_EQ(run<2>(store, {1, 2, 3, 4, 5, 6, 7, 8}), (outputs{{0, 2001}, {1, 1601}}));
    EXPECT_EQ(run<2>(store, {1, 2, 3, 4, 5, 6, 7, 8, 9, 10}), (outputs{{0, 3002}, {1, 2502}}));
}

TEST(upgrade, refuses_a_newer_version) {
    stream::memory_store store;
    (void)run<2>(store, {1, 2});
    try {
        (void)run<1>(store, {1, 2, 3});
        ADD_FAILURE() << "no error";
    } catch (const stream::corrupt_state& e) {
        EXPECT_NE(std::string(e.what()).find("is of version 2; job::state_version is 1"), std::string::npos)
            << e.what();
    }
    EXPECT_EQ(store.kept().size(), 1U);
}

}  // namespace
