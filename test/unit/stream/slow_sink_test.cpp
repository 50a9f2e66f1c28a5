// How much a job holds while its sink is slow.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_executor.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

namespace {

using namespace std::chrono_literals;
namespace stream = coflux::stream;
using coflux::testing::sim_executor;

/// Counts how many of it there are: a simulation has one thread.
class counted {
public:
    explicit counted(std::uint64_t n) : number_(n) { note_one_more(); }
    counted(const counted& other) noexcept : number_(other.number_) { note_one_more(); }
    counted(counted&& other) noexcept : number_(other.number_) { note_one_more(); }
    counted& operator=(const counted&) = default;
    counted& operator=(counted&&) = default;
    ~counted() { --alive; }

    [[nodiscard]] std::uint64_t number() const noexcept { return number_; }

    static inline std::size_t alive = 0;
    static inline std::size_t most = 0;

private:
    static void note_one_more() noexcept { most = std::max(most, ++alive); }

    std::uint64_t number_;
};

struct counting_source {
    using value_type = counted;
    std::uint64_t values;
    std::uint64_t given = 0;

    coflux::call<bool> read(coflux::environment&, stream::batch<counted>& into, std::size_t most) {
        const std::uint64_t end = std::min<std::uint64_t>(values, given + most);
        const bool has_more = given != end;
        for (; given != end; ++given) {
            into.push_back({counted(given), stream::no_time, static_cast<std::int64_t>(given + 1)});
        }
        co_return has_more;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "0"; }
};

/// A millisecond for each write.
struct slow_sink {
    const counting_source& from;
    std::uint64_t written = 0;
    std::uint64_t most_behind = 0;

    coflux::call<void> write(coflux::environment&, std::span<stream::record<counted>> records) {
        most_behind = std::max(most_behind, from.given - written);
        co_await coflux::sleep_for(1ms);
        written += records.size();
    }
    coflux::call<void> flush(coflux::environment&) { co_return; }
};

constexpr std::uint64_t values = 20'000;
constexpr std::size_t workers = 2;
constexpr std::size_t batch = 10;
constexpr std::size_t buffers = 4;
// A link to each worker and one from it. A buffer is sent once it has a batch; what comes on top is less than what its
// producer takes at a time: the reader a batch, a worker a buffer of the reader's.
constexpr std::size_t bound = workers * buffers * (2 * batch + 3 * batch) + batch;

void soak() {
    counted::most = 0;
    counting_source source{values};
    slow_sink sink{source};
    sim_executor on;
    auto env = coflux::make_environment(on);
    constexpr auto root = [](coflux::environment&, coflux::borrowed<counting_source> from,
                             coflux::borrowed<slow_sink> into) -> coflux::task<void, sim_executor> {
        auto& here = co_await coflux::context();
        (void)co_await stream::run(
            here, stream::from(*from) | stream::by_key(&counted::number) | stream::to(*into),
            stream::job{.workers = workers, .max_batch = batch, .queue_batches = buffers, .commit_every = 10ms});
    };
    root(env, coflux::borrowed(source), coflux::borrowed(sink)).get();
    EXPECT_EQ(sink.written, values);
    EXPECT_EQ(counted::alive, 0U);
    EXPECT_LE(sink.most_behind, bound);
    // One more, which is on its way from one buffer to another.
    EXPECT_LE(counted::most, bound + 1);
    // The test is about nothing where the buffers are not full.
    EXPECT_GE(sink.most_behind, workers * buffers * batch);
}

TEST(slow_sink, a_job_holds_no_more_than_its_buffers) {
    const auto r = coflux::testing::explore({.runs = 10}, [](coflux::testing::simulation&) { soak(); });
    EXPECT_TRUE(r.ok()) << r.report();
}

/// Counts what is written of it, until its store has it.
struct counted_state {
    std::uint64_t sum = 0;

    template <typename A>
    void fields(A& all) {
        if constexpr (std::is_same_v<A, stream::state_writer>) most = std::max(most, ++held);
        all(sum);
    }
    static inline std::size_t held = 0;
    static inline std::size_t most = 0;
};

struct counting_store {
    std::size_t stored = 0;
    coflux::call<void> store(coflux::environment&, const stream::checkpoint&) {
        ++stored;
        counted_state::held = 0;
        co_return;
    }
    coflux::call<std::optional<stream::checkpoint>> load(coflux::environment&, const stream::positions*) {
        co_return std::nullopt;
    }
};

void soak_with_a_store() {
    constexpr std::size_t keys = 8;
    counted_state::held = 0;
    counted_state::most = 0;
    counting_source source{values};
    slow_sink sink{source};
    counting_store store;
    sim_executor on;
    auto env = coflux::make_environment(on);
    constexpr auto root = [](coflux::environment&, coflux::borrowed<counting_source> from,
                             coflux::borrowed<slow_sink> into,
                             coflux::borrowed<counting_store> kept) -> coflux::task<void, sim_executor> {
        auto& here = co_await coflux::context();
        const auto key = [](const counted& c) { return c.number() % keys; };
        const auto add = [](counted_state& s, const counted& c, const auto& emit) {
            s.sum += c.number();
            emit(c);
        };
        (void)co_await stream::run(here,
                                   stream::from(*from) | stream::by_key(key) |
                                       stream::fold<counted_state, counted>(add) | stream::to(*into),
                                   stream::job{.workers = workers,
                                               .max_batch = batch,
                                               .queue_batches = 8 * buffers,
                                               .commit_every = 1ms,
                                               .state = std::ref(*kept)});
    };
    root(env, coflux::borrowed(source), coflux::borrowed(sink), coflux::borrowed(store)).get();
    EXPECT_EQ(sink.written, values);
    // The test is about nothing where there are few commits.
    EXPECT_GE(store.stored, 10U);
    // One snapshot: each key once.
    EXPECT_LE(counted_state::most, keys);
    EXPECT_GE(counted_state::most, keys);
}

TEST(slow_sink, a_job_holds_one_copy_of_its_state_on_the_way_to_its_store) {
    const auto r = coflux::testing::explore({.runs = 10}, [](coflux::testing::simulation&) { soak_with_a_store(); });
    EXPECT_TRUE(r.ok()) << r.report();
}

}  // namespace
