// All bytes of a stream: into each container, with a limit, and what a stop and an error leave.
#include <coflux/io/read_to_end.hpp>

#include <chrono>
#include <cstddef>
#include <memory_resource>
#include <new>
#include <string>
#include <system_error>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/failing_resource.hpp>
#include <coflux/testing/gtest.hpp>

#include "connected.hpp"
#include "memory_streams.hpp"
#include "simulated.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::environment;
using coflux::read_to_end;
using coflux_test::in_few_schedules;
using coflux_test::memory_source;
using sim_task = coflux::task<void, coflux::testing::sim_executor>;

const std::string text = "all the bytes of one stream";

static_assert(coflux::byte_container<std::pmr::string>);
static_assert(coflux::byte_container<std::pmr::vector<unsigned char>>);
static_assert(!coflux::byte_container<std::wstring>);
static_assert(!coflux::byte_container<std::string_view>);

sim_task gives_all_bytes_however_few_come_at_once(environment&) {
    auto&& here = co_await coflux::context();
    const std::string large(20'000, 'x');
    for (const std::string& all : {text, large, std::string()}) {
        for (const std::size_t piece : {std::size_t{1}, std::size_t{7}, std::size_t{4096}, coflux_test::nowhere}) {
            memory_source source{.text = all, .piece = piece};
            std::string got = "before ";
            const std::size_t n = co_await read_to_end(here, source, got, all.size());
            CO_ASSERT_EQ(n, all.size());
            CO_ASSERT_EQ(got, "before " + all);
        }
    }
}
TEST(read_to_end, gives_all_bytes_however_few_come_at_once) {
    in_few_schedules(&gives_all_bytes_however_few_come_at_once);
}

sim_task fills_strings_and_vectors_of_any_memory(environment&) {
    auto&& here = co_await coflux::context();
    std::pmr::monotonic_buffer_resource memory;
    memory_source first{.text = text};
    std::pmr::string in_a_string(&memory);
    (void)co_await read_to_end(here, first, in_a_string, 100);
    EXPECT_EQ(std::string(in_a_string), text);
    memory_source second{.text = text};
    std::vector<std::byte> in_a_vector;
    (void)co_await read_to_end(here, second, in_a_vector, coflux::buffered_reader<memory_source>::no_limit);
    EXPECT_EQ(coflux_test::as_text(in_a_vector), text);
}
TEST(read_to_end, fills_strings_and_vectors_of_any_memory) {
    in_few_schedules(&fills_strings_and_vectors_of_any_memory);
}

sim_task has_a_limit_that_names_both_numbers(environment&) {
    auto&& here = co_await coflux::context();
    for (std::size_t limit = 0; limit != text.size(); ++limit) {
        memory_source source{.text = text, .piece = 3};
        std::string got;
        try {
            (void)co_await read_to_end(here, source, got, limit);
            ADD_FAILURE() << "no error with a limit of " << limit;
        } catch (const coflux::limit_exceeded& e) {
            EXPECT_EQ(e.limit(), limit);
            EXPECT_EQ(e.seen(), limit + 1);
            EXPECT_EQ(std::string(e.what()), "coflux: the stream has more than the limit of " + std::to_string(limit) +
                                                 " bytes: " + std::to_string(limit + 1) + " have come");
        }
        EXPECT_EQ(got, text.substr(0, limit + 1));
        EXPECT_EQ(source.at, limit + 1);
    }
}
TEST(read_to_end, has_a_limit_that_names_both_numbers) {
    in_few_schedules(&has_a_limit_that_names_both_numbers);
}

sim_task loses_nothing_to_a_stop(environment&) {
    auto&& here = co_await coflux::context();
    for (auto after = 500us; after < 8ms; after += 1ms) {
        memory_source source{.text = text, .piece = 5, .pause = 1ms};
        std::string got;
        const auto all = co_await coflux::timeout(read_to_end(here, source, got, 100), after);
        EXPECT_EQ(all.has_value(), after > 7ms) << after.count();
        EXPECT_EQ(got, text.substr(0, source.at));
        (void)co_await read_to_end(here, source, got, 100);
        EXPECT_EQ(got, text);
    }
}
TEST(read_to_end, loses_nothing_to_a_stop) {
    in_few_schedules(&loses_nothing_to_a_stop);
}

sim_task keeps_what_came_before_an_error(environment&) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = text, .piece = 4, .fails_at = 10};
    std::string got;
    EXPECT_THROW((void)co_await read_to_end(here, source, got, 100), std::system_error);
    EXPECT_EQ(got, text.substr(0, 10));
    const std::size_t rest = co_await read_to_end(here, source, got, 100);
    EXPECT_EQ(rest, text.size() - 10);
    EXPECT_EQ(got, text);
}
TEST(read_to_end, keeps_what_came_before_an_error) {
    in_few_schedules(&keeps_what_came_before_an_error);
}

sim_task keeps_what_came_before_it_cannot_grow(environment&) {
    auto&& here = co_await coflux::context();
    const std::string large(20'000, 'x');
    coflux::testing::failing_resource memory;
    memory.fail_at(2);
    memory_source source{.text = large, .piece = 1000};
    std::pmr::vector<char> got(&memory);
    EXPECT_THROW((void)co_await read_to_end(here, source, got, 100'000), std::bad_alloc);
    EXPECT_EQ(got.size(), source.at);
    EXPECT_EQ(std::string(got.begin(), got.end()), large.substr(0, source.at));
}
TEST(read_to_end, keeps_what_came_before_it_cannot_grow) {
    in_few_schedules(&keeps_what_came_before_it_cannot_grow);
}

sim_task goes_on_behind_the_lines_of_a_reader(environment&) {
    auto&& here = co_await coflux::context();
    memory_source source{.text = "head\n" + text, .piece = 9};
    coflux::buffered_reader in(source, 12);
    EXPECT_EQ(co_await in.read_line(here), "head");
    std::string body;
    (void)co_await read_to_end(here, in, body, 100);
    EXPECT_EQ(body, text);
}
TEST(read_to_end, goes_on_behind_the_lines_of_a_reader) {
    in_few_schedules(&goes_on_behind_the_lines_of_a_reader);
}

template <typename E>
coflux::fork<void, E> sends(environment&, coflux::tcp_stream to, std::string all) {
    co_await to.write_all(all);
    to.close();  // a parameter would live as long as the handle of the fork
}
template <typename E>
coflux::task<std::size_t, E> reads_what_a_peer_sends(environment&) {
    auto&& here = co_await coflux::context();
    auto both = co_await coflux_test::connected(here);
    auto sending = sends<E>(here, std::move(both.far), std::string(300'000, 'y'));
    std::string got;
    const std::size_t n = co_await read_to_end(here, both.near, got, 300'000);
    co_await std::move(sending);
    EXPECT_EQ(got, std::string(300'000, 'y'));
    co_return n;
}
TEST(read_to_end, reads_a_connection_until_the_peer_ends_it) {
    EXPECT_EQ(coflux_test::on_a_worker(reads_what_a_peer_sends<coflux::worker_executor>), 300'000U);
    coflux_test::in_simulations(reads_what_a_peer_sends<coflux::testing::sim_executor>, std::size_t{300'000});
}

}  // namespace
