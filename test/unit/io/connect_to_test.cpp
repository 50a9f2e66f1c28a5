#include <coflux/io/connect_to.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <map>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/gtest.hpp>
#include <coflux/testing/inject.hpp>

#include "connected.hpp"
#include "memory_streams.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::connect_race;
using coflux::endpoint;
using coflux_test::in_few_schedules;
using coflux_test::open_descriptors;
using endpoints = std::vector<endpoint>;
using std::chrono::milliseconds;

endpoint four(std::uint16_t port) {
    return endpoint::ip("10.0.0.1", port);
}
endpoint six(std::uint16_t port) {
    return endpoint::ip("fe80::1", port);
}

// --- order -----------------------------------------------------------------------------------------------------------

TEST(interleaved, takes_the_families_in_turns_and_each_in_its_order) {
    EXPECT_EQ(coflux::interleaved({six(1), six(2), six(3), four(1), four(2)}),
              (endpoints{six(1), four(1), six(2), four(2), six(3)}));
    EXPECT_EQ(coflux::interleaved({four(1), six(1), six(2), six(3)}), (endpoints{four(1), six(1), six(2), six(3)}));
    EXPECT_EQ(coflux::interleaved({six(1), six(2)}), (endpoints{six(1), six(2)}));
    EXPECT_EQ(coflux::interleaved({}), endpoints{});
}
TEST(interleaved, begins_with_as_many_of_the_first_family_as_is_said) {
    EXPECT_EQ(coflux::interleaved({six(1), six(2), six(3), four(1), four(2)}, 2),
              (endpoints{six(1), six(2), four(1), six(3), four(2)}));
    EXPECT_EQ(coflux::interleaved({six(1), four(1)}, 9), (endpoints{six(1), four(1)}));
    EXPECT_EQ(coflux::interleaved({six(1), six(2), four(1)}, 0), (endpoints{six(1), four(1), six(2)}));
}

// --- the race, in virtual time ---------------------------------------------------------------------------------------

/// [fe80::1]:1, 10.0.0.1:2, …
endpoints order(std::uint16_t count) {
    endpoints all;
    for (std::uint16_t port = 1; port <= count; ++port) all.push_back(port % 2 == 1 ? six(port) : four(port));
    return all;
}

/// A connection that counts itself.
class link {
public:
    link(int* open, std::uint16_t port) noexcept : open_(open), port_(port) { ++*open_; }
    link(link&& other) noexcept : open_(std::exchange(other.open_, nullptr)), port_(other.port_) {}
    link& operator=(link&&) = delete;
    ~link() {
        if (open_ != nullptr) --*open_;
    }
    [[nodiscard]] std::uint16_t port() const noexcept { return port_; }

private:
    int* open_;
    std::uint16_t port_;
};

struct answer {
    milliseconds after;
    bool connects;
};
/// Answers after a time that goes by the port.
class slow_network {
public:
    explicit slow_network(std::map<std::uint16_t, answer> answers) : answers_(std::move(answers)) {}

    coflux::call<link> operator()(coflux::environment&, const endpoint& to) {
        begun.emplace_back(to.port(), ms());
        const answer a = answers_.at(to.port());
        co_await coflux::sleep_for(a.after);
        if (!a.connects) throw std::system_error(std::make_error_code(std::errc::connection_refused));
        co_return link(&open, to.port());
    }
    [[nodiscard]] static std::int64_t ms() {
        return std::chrono::duration_cast<milliseconds>(coflux::testing::simulation::current()->elapsed()).count();
    }

    std::vector<std::pair<int, std::int64_t>> begun;
    int open = 0;

private:
    std::map<std::uint16_t, answer> answers_;
};
using begins = std::vector<std::pair<int, std::int64_t>>;

CO_TEST(connect_race, begins_the_next_attempt_after_the_delay_and_the_first_to_connect_wins) {
    auto&& here = co_await coflux::context();
    slow_network net({{1, {10s, true}}, {2, {10s, false}}, {3, {100ms, true}}, {4, {0ms, true}}});
    const link won = co_await connect_race(here, order(4), net);
    EXPECT_EQ(won.port(), 3);
    EXPECT_EQ(net.begun, (begins{{1, 0}, {2, 250}, {3, 500}}));
    EXPECT_EQ(net.ms(), 600);
    EXPECT_EQ(net.open, 1);
}
CO_TEST(connect_race, begins_the_next_attempt_at_once_where_the_one_before_has_failed) {
    auto&& here = co_await coflux::context();
    slow_network net({{1, {0ms, false}}, {2, {10ms, false}}, {3, {300ms, false}}, {4, {5ms, true}}});
    const link won = co_await connect_race(here, order(4), net);
    EXPECT_EQ(won.port(), 4);
    EXPECT_EQ(net.begun, (begins{{1, 0}, {2, 0}, {3, 10}, {4, 260}}));
    EXPECT_EQ(net.ms(), 265);
}
CO_TEST(connect_race, goes_on_with_earlier_attempts) {
    auto&& here = co_await coflux::context();
    slow_network net({{1, {600ms, true}}, {2, {1s, false}}, {3, {1s, true}}});
    const link won = co_await connect_race(here, order(3), net, {.attempt_delay = 100ms});
    EXPECT_EQ(won.port(), 1);
    EXPECT_EQ(net.begun, (begins{{1, 0}, {2, 100}, {3, 200}}));
    EXPECT_EQ(net.ms(), 600);
}
CO_TEST(connect_race, asks_nothing_more_where_the_first_connects_in_time) {
    auto&& here = co_await coflux::context();
    slow_network net({{1, {249ms, true}}, {2, {0ms, true}}});
    const link won = co_await connect_race(here, order(2), net);
    EXPECT_EQ(won.port(), 1);
    EXPECT_EQ(net.begun, (begins{{1, 0}}));
}
CO_TEST(connect_race, closes_a_loser_that_has_connected_nevertheless) {
    auto&& here = co_await coflux::context();
    slow_network net({{1, {350ms, true}}, {2, {100ms, true}}, {3, {50ms, true}}});
    {
        const link won = co_await connect_race(here, order(3), net);
        EXPECT_TRUE(won.port() == 1 || won.port() == 2);  // both at 350 ms
        EXPECT_EQ(net.open, 1);
    }
    EXPECT_EQ(net.open, 0);
    EXPECT_EQ(net.ms(), 350);
}
CO_TEST(connect_race, tells_the_errors_of_all) {
    auto&& here = co_await coflux::context();
    slow_network net({{1, {400ms, false}}, {2, {10ms, false}}, {3, {0ms, false}}});
    std::string text;
    endpoints tried;
    try {
        (void)co_await connect_race(here, order(3), net, {}, "host:80");
    } catch (const coflux::connect_error& e) {
        text = e.what();
        EXPECT_EQ(e.code(), std::errc::connection_refused);
        for (const auto& a : e.attempts()) {
            tried.push_back(a.to);
            EXPECT_EQ(a.code, std::errc::connection_refused);
        }
    }
    EXPECT_EQ(tried, (endpoints{six(1), four(2), six(3)}));
    EXPECT_EQ(text, "coflux: connect to host:80 ([fe80::1]:1: Connection refused; 10.0.0.1:2: Connection refused; "
                    "[fe80::1]:3: Connection refused): Connection refused");
    EXPECT_EQ(net.ms(), 400);
    EXPECT_EQ(net.begun, (begins{{1, 0}, {2, 250}, {3, 260}}));
}
coflux::task<void, coflux::testing::sim_executor> is_stopped_as_a_whole_at_any_time(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (int at = 5; at < 700; at += 30) {
        slow_network net({{1, {0ms, false}}, {2, {10s, true}}, {3, {100ms, false}}, {4, {10s, true}}});
        const auto before = net.ms();
        const auto won = co_await coflux::timeout(connect_race(here, order(4), net), milliseconds(at));
        EXPECT_FALSE(won.has_value());  // a stop and no error, though an attempt has failed
        EXPECT_EQ(net.ms() - before, at);
        EXPECT_EQ(net.open, 0);
        EXPECT_EQ(net.begun.size(), at < 250 ? 2U : at < 350 ? 3U : 4U) << at;
    }
}
TEST(connect_race, is_stopped_as_a_whole_at_any_time) {
    in_few_schedules(&is_stopped_as_a_whole_at_any_time);
}
CO_TEST(connect_race, refuses_to_connect_to_nothing) {
    auto&& here = co_await coflux::context();
    slow_network net({});
    bool refused = false;
    try {
        (void)co_await connect_race(here, order(0), net);
    } catch (const std::invalid_argument&) {
        refused = true;
    }
    EXPECT_TRUE(refused);
}
struct odd_network {
    coflux::call<link> operator()(coflux::environment&, const endpoint&) {
        throw std::runtime_error("odd");
        co_return link(nullptr, 0);
    }
};
CO_TEST(connect_race, takes_any_exception_for_a_failed_attempt) {
    auto&& here = co_await coflux::context();
    odd_network net;
    std::string text;
    try {
        (void)co_await connect_race(here, order(2), net);
    } catch (const coflux::connect_error& e) {
        text = e.attempts().at(1).text;
    }
    EXPECT_EQ(text, "odd");
}

/// An attempt that finds no memory has failed, and the next one begins.
bool is_connect_error(const std::exception_ptr& e) {
    try {
        std::rethrow_exception(e);
    } catch (const coflux::connect_error& error) {
        return error.attempts().size() == 3 && error.attempts()[2].code == std::errc::not_enough_memory;
    } catch (...) {
        return false;
    }
}
coflux::task<void, coflux::testing::sim_executor> connects_to_the_third(coflux::environment&, slow_network* net) {
    auto&& here = co_await coflux::context();
    const link won = co_await connect_race(here, order(3), *net);
    EXPECT_EQ(won.port(), 3);
}
TEST(connect_race, comes_to_its_end_wherever_memory_is_refused) {
    const auto body = [](coflux::testing::injection& run) {
        coflux::testing::fifo_chooser fifo;
        coflux::testing::simulation sim(fifo);
        coflux::testing::sim_executor on(sim);
        auto env = coflux::make_environment(run.memory(), on);
        slow_network net({{1, {10s, false}}, {2, {10ms, false}}, {3, {0ms, true}}});
        try {
            connects_to_the_third(env, &net).get();
        } catch (...) {
            EXPECT_EQ(net.open, 0);
            throw;
        }
        EXPECT_EQ(net.open, 0);
    };
    coflux::testing::injection_options options;
    options.accepts = &is_connect_error;
    EXPECT_GT(coflux::testing::inject(coflux::testing::allocations, body, options), 5U);
}

// --- over TCP --------------------------------------------------------------------------------------------------------

/// Nothing listens there, and it is no port that the system would give to a socket of another program.
constexpr std::uint16_t closed_port = 1;

template <typename E>
coflux::task<void, E> connects_by_name(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener listener(endpoint::loopback(0));
    const std::uint16_t port = listener.local_endpoint().port();
    // The first two refuse: nothing listens there.
    coflux::resolver names({.look_up = [](const std::string&, coflux::address_family) {
        return endpoints{endpoint::ip("::1", 0), endpoint::ip("127.0.0.2", 0), endpoint::ip("127.0.0.1", 0)};
    }});
    coflux::tcp_stream near = co_await coflux::connect_to(here, names, "some-host", port);
    EXPECT_EQ(near.peer_endpoint(), listener.local_endpoint());
    coflux::tcp_stream far = co_await listener.accept();
    co_await far.write_all("hello");
    std::string got(5, ' ');
    co_await near.read_exactly(coflux_test::bytes_of(got));
    EXPECT_EQ(got, "hello");

    std::string text;
    try {
        (void)co_await coflux::connect_to(here, names, "some-host", closed_port);
    } catch (const coflux::connect_error& e) {
        text = e.what();
        EXPECT_EQ(e.attempts().size(), 3U);
    }
    EXPECT_NE(text.find("connect to some-host:"), std::string::npos) << text;
    EXPECT_NE(text.find("127.0.0.2:"), std::string::npos) << text;
}
template <typename E>
void connects_by_name_on(E& executor) {
    auto env = coflux::make_environment(executor);
    connects_by_name<E>(env).get();
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 20; ++i) connects_by_name<E>(env).get();
    EXPECT_LE(open_descriptors(), before);
}
TEST(connect_to, finds_the_address_that_answers_on_a_worker) {
    coflux::worker_executor worker;
    connects_by_name_on(worker);
}
TEST(connect_to, finds_the_address_that_answers_on_a_pool) {
    coflux::thread_pool_executor pool{2};
    connects_by_name_on(pool);
}

coflux::task<void, coflux::worker_executor> gives_up(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::tcp_listener full(endpoint::loopback(0), {.backlog = 0});
    const std::uint16_t port = full.local_endpoint().port();
    coflux::resolver names;
    const coflux::tcp_stream in_the_backlog = co_await coflux::connect_to(here, names, "127.0.0.1", port);
    const std::size_t before = open_descriptors();
    for (int i = 0; i < 10; ++i) {
        const auto none = co_await coflux::timeout(coflux::connect_to(here, names, "127.0.0.1", port), 1ms);
        EXPECT_FALSE(none.has_value());
    }
    EXPECT_LE(open_descriptors(), before);
}
TEST(connect_to, closes_what_was_being_connected_where_its_time_is_up) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    gives_up(env).get();
}

}  // namespace
