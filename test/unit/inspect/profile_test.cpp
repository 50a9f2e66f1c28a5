#include <coflux/inspect/profile.hpp>

#include <coflux/coflux.hpp>
#include <coflux/inspect/dump.hpp>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "inspect/profile/processor_samples.hpp"
#include "inspect/profile/sample_ring.hpp"
#include "os/thread/processor_sampling.hpp"
#include "os/thread/thread_number.hpp"
#include "support/cpu_clock.hpp"

namespace {

using namespace std::chrono_literals;
namespace inspect = coflux::inspect;
namespace detail = coflux::detail;
namespace os = coflux::detail::os;

using pool = coflux::thread_pool_executor;
using inspect::profile_result;
using inspect::profile_stack;

/// Uses the processor for so long, whatever else the machine does.
[[gnu::noinline]] void compute_for(std::chrono::nanoseconds time) {
    const auto begin = coflux_test::thread_cpu_time();
    while (coflux_test::thread_cpu_time() - begin < time) {}
}

coflux::call<void> computes_for_long(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)here;
    compute_for(600ms);
}
coflux::call<void> computes_for_short(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)here;
    compute_for(200ms);
}
coflux::task<void, pool> computes_both(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await computes_for_long(here);
    co_await computes_for_short(here);
}
/// When it has ended, its worker is one that a profile finds at its begin.
coflux::task<void, pool> begins(coflux::environment&) {
    co_return;
}
coflux::task<void, pool> has_no_context(coflux::environment&) {
    compute_for(100ms);
    co_return;
}
coflux::call<void> recurses(coflux::environment&, int deep) {
    auto&& here = co_await coflux::context();
    if (deep == 0) {
        compute_for(100ms);
    } else {
        co_await recurses(here, deep - 1);
    }
}
coflux::task<void, pool> begins_recursion(coflux::environment&, int deep) {
    auto&& here = co_await coflux::context();
    co_await recurses(here, deep);
}
coflux::fork<int, pool> ends(coflux::environment&, int how) {
    auto&& here = co_await coflux::context();
    (void)here;
    if (how % 4 == 0) throw std::runtime_error("planted");
    co_return how;
}
/// Makes and destroys frames, failed ones too, for so long.
coflux::task<int, pool> churns(coflux::environment&, std::chrono::nanoseconds time) {
    auto&& here = co_await coflux::context();
    const auto begin = coflux_test::thread_cpu_time();
    int failed = 0;
    while (coflux_test::thread_cpu_time() - begin < time) {
        for (int i = 0; i < 32; ++i) {
            auto child = ends(here, i);
            const auto outcome = co_await coflux::as_outcome(std::move(child));
            failed += outcome.has_error() ? 1 : 0;
        }
    }
    co_return failed;
}
coflux::task<void, pool> waits_for_event(coflux::environment&, coflux::manual_reset_event* event) {
    auto&& here = co_await coflux::context();
    (void)here;
    co_await event->wait();
}

/// The stacks whose innermost frames are of that function.
std::vector<profile_stack> stacks_of(const std::vector<profile_stack>& all, std::string_view function,
                                     std::size_t from_the_end = 1) {
    std::vector<profile_stack> found;
    for (const profile_stack& s : all) {
        if (s.frames.size() < from_the_end) continue;
        const std::string& frame = s.frames[s.frames.size() - from_the_end];
        if (frame.find(std::string(function) + " at ") != std::string::npos) found.push_back(s);
    }
    return found;
}
std::uint64_t samples_in(const std::vector<profile_stack>& all, std::string_view function) {
    std::uint64_t count = 0;
    for (const profile_stack& s : stacks_of(all, function)) count += s.count;
    return count;
}
void wait_until_dumped(std::string_view text) {
    while (inspect::dump().find(text) == std::string::npos) std::this_thread::yield();
}

#if defined(__linux__)

// --- time on the processor -------------------------------------------------------------------------------------------

TEST(profile, shows_each_coroutine_s_share_of_the_time_on_the_processor) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    begins(env).join();
    inspect::profiler p;
    computes_both(env).join();
    const profile_result r = p.stop();
    const std::uint64_t of_long = samples_in(r.processor, "computes_for_long");
    const std::uint64_t of_short = samples_in(r.processor, "computes_for_short");
    // 60 and 20, if the system's ticks were right on time; fewer where other threads have the processor at many of
    // them.
    EXPECT_GE(of_long + of_short, 20U);
    EXPECT_LE(of_long + of_short, 82U);
    EXPECT_GT(of_long, of_short);
    EXPECT_GE(of_short, 1U);
    EXPECT_EQ(r.lost, 0U);
    EXPECT_EQ(r.left_out, 0U);
    const profile_stack s = stacks_of(r.processor, "computes_for_long").at(0);
    EXPECT_EQ(s.time, s.count * 10ms);
    ASSERT_EQ(s.frames.size(), 2U);
    EXPECT_NE(s.frames[0].find("computes_both at "), std::string::npos) << s.frames[0];
    EXPECT_NE(s.frames[1].find("profile_test.cpp:"), std::string::npos) << s.frames[1];
}

TEST(profile, has_one_line_for_those_that_have_not_asked_for_their_context) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    begins(env).join();
    inspect::profiler p;
    has_no_context(env).join();
    const profile_result r = p.stop();
    ASSERT_EQ(r.processor.size(), 1U);
    EXPECT_EQ(r.processor[0].frames, std::vector<std::string>{"no coroutine that has asked for its context"});
}

TEST(profile, shows_the_inner_64_of_a_deep_chain) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    begins(env).join();
    inspect::profiler p;
    begins_recursion(env, 100).join();
    const profile_result r = p.stop();
    const auto found = stacks_of(r.processor, "recurses");
    ASSERT_FALSE(found.empty());
    EXPECT_EQ(found[0].frames.size(), 65U);
    EXPECT_EQ(found[0].frames[0], "others above");
}

TEST(profile, samples_threads_that_begin_meanwhile) {
    detail::processor_samples samples(1'000'000);
    pool workers(1);
    auto env = coflux::make_environment(workers);
    begins_recursion(env, 0).join();  // its worker has begun
    samples.find_threads();
    begins_recursion(env, 0).join();
    detail::frame_names names;
    detail::stack_times into;
    samples.take_all(names, into);
    // There are 100. The system looks at a thread's clock at its ticks: a thread that runs only between them is seen
    // less.
    EXPECT_GE(samples_in(into.all(names), "recurses"), 10U);
    EXPECT_EQ(samples.left_out(), 0U);
}

TEST(profile, reads_chains_while_frames_come_and_go) {
    pool workers(2);
    auto env = coflux::make_environment(workers);
    inspect::profiler p({.frequency = 1000});
    auto first = churns(env, 200ms);
    auto second = churns(env, 200ms);
    EXPECT_GT(first.get() + second.get(), 0);
    const profile_result r = p.stop();
    std::uint64_t samples = r.lost;
    for (const profile_stack& s : r.processor) samples += s.count;
    EXPECT_GE(samples, 40U);  // of 400
    EXPECT_FALSE(stacks_of(r.processor, "churns").empty());
}

TEST(profile, is_one_of_a_process_at_a_time) {
    {
        const inspect::profiler first;
        try {
            const inspect::profiler second;
            ADD_FAILURE() << "the second one was made";
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), std::errc::device_or_resource_busy);
        }
    }
    EXPECT_NO_THROW((void)inspect::profile(0ms));
}

// --- waits -----------------------------------------------------------------------------------------------------------

TEST(profile, shows_how_long_coroutines_wait_for_what) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    coflux::manual_reset_event event;
    auto first = waits_for_event(env, &event);
    auto second = waits_for_event(env, &event);
    wait_until_dumped("2 coroutines: waits for a manual_reset_event");
    inspect::profiler p;
    const profile_result r = p.stop();
    event.set();
    first.join();
    second.join();
    const auto found = stacks_of(r.waits, "waits_for_event", 2);
    ASSERT_EQ(found.size(), 1U) << inspect::folded(r.waits);
    EXPECT_EQ(found[0].time, 2 * r.lasted);  // at each look
    EXPECT_EQ(found[0].count, 2 * r.looks);
    ASSERT_EQ(found[0].frames.size(), 2U);
    EXPECT_TRUE(found[0].frames[1].starts_with("waits for a manual_reset_event at 0x")) << found[0].frames[1];
}

TEST(profile, names_no_thing_where_coroutines_of_one_place_wait_for_several) {
    pool workers(1);
    auto env = coflux::make_environment(workers);
    coflux::manual_reset_event one;
    coflux::manual_reset_event other;
    auto first = waits_for_event(env, &one);
    auto second = waits_for_event(env, &other);
    wait_until_dumped("2 coroutines: waits for a manual_reset_event");
    inspect::profiler p;
    const profile_result r = p.stop();
    one.set();
    other.set();
    first.join();
    second.join();
    const auto found = stacks_of(r.waits, "waits_for_event", 2);
    ASSERT_EQ(found.size(), 1U) << inspect::folded(r.waits);
    EXPECT_EQ(found[0].frames[1], "waits for a manual_reset_event");
}

#endif

// --- its parts -------------------------------------------------------------------------------------------------------

TEST(profile, is_folded_as_flame_graph_tools_read_it) {
    const std::vector<profile_stack> stacks{{{"outer at a.cpp:1", "in;ner at b.cpp:2"}, 1500us, 3}, {{"x"}, 999ns, 1}};
    EXPECT_EQ(inspect::folded(stacks), "outer at a.cpp:1;in,ner at b.cpp:2 1500\nx 0\n");
    EXPECT_EQ(inspect::folded({}), "");
}

#if defined(__linux__)

TEST(processor_sampling, calls_with_the_periods_that_passed_and_leaves_errno_as_it_was) {
    std::atomic<std::uint32_t> periods{0};
    const auto count = [](void* of, std::uint32_t index, std::uint32_t passed) noexcept {
        EXPECT_EQ(index, 7U);
        *static_cast<std::atomic<std::uint32_t>*>(of) += passed;
        errno = ENOENT;
    };
    {
        os::processor_sampling sampling(1'000'000, count, &periods);
        ASSERT_TRUE(sampling.add(os::this_thread_number(), 7));
        errno = EILSEQ;
        compute_for(100ms);
        EXPECT_EQ(errno, EILSEQ);
    }
    const std::uint32_t at_end = periods;
    EXPECT_GE(at_end, 50U);  // of 100
    EXPECT_LE(at_end, 110U);
    compute_for(20ms);
    EXPECT_EQ(periods, at_end);
}

TEST(processor_sampling, refuses_a_thread_that_is_not_there) {
    os::processor_sampling sampling(1'000'000, [](void*, std::uint32_t, std::uint32_t) noexcept {}, nullptr);
    EXPECT_FALSE(sampling.add(std::uint64_t{1} << 29, 0));
}

#endif

TEST(sample_ring, keeps_the_order_and_counts_what_has_no_room) {
    const auto ring = std::make_unique<detail::processor_sample_ring>();
    std::uint32_t next = 0;
    const auto add = [&] { ring->add(2, [&](detail::processor_sample& s) { s.depth = next; }); };
    for (std::uint32_t round = 0; round < 3; ++round) {
        for (next = 0; next < 300; ++next) add();
        std::uint32_t taken = 0;
        ring->take_all([&](const detail::processor_sample& s) { EXPECT_EQ(s.depth, taken++); });
        EXPECT_EQ(taken, 256U);
        EXPECT_EQ(ring->lost(), 2U * 44 * (round + 1));
    }
}

}  // namespace
