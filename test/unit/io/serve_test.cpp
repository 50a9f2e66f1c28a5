// serve() in virtual time, with a listener that does what the test says.
#include <coflux/io/serve.hpp>

#include <chrono>
#include <cstddef>
#include <exception>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/testing.hpp>

#include "fake_listener.hpp"

namespace {

using namespace std::chrono_literals;
namespace kit = coflux::testing;
using coflux::drain_token;
using coflux::environment;
using coflux::serve_options;
using coflux::serve_report;
using coflux_test::fake_listener;
using coflux_test::in_virtual_time;
using coflux_test::keeps_alive;
using coflux_test::now;
using coflux_test::peer;
using coflux_test::readable_after;
using coflux_test::root;
using coflux_test::serve_for;
using coflux_test::server;
using coflux_test::sim;

coflux::call<void> takes_a_second(environment&, peer) {
    co_await 1s;
}
coflux::call<void> takes_an_hour(environment&, peer) {
    co_await 1h;
}
coflux::call<void> fails(environment&, peer) {
    co_await 1ms;
    throw std::runtime_error("a handler");
}
coflux::call<void> stops_itself(environment&, peer) {
    co_await coflux::this_coroutine::stop();
}
coflux::call<void> finds_no_memory(environment&, peer) {
    co_await 1ms;
    throw std::bad_alloc();
}

// --- serving ---------------------------------------------------------------------------------------------------------

TEST(serve, runs_a_handler_for_each_connection_side_by_side) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(3);
        const auto report = co_await serve_for(here, from, 1500ms, takes_a_second, {});
        EXPECT_EQ(report.accepted, 3U);
        EXPECT_EQ(report.served, 3U);
        EXPECT_EQ(report.peak, 3U);
        EXPECT_EQ(report.refused + report.backed_off, 0U);
        EXPECT_EQ(report.first_error, nullptr);
        EXPECT_EQ(now(), 1500ms);
    });
}

TEST(serve, accepts_none_at_its_limit_and_refuses_none) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        auto inside = coflux::make_environment(here);
        from.connect(5);
        auto running = server(inside, &from, takes_a_second, {.limit = 2});
        co_await 500ms;
        EXPECT_EQ(from.taken, 2);
        EXPECT_EQ(from.backlog(), 3U);
        co_await 1s;
        EXPECT_EQ(from.taken, 4);
        co_await 5s;
        inside.request_stop();
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(report.served, 5U);
        EXPECT_EQ(report.peak, 2U);
        EXPECT_EQ(report.refused, 0U);
    });
}

template <typename Handler>
void takes_ten_at_a_limit_of_two(Handler handler) {
    in_virtual_time([handler](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(10);
        const auto report = co_await serve_for(here, from, 1min, handler, {.limit = 2});
        EXPECT_EQ(report.accepted, 10U);
    });
}
TEST(serve, gives_the_place_of_a_handler_back_however_it_ends) {
    takes_ten_at_a_limit_of_two(takes_a_second);
    takes_ten_at_a_limit_of_two(fails);
    takes_ten_at_a_limit_of_two(stops_itself);
    takes_ten_at_a_limit_of_two(finds_no_memory);
    takes_ten_at_a_limit_of_two([](environment&, peer) -> coflux::call<void> { throw std::bad_alloc(); });
}

coflux::fork<int, sim> is_a_fork(environment&, peer p, drain_token server) {
    EXPECT_FALSE(server.is_draining());
    co_await 1ms;
    co_return p.number;
}
coflux::fork<void> is_a_fork_of_its_parent(environment&, peer) {
    co_await 1ms;
}
coflux::fork<void, coflux::noop_executor> begins_in_place(environment&, peer) {
    co_await 1ms;
}
coflux::task<void, sim> is_a_task(environment&, peer) {
    co_await 1ms;
}
struct counts_in_place {
    int* calls;
    coflux::call<void> operator()(environment&, peer) const {
        ++*calls;
        co_return;
    }
};
TEST(serve, takes_handlers_that_are_calls_forks_and_tasks_on_any_executor) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        int calls = 0;
        const auto twice = [&calls](environment& here, auto handler) -> coflux::call<void> {
            fake_listener own(here);
            own.connect(2);
            const auto report = co_await serve_for(here, own, 10ms, handler, {});
            EXPECT_EQ(report.served, 2U);
            calls += 2;
        };
        co_await twice(here, is_a_fork);
        co_await twice(here, is_a_fork_of_its_parent);
        co_await twice(here, begins_in_place);
        co_await twice(here, is_a_task);
        co_await twice(here, counts_in_place{&calls});
        EXPECT_EQ(calls, 12);
        (void)from;
    });
}

// --- errors of handlers ----------------------------------------------------------------------------------------------

TEST(serve, goes_on_after_an_error_of_a_handler_and_reports_the_first) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(3);
        const auto report = co_await serve_for(here, from, 1s, fails, {});
        EXPECT_EQ(report.failed, 3U);
        EXPECT_THROW(std::rethrow_exception(report.first_error), std::runtime_error);
    });
}
TEST(serve, goes_on_after_a_handler_that_found_no_memory) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(3);
        const auto report = co_await serve_for(here, from, 1s, finds_no_memory, {});
        EXPECT_EQ(report.failed, 3U);
        EXPECT_THROW(std::rethrow_exception(report.first_error), std::bad_alloc);
    });
}
TEST(serve, calls_back_with_each_error) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(3);
        std::vector<std::string> errors;
        auto log = [&](const std::exception_ptr& e) {
            try {
                std::rethrow_exception(e);
            } catch (const std::exception& caught) {
                errors.emplace_back(caught.what());
            }
        };
        const auto report = co_await serve_for(here, from, 1s, fails, {.on_error = log});
        EXPECT_EQ(report.failed, 3U);
        EXPECT_EQ(errors, (std::vector<std::string>(3, "a handler")));
    });
}
TEST(serve, drains_and_throws_what_the_callback_throws) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        auto handler = [](environment&, peer p) -> coflux::call<void> {
            co_await 1s;
            if (p.number == 2) throw std::runtime_error("fatal");
            co_await 1s;
        };
        from.connect(3);
        serve_options options;
        options.on_error = [](const std::exception_ptr& e) { std::rethrow_exception(e); };
        auto running = server(here, &from, handler, options);
        const auto ended = co_await coflux::as_outcome(std::move(running));
        EXPECT_TRUE(ended.has_error());
        EXPECT_EQ(now(), 2s);  // the others have ended
        EXPECT_TRUE(from.is_closed);
    });
}

TEST(serve, throws_all_that_the_callback_throws) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(3);
        serve_options options;
        options.on_error = [](const std::exception_ptr& e) { std::rethrow_exception(e); };
        std::size_t others = 0;
        try {
            (void)co_await serve_for(here, from, 1s, fails, options);
            ADD_FAILURE() << "the callback has thrown";
        } catch (const std::runtime_error&) {
            others = coflux::other_errors().size();
        }
        EXPECT_EQ(others, 2U);
    });
}

// --- errors of accept() ----------------------------------------------------------------------------------------------

TEST(serve, backs_off_where_the_system_lacks_what_it_needs_twice_as_long_each_time) {
    for (const std::errc error : {std::errc::too_many_files_open, std::errc::too_many_files_open_in_system,
                                  std::errc::no_buffer_space, std::errc::not_enough_memory}) {
        in_virtual_time([error](environment& here, fake_listener& from) -> coflux::call<void> {
            from.fail(error, 6);
            from.connect();
            from.fail(error);
            from.connect();
            const serve_options options{.first_delay = 10ms, .longest_delay = 100ms};
            const auto report = co_await serve_for(here, from, 10s, takes_a_second, options);
            EXPECT_EQ(report.served, 2U);
            EXPECT_EQ(report.backed_off, 7U);
            const std::vector<std::chrono::nanoseconds> when{0ms,   10ms,  30ms,  70ms,  150ms,
                                                             250ms, 350ms, 350ms, 360ms, 360ms};
            EXPECT_EQ(from.asked, when);
        });
    }
}
TEST(serve, backs_off_where_accept_finds_no_memory) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.fail(std::make_exception_ptr(std::bad_alloc()));
        from.connect();
        const auto report = co_await serve_for(here, from, 10s, takes_a_second, {});
        EXPECT_EQ(report.served, 1U);
        EXPECT_EQ(report.backed_off, 1U);
        EXPECT_EQ(from.asked.at(1), 5ms);
    });
}
TEST(serve, passes_over_a_connection_that_was_cut_in_the_backlog) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.fail(std::errc::connection_aborted, 3);
        from.fail(std::errc::protocol_error);
        from.connect();
        const auto report = co_await serve_for(here, from, 2s, takes_a_second, {});
        EXPECT_EQ(report.served, 1U);
        EXPECT_EQ(report.backed_off, 0U);
        EXPECT_EQ(from.asked, (std::vector<std::chrono::nanoseconds>(6, 0s)));
    });
}
TEST(serve, backs_off_where_each_connection_fails_and_goes_on_when_one_does_not) {
    for (const std::errc error : {std::errc::operation_not_permitted, std::errc::network_down,
                                  std::errc::connection_aborted, std::errc::no_protocol_option}) {
        in_virtual_time([error](environment& here, fake_listener& from) -> coflux::call<void> {
            from.fail(error, 3 * 16 - 1);
            from.connect();
            from.fail(error, 16);
            from.connect();
            const serve_options options{.first_delay = 10ms, .longest_delay = 100ms, .most_delays = 3};
            const auto report = co_await serve_for(here, from, 10s, takes_a_second, options);
            EXPECT_EQ(report.served, 2U);
            EXPECT_EQ(report.backed_off, 3U);
            EXPECT_EQ(from.asked.at(15), 0ms);
            EXPECT_EQ(from.asked.at(16), 10ms);
            EXPECT_EQ(from.asked.at(32), 30ms);
            EXPECT_EQ(from.asked.at(63), 30ms);  // the first one was accepted: from the beginning
            EXPECT_EQ(from.asked.at(64), 40ms);
        });
    }
}
TEST(serve, drains_and_throws_an_error_of_connections_that_lasts) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect();
        from.fail(std::errc::operation_not_permitted, 1000);
        serve_options options{.first_delay = 10ms, .longest_delay = 100ms, .most_delays = 3};
        auto running = server(here, &from, takes_a_second, options);
        const auto ended = co_await coflux::as_outcome(std::move(running));
        EXPECT_EQ(now(), 1s);
        EXPECT_EQ(from.asked.size(), 1U + 4 * 16);
        std::error_code code;
        try {
            ended.value();
        } catch (const std::system_error& e) {
            code = e.code();
        }
        EXPECT_EQ(code, std::errc::operation_not_permitted);
    });
}
TEST(serve, drains_and_throws_any_other_error_of_the_listener) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect();
        from.fail(std::errc::bad_file_descriptor);
        auto running = server(here, &from, takes_a_second, {});
        const auto ended = co_await coflux::as_outcome(std::move(running));
        EXPECT_EQ(now(), 1s);
        EXPECT_TRUE(ended.has_error());
        EXPECT_THROW(std::rethrow_exception(ended.error()), std::system_error);
    });
}
TEST(serve, gives_the_spare_descriptor_away_before_it_backs_off) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.fail(std::errc::too_many_files_open);
        from.connect();  // there is a descriptor after all: it is served
        from.fail(std::errc::too_many_files_open, 2);
        from.connect();
        const auto report = co_await serve_for(here, from, 5s, takes_a_second, {.refuse_when_full = true});
        EXPECT_EQ(report.served, 2U);
        EXPECT_EQ(report.refused, 0U);
        EXPECT_EQ(report.backed_off, 1U);
        EXPECT_EQ(from.asked, (std::vector<std::chrono::nanoseconds>{0s, 0s, 0s, 0s, 5ms, 5ms}));
    });
}

// --- the end ---------------------------------------------------------------------------------------------------------

TEST(serve, accepts_none_after_a_stop_and_lets_handlers_end) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(2);
        auto handler = [](environment&, peer) -> coflux::call<void> {
            co_await 1s;
            co_await 2s;  // waits that begin after the stop, too
        };
        auto inside = coflux::make_environment(here);
        auto running = server(inside, &from, handler, {});
        co_await 500ms;
        inside.request_stop();
        from.connect(1);
        const auto report = co_await std::move(running);
        co_await inside.join();
        EXPECT_EQ(now(), 3s);
        EXPECT_EQ(report.served, 2U);
        EXPECT_EQ(report.cut, 0U);
        EXPECT_EQ(from.backlog(), 1U);
        EXPECT_TRUE(from.is_closed);
    });
}
TEST(serve, stops_handlers_that_take_longer_than_the_drain) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(3);
        auto handler = [](environment&, peer p) -> coflux::call<void> {
            co_await coflux::sleep_for(p.number == 1 ? 3s : 3600s);
        };
        const auto report = co_await serve_for(here, from, 1s, handler, {.drain = 5s});
        EXPECT_EQ(now(), 6s);
        EXPECT_EQ(report.served, 1U);
        EXPECT_EQ(report.cut, 2U);
    });
}
TEST(serve, stops_handlers_at_once_where_it_does_not_drain) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(3);
        const auto report = co_await serve_for(here, from, 1s, takes_an_hour, {.drain = 0s});
        EXPECT_EQ(now(), 1s);
        EXPECT_EQ(report.cut, 3U);
    });
}
TEST(serve, waits_for_ever_where_the_drain_has_no_end) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect();
        const auto report =
            co_await serve_for(here, from, 1s, takes_an_hour, {.drain = std::chrono::nanoseconds::max()});
        EXPECT_EQ(report.served, 1U);
        EXPECT_EQ(now(), 1h);
    });
}
TEST(serve, keeps_the_listener_open_where_it_is_told_so) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        (void)co_await serve_for(here, from, 1s, takes_a_second, {.close_listener = false});
        EXPECT_FALSE(from.is_closed);
    });
}
TEST(serve, is_stopped_while_it_waits_at_its_limit) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(2);
        const auto report = co_await serve_for(here, from, 500ms, takes_a_second, {.limit = 1});
        EXPECT_EQ(now(), 1s);
        EXPECT_EQ(report.served, 1U);
        EXPECT_EQ(from.backlog(), 1U);
    });
}
TEST(serve, is_stopped_while_it_backs_off) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.fail(std::errc::too_many_files_open, 100);
        const auto report =
            co_await serve_for(here, from, 10s, takes_a_second, {.first_delay = 8s, .longest_delay = 8s});
        EXPECT_EQ(now(), 10s);
        EXPECT_EQ(report.backed_off, 2U);
    });
}
TEST(serve, takes_a_deadline_of_its_environment_for_a_stop) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect();
        auto inside = coflux::make_environment(here, coflux::clock::now() + 500ms);
        const auto report = co_await server(inside, &from, takes_a_second, {});
        co_await inside.join();
        EXPECT_EQ(now(), 1s);
        EXPECT_EQ(report.served, 1U);
    });
}
TEST(serve, gives_its_report_to_a_timeout) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect();
        const auto report = co_await coflux::timeout(coflux::serve(here, from, takes_a_second), 500ms);
        EXPECT_EQ(now(), 1s);
        EXPECT_TRUE(report.has_value());
        if (report.has_value()) {
            EXPECT_EQ(report->served, 1U);
        }
    });
}
TEST(serve, takes_a_handler_that_is_written_in_the_await_and_owns_what_it_captures) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(2);
        const auto owned = std::make_shared<int>(7);
        int sum = 0;
        (void)co_await coflux::timeout(coflux::serve(here, from,
                                                     [owned, &sum](environment&, peer) -> coflux::call<void> {
                                                         co_await 1ms;
                                                         sum += *owned;
                                                     }),
                                       500ms);
        EXPECT_EQ(sum, 14);
        EXPECT_EQ(owned.use_count(), 1);
    });
}
TEST(serve, may_lose_a_race_and_drains_all_the_same) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect();
        const auto first =
            co_await coflux::when_any(coflux::serve(here, from, takes_a_second), coflux::sleep_for(500ms));
        EXPECT_EQ(first.index(), 1U);
        EXPECT_EQ(now(), 1s);
    });
}
TEST(serve, accepts_nothing_in_an_environment_that_was_stopped_before) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect();
        auto inside = coflux::make_environment(here);
        inside.request_stop();
        (void)co_await coflux::as_outcome(server(inside, &from, takes_a_second, {}));
        co_await inside.join();
        EXPECT_EQ(from.taken, 0);
        EXPECT_EQ(now(), 0s);
    });
}
TEST(serve, may_be_stopped_by_its_own_handler_and_again_while_it_drains) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        from.connect(2);
        auto inside = coflux::make_environment(here);
        auto handler = [&inside](environment&, peer p) -> coflux::call<void> {
            co_await coflux::sleep_for(p.number * 1s);
            inside.request_stop();
            co_await 1s;
        };
        const auto report = co_await coflux::serve(inside, from, handler);
        co_await inside.join();
        EXPECT_EQ(now(), 3s);
        EXPECT_EQ(report.served, 2U);
    });
}
TEST(serve, may_serve_two_listeners_side_by_side_until_one_of_them_fails) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        fake_listener other(here);
        from.connect(2);
        other.connect(2);
        other.fail(std::errc::bad_file_descriptor);
        auto both = coflux::make_environment(here);
        auto one = server(both, &from, takes_a_second, {});
        auto two = server(both, &other, takes_a_second, {});
        const auto failed = co_await coflux::as_outcome(std::move(two));
        EXPECT_TRUE(failed.has_error());
        both.request_stop();
        const auto report = co_await std::move(one);
        co_await both.join();
        EXPECT_EQ(report.served, 2U);
        EXPECT_EQ(other.open, 0);
    });
}

coflux::fork<void, sim> is_attached(environment&, int* state) {
    struct at_end {
        int* state;
        ~at_end() { *state = 2; }
    };
    const at_end guard{state};
    *state = 1;
    co_await 1h;
}
TEST(serve, stops_and_joins_what_a_handler_left_in_the_environment_that_it_was_given) {
    in_virtual_time([](environment& here, fake_listener& from) -> coflux::call<void> {
        int state = 0;
        from.connect();
        auto handler = [&state](environment& env, peer) -> coflux::call<void> {
            is_attached(env, &state).attach();
            co_await 1ms;
        };
        const auto report = co_await serve_for(here, from, 1s, handler, {});
        EXPECT_EQ(report.served, 1U);
        EXPECT_EQ(state, 2);
        EXPECT_EQ(now(), 1s);
    });
}

// --- memory, schedules -----------------------------------------------------------------------------------------------

TEST(serve, survives_each_allocation_that_fails) {
    std::uint64_t refused = 0;
    std::uint64_t failed = 0;
    std::size_t tried = 0;
    for (std::size_t n = 1; n < 200; ++n) {
        kit::failing_resource memory;
        {
            kit::fifo_chooser fifo;
            kit::simulation world(fifo);
            sim on(world);
            auto env = coflux::make_environment(&memory, on);
            auto body = [&](environment& here, fake_listener& from) -> coflux::call<void> {
                std::vector<int> requests;
                from.connect(3);
                auto inside = coflux::make_environment(here);
                memory.fail_at(n);
                std::optional<serve_report> report;
                try {
                    report = co_await coflux::timeout(coflux::serve(inside, from, keeps_alive{&requests}), 3500ms);
                } catch (const std::bad_alloc&) {
                    EXPECT_EQ(from.taken, 0) << n;
                }
                memory.fail_at(0);
                co_await inside.join();
                if (report.has_value()) {
                    EXPECT_EQ(report->accepted, report->served + report->failed + report->cut) << n;
                    refused += report->refused;
                    failed += report->failed;
                }
            };
            try {
                root(env, body).get();
            } catch (const std::bad_alloc&) {}
            if (memory.requests() > n) tried = n;
        }
        EXPECT_EQ(memory.live(), 0U) << n << memory.leaks();
    }
    EXPECT_GT(tried, 20U);
    EXPECT_GT(refused, 0U) << "no attendant was without memory";
    EXPECT_GT(failed, 0U) << "no handler was without memory";
}

/// A stop of all before each step: what was accepted is counted, and nothing is left.
TEST(serve, may_be_stopped_before_each_of_its_steps) {
    const std::size_t points = kit::inject(kit::steps, [](kit::injection& run) {
        kit::fifo_chooser fifo;
        kit::simulation world(fifo);
        sim on(world);
        auto env = coflux::make_environment(run.memory(), on);
        world.on_step([&](std::size_t) { run.step(); });
        run.at_step([&] { env.request_stop(); });
        auto body = [](environment& here, fake_listener& from) -> coflux::call<void> {
            std::vector<int> requests;
            from.connect(3);
            from.fail(std::errc::too_many_files_open);
            from.connect(1);
            auto inside = coflux::make_environment(here, coflux::clock::now() + 2500ms);
            const auto report = co_await coflux::serve(inside, from, keeps_alive{&requests}, {.limit = 3});
            EXPECT_EQ(report.accepted, static_cast<std::uint64_t>(from.taken));
            EXPECT_EQ(report.accepted, report.served);
            co_await inside.join();
        };
        root(env, body).get();
    });
    EXPECT_GT(points, 20U);
}

TEST(serve, takes_two_frames_for_a_connection) {
    kit::failing_resource memory;
    const auto frames_for = [&](int connections) {
        const std::size_t before = memory.allocations();
        in_virtual_time([&](environment& here, fake_listener& from) -> coflux::call<void> {
            auto inside = coflux::make_environment(here, &memory);
            from.connect(connections);
            (void)co_await serve_for(inside, from, 10s, takes_a_second, {});
            co_await inside.join();
        });
        return memory.allocations() - before;
    };
    EXPECT_EQ(frames_for(30) - frames_for(20), 20U);
}

TEST(serve, loses_no_connection_and_no_count_in_any_order) {
    kit::explore_options options;
    options.runs = 300;
    const kit::exploration result = kit::explore(options, [](kit::simulation& in) {
        sim on(in);
        auto env = coflux::make_environment(on);
        auto body = [](environment& here, fake_listener& from) -> coflux::call<void> {
            std::vector<int> requests;
            auto handler = [](environment&, peer p, drain_token server) -> coflux::call<void> {
                auto&& self = co_await coflux::context();
                if (p.number % 3 == 0) throw std::runtime_error("one of three");
                readable_after next{p.number % 2 == 0 ? std::chrono::nanoseconds(1h) : 1ms};
                (void)co_await server.idle(self, next);
                co_await coflux::yield();
                if (p.number % 4 == 0) co_await 1h;
            };
            auto inside = coflux::make_environment(here);
            auto running = server(inside, &from, handler, {.limit = 3, .drain = 1s});
            for (int i = 0; i < 4; ++i) {
                from.connect(2);
                from.fail(std::errc::too_many_files_open);
                co_await coflux::yield();
            }
            co_await 6ms;
            inside.request_stop();
            const auto report = co_await std::move(running);
            co_await inside.join();
            if (report.accepted != report.served + report.failed + report.cut) throw std::logic_error("counts");
            if (report.accepted != static_cast<std::uint64_t>(from.taken)) throw std::logic_error("a connection");
            if (report.peak > 3 || from.open != 0) throw std::logic_error("the limit");
        };
        root(env, body).get();
    });
    EXPECT_TRUE(result.ok()) << result.report();
}

coflux::task<void, sim> serves_nobody(environment&) {
    auto&& here = co_await coflux::context();
    fake_listener from(here);
    (void)co_await coflux::serve(here, from, takes_a_second, {.limit = 0});
}
TEST(serve_death, a_limit_of_none_is_refused) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    const auto child = [] {
        kit::fifo_chooser fifo;
        kit::simulation world(fifo);
        sim on(world);
        auto env = coflux::make_environment(on);
        serves_nobody(env).get();
    };
    EXPECT_DEATH(child(), "a limit of no connections");
}

}  // namespace
