// One coroutine on Boost.Asio. tools/compile_time.py compiles it.
#include <boost/asio.hpp>

#include <chrono>
#include <cstdio>

namespace asio = boost::asio;

asio::awaitable<void> program() {
    asio::steady_timer timer(co_await asio::this_coro::executor, std::chrono::milliseconds(1));
    co_await timer.async_wait(asio::use_awaitable);
    std::puts("done");
}

int main() {
    asio::io_context context;
    asio::co_spawn(context, program(), asio::detached);
    context.run();
}
