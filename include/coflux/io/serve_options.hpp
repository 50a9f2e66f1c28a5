// How serve() works, what it reports, and how a handler learns that the server drains.
#pragma once

#include <chrono>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <type_traits>
#include <utility>

#include <coflux/base/address_of.hpp>
#include <coflux/combine/when_any.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/handle/wrapper.hpp>
#include <coflux/core/errors.hpp>
#include <coflux/io/byte_source.hpp>
#include <coflux/sync/manual_reset_event.hpp>

namespace coflux {

/// Called with the error of a handler: nothing, a function, a lambda without captures, or a reference to any
/// other object with a name: `auto log = [&](const std::exception_ptr& e) { … }; options.on_error = log;`
///
/// Lifetime: an object outlives the server.
class serve_error_callback {
    using function = void (*)(const std::exception_ptr&);

public:
    // NOLINTBEGIN(google-explicit-constructor): what an option is given
    constexpr serve_error_callback() noexcept = default;
    constexpr serve_error_callback(std::nullptr_t) noexcept {}
    template <std::convertible_to<function> F>
    constexpr serve_error_callback(F called) noexcept : function_(called) {}
    template <typename F>
        requires(!std::convertible_to<F&, function> && std::invocable<F&, const std::exception_ptr&>)
    constexpr serve_error_callback(F& called) noexcept
        : object_(const_cast<void*>(static_cast<const void*>(detail::address_of(called)))),
          thunk_([](void* object, const std::exception_ptr& error) { (*static_cast<F*>(object))(error); }) {}
    template <typename F>
        requires(!std::is_lvalue_reference_v<F> && !std::convertible_to<F, function> &&
                 std::invocable<F&, const std::exception_ptr&> && !std::same_as<F, serve_error_callback>)
    serve_error_callback(F&&) noexcept {
        static_assert(
            detail::never<F>,
            "coflux: serve_options::on_error refers to what it calls: give the lambda a name that lives as "
            "long as the server, auto log = [&](const std::exception_ptr& e) { ... }; options.on_error = log;");
    }
    // NOLINTEND(google-explicit-constructor)

    [[nodiscard]] explicit operator bool() const noexcept { return function_ != nullptr || thunk_ != nullptr; }
    /// Pre: not empty.
    void operator()(const std::exception_ptr& error) const {
        function_ != nullptr ? function_(error) : thunk_(object_, error);
    }

private:
    function function_ = nullptr;
    void* object_ = nullptr;
    void (*thunk_)(void*, const std::exception_ptr&) = nullptr;
};

/// The end of the connections in the backlog when a server is stopped. Their clients take them for made, and
/// may have sent a request.
enum class backlog_end : unsigned char {
    drain,  ///< they are accepted and served
    close   ///< they are cut: the listener is closed at once
};

/// How serve() works.
struct serve_options {
    /// Connections at a time, at most; 0 is a checked error. At the limit none is accepted: it stays in the backlog of
    /// the system.
    std::size_t limit = 1024;
    /// How long handlers may go on after the stop, those of the backlog, too; then they are stopped. Not positive: they
    /// are stopped at once, and the backlog is cut.
    std::chrono::nanoseconds drain = std::chrono::seconds(5);
    /// Where the process has no descriptor left, the connection is accepted and closed, so that its client hears at
    /// once. It costs one descriptor, which is kept for that. Else the connection waits in the backlog.
    bool refuse_when_full = false;
    /// The listener is closed when the server drains, if it has close(): a new client is refused at once. It is also
    /// where a stop comes before serve() begins. If it is false, the backlog is left as it is, for the next serve().
    bool close_listener = true;
    /// A listener with try_accept() is closed once its backlog is empty, at the limit once handlers have ended: at the
    /// latest after most_drained connections, and when `drain` is over. A client that connects while it is being closed
    /// is cut.
    backlog_end backlog = backlog_end::drain;
    std::size_t most_drained = 4096;
    /// Where the system lacks descriptors or memory, the next accept() waits so long. Doubled each time in a row.
    std::chrono::nanoseconds first_delay = std::chrono::milliseconds(5);
    std::chrono::nanoseconds longest_delay = std::chrono::seconds(1);
    /// After 16 errors of single connections in a row, as those of a firewall or of a network that is down, the next
    /// accept() waits in the same way. So many such waits in a row, and the next error ends the server.
    std::size_t most_delays = 64;
    /// Called with each error of a handler, on the thread where it ended; on a thread pool on several at once. Its
    /// exception ends the server: that drains, and serve() throws it. Later ones are in other_errors().
    serve_error_callback on_error{};
};

/// The account of a server: `accepted` is `served + failed + cut`. Connections that were cut in the backlog are not
/// counted.
struct serve_report {
    std::uint64_t accepted = 0;      ///< connections that were given to a handler
    std::uint64_t served = 0;        ///< handlers that came to their end
    std::uint64_t failed = 0;        ///< handlers that ended with an error
    std::uint64_t cut = 0;           ///< handlers that were stopped: after `drain`, or each by itself
    std::uint64_t refused = 0;       ///< connections that were closed at once, for want of descriptors or memory
    std::uint64_t backed_off = 0;    ///< how often the server has waited before it accepted on
    std::size_t peak = 0;            ///< connections at a time, at most
    std::exception_ptr first_error;  ///< of the first handler that failed
};

namespace detail {

/// Each "no" comes from a look that begins after the drain has: what came before is seen.
template <typename S>
call<bool> wait_idle(environment&, manual_reset_event* draining, S* from) {
    auto&& here = co_await context();
    if (!draining->is_set()) {
        const auto first = co_await when_any(wait_readable_of(*from, here), draining->wait());
        if (first.index() == 0) co_return true;
    }
    co_return from->is_readable();
}

}  // namespace detail

/// A handler's third argument: whether the server drains. A handler for one connection after another request, as with
/// keep-alive, waits for the next one by idle(), and ends where that is false. The first request of a connection is on
/// its way: it is read without idle().
///
/// Threads: all members from any.
/// Lifetime: a copyable reference to the server, for the handler and what is below it.
class drain_token {
public:
    explicit drain_token(manual_reset_event& draining) noexcept : draining_(&draining) {}

    /// True once the server accepts no more. Requests that have begun may end within serve_options::drain.
    [[nodiscard]] bool is_draining() const noexcept { return draining_->is_set(); }

    /// `do { … one request … } while (co_await server.idle(here, peer));`: waits where the connection is idle, until a
    /// request comes or the server drains.
    ///
    /// Shapes: a readable_source: a stream, or the buffered_reader over it, whose buffered bytes are a request, too.
    /// Returns: true if there is something to read, the end of the stream included; false if there is nothing once the
    /// server drains. So a request that came before the drain is served.
    /// Errors: those of wait_readable(); std::bad_alloc.
    /// Stops: a stop point; loses nothing.
    /// Costs: three frames and those of wait_readable() where it waits, else one.
    /// Example: examples/45_keep_alive.cpp
    template <typename S>
    [[nodiscard("nothing is waited for until this is awaited: co_await it")]] call<bool> idle(environment& here,
                                                                                              S&& from) const {
        static_assert(std::is_lvalue_reference_v<S> && readable_source<std::remove_reference_t<S>>,
                      "coflux: idle() looks at the stream itself, so that no request is lost where the server drains: "
                      "idle(here, peer), or idle(here, in) of a buffered_reader");
        return detail::wait_idle(here, draining_, detail::address_of(from));
    }
    /// Until the server drains: for a select() or a when_any() of the handler's own.
    /// Stops: a stop point; loses nothing.
    [[nodiscard("nothing is waited for until this is awaited: co_await it")]] auto wait() const noexcept {
        return draining_->wait();
    }

private:
    manual_reset_event* draining_;
};

}  // namespace coflux
