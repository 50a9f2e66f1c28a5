#include <coflux/inspect/trace_context.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

namespace {

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using noop = coflux::noop_executor;

constexpr std::string_view example = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

// --- the header

TEST(trace_context, is_read_as_it_is_written) {
    const auto read = coflux::trace_context::parse(example, "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->trace_id[0], 0x4b);
    EXPECT_EQ(read->trace_id[15], 0x36);
    EXPECT_EQ(read->span_id[1], 0xf0);
    EXPECT_EQ(read->flags, coflux::trace_context::sampled);
    EXPECT_EQ(read->state, "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7");
    EXPECT_EQ(read->traceparent(), example);
    EXPECT_EQ(read->trace_id_text(), example.substr(3, 32));
    EXPECT_EQ(read->span_id_text(), example.substr(36, 16));
}

TEST(trace_context, is_not_read_from_what_is_none) {
    for (const std::string_view wrong : {
             "", "00",
             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-0",    // one digit short
             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",  // a digit more
             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01-",  // version 00 has no more parts
             "01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01x",  // no dash before another part
             "ff-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",   // a version that there is not
             "00-4BF92F3577B34DA6A3CE929D0E0E4736-00f067aa0ba902b7-01",   // upper case
             "00-4bf92f3577b34da6a3ce929d0e0e473g-00f067aa0ba902b7-01",   // no digit
             "0x-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
             "00_4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
             "00-4bf92f3577b34da6a3ce929d0e0e4736 00f067aa0ba902b7-01",
             "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7+01",
             "00-00000000000000000000000000000000-00f067aa0ba902b7-01",  // no trace
             "00-4bf92f3577b34da6a3ce929d0e0e4736-0000000000000000-01",  // no span
         })
        EXPECT_FALSE(coflux::trace_context::parse(wrong).has_value()) << wrong;
}

TEST(trace_context, of_a_later_version_has_what_this_one_knows) {
    for (const std::string_view later : {"01-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff",
                                         "cc-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-ff-what-may-come"}) {
        const auto read = coflux::trace_context::parse(later);
        ASSERT_TRUE(read.has_value()) << later;
        EXPECT_EQ(read->traceparent(), example);
    }
}

TEST(trace_context, keeps_no_flag_that_it_does_not_know) {
    const auto read = coflux::trace_context::parse("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-fe");
    ASSERT_TRUE(read.has_value());
    EXPECT_EQ(read->flags, coflux::trace_context::random_id);
}

TEST(trace_context, leaves_a_state_out_that_a_header_may_not_have) {
    for (const std::string& wrong :
         {std::string("a=1\r\nSet-Cookie: b"), std::string(1, '\0'), std::string(513, 'a')}) {
        const auto read = coflux::trace_context::parse(example, wrong);
        ASSERT_TRUE(read.has_value());
        EXPECT_EQ(read->state, "");
    }
    EXPECT_EQ(coflux::trace_context::parse(example, std::string(512, 'a'))->state, std::string(512, 'a'));
}

TEST(trace_context, is_new_each_time) {
    const auto a = coflux::trace_context::make(), b = coflux::trace_context::make(0);
    EXPECT_NE(a.trace_id, b.trace_id);
    EXPECT_NE(a.span_id, b.span_id);
    EXPECT_EQ(a.flags, coflux::trace_context::sampled | coflux::trace_context::random_id);
    EXPECT_EQ(b.flags, coflux::trace_context::random_id);
    EXPECT_EQ(coflux::trace_context::parse(a.traceparent()), a);
}

TEST(trace_context, of_a_part_has_a_span_of_its_own) {
    auto whole = coflux::trace_context::make();
    whole.state = "congo=t61rcWkgMzE";
    const auto part = whole.child();
    EXPECT_NE(part.span_id, whole.span_id);
    auto same = part;
    same.span_id = whole.span_id;
    EXPECT_EQ(same, whole);
}

// --- the environment

std::string of(const coflux::environment& e) {
    return e.trace() == nullptr ? "none" : e.trace()->span_id_text();
}

coflux::trace_context numbered(std::uint8_t n) {
    auto made = *coflux::trace_context::parse(example);
    made.span_id = {n};
    return made;
}

coflux::call<std::string> asks_in_a_call() {
    auto&& here = co_await coflux::context();
    co_return of(here);
}
coflux::fork<std::string, pool> asks(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await coflux::yield();
    co_return of(here);
}
coflux::fork<std::string, noop> asks_inline(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_return of(here);
}
coflux::task<void, pool> goes_down(coflux::environment&, std::string wanted) {
    auto&& here = co_await coflux::context();
    EXPECT_EQ(of(here), wanted);
    EXPECT_EQ(co_await asks_in_a_call(), wanted);
    EXPECT_EQ(co_await asks(here), wanted);
    EXPECT_EQ(co_await asks_inline(here), wanted);
    EXPECT_EQ(*co_await coflux::timeout(asks(here), 1h), wanted);
    auto [a, b] = co_await coflux::when_all(asks_in_a_call(), asks(here));
    EXPECT_EQ(a, wanted);
    EXPECT_EQ(b, wanted);
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        EXPECT_EQ(of(scope), wanted);
        EXPECT_EQ(co_await asks(scope), wanted);
    });
}
coflux::task<void, pool> has_parts(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::pmr::monotonic_buffer_resource memory;
    auto first = coflux::make_environment(here, numbered(1), &memory);
    auto second = coflux::make_environment(first, numbered(2), std::chrono::steady_clock::now() + 1h);
    auto plain = coflux::make_environment(second, &memory);
    const std::string one = numbered(1).span_id_text(), two = numbered(2).span_id_text();
    EXPECT_EQ(of(here), "none");
    EXPECT_EQ(co_await asks(first), one);
    EXPECT_EQ(co_await asks(second), two);
    EXPECT_EQ(co_await asks(plain), two);
    EXPECT_EQ(co_await asks(here), "none");
    co_await goes_down(plain, two);
    co_await plain.join();
    co_await second.join();
    co_await first.join();
}

TEST(environment_trace, is_that_of_the_nearest_environment_that_was_given_one) {
    pool two(2);
    auto env = coflux::make_environment(two);
    EXPECT_EQ(env.trace(), nullptr);
    goes_down(env, "none").get();
    has_parts(env).get();
}

TEST(environment_trace, of_a_root_is_that_of_all_in_it) {
    pool two(2);
    const auto given = numbered(9);
    auto env = coflux::make_environment(given, two);
    EXPECT_EQ(*env.trace(), given);
    EXPECT_NE(env.trace(), &given);  // a copy
    goes_down(env, given.span_id_text()).get();
}

// A log is given no environment.
std::string logged() {
    const coflux::trace_context* now = coflux::trace_context::current();
    return now == nullptr ? "none" : now->span_id_text();
}
coflux::call<std::string> logs_in_a_call() {
    (void)co_await coflux::context();
    co_return logged();
}
coflux::fork<void, pool> logs(coflux::environment&, std::string wanted) {
    (void)co_await coflux::context();
    for (int i = 0; i < 100; ++i) {
        EXPECT_EQ(logged(), wanted);
        EXPECT_EQ(co_await logs_in_a_call(), wanted);
        EXPECT_EQ(logged(), wanted);
        co_await coflux::yield();
    }
}
coflux::task<void, pool> log_by_turns(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto first = coflux::make_environment(here, numbered(1));
    auto second = coflux::make_environment(here, numbered(2));
    auto a = logs(first, numbered(1).span_id_text()), b = logs(second, numbered(2).span_id_text()),
         c = logs(here, "none");
    EXPECT_EQ(logged(), "none");
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    co_await second.join();
    co_await first.join();
}

TEST(environment_trace, of_the_coroutine_that_runs_is_known_without_its_environment) {
    EXPECT_EQ(logged(), "none");
    for (const unsigned workers : {1U, 2U}) {
        pool some(workers);
        auto env = coflux::make_environment(some);
        log_by_turns(env).get();
    }
    EXPECT_EQ(logged(), "none");
}

TEST(environment_trace, is_moved_from_a_temporary) {
    auto given = numbered(3);
    given.state = std::string(100, 's');
    const char* const text = given.state.data();
    noop inline_executor;
    auto env = coflux::make_environment(inline_executor, std::move(given));
    EXPECT_EQ(env.trace()->state.data(), text);
}

TEST(environment_trace, is_that_of_an_environment_that_is_a_member) {
    pool one(1);
    std::optional<coflux::environment_of<pool&, coflux::trace_context>> kept;
    kept.emplace(one, numbered(4));
    goes_down(*kept, numbered(4).span_id_text()).get();
}

}  // namespace
