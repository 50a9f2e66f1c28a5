#include <coflux/io/resolver.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/coflux.hpp>
#include <coflux/testing/gtest.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::address_family;
using coflux::endpoint;
using coflux::resolver;
using coflux::resolver_errc;
using endpoints = std::vector<endpoint>;
using pool = coflux::thread_pool_executor;

/// Lookups that wait until the test lets them go.
class gated_names {
public:
    endpoints operator()(const std::string& host) {
        coflux::detail::unique_lock<coflux::detail::mutex> held(lock_);
        ++begun_;
        most_ = std::max(most_, begun_ - ended_);
        changed_.notify_all();
        changed_.wait(held, [&] { return open_ != 0; });
        --open_;
        ++ended_;
        changed_.notify_all();
        if (host == "unknown") throw std::system_error(std::make_error_code(std::errc::host_unreachable));
        if (host == "odd") throw std::domain_error("odd");
        return {endpoint::ip("10.0.0." + std::to_string(host.size()), 0), endpoint::ip("::2", 0)};
    }
    void let_go(int lookups) {
        const coflux::detail::lock_guard<coflux::detail::mutex> held(lock_);
        open_ += lookups;
        changed_.notify_all();
    }
    void await_begun(int lookups) {
        coflux::detail::unique_lock<coflux::detail::mutex> held(lock_);
        changed_.wait(held, [&] { return begun_ >= lookups; });
    }
    void await_ended(int lookups) {
        coflux::detail::unique_lock<coflux::detail::mutex> held(lock_);
        changed_.wait(held, [&] { return ended_ >= lookups; });
    }
    [[nodiscard]] int begun() {
        const coflux::detail::lock_guard<coflux::detail::mutex> held(lock_);
        return begun_;
    }
    [[nodiscard]] int most_at_once() {
        const coflux::detail::lock_guard<coflux::detail::mutex> held(lock_);
        return most_;
    }

private:
    coflux::detail::mutex lock_;
    coflux::detail::condition_variable changed_;
    int open_ = 0;
    int begun_ = 0;
    int ended_ = 0;
    int most_ = 0;
};

coflux::resolver_options by(const std::shared_ptr<gated_names>& names, std::size_t most = 8) {
    return {.max_lookups = most,
            .look_up = [names](const std::string& host, address_family) { return (*names)(host); }};
}

std::vector<std::string> texts(const endpoints& all) {
    std::vector<std::string> result;
    for (const endpoint& e : all) result.push_back(e.to_string());
    return result;
}

template <typename E>
coflux::fork<endpoints, E> asks(coflux::environment&, resolver* names, std::string host, std::uint16_t port) {
    auto&& here = co_await coflux::context();
    co_return co_await names->resolve(here, host, port);
}
/// Lets the coroutines of the pool run until `names` have so many lookups.
coflux::call<void> until_begun(coflux::environment&, gated_names& names, int lookups) {
    co_await coflux::blocking([&] { names.await_begun(lookups); });
}

template <typename F>
void on_pool(F body) {
    pool threads(2);
    auto env = coflux::make_environment(threads);
    body(env).get();
}

// --- addresses -------------------------------------------------------------------------------------------------------

coflux::task<void, pool> resolves_numbers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    resolver by_test(by(names));
    const endpoints four = co_await by_test.resolve(here, "127.0.0.1", 80);
    EXPECT_EQ(four, endpoints{endpoint::ip("127.0.0.1", 80)});
    const endpoints six = co_await by_test.resolve(here, "::1", 65535);
    EXPECT_EQ(six, endpoints{endpoint::ip("::1", 65535)});
    EXPECT_EQ(names->begun(), 0);
    for (const std::string_view wrong : {"1.2.3.4.5", "1.2.3.256", "::g", ""}) {
        bool not_found = false;
        try {
            (void)co_await by_test.resolve(here, wrong, 80);
        } catch (const std::system_error& e) {
            not_found = e.code() == resolver_errc::not_found;
            EXPECT_NE(std::string(e.what()).find("look up '" + std::string(wrong) + "'"), std::string::npos)
                << e.what();
        }
        EXPECT_TRUE(not_found) << wrong;
    }
    const auto other_family = co_await coflux::as_outcome(by_test.resolve(here, "127.0.0.1", 80, address_family::v6));
    EXPECT_TRUE(other_family.has_error());
    EXPECT_EQ(names->begun(), 0);
}
TEST(resolver, looks_no_number_up) {
    on_pool(resolves_numbers);
}

coflux::task<void, pool> resolves_by_the_system(coflux::environment&) {
    auto&& here = co_await coflux::context();
    resolver names;
    const endpoints all = co_await names.resolve(here, "localhost", 8080, address_family::v4);
    EXPECT_EQ(all, endpoints{endpoint::ip("127.0.0.1", 8080)});
    // RFC 6761: never exists.
    std::string text;
    bool is_of_resolver = false;
    try {
        (void)co_await names.resolve(here, "no-such-host.invalid", 80);
    } catch (const std::system_error& e) {
        text = e.what();
        is_of_resolver = e.code() == resolver_errc::not_found || e.code() == resolver_errc::try_again;
        EXPECT_NE(text.find(e.code().message()), std::string::npos);
        EXPECT_STREQ(e.code().category().name(), "coflux.resolver");
    }
    EXPECT_TRUE(is_of_resolver);
    EXPECT_NE(text.find("look up 'no-such-host.invalid'"), std::string::npos) << text;
    const auto cut = co_await coflux::as_outcome(names.resolve(here, std::string_view("localhost\0.org", 14), 80));
    EXPECT_TRUE(cut.has_error());
    EXPECT_EQ(names.running(), 0U);
}
TEST(resolver, asks_the_system) {
    on_pool(resolves_by_the_system);
}

TEST(resolver, has_conditions_with_texts) {
    EXPECT_EQ(make_error_condition(resolver_errc::not_found).message(), "no such host");
    EXPECT_EQ(make_error_condition(resolver_errc::try_again).message(), "try again later");
    EXPECT_NE(std::error_code(12345, coflux::resolver_category()), resolver_errc::not_found);
    EXPECT_THROW(resolver({.max_lookups = 0}), std::invalid_argument);
}

coflux::task<void, pool> asks_one_that_fails_with_no_error(coflux::environment&) {
    auto&& here = co_await coflux::context();
    resolver names({.look_up = [](const std::string&, address_family) -> endpoints {
        throw std::system_error(std::error_code(), "says nothing");
    }});
    auto asked = names.resolve(here, "some.host", 80);
    const auto end = co_await coflux::as_outcome(std::move(asked));
    EXPECT_TRUE(end.has_error());
}
TEST(resolver, gives_no_empty_list_for_an_error_without_a_code) {
    on_pool(asks_one_that_fails_with_no_error);
}

coflux::task<void, pool> asks_without_a_limit(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const std::size_t most : {std::size_t{1}, std::size_t{1} << 62, static_cast<std::size_t>(-1)}) {
        resolver names({.max_lookups = most, .look_up = [](const std::string&, address_family) {
                            return endpoints{endpoint::loopback(0)};
                        }});
        auto asked = names.resolve(here, "some.host", 80);
        const endpoints all = co_await std::move(asked);
        EXPECT_EQ(all, endpoints{endpoint::loopback(80)});
        EXPECT_EQ(names.running(), 0U);
    }
}
TEST(resolver, takes_any_number_of_lookups_but_none) {
    on_pool(asks_without_a_limit);
}

// --- one lookup for many ---------------------------------------------------------------------------------------------

coflux::task<void, pool> shares_a_lookup(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    resolver by_test(by(names));
    std::vector<coflux::fork<endpoints, pool>> all;
    for (std::uint16_t port = 1; port <= 20; ++port) all.push_back(asks<pool>(here, &by_test, "host", port));
    co_await until_begun(here, *names, 1);
    names->let_go(1);
    // The one that comes late asks anew, if it does.
    names->let_go(100);
    std::uint16_t port = 0;
    for (const endpoints& found : co_await coflux::when_all(std::move(all))) {
        ++port;
        EXPECT_EQ(texts(found),
                  (std::vector<std::string>{"10.0.0.4:" + std::to_string(port), "[::2]:" + std::to_string(port)}));
    }
}
TEST(resolver, gives_one_lookup_to_all_that_ask_for_its_name) {
    on_pool(shares_a_lookup);
}

coflux::task<void, coflux::worker_executor> shares_exactly_one(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    resolver by_test(by(names));
    std::vector<coflux::fork<endpoints, coflux::worker_executor>> all;
    for (int i = 0; i < 5; ++i) all.push_back(asks<coflux::worker_executor>(here, &by_test, "host", 1));
    auto other = asks<coflux::worker_executor>(here, &by_test, "another", 1);
    for (int i = 0; i < 10; ++i) co_await coflux::this_coroutine::yield();  // on one worker: they all wait
    co_await until_begun(here, *names, 2);
    EXPECT_EQ(names->begun(), 2);
    EXPECT_EQ(by_test.running(), 2U);
    names->let_go(2);
    (void)co_await coflux::when_all(std::move(all));
    (void)co_await std::move(other);
    EXPECT_EQ(names->begun(), 2);
    EXPECT_EQ(by_test.running(), 0U);

    // No cache.
    names->let_go(1);
    (void)co_await by_test.resolve(here, "host", 1);
    EXPECT_EQ(names->begun(), 3);
}
TEST(resolver, asks_once_at_a_time_and_keeps_no_answer) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    shares_exactly_one(env).get();
}

coflux::task<void, pool> bounds_them(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    resolver by_test(by(names, 2));
    std::vector<coflux::fork<endpoints, pool>> all;
    for (int i = 0; i < 10; ++i)
        all.push_back(asks<pool>(here, &by_test, std::string(1, static_cast<char>('a' + i)), 1));
    for (int i = 0; i < 10; ++i) {
        co_await until_begun(here, *names, std::min(i + 2, 10));
        names->let_go(1);
    }
    (void)co_await coflux::when_all(std::move(all));
    EXPECT_EQ(names->most_at_once(), 2);
}
TEST(resolver, makes_no_more_lookups_at_once_than_it_may) {
    on_pool(bounds_them);
}

coflux::task<void, pool> gives_an_error_to_all(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    resolver by_test(by(names));
    auto one = asks<pool>(here, &by_test, "unknown", 1);
    auto two = asks<pool>(here, &by_test, "unknown", 2);
    auto odd = asks<pool>(here, &by_test, "odd", 2);
    names->let_go(3);
    for (auto* f : {&one, &two}) {
        std::string text;
        try {
            (void)co_await std::move(*f);
        } catch (const std::system_error& e) {
            text = e.code() == std::errc::host_unreachable ? e.what() : "";
        }
        EXPECT_NE(text.find("look up 'unknown': No route to host"), std::string::npos) << text;
    }
    bool was_odd = false;
    try {
        (void)co_await std::move(odd);
    } catch (const std::domain_error&) {
        was_odd = true;
    }
    EXPECT_TRUE(was_odd);
    EXPECT_EQ(by_test.running(), 0U);
}
TEST(resolver, gives_an_error_to_all_that_wait) {
    on_pool(gives_an_error_to_all);
}

// --- stop ------------------------------------------------------------------------------------------------------------

coflux::task<void, coflux::worker_executor> leaves_a_lookup(coflux::environment&) {
    using worker = coflux::worker_executor;
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    {
        resolver by_test(by(names));
        auto inside = coflux::make_environment(here);
        auto leader = asks<worker>(inside, &by_test, "host", 1);
        co_await until_begun(here, *names, 1);
        auto follower = asks<worker>(here, &by_test, "host", 2);
        co_await coflux::this_coroutine::yield();
        co_await coflux::this_coroutine::yield();
        inside.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(leader));
        EXPECT_TRUE(end.is_stopped());  // though the lookup goes on
        co_await inside.join();
        EXPECT_EQ(by_test.running(), 1U);
        names->let_go(1);
        const endpoints found = co_await std::move(follower);
        EXPECT_EQ(found.front().to_string(), "10.0.0.4:2");
        EXPECT_EQ(names->begun(), 1);

        // One that no coroutine waits for any more, and that outlives its resolver.
        const bool in_time = (co_await coflux::timeout(asks<worker>(here, &by_test, "alone", 1), 1ms)).has_value();
        EXPECT_FALSE(in_time);
    }
    names->let_go(1);
    co_await coflux::blocking([&] { names->await_ended(names->begun()); });
}
TEST(resolver, leaves_a_lookup_where_it_is_stopped_and_its_result_to_the_others) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    leaves_a_lookup(env).get();
}

coflux::task<void, coflux::worker_executor> passes_the_lead_on(coflux::environment&, int followers) {
    using worker = coflux::worker_executor;
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    resolver by_test(by(names, 1));
    auto first = asks<worker>(here, &by_test, "first", 1);  // has the permit
    co_await until_begun(here, *names, 1);
    auto inside = coflux::make_environment(here);
    auto leader = asks<worker>(inside, &by_test, "second", 1);
    co_await coflux::this_coroutine::yield();
    std::vector<coflux::fork<endpoints, worker>> others;
    for (int i = 0; i < followers; ++i) others.push_back(asks<worker>(here, &by_test, "second", 7));
    for (int i = 0; i < 5; ++i) co_await coflux::this_coroutine::yield();
    inside.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(leader));
    EXPECT_TRUE(end.is_stopped());
    co_await inside.join();
    EXPECT_EQ(names->begun(), 1);
    names->let_go(2);
    (void)co_await std::move(first);
    for (const endpoints& found : co_await coflux::when_all(std::move(others)))
        EXPECT_EQ(found.front().to_string(), "10.0.0.6:7");
    EXPECT_EQ(names->begun(), followers == 0 ? 1 : 2);
    EXPECT_EQ(by_test.running(), 0U);
}
TEST(resolver, lets_another_lead_where_the_leader_is_stopped_before_it_began) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    passes_the_lead_on(env, 0).get();
    passes_the_lead_on(env, 1).get();
    passes_the_lead_on(env, 4).get();
}

/// The same where the leader waits for a thread of the pool.
coflux::task<void, coflux::worker_executor> waits_for_a_thread(coflux::environment&) {
    using worker = coflux::worker_executor;
    auto&& here = co_await coflux::context();
    const auto names = std::make_shared<gated_names>();
    coflux::blocking_pool one({.max_threads = 1});
    auto options = by(names, 4);
    options.pool = &one;
    resolver by_test(options);
    auto first = asks<worker>(here, &by_test, "first", 1);
    co_await until_begun(here, *names, 1);
    auto inside = coflux::make_environment(here);
    auto leader = asks<worker>(inside, &by_test, "second", 1);
    co_await coflux::this_coroutine::yield();
    auto follower = asks<worker>(here, &by_test, "second", 1);
    for (int i = 0; i < 5; ++i) co_await coflux::this_coroutine::yield();
    EXPECT_EQ(by_test.running(), 2U);
    inside.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(leader));
    EXPECT_TRUE(end.is_stopped());
    co_await inside.join();
    names->let_go(2);
    (void)co_await std::move(first);
    (void)co_await std::move(follower);
    EXPECT_EQ(names->begun(), 2);
    EXPECT_EQ(by_test.running(), 0U);
}
TEST(resolver, gives_its_permit_back_where_the_leader_is_stopped_before_a_thread_has_it) {
    coflux::worker_executor worker;
    auto env = coflux::make_environment(worker);
    waits_for_a_thread(env).get();
}

coflux::fork<void, pool> asks_and_is_stopped(coflux::environment&, resolver* names, int i) {
    auto&& here = co_await coflux::context();
    const std::string host(static_cast<std::size_t>(1 + i % 3), 'h');
    (void)co_await coflux::timeout(names->resolve(here, host, 1), std::chrono::microseconds(i * 7 % 60));
    const endpoints found = co_await names->resolve(here, host, 2);
    EXPECT_EQ(found.front().port(), 2);
}
coflux::task<void, pool> stops_at_all_times(coflux::environment&) {
    auto&& here = co_await coflux::context();
    resolver names({.max_lookups = 2, .look_up = [](const std::string& host, address_family) {
                        return endpoints{endpoint::ip("10.0.0." + std::to_string(host.size()), 0)};
                    }});
    std::vector<coflux::fork<void, pool>> all;
    for (int i = 0; i < 1000; ++i) all.push_back(asks_and_is_stopped(here, &names, i));
    co_await coflux::when_all(std::move(all));
    EXPECT_EQ(names.running(), 0U);
}
TEST(resolver, serves_all_whenever_some_are_stopped) {
    on_pool(stops_at_all_times);
}

CO_TEST(resolver, works_in_a_simulation) {
    auto&& here = co_await coflux::context();
    int asked = 0;
    resolver names({.look_up = [&](const std::string&, address_family) {
        ++asked;
        return endpoints{endpoint::loopback(0)};
    }});
    const endpoints found = co_await names.resolve(here, "host", 5);
    EXPECT_EQ(found, endpoints{endpoint::loopback(5)});
    EXPECT_EQ(asked, 1);
    resolver twice({.look_up = [](const std::string&, address_family) {
        return endpoints{endpoint::loopback(1), endpoint::ip("127.0.0.2", 0), endpoint::loopback(2)};
    }});
    const endpoints once = co_await twice.resolve(here, "host", 5);
    EXPECT_EQ(once, (endpoints{endpoint::loopback(5), endpoint::ip("127.0.0.2", 5)}));
    resolver none({.look_up = [](const std::string&, address_family) { return endpoints(); }});
    bool not_found = false;
    try {
        (void)co_await none.resolve(here, "host", 5);
    } catch (const std::system_error& e) {
        not_found = e.code() == resolver_errc::not_found;
    }
    EXPECT_TRUE(not_found);
    std::string text;
    try {
        (void)co_await none.resolve(here, std::string_view("ho\0st", 5), 5);
    } catch (const std::system_error& e) {
        text = e.what();
    }
    EXPECT_NE(text.find("look up 'ho\\0st'"), std::string::npos) << text;
}

}  // namespace
