// The system's answers to a connect that it makes for a ring, and to one that has gone on.
#include <cerrno>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "system_rules.hpp"
#include "unit/io/connected.hpp"

namespace {

using coflux::as_result;
using coflux::environment;
using coflux::tcp_listener;
using coflux::tcp_stream;
using coflux_test::always;
using coflux_test::bytes_of;
using coflux_test::on_a_worker;
using coflux_test::system_call;
using coflux_test::system_rule;
using coflux_test::system_rules;
using worker = coflux::worker_executor;

constexpr std::string_view text = "a text of thirty bytes, or so.";

std::error_code of_system(int error) {
    return {error, std::system_category()};
}
/// Each was made to the listener, which has accepted none yet.
coflux::call<void> carry_a_text(environment&, std::vector<tcp_stream>* all, tcp_listener* at) {
    for (tcp_stream& each : *all) co_await each.write_all(text);
    for (std::size_t i = 0; i < all->size(); ++i) {
        tcp_stream far = co_await at->accept();
        std::string got(text.size(), ' ');
        co_await far.read_exactly(bytes_of(got));
        EXPECT_EQ(got, text);
    }
}
coflux::call<void> connects_now(environment&, tcp_listener* to) {
    auto&& here = co_await coflux::context();
    std::vector<tcp_stream> one;
    one.push_back(co_await tcp_stream::connect(to->local_endpoint()));
    co_await carry_a_text(here, &one, to);
}
coflux::fork<coflux::io_result<tcp_stream>, worker> connects(environment&, const tcp_listener* to) {
    co_return co_await as_result(tcp_stream::connect(to->local_endpoint()));
}
/// A connect is tried first, and then goes on without the ring. The ring is asked for one that comes when the round is
/// over: with so many at once some do.
coflux::task<void, worker> requests_give(environment&, int error, bool goes_on) {
    constexpr std::size_t many = 300;
    auto&& here = co_await coflux::context();
    tcp_listener listener(coflux_test::own_loopback(), {.backlog = 1000});
    {
        const system_rules rules{{.on = system_call::connect, .times = always, .error = error, .requested = true}};
        std::vector<coflux::fork<coflux::io_result<tcp_stream>, worker>> all;
        for (std::size_t i = 0; i < many; ++i) all.push_back(connects(here, &listener));
        std::vector<tcp_stream> made;
        std::size_t failed = 0;
        for (auto& each : all) {
            auto got = co_await std::move(each);
            if (got.has_value()) made.push_back(std::move(got).value());
            if (got.error() == of_system(error)) ++failed;
        }
        EXPECT_GE(rules.followed(), 1U);
        EXPECT_EQ(failed, goes_on ? 0U : rules.followed());
        EXPECT_EQ(made.size(), many - failed);
        EXPECT_EQ(rules.calls(system_call::connect), many);  // each once
        co_await carry_a_text(here, &made, &listener);
    }
    co_await connects_now(here, &listener);
}
TEST(tcp_rules_connect, gives_the_error_of_a_request_of_a_ring) {
    if (!system_rules::are_on_a_ring()) GTEST_SKIP() << "there is no ring";
    for (const int error : {ECONNREFUSED, ETIMEDOUT, ENETUNREACH, EHOSTUNREACH}) {
        on_a_worker(requests_give, error, false);
    }
}
TEST(tcp_rules_connect, goes_on_where_a_request_of_a_ring_is_interrupted_or_its_thread_has_ended) {
    if (!system_rules::are_on_a_ring()) GTEST_SKIP() << "there is no ring";
    for (const int error : {EINTR, ECANCELED}) on_a_worker(requests_give, error, true);
}

/// Interrupted, it goes on and waits. Then it fails.
coflux::task<void, worker> fails_later(environment&, int error) {
    auto&& here = co_await coflux::context();
    tcp_listener listener(coflux_test::own_loopback());
    {
        const system_rules rules{{.on = system_call::connect, .error = EINTR},
                                 {.on = system_call::connect_result, .error = error}};
        const auto made = co_await as_result(tcp_stream::connect(listener.local_endpoint()));
        EXPECT_EQ(made.error(), of_system(error));
        EXPECT_EQ(rules.calls(system_call::connect), 1U);
        EXPECT_EQ(rules.calls(system_call::connect_result), 1U);
    }
    {
        const system_rules rules{{.on = system_call::connect, .error = EINTR},
                                 {.on = system_call::connect_result, .error = error}};
        std::string what;
        try {
            (void)co_await tcp_stream::connect(listener.local_endpoint());
        } catch (const std::system_error& e) {
            EXPECT_EQ(e.code(), of_system(error));
            what = e.what();
        }
        EXPECT_NE(what.find("connect to " + listener.local_endpoint().to_string()), std::string::npos) << what;
    }
    tcp_listener other(coflux_test::own_loopback());  // at the first one the connections are that failed
    co_await connects_now(here, &other);
}
TEST(tcp_rules_connect, gives_the_error_of_a_connect_that_waits) {
    for (const int error : {ECONNREFUSED, ETIMEDOUT, ENETUNREACH, EHOSTUNREACH}) on_a_worker(fails_later, error);
}

}  // namespace
