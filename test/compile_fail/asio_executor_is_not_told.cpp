// expect: coflux: this operation does not tell the executor of its I/O object
#include <coflux/coflux.hpp>

#include <coflux/interop/asio.hpp>

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

namespace asio = boost::asio;

template <typename Token>
auto async_pause(asio::steady_timer& timer, Token&& token) {
    return asio::async_initiate<Token, void(boost::system::error_code)>(
        [&timer](auto&& handler) { timer.async_wait(std::forward<decltype(handler)>(handler)); }, token);
}
coflux::call<void> pauses(coflux::environment&, asio::steady_timer& timer) {
#ifdef COFLUX_GOOD
    co_await async_pause(timer, asio::bind_executor(timer.get_executor(), coflux::use_coflux));
#else
    co_await async_pause(timer, coflux::use_coflux);
#endif
}
