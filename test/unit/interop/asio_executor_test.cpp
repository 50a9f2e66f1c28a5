#include <coflux/interop/asio_executor.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>
#include <utility>

#include <gtest/gtest.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>

#include <coflux/coflux.hpp>
#include <coflux/interop/asio.hpp>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

static_assert(asio::execution::is_executor<coflux::asio_executor<pool>>::value);
static_assert(std::is_convertible_v<coflux::asio_executor<pool>, asio::any_io_executor>);

TEST(asio_executor, runs_each_function_once_and_never_inside_the_call) {
    worker w;
    coflux::asio_context<worker> context(w);
    constexpr int many = 1000;
    int count = 0;  // one thread's
    std::thread::id ran_on;
    std::latch done(1);
    for (int i = 0; i < many; ++i) {
        asio::post(context.get_executor(), [&, owned = std::make_unique<int>(i)] {
            EXPECT_EQ(*owned, count);
            ran_on = std::this_thread::get_id();
            const auto ran = std::make_shared<bool>(false);
            asio::dispatch(context.get_executor(), [ran] { *ran = true; });
            EXPECT_FALSE(*ran);
            if (++count == many) done.count_down();
        });
    }
    done.wait();
    EXPECT_NE(ran_on, std::this_thread::get_id());
}

TEST(asio_executor, is_equal_to_those_of_its_context) {
    worker w;
    coflux::asio_context<worker> context(w);
    coflux::asio_context<worker> other(w);
    EXPECT_TRUE(context.get_executor() == context.get_executor());
    EXPECT_FALSE(context.get_executor() == other.get_executor());
    EXPECT_EQ(&asio::query(context.get_executor(), asio::execution::context), &context);
    EXPECT_EQ(asio::query(context.get_executor(), asio::execution::blocking), asio::execution::blocking.never);
}

TEST(asio_executor, runs_the_handlers_of_a_timer) {
    pool p{2};
    coflux::asio_context<pool> context(p);
    asio::steady_timer timer(context, 1ms);
    std::latch done(1);
    timer.async_wait([&](const boost::system::error_code& error) {
        EXPECT_FALSE(error);
        done.count_down();
    });
    done.wait();
}

TEST(asio_executor, a_context_waits_for_the_function_that_runs) {
    pool p{2};
    bool ended = false;
    std::latch begun(1);
    {
        coflux::asio_context<pool> context(p);
        // The code that runs the functions of a strand uses the strand after them, and the strand the context.
        asio::post(asio::make_strand(context.get_executor()), [&] {
            begun.count_down();
            std::this_thread::sleep_for(2ms);
            ended = true;
        });
        begun.wait();
    }
    EXPECT_TRUE(ended);
}

TEST(asio_executor, a_context_destroys_what_has_not_begun) {
    worker w;
    std::latch begun(1);
    std::latch go_on(1);
    std::weak_ptr<int> owned;
    bool ran = false;
    std::jthread destroys;
    {
        auto context = std::make_unique<coflux::asio_context<worker>>(w);
        asio::post(context->get_executor(), [&] {
            begun.count_down();
            go_on.wait();
        });
        begun.wait();
        auto kept = std::make_shared<int>(1);
        owned = kept;
        asio::post(context->get_executor(), [&ran, kept = std::move(kept)] { ran = true; });
        destroys = std::jthread([context = std::move(context)]() mutable { context.reset(); });
    }
    while (!owned.expired()) std::this_thread::yield();
    go_on.count_down();
    destroys.join();
    std::latch later(1);  // what the worker was given before has had its turn
    coflux::asio_context<worker> other(w);
    asio::post(other.get_executor(), [&] { later.count_down(); });
    later.wait();
    EXPECT_FALSE(ran);
}

coflux::task<void, worker> leaves_a_function(coflux::environment&, worker* w, bool* ran) {
    coflux::asio_context<worker> context(*w);
    asio::post(context.get_executor(), [ran] { *ran = true; });
    co_return;
}
TEST(asio_executor, a_context_dies_on_the_thread_that_would_run_its_functions) {
    bool ran = false;
    {
        worker w;
        auto env = coflux::make_environment(w);
        leaves_a_function(env, &w, &ran).get();
    }
    EXPECT_FALSE(ran);
}

coflux::fork<void, worker> awaits_timer(auto&&, asio::steady_timer* timer) {
    co_await timer->async_wait(coflux::use_coflux);
}
coflux::task<void, worker> takes_a_context_away(coflux::environment&, worker* w) {
    auto&& here = co_await coflux::context();
    auto context = std::make_unique<coflux::asio_context<worker>>(*w);
    auto timer = std::make_unique<asio::steady_timer>(*context, 1h);
    auto never_begins = awaits_timer(here, timer.get());
    co_await coflux::yield();  // it awaits, and the context has the function that begins the operation
    timer.reset();
    context.reset();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(never_begins))).is_stopped());
}
TEST(asio_executor, a_coroutine_stops_where_its_context_dies) {
    worker w;
    auto env = coflux::make_environment(w);
    takes_a_context_away(env, &w).get();
}

void lets_a_context_die_in_its_function() {
    worker w;
    auto context = std::make_unique<coflux::asio_context<worker>>(w);
    asio::post(context->get_executor(), [&] { context.reset(); });
    std::this_thread::sleep_for(10s);
}
class asio_executor_death : public testing::Test {
protected:
    void SetUp() override { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
    void TearDown() override { GTEST_FLAG_SET(death_test_style, "fast"); }
};
TEST_F(asio_executor_death, a_context_that_dies_in_its_own_function_says_so) {
    EXPECT_DEATH(lets_a_context_die_in_its_function(), "an asio_context dies in a function that its executor runs");
}

/// Both directions at once: Asio's operations on our executor, awaited in our coroutines.
template <typename E>
coflux::task<void, E> talks(coflux::environment&, coflux::asio_context<E>* context) {
    auto on = asio::make_strand(context->get_executor());
    tcp::acceptor acceptor(on, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    tcp::socket client(on);
    co_await client.async_connect(acceptor.local_endpoint(), coflux::use_coflux);
    tcp::socket server = co_await acceptor.async_accept(coflux::use_coflux);
    std::array<char, 4> four{};
    EXPECT_EQ(co_await client.async_write_some(asio::buffer("four", 4), coflux::use_coflux), 4U);
    EXPECT_EQ(co_await server.async_read_some(asio::buffer(four), coflux::use_coflux), 4U);
    EXPECT_EQ(std::string(four.data(), 4), "four");
    EXPECT_FALSE(co_await coflux::timeout(server.async_read_some(asio::buffer(four), coflux::use_coflux), 2ms));
}
TEST(asio_executor, serves_sockets_that_coroutines_await_on_a_worker) {
    worker w;
    coflux::asio_context<worker> context(w);
    auto env = coflux::make_environment(w);
    talks(env, &context).get();
}
TEST(asio_executor, serves_sockets_that_coroutines_await_on_a_pool) {
    pool p{2};
    coflux::asio_context<pool> context(p);
    auto env = coflux::make_environment(p);
    talks(env, &context).get();
}

}  // namespace
