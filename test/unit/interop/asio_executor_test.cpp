#include <coflux/interop/asio_executor.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <latch>
#include <memory>
#include <string>
#include <thread>
#include <type_traits>

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
