// Datagrams on a simulated network: what may happen to them, and how it is found.
#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <set>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/pct_chooser.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_network.hpp>

namespace {

using namespace std::chrono_literals;
using coflux::as_result;
using coflux::borrowed;
using coflux::endpoint;
using coflux::environment;
using coflux::udp_socket;
using coflux::unix_datagram;
using coflux::testing::exploration;
using coflux::testing::explore;
using coflux::testing::fifo_chooser;
using coflux::testing::search_kind;
using coflux::testing::sim_executor;
using coflux::testing::sim_host;
using coflux::testing::sim_network;
using coflux::testing::sim_network_options;
using coflux::testing::simulation;

struct two_hosts {
    explicit two_hosts(sim_network_options options = {}) : net(options) {}

    sim_network net;
    sim_host a = net.host("10.0.0.1");
    sim_host b = net.host("10.0.0.2");
    sim_executor on_a = a.executor();
    sim_executor on_b = b.executor();
    udp_socket at_a{a.at(53)};
};
using hosts = borrowed<two_hosts>;

coflux::call<std::string> receives_text(environment&, udp_socket& at) {
    std::array<std::byte, 64> into{};
    const std::size_t n = co_await at.receive(into);
    co_return std::string(reinterpret_cast<const char*>(into.data()), n);
}

/// A program on the second machine, on a good day.
template <typename F>
void on_a_good_day(F program, sim_network_options options = {}) {
    fifo_chooser fifo;
    simulation sim(fifo);
    two_hosts m(options);
    auto env = coflux::make_environment(m.on_b);
    program(env, borrowed(m)).get();
    m.at_a.close();
    EXPECT_EQ(m.net.open_sockets(), 0U);
    EXPECT_EQ(m.net.dump(), "");
}

// --- between machines

coflux::task<void, sim_executor> names_the_sender(environment&, hosts m) {
    const auto begun = coflux::clock::now();
    udp_socket socket(endpoint::any(0));
    co_await socket.send_to("question", m->a.at(53));
    std::array<std::byte, 4> into{};
    const auto got = co_await m->at_a.receive_from(into);
    EXPECT_EQ(coflux::clock::now() - begun, 20ms);
    EXPECT_EQ(got.from, m->b.at(socket.local_endpoint().port()));
    EXPECT_TRUE(got.is_truncated());
    EXPECT_EQ(got.whole, 8U);

    socket.connect(m->a.at(53));
    EXPECT_EQ(socket.local_endpoint(), got.from);  // the address that it sends from
    udp_socket stranger(endpoint::any(0));
    co_await m->at_a.send_to("answer", got.from);
    co_await stranger.send_to("no", got.from);
    auto&& here = co_await coflux::context();
    EXPECT_EQ(co_await receives_text(here, socket), "answer");
    EXPECT_FALSE((co_await coflux::timeout(socket.receive(into), 1s)).has_value());
}
TEST(sim_network_messages, come_from_one_machine_to_another_in_virtual_time) {
    on_a_good_day(names_the_sender, {.latency = 20ms});
}

coflux::task<void, sim_executor> asks_nobody(environment&, hosts m) {
    udp_socket socket(endpoint::any(0));
    std::array<std::byte, 4> into{};
    const auto unreachable = co_await as_result(socket.send_to("x", endpoint::ip("10.9.9.9", 53)));
    EXPECT_EQ(unreachable.error(), std::errc::network_unreachable);
    co_await socket.send_to("x", m->a.at(54));  // none tells one that is not connected
    EXPECT_FALSE((co_await coflux::timeout(socket.receive(into), 1s)).has_value());
    socket.connect(m->a.at(54));
    const auto begun = coflux::clock::now();
    co_await socket.send("x");
    const auto refused = co_await as_result(socket.receive(into));
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    EXPECT_EQ(coflux::clock::now() - begun, 40ms);
    EXPECT_FALSE((co_await as_result(socket.send("y"))).error());

    udp_socket near(endpoint::loopback(0));
    const auto from_loopback = co_await as_result(near.send_to("x", m->a.at(53)));
    EXPECT_EQ(from_loopback.error(), std::errc::invalid_argument);
    EXPECT_THROW(near.connect(m->a.at(53)), std::system_error);
    EXPECT_THROW(udp_socket{m->a.at(55)}, std::system_error);  // another machine's address
    EXPECT_THROW(udp_socket{endpoint()}, std::system_error);
    EXPECT_THROW(near.join_group(endpoint::ip("239.1.2.3", 0)), std::system_error);
}
TEST(sim_network_messages, are_refused_where_nobody_receives) {
    on_a_good_day(asks_nobody, {.latency = 20ms});
}

coflux::task<void, sim_executor> is_cut_off(environment&, hosts m) {
    auto&& here = co_await coflux::context();
    udp_socket socket(endpoint::any(0));
    m->net.partition(m->a, m->b);
    co_await socket.send_to("lost", m->a.at(53));
    co_await 1s;
    m->net.heal();
    co_await socket.send_to("kept", m->a.at(53));
    EXPECT_EQ(co_await receives_text(here, m->at_a), "kept");

    co_await socket.send_to("on its way", m->a.at(53));
    co_await 10ms;
    m->net.partition(m->a, m->b);
    co_await 1s;
    m->net.heal();
    co_await socket.send_to("after", m->a.at(53));
    EXPECT_EQ(co_await receives_text(here, m->at_a), "after");
}
TEST(sim_network_messages, do_not_wait_for_the_end_of_a_partition) {
    on_a_good_day(is_cut_off, {.latency = 20ms});
}

coflux::task<void, sim_executor> crashes(environment&, hosts m) {
    udp_socket socket(endpoint::any(0));
    socket.connect(m->a.at(53));
    co_await m->at_a.send_to("from the dead", socket.local_endpoint());
    m->net.crash(m->a);
    std::array<std::byte, 4> into{};
    co_await socket.send("x");
    EXPECT_FALSE((co_await coflux::timeout(socket.receive(into), 1h)).has_value());
    m->net.restart(m->a);
    co_await socket.send("x");
    const auto refused = co_await as_result(socket.receive(into));
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    const auto lost = co_await as_result(m->at_a.receive(into));
    EXPECT_EQ(lost.error(), std::errc::network_down);
}
TEST(sim_network_messages, are_lost_in_a_crash_of_either_machine) {
    on_a_good_day(crashes, {.latency = 20ms});
}

coflux::task<void, sim_executor> overflows(environment&, hosts m) {
    auto&& here = co_await coflux::context();
    udp_socket socket(endpoint::any(0));
    for (int i = 0; i != 5; ++i) co_await socket.send_to(std::to_string(i), m->a.at(53));
    co_await 1s;
    const std::string text = m->net.dump();
    EXPECT_NE(
        text.find("10.0.0.1: receives messages at 10.0.0.1:53; 3 messages unread; 2 messages lost for want of room"),
        std::string::npos)
        << text;
    for (const char* const kept : {"0", "1", "2"}) EXPECT_EQ(co_await receives_text(here, m->at_a), kept);
    co_await socket.send_to("again", m->a.at(53));
    EXPECT_EQ(co_await receives_text(here, m->at_a), "again");
}
TEST(sim_network_messages, are_lost_where_a_socket_has_no_room) {
    on_a_good_day(overflows, {.messages = 3});
}

coflux::fork<void, sim_executor> receives_one(environment&, udp_socket* at) {
    std::array<std::byte, 4> into{};
    (void)co_await at->receive(into);
}
coflux::task<void, sim_executor> is_dumped(environment&, hosts m) {
    auto&& here = co_await coflux::context();
    udp_socket socket(endpoint::any(0));
    auto waits = receives_one(here, &m->at_a);
    co_await 1ms;
    socket.connect(m->a.at(53));
    co_await socket.send("x");
    const std::string text = m->net.dump();
    EXPECT_NE(text.find("10.0.0.1: receives messages at 10.0.0.1:53; a coroutine receives\n"), std::string::npos)
        << text;
    EXPECT_NE(
        text.find("10.0.0.2: receives messages at 10.0.0.2:49152; is connected to 10.0.0.1:53; 1 message on their "
                  "way from it\n"),
        std::string::npos)
        << text;
    co_await std::move(waits);
}
TEST(sim_network_messages, are_in_the_dump) {
    on_a_good_day(is_dumped, {.latency = 20ms});
}

coflux::task<void, sim_executor> spreads(environment&, hosts m) {
    udp_socket one(endpoint::any(7), {.shared_port = true});
    udp_socket two(endpoint::any(7), {.shared_port = true});
    EXPECT_THROW(udp_socket{endpoint::loopback(7)}, std::system_error);
    std::array<std::byte, 4> into{};
    for (int i = 0; i != 2; ++i) {
        udp_socket sender(endpoint::any(0));
        co_await sender.send_to("x", endpoint::loopback(7));
        co_await sender.send_to("y", m->b.at(7));
        const auto got = co_await coflux::when_any(one.receive(into), two.receive(into));
        EXPECT_EQ(co_await (got.index() == 0 ? one : two).receive(into), 1U);  // all of a sender come to one
    }
    udp_socket peer(endpoint::any(0));
    two.connect(m->b.at(peer.local_endpoint().port()));
    for (int i = 0; i != 2; ++i) {  // a socket that is connected comes first
        co_await peer.send_to("z", m->b.at(7));
        EXPECT_EQ(co_await two.receive(into), 1U);
        peer = udp_socket(endpoint::any(0));  // of another port
        two.connect(m->b.at(peer.local_endpoint().port()));
    }
    one.close();
    two.close();
    const udp_socket near(endpoint::loopback(7));
    const udp_socket own(m->b.at(7));  // another address
}
TEST(sim_network_messages, are_spread_over_sockets_of_one_port) {
    on_a_good_day(spreads);
}

// --- local sockets

coflux::task<void, sim_executor> uses_paths(environment&, hosts) {
    unix_datagram at(endpoint::local("/no/such/folder/name"));
    EXPECT_THROW(unix_datagram{endpoint::local("/no/such/folder/name")}, std::system_error);
    unix_datagram from = unix_datagram::unbound();
    std::array<std::byte, 4> into{};
    for (int i = 0; i != 2; ++i) co_await from.send_to("abc", endpoint::local("/no/such/folder/name"));
    const auto full = co_await as_result(from.send_to("abc", endpoint::local("/no/such/folder/name")));
    EXPECT_EQ(full.error(), std::errc::resource_unavailable_try_again);
    from.connect(endpoint::local("/no/such/folder/name"));
    EXPECT_FALSE(co_await coflux::timeout(from.send("abc"), 1s));
    EXPECT_EQ((co_await at.receive_from(into)).from.size(), 0U);
    co_await from.send("abc");
    at.close();
    const auto gone = co_await as_result(from.send_to("abc", endpoint::local("/no/such/folder/name")));
    EXPECT_EQ(gone.error(), std::errc::no_such_file_or_directory);
    const endpoint abstract = endpoint::local(std::string_view("\0name", 5));
    const auto unheard = co_await as_result(from.send_to("abc", abstract));
    EXPECT_EQ(unheard.error(), std::errc::connection_refused);
    const auto refused = co_await as_result(from.send("abc"));
    EXPECT_EQ(refused.error(), std::errc::connection_refused);
    const auto nowhere = co_await as_result(unix_datagram::unbound().send("abc"));
    EXPECT_EQ(nowhere.error(), std::errc::not_connected);
}
coflux::task<void, sim_executor> connects_to_paths(environment&, hosts) {
    const endpoint path = endpoint::local("/no/such/folder/name");
    const endpoint abstract = endpoint::local(std::string_view("\0name", 5));
    const auto never = co_await as_result(coflux::unix_stream::connect(path));
    EXPECT_EQ(never.error(), std::errc::no_such_file_or_directory);
    const auto unheard = co_await as_result(coflux::unix_stream::connect(abstract));
    EXPECT_EQ(unheard.error(), std::errc::connection_refused);
    {
        const coflux::unix_listener listener(path);
        EXPECT_TRUE((co_await as_result(coflux::unix_stream::connect(path))).has_value());
    }
    const auto no_more = co_await as_result(coflux::unix_stream::connect(path));
    EXPECT_EQ(no_more.error(), std::errc::no_such_file_or_directory);
}
TEST(sim_network_messages, and_streams_say_as_the_system_does_that_there_is_no_file) {
    on_a_good_day(connects_to_paths);
}
TEST(sim_network_messages, of_local_sockets_wait_for_room) {
    on_a_good_day(uses_paths, {.messages = 2});
}

// --- what the chooser may do

coflux::task<std::vector<std::string>, sim_executor> sends_three(environment&, hosts m,
                                                                 std::chrono::nanoseconds apart) {
    udp_socket socket(endpoint::any(0));
    for (const char* const text : {"1", "2", "3"}) {
        co_await socket.send_to(std::string_view(text), m->a.at(53));
        if (apart.count() != 0) co_await coflux::sleep_for(apart);
    }
    std::vector<std::string> all;
    std::string into(8, ' ');
    while (const auto n = co_await coflux::timeout(m->at_a.receive(std::as_writable_bytes(std::span(into))), 1s))
        all.push_back(into.substr(0, *n));
    co_return all;
}
using orders = std::set<std::vector<std::string>>;
orders seen_with(const sim_network_options& options, exploration& r,
                 std::chrono::nanoseconds apart = std::chrono::nanoseconds(0)) {
    orders seen;
    r = explore({.runs = 20'000, .search = search_kind::exhaustive, .deviations = 3}, [&](simulation&) {
        two_hosts m(options);
        auto env = coflux::make_environment(m.on_b);
        seen.insert(sends_three(env, borrowed(m), apart).get());
    });
    return seen;
}
TEST(sim_network_messages, come_in_each_order_and_all_come_without_faults) {
    exploration r;
    const auto seen = seen_with({.latency = 1ms}, r);
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_TRUE(r.exhausted);
    EXPECT_EQ(seen.size(), 6U);
    const auto in_order = seen_with({.latency = 1ms, .reorders = false}, r);
    EXPECT_EQ(in_order.size(), 1U);
    EXPECT_EQ(in_order.begin()->size(), 3U);
}
TEST(sim_network_messages, are_lost_or_come_twice_as_often_as_they_may) {
    exploration r;
    const auto lost =
        seen_with({.latency = 1ms, .reorders = false, .faults = 2, .duplicates = false, .delays = false}, r);
    EXPECT_TRUE(r.exhausted) << r.report();
    EXPECT_EQ(lost.size(), 7U);  // of three all but none
    const auto twice = seen_with({.latency = 1ms, .reorders = false, .faults = 1, .loses = false, .delays = false}, r);
    EXPECT_EQ(twice, (std::set<std::vector<std::string>>{
                         {"1", "1", "2", "3"}, {"1", "2", "2", "3"}, {"1", "2", "3", "3"}, {"1", "2", "3"}}));
    const auto either = seen_with({.latency = 1ms, .reorders = false, .faults = 1, .delays = false}, r);
    EXPECT_EQ(either.size(), 7U);
}

TEST(sim_network_messages, that_are_late_are_overtaken_by_what_is_sent_later) {
    exploration r;
    const orders once =
        seen_with({.latency = 1ms, .faults = 1, .loses = false, .duplicates = false, .longest_delay = 160ms}, r, 20ms);
    EXPECT_TRUE(r.exhausted) << r.report();
    EXPECT_EQ(once, (orders{{"1", "2", "3"}, {"2", "1", "3"}, {"2", "3", "1"}, {"1", "3", "2"}}));
    const orders twice = seen_with({.latency = 1ms, .faults = 1, .loses = false, .longest_delay = 160ms}, r, 20ms);
    EXPECT_TRUE(twice.contains({"1", "2", "3", "1"}));
    EXPECT_TRUE(twice.contains({"1", "2", "1", "3"}));
    const orders in_order =
        seen_with({.latency = 1ms, .reorders = false, .faults = 1, .loses = false, .duplicates = false}, r, 20ms);
    EXPECT_EQ(in_order, (orders{{"1", "2", "3"}}));
}

// --- a request that is sent again

coflux::task<void, sim_executor> counts(environment&, udp_socket* at, int* count) {
    std::array<std::byte, 8> into{};
    for (;;) {
        const auto got = co_await at->receive_from(into);
        ++*count;  // a fault, if the same request may come twice
        co_await at->send_to(std::to_string(*count), got.from);
    }
}
/// Asks again until it is answered.
coflux::task<std::string, sim_executor> asks_until_answered(environment&, endpoint to, bool again) {
    udp_socket socket(endpoint::any(0));
    socket.connect(to);
    std::string answer(8, ' ');
    for (int i = 0; i != (again ? 4 : 1); ++i) {
        co_await socket.send("add one");
        const auto n = co_await coflux::timeout(socket.receive(std::as_writable_bytes(std::span(answer))), 1s);
        if (n) co_return answer.substr(0, *n);
    }
    throw std::runtime_error("no answer");
}
void count_once(const sim_network_options& options, bool again) {
    two_hosts m(options);
    auto servers = coflux::make_environment(m.on_a);
    auto clients = coflux::make_environment(m.on_b);
    int count = 0;
    auto serving = counts(servers, &m.at_a, &count);
    struct stop_at_end {
        decltype(servers)& what;
        ~stop_at_end() { what.request_stop(); }
    } const ends{servers};
    const std::string answer = asks_until_answered(clients, m.a.at(53), again).get();
    if (count != 1) throw std::runtime_error("counted " + std::to_string(count));
    if (answer != "1") throw std::runtime_error("answered '" + answer + "'");
}
exploration search_count(search_kind search, const sim_network_options& options, bool again) {
    return explore({.runs = 1000, .search = search, .deviations = 2}, [&](simulation&) { count_once(options, again); });
}
TEST(sim_network_messages, can_be_searched_exhaustively) {
    EXPECT_TRUE(search_count(search_kind::exhaustive, {}, false).ok());
    const auto lost = search_count(search_kind::exhaustive, {.faults = 1, .duplicates = false}, false);
    ASSERT_FALSE(lost.ok());
    EXPECT_EQ(lost.failure->what, "no answer");
    const auto twice = search_count(search_kind::exhaustive, {.faults = 1, .loses = false}, true);
    ASSERT_FALSE(twice.ok());
    EXPECT_EQ(twice.failure->what, "counted 2");
    const auto again = search_count(search_kind::exhaustive, {.faults = 1}, true);
    ASSERT_FALSE(again.ok());
}
TEST(sim_network_messages, can_be_searched_by_priorities) {
    std::set<std::vector<std::string>> seen;
    for (std::uint64_t seed = 0; seed != 100; ++seed) {
        coflux::testing::pct_chooser pct(seed, 1, 16);
        simulation sim(pct);
        two_hosts m({.latency = 1ms});
        auto env = coflux::make_environment(m.on_b);
        seen.insert(sends_three(env, borrowed(m), 0ns).get());
    }
    EXPECT_EQ(seen.size(), 6U);
}
TEST(sim_network_messages, that_break_a_program_do_so_again_by_the_smallest_schedule) {
    const auto found = search_count(search_kind::mixed, {.faults = 4, .duplicates = false}, false);
    ASSERT_FALSE(found.ok());
    const std::string text = coflux::testing::to_text(found.failure->schedule);
    EXPECT_EQ(std::count(text.begin(), text.end(), ','), 0) << text;  // one fault is enough
    EXPECT_NE(text.find('f'), std::string::npos) << text;
    auto replay = coflux::testing::replay_chooser::parse(text);
    ASSERT_TRUE(replay.has_value());
    simulation sim(*replay);
    std::string what;
    try {
        count_once({.faults = 4, .duplicates = false}, false);
    } catch (const std::runtime_error& e) {
        what = e.what();
    }
    EXPECT_EQ(what, found.failure->what);
    EXPECT_EQ(replay->diverged_at(), coflux::testing::replay_chooser::nowhere);
}

coflux::task<void, sim_executor> moves_batches(environment&, hosts m, borrowed<std::set<std::size_t>> sizes) {
    udp_socket socket(endpoint::any(0));
    const std::string text = "x";
    std::vector<coflux::outgoing_datagram> all(4, {std::as_bytes(std::span(text)), m->a.at(53)});
    for (std::span<const coflux::outgoing_datagram> left = all; !left.empty();) {
        const std::size_t n = co_await socket.send_batch(left);
        sizes->insert(n);
        left = left.subspan(n);
    }
    std::array<std::byte, 4> into{};
    std::vector<coflux::incoming_datagram> come(4, {into, {}});
    for (std::size_t n = 0; n != 4;) {
        const std::size_t some = co_await m->at_a.receive_batch(come);
        sizes->insert(some + 10);
        n += some;
    }
}
TEST(sim_network_messages, of_a_batch_move_as_many_as_the_chooser_says) {
    std::set<std::size_t> sizes;
    const auto r = explore({.runs = 200}, [&](simulation&) {
        two_hosts m;
        auto env = coflux::make_environment(m.on_b);
        moves_batches(env, borrowed(m), borrowed(sizes)).get();
    });
    EXPECT_TRUE(r.ok()) << r.report();
    EXPECT_EQ(sizes, (std::set<std::size_t>{1, 2, 3, 4, 11, 12, 13, 14}));
}

}  // namespace
