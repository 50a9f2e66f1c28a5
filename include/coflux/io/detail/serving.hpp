// What serve() is made of. The page docs/design/serve.md has the protocol.
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
#include <coflux/io/serve_options.hpp>
#include <coflux/scope/shielded.hpp>
#include <coflux/scope/task_scope.hpp>
#include <coflux/sync/semaphore.hpp>
#include <coflux/time/sleep.hpp>
#include <coflux/time/timeout.hpp>

namespace coflux::detail {

/// What the accept loop does after an error.
enum class after_accept : std::uint8_t { again, later, end };

/// What accept loop, attendants and drain share.
class serve_state {
public:
    explicit serve_state(const serve_options& options, environment& accepting) noexcept;
    serve_state(const serve_state&) = delete;
    serve_state& operator=(const serve_state&) = delete;
    ~serve_state();

    // Of the accept loop alone.
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

    // Of each attendant.
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

template <typename Listener, typename Handler>
struct serving : serve_state {
    using connection = accepted_by<Listener>;

    serving(const serve_options& o, environment& accepting, Listener& from, Handler* with) noexcept
        : serve_state(o, accepting),
          listener(from),
          handler(with) {}

    auto handle(connection&& peer) {
        if constexpr (takes_token<Handler, connection>) {
            return (*handler)(*handlers, std::move(peer), drain_token(draining));
        } else {
            return (*handler)(*handlers, std::move(peer));
        }
    }

    Listener& listener;
    Handler* handler;  // of a function, too
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

/// The accept loop; what a stop ends.
template <typename Serving>
fork<void> accepts(environment&, Serving* of) {
    using connection = typename Serving::connection;
    auto&& here = co_await context();
    while (!here.stop_requested()) {
        auto slot = co_await of->slots.acquire_guard();
        std::optional<connection> peer;
        std::exception_ptr error;
        try {
            peer.emplace(co_await of->listener.accept());
        } catch (...) {
            error = std::current_exception();
        }
        after_accept then = after_accept::again;
        if (error != nullptr) {
            then = of->after(error);
            if (then == after_accept::end) std::rethrow_exception(error);
        } else if (!of->has_room()) {
            peer.reset();
            of->refused();
        } else {
            of->accepted();
            try {
                of->attendants->spawn(&attends<Serving, connection>, of, std::move(slot), std::move(*peer));
            } catch (...) {  // no memory for its frame
                of->not_begun();
                peer.reset();
                then = after_accept::later;
            }
        }
        if (then == after_accept::later) {
            co_await sleep_for(of->next_delay());
            of->restore_spare();
        }
    }
}

/// In the shield: has the connections accepted, and waits until all is over.
template <typename Serving>
call<serve_report> tends(environment&, environment_object& accepting, Serving& of) {
    auto&& here = co_await context();
    auto handlers = make_environment(here);
    task_scope attendants(here, scope_policy::collect_all);
    of.handlers = &handlers;
    of.attendants = &attendants;

    std::exception_ptr error;
    try {
        auto loop = accepts(accepting, &of);
        const auto end = co_await as_outcome(std::move(loop));
        if (end.has_error()) error = end.error();
    } catch (...) {
        error = std::current_exception();
    }
    if constexpr (requires { of.listener.close(); }) {
        if (of.options.close_listener) of.listener.close();
    }
    of.draining.set();

    bool is_over = false;
    try {
        // [io.drain.waits]
        is_over = co_await timeout(of.slots.acquire(of.options.limit), of.options.drain);
    } catch (...) {  // no memory for the wait: no drain
        is_over = false;
    }
    // [io.drain.stops]
    if (!is_over) handlers.request_stop();
    co_await attendants.join();
    // What handlers have made in the environment that they were given, and not in their own.
    handlers.request_stop();
    const auto rest = co_await as_outcome(handlers.join());
    if (rest.has_error()) of.note(rest.error());
    if (error != nullptr) std::rethrow_exception(error);
    co_return of.report();
}

template <typename Listener, typename Handler>
call<serve_report> serve_on(environment&, Listener& listener, Handler* handler, serve_options options) {
    auto&& here = co_await context();
    auto accepting = make_environment(here);
    serving<Listener, Handler> state(options, accepting, listener, handler);
    co_return co_await shielded(tends(here, accepting, state));
}

}  // namespace coflux::detail
