// serve: accepts connections, runs a handler for each, and ends well.
#pragma once

#include <concepts>
#include <memory>
#include <type_traits>
#include <utility>

#include <coflux/io/detail/serving.hpp>
#include <coflux/io/serve_options.hpp>
#include <coflux/io/tcp.hpp>

namespace coflux {

/// A source of connections: `co_await listener.accept()` gives the next one, which can be moved. A stop ends the
/// wait and loses no connection; an error is a std::system_error. If it has close(), that is noexcept. If it has
/// try_accept(), that gives a std::optional of the connection, without one where accept() would wait.
template <typename L>
concept connection_listener =
    requires(L& listener) { listener.accept(); } && std::move_constructible<detail::accepted_by<L>>;
static_assert(connection_listener<tcp_listener>);

namespace detail {

template <typename H, typename Connection>
struct handled {
    using type = std::invoke_result_t<H&, environment&, Connection>;
};
template <typename H, typename Connection>
    requires takes_token<H, Connection>
struct handled<H, Connection> {
    using type = std::invoke_result_t<H&, environment&, Connection, drain_token>;
};
template <typename H>
inline constexpr bool is_handler_result = is_owned_handle<H>;
template <typename T>
inline constexpr bool is_handler_result<call<T>> = true;

template <typename Listener, typename Handler>
consteval void check_serve() {
    using listener = std::remove_reference_t<Listener>;
    using handler = std::remove_reference_t<Handler>;
    static_assert(
        connection_listener<listener>,
        "coflux: serve(here, listener, handler): `co_await listener.accept()` must give a connection that can "
        "be moved");
    if constexpr (requires(listener& l) { l.close(); }) {
        static_assert(
            noexcept(std::declval<listener&>().close()),
            "coflux: serve(here, listener, handler): listener.close() must be noexcept: the server calls it while "
            "handlers run, and there is no way to throw past them");
    }
    if constexpr (connection_listener<listener>) {
        using connection = accepted_by<listener>;
        constexpr bool callable =
            takes_token<handler, connection> || std::is_invocable_v<handler&, environment&, connection>;
        static_assert(callable,
                      "coflux: the handler of serve takes the connection by value: [](coflux::environment&, "
                      "coflux::tcp_stream peer) -> coflux::call<void> { ... }, or, as a third, a coflux::drain_token");
        if constexpr (callable) {
            static_assert(is_handler_result<typename handled<handler, connection>::type>,
                          "coflux: the handler of serve is a coroutine: it returns a coflux::call, or a coflux::fork "
                          "with the executor that it runs on");
        }
    }
}

}  // namespace detail

/// Accepts connections and runs a handler for each, until it is stopped; then lets the handlers end: `const
/// coflux::serve_report report = co_await coflux::serve(here, listener, handler, {.limit = 100, .drain = 10s});`
///
/// Shapes: a connection_listener, and a handler that is called with an environment, the connection, and, if it takes a
/// third, a drain_token. It returns a call, which runs on the executor of the serving coroutine, or a fork or task,
/// which runs on its own; what that gives is dropped. Its children belong in its own `context()`.
/// Returns: a serve_report, once all handlers have ended.
/// Errors: an error of a handler is counted, and given to serve_options::on_error; it ends the server in no case,
/// std::bad_alloc included. Where accept() finds no descriptors or memory, the next one waits. Errors of single
/// connections, as ECONNABORTED or EPERM, are passed over; where they last, accept() waits, too, and at last the server
/// ends (serve_options::most_delays). Any other error of accept() ends it at once: it drains, and throws the error. So
/// does what on_error throws. std::bad_alloc at the
/// beginning: nothing was accepted.
/// Stops: the connections in the backlog are accepted (serve_options::backlog), and then the listener is
/// closed; what was accepted is served. Handlers may go on for serve_options::drain, and see it by their drain_token;
/// then they are stopped, and joined. The report is given nevertheless: the awaiting coroutine is stopped at its next
/// stop point. A deadline of the environment acts in the same way. A stop that comes before serve() has begun stops the
/// awaiting coroutine; the listener is closed, and its backlog cut.
/// Threads: the handlers run side by side, where their executor does so.
/// Costs: two frames a connection; for a handler that is a fork, a small block more.
/// Lifetime: listener and handler outlive the await.
/// Example: examples/35_chat.cpp
template <typename Listener, typename Handler>
[[nodiscard("nothing is served until this is awaited: co_await it")]] call<serve_report>
serve(environment& here, Listener&& listener, Handler&& handler, const serve_options& options = {}) {
    detail::check_serve<Listener, Handler>();
    return detail::serve_on(here, detail::listener_end(listener, options.close_listener), std::addressof(handler),
                            options);
}

}  // namespace coflux
