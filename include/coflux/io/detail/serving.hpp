// The parts of serve(). The page docs/design/serve.md has the protocol.
#pragma once

#include <chrono>
#include <concepts>
#include <cstdint>
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <coflux/base/thread.hpp>
#include <coflux/core/as_outcome.hpp>
#include <coflux/core/call.hpp>
#include <coflux/core/context.hpp>
#include <coflux/core/detail/scope/failure.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/io/serve_options.hpp>
#include <coflux/scope/shielded.hpp>
#include <coflux/scope/task_scope.hpp>
#include <coflux/sync/semaphore.hpp>
#include <coflux/time/sleep.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux::detail {

/// The accept loop's next step after an error.
enum class after_accept : std::uint8_t { again, later, end };

/// The common state of accept loop, attendants and drain.
class serve_state {
public:
    explicit serve_state(const serve_options& options, environment& accepting) noexcept;
    serve_state(const serve_state&) = delete;
    serve_state& operator=(const serve_state&) = delete;
    ~serve_state();

    // Called by the accept loop alone.
    [[nodiscard]] after_accept after(const std::exception_ptr& error) noexcept;
    /// A connection was accepted: false if its descriptor was the spare one, and no other is left.
    [[nodiscard]] bool has_room() noexcept;
    /// A connection gets a handler. It has a slot.
    void accepted() noexcept;
    /// No handler could be begun for it after all.
    void not_begun() noexcept;
    /// A connection was closed in place of being served; its descriptor is free.
    void refused() noexcept;
    [[nodiscard]] std::chrono::nanoseconds next_delay() noexcept;
    /// After a delay.
    void restore_spare() noexcept;

    // Called by each attendant.
    template <typename T>
    void ended(const outcome<T>& end) noexcept {
        if (end.has_error()) {
            failed(end.error());
        } else {
            count(end.is_stopped() ? &serve_report::cut : &serve_report::served);
        }
    }
    void failed(const std::exception_ptr& error) noexcept {
        count(&serve_report::failed);
        note(error);
    }
    /// An error that is to be reported.
    void note(const std::exception_ptr& error) noexcept;

    /// Once all have ended.
    /// Errors: what the callback has thrown.
    [[nodiscard]] serve_report report();

    const serve_options options;
    semaphore slots;              // one a connection, and one in the hand of the accept loop
    manual_reset_event draining;  // set once the accept loop has ended
    environment* handlers = nullptr;
    task_scope* attendants = nullptr;

private:
    void count(std::uint64_t serve_report::* field) noexcept;

    environment& accepting_;
    std::chrono::nanoseconds delay_;
    std::size_t failed_in_a_row_ = 0;  // errors of single connections since one was accepted
    int spare_ = -1;                   // a descriptor, to be closed when there is none
    mutex lock_;                       // guards what follows
    serve_report report_;
    joined_failures thrown_;  // by the callback
};

template <typename L>
using accepted_by = std::remove_cvref_t<await_result<decltype(std::declval<L&>().accept())>>;

template <typename H, typename Connection>
inline constexpr bool takes_token = std::is_invocable_v<H&, environment&, Connection, drain_token>;

/// Closes the listener once, at its own death at the latest. So a call that a stop keeps from its begin closes it, too:
/// this is one of its parameters.
template <typename Listener>
class listener_end {
public:
    listener_end(Listener& of, bool closes) noexcept : of_(of), closes_(closes) {}
    listener_end(listener_end&& other) noexcept : of_(other.of_), closes_(std::exchange(other.closes_, false)) {}
    listener_end& operator=(listener_end&&) = delete;
    ~listener_end() { close(); }

    [[nodiscard]] Listener& listener() const noexcept { return of_; }
    void close() noexcept {
        if constexpr (requires(Listener& l) { l.close(); }) {
            if (std::exchange(closes_, false)) of_.close();
        }
    }

private:
    Listener& of_;
    bool closes_;
};

template <typename Listener, typename Handler>
struct serving : serve_state {
    using connection = accepted_by<Listener>;

    serving(const serve_options& o, environment& accepting, listener_end<Listener>& from, Handler* with) noexcept
        : serve_state(o, accepting),
          listener(from.listener()),
          end_(from),
          handler_(with) {}

    auto handle(connection&& peer) {
        if constexpr (takes_token<Handler, connection>) {
            return (*handler_)(*handlers, std::move(peer), drain_token(draining));
        } else {
            return (*handler_)(*handlers, std::move(peer));
        }
    }
    /// No connection is accepted any more.
    void ends_accepting() noexcept {
        end_.close();
        draining.set();
    }
    [[nodiscard]] bool drains_backlog() const noexcept {
        return options.close_listener && options.backlog == backlog_end::drain;
    }

    Listener& listener;

private:
    listener_end<Listener>& end_;
    Handler* handler_;  // of a function, too
};

/// One connection. The slot is destroyed after the connection: parameters die in the reverse order.
template <typename Serving, typename Connection>
fork<void> attends(environment&, Serving* of, [[maybe_unused]] semaphore::permit slot, Connection peer) {
    try {
        of->ended(co_await as_outcome(of->handle(std::move(peer))));
    } catch (...) {  // it could not begin
        of->failed(std::current_exception());
    }
}

/// Begins a handler for what was accepted, which takes the slot.
/// Errors: `error`, where that ends the server.
template <typename Serving, typename Connection>
after_accept begins(Serving& of, semaphore::permit& slot, std::optional<Connection>& peer,
                    const std::exception_ptr& error) {
    if (error != nullptr) {
        const after_accept then = of.after(error);
        if (then == after_accept::end) std::rethrow_exception(error);
        return then;
    }
    if (!of.has_room()) {
        peer.reset();
        of.refused();
        return after_accept::again;
    }
    of.accepted();
    try {
        of.attendants->spawn(&attends<Serving, Connection>, &of, std::move(slot), std::move(*peer));
    } catch (...) {  // no memory for its frame
        of.not_begun();
        peer.reset();
        return after_accept::later;
    }
    return after_accept::again;
}

/// The accept loop; what a stop ends. A call: a fork that a stop ends before the shield has come to its await would be
/// cut off, and the server with it.
template <typename Serving>
call<void> accepts(environment&, Serving& of) {
    using connection = typename Serving::connection;
    auto&& here = co_await context();
    while (!here.stop_requested()) {
        auto slot = co_await of.slots.acquire_guard();
        std::optional<connection> peer;
        std::exception_ptr error;
        try {
            peer.emplace(co_await of.listener.accept());
        } catch (...) {
            error = std::current_exception();
        }
        if (begins(of, slot, peer, error) == after_accept::later) {
            co_await sleep_for(of.next_delay());
            of.restore_spare();
        }
    }
}

/// After the stop: accepts the connections in the backlog.
template <typename Serving>
call<void> accepts_backlog(environment&, Serving& of) {
    for (std::size_t left = of.options.most_drained; left != 0; --left) {
        auto slot = of.slots.try_acquire_guard();
        if (!slot) {
            of.draining.set();  // a handler that waits for a request gives its slot back
            slot = co_await of.slots.acquire_guard();
        }
        std::optional<typename Serving::connection> peer;
        std::exception_ptr error;
        try {
            if (auto accepted = of.listener.try_accept()) peer.emplace(*std::move(accepted));
        } catch (...) {
            error = std::current_exception();
        }
        if (error == nullptr && !peer.has_value()) co_return;
        if (begins(of, slot, peer, error) == after_accept::later) {
            co_await sleep_for(of.next_delay());
            of.restore_spare();
        } else {
            co_await this_coroutine::yield();
        }
    }
}

/// Until the last handler has ended. `error`: the listener's, if there is one; a server with one accepts no more.
template <typename Serving>
call<void> drains(environment&, Serving& of, std::exception_ptr& error) {
    auto&& here = co_await context();
    if constexpr (requires { of.listener.try_accept(); }) {
        try {
            if (error == nullptr && of.drains_backlog()) co_await accepts_backlog(here, of);
        } catch (...) {
            error = std::current_exception();
        }
    }
    of.ends_accepting();
    co_await of.slots.acquire(of.options.limit);
}

/// In the shield: has the connections accepted, and waits until all is over.
template <typename Serving>
call<serve_report> tends(environment&, environment_object& accepting, Serving& of) {
    auto&& here = co_await context();
    auto handlers = make_environment(here);
    task_scope attendants(here, collect_all);
    of.handlers = &handlers;
    of.attendants = &attendants;

    std::exception_ptr error;
    try {
        const auto end = co_await as_outcome(accepts(accepting, of));
        if (end.has_error()) error = end.error();
    } catch (...) {
        error = std::current_exception();
    }

    bool is_over = false;
    try {
        // [io.drain.waits]
        is_over = co_await timeout(drains(here, of, error), of.options.drain);
    } catch (...) {  // no memory for the wait: no drain
        is_over = false;
    }
    of.ends_accepting();  // time was up before
    // [io.drain.stops]
    if (!is_over) handlers.request_stop();
    co_await attendants.join();
    // Children that handlers have made in the environment that they were given, and not in their own.
    handlers.request_stop();
    const auto rest = co_await as_outcome(handlers.join());
    if (rest.has_error()) of.note(rest.error());
    if (error != nullptr) std::rethrow_exception(error);
    co_return of.report();
}

template <typename Listener, typename Handler>
call<serve_report> serve_on(environment&, listener_end<Listener> from, Handler* handler, serve_options options) {
    auto&& here = co_await context();
    auto accepting = make_environment(here);
    serving<Listener, Handler> state(options, accepting, from, handler);
    co_return co_await shielded(tends(here, accepting, state));
}

}  // namespace coflux::detail
