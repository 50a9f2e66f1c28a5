// How a handler of serve() learns that the server drains, and the callback for errors.
#include <coflux/io/serve_options.hpp>

#include <chrono>
#include <exception>
#include <stdexcept>
#include <type_traits>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/gtest.hpp>

#include "fake_listener.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::drain_token;
using coflux::environment;
using coflux::serve_options;
using coflux_test::fake_listener;
using coflux_test::in_virtual_time;
using coflux_test::keeps_alive;
using coflux_test::now;
using coflux_test::peer;
using coflux_test::serve_for;

/// Its wait fails.
struct broken_source {
    [[nodiscard]] bool is_readable() const noexcept { return false; }
    coflux::call<void> wait_readable(environment&) const {
        co_await 1ms;
        throw std::runtime_error("a handler");
    }
};

/// Has so many requests, and another one when `comes` is set, of which its wait does not hear.
struct silent_source {
    int requests = 0;
    coflux::manual_reset_event comes{};
    int looks = 0;

    bool is_readable() noexcept {
        ++looks;
        return requests + (comes.is_set() ? 1 : 0) > 0;
    }
    coflux::call<void> wait_readable(environment&) {
        if (requests == 0) co_await coflux::sleep_for(1h);
    }
};

TEST(drain_token, ends_an_idle_connection_at_once) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        std::vector<int> requests;
        from.connect();
        const auto report = co_await serve_for(here, from, 3500ms, keeps_alive{&requests}, {});
        EXPECT_EQ(now(), 3500ms);
        EXPECT_EQ(requests, std::vector<int>{3});
        EXPECT_EQ(report.served, 1U);
    });
}
TEST(drain_token, lets_a_request_end_that_has_begun) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        std::vector<int> requests;
        from.connect(2);
        const auto report = co_await serve_for(here, from, 3700ms, keeps_alive{&requests}, {});
        EXPECT_EQ(now(), 4s);
        EXPECT_EQ(requests, (std::vector<int>{4, 4}));
        EXPECT_EQ(report.served, 2U);
    });
}
CO_TEST(drain_token, looks_for_a_request_before_it_ends_a_connection) {
    auto&& here = co_await coflux::context();
    coflux::manual_reset_event draining;
    const drain_token server(draining);
    silent_source from{.requests = 2};
    EXPECT_TRUE(co_await server.idle(here, from));
    draining.set();
    EXPECT_TRUE(co_await server.idle(here, from));
    from.requests = 0;
    EXPECT_FALSE(co_await server.idle(here, from));
    EXPECT_EQ(from.looks, 2);
}
coflux::fork<void, coflux::testing::sim_executor> drains(environment&, silent_source* from,
                                                         coflux::manual_reset_event* draining) {
    co_await 1s;
    from->comes.set();
    draining->set();
}
/// The wait has not heard of it yet: on another worker, or in a look that comes later.
CO_TEST(drain_token, sees_a_request_that_came_just_before_the_drain) {
    auto&& here = co_await coflux::context();
    coflux::manual_reset_event draining;
    const drain_token server(draining);
    silent_source from;
    auto other = drains(here, &from, &draining);
    EXPECT_TRUE(co_await server.idle(here, from));
    co_await std::move(other);
}
TEST(drain_token, has_a_wait_for_a_choice_of_the_handler_s_own) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        bool told = false;
        auto handler = [&told](environment&, peer, drain_token server) -> coflux::call<void> {
            const auto first = co_await coflux::when_any(server.wait(), coflux::sleep_for(1h));
            told = first.index() == 0;
        };
        from.connect();
        (void)co_await serve_for(here, from, 1s, handler, {});
        EXPECT_TRUE(told);
        EXPECT_EQ(now(), 1s);
    });
}
TEST(drain_token, takes_three_frames_for_a_wait) {
    coflux::testing::failing_resource memory;
    const auto frames_for = [&](std::chrono::seconds time) {
        const std::size_t before = memory.allocations();
        in_virtual_time([&](environment& here, fake_listener& from) -> coflux::call<void> {
            auto inside = coflux::make_environment(here, &memory);
            std::vector<int> requests;
            from.connect();
            (void)co_await serve_for(inside, from, time, keeps_alive{&requests}, {});
            co_await inside.join();
        });
        return memory.allocations() - before;
    };
    EXPECT_EQ(frames_for(20s) - frames_for(10s), 30U);
}
TEST(drain_token, throws_the_error_of_what_it_waited_for) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        auto handler = [](environment&, peer, drain_token server) -> coflux::call<void> {
            auto&& self = co_await coflux::context();
            broken_source broken;
            (void)co_await server.idle(self, broken);
        };
        from.connect();
        const auto report = co_await serve_for(here, from, 1s, handler, {});
        EXPECT_EQ(report.failed, 1U);
    });
}

TEST(serve_error_callback, refers_to_what_it_calls) {
    struct counts {
        int calls = 0;
        void operator()(const std::exception_ptr&) { ++calls; }
    } counter;
    coflux::serve_error_callback none;
    EXPECT_FALSE(none);
    coflux::serve_error_callback by_reference = counter;
    coflux::serve_error_callback copy = by_reference;
    by_reference(nullptr);
    copy(nullptr);
    EXPECT_EQ(counter.calls, 2);
}

}  // namespace
