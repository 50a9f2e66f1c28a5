// probe: one awaitable, step by step, by hand.
#pragma once

#include <atomic>
#include <concepts>
#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <source_location>
#include <type_traits>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/outcome.hpp>
#include <coflux/core/task.hpp>
#include <coflux/testing/manual_executor.hpp>

namespace coflux::testing {

/// The state of an await after its beginning.
enum class await_state {
    ready,      ///< it did not wait: the outcome is there
    suspended,  ///< it waits, or has been woken meanwhile
};

namespace detail {

/// The subject of a probe: an awaitable, or what a function of none makes.
template <typename A>
struct probed {
    using type = A;
    static A&& of(std::remove_reference_t<A>& a) noexcept { return static_cast<A&&>(a); }
};
template <typename A>
    requires std::invocable<std::remove_reference_t<A>&>
struct probed<A> {
    using type = std::invoke_result_t<std::remove_reference_t<A>&>;
    static type of(std::remove_reference_t<A>& make) { return make(); }
};

/// Something that Coflux does not know and that does not know Coflux: its own members are called.
template <typename A>
concept raw_awaitable = !coflux::detail::native_awaitable<A> && !coflux::detail::translated_awaitable<A> &&
                        coflux::detail::foreign_awaitable<A>;

template <typename A>
using native_result = decltype(coflux::detail::bind_await(std::declval<coflux::detail::promise_base&>(),
                                                          std::declval<A>(), std::source_location{})
                                   .await_resume());

/// Stands for a coroutine that awaits. Begins as a coroutine frame of either compiler does: resuming it counts.
struct counting_frame {
    void (*resume)(void*);
    void (*destroy)(void*);
    std::atomic<std::size_t> resumed{0};  // release with acquire: what the waker did is seen by the reader of the count

    counting_frame() noexcept : resume(&count), destroy(&count) {}
    counting_frame(const counting_frame&) = delete;
    counting_frame& operator=(const counting_frame&) = delete;
    [[nodiscard]] std::coroutine_handle<> handle() noexcept { return std::coroutine_handle<>::from_address(this); }

private:
    static void count(void* frame) noexcept {
        static_cast<counting_frame*>(frame)->resumed.fetch_add(1, std::memory_order_release);
    }
};

}  // namespace detail

/// Awaits one awaitable by hand: `probe p([&] { return m.lock(); });`, `p.start()`, `p.wakes()`, `p.resume()`,
/// `p.outcome()`.
///
/// Shapes: an awaitable, or a function of none that makes one. A coroutine on an executor of the probe's own
/// awaits those of Coflux. The members of any other are called: await_ready(), await_suspend() with a handle that
/// only counts, and await_resume(); so it can be destroyed while it waits. An awaitable that is no lvalue is moved into
/// the probe.
/// Threads: the awaitable may wake on any; the members of the probe belong to one.
/// Lifetime: a probe of something of Coflux that waits when it dies stops its wait.
template <typename A>
class probe;

template <typename A>
probe(A&&) -> probe<A>;

template <typename A>
    requires detail::raw_awaitable<typename detail::probed<A>::type>
class probe<A> {
    using awaited = typename detail::probed<A>::type;
    using awaiter = decltype(coflux::detail::awaiter_of(std::declval<awaited>()));
    using result = decltype(std::declval<std::remove_reference_t<awaiter>&>().await_resume());

public:
    explicit probe(A&& awaitable) : given_(std::forward<A>(awaitable)) {}
    probe(const probe&) = delete;
    probe& operator=(const probe&) = delete;

    /// Begins the await.
    /// Pre: not begun.
    await_state start() {
        COFLUX_VERIFY(!begun_, "a probe is started once");
        begun_ = true;
        awaiting_.emplace(given_);
        auto& a = awaiting_->on;
        if (static_cast<bool>(a.await_ready())) return end();
        using suspended = decltype(a.await_suspend(frame_.handle()));
        if constexpr (std::is_void_v<suspended>) {
            a.await_suspend(frame_.handle());
        } else if constexpr (std::is_same_v<suspended, bool>) {
            if (!a.await_suspend(frame_.handle())) return end();
        } else {
            const std::coroutine_handle<> next = a.await_suspend(frame_.handle());
            if (next.address() == frame_.handle().address()) return end();
            next.resume();
        }
        return await_state::suspended;
    }
    /// How often it was resumed since: more than once is a fault of the awaitable.
    [[nodiscard]] std::size_t wakes() const noexcept {
        return frame_.resumed.load(std::memory_order_acquire);  // pairs with counting_frame
    }
    /// Takes the result once it has been woken; false if it has not.
    bool resume() {
        if (!ended_ && wakes() != 0) ended_ = true;
        return ended_;
    }
    /// True once start() found it ready, or resume() took its result.
    [[nodiscard]] bool done() const noexcept { return ended_; }
    /// Destroys the awaiter, waiting or not. wakes() stays.
    void destroy() noexcept { awaiting_.reset(); }
    /// The value or error, once.
    /// Pre: done(), and not destroyed.
    coflux::outcome<result> outcome() {
        COFLUX_VERIFY(ended_ && awaiting_.has_value(), "the outcome of a probe that has not ended");
        try {
            if constexpr (std::is_void_v<result>) {
                awaiting_->on.await_resume();
                return coflux::outcome<result>(std::in_place);
            } else if constexpr (std::is_reference_v<result>) {
                return coflux::outcome<result>(std::in_place, std::addressof(awaiting_->on.await_resume()));
            } else {
                return coflux::outcome<result>(std::in_place, awaiting_->on.await_resume());
            }
        } catch (...) {
            return coflux::outcome<result>(std::current_exception());
        }
    }

private:
    struct holder {
        explicit holder(std::remove_reference_t<A>& given)
            : from(detail::probed<A>::of(given)),
              on(coflux::detail::awaiter_of(std::forward<awaited>(from))) {}
        awaited from;
        awaiter on;
    };
    await_state end() noexcept {
        ended_ = true;
        return await_state::ready;
    }

    A given_;
    std::optional<holder> awaiting_;
    detail::counting_frame frame_;
    bool begun_ = false;
    bool ended_ = false;
};

template <typename A>
    requires(!detail::raw_awaitable<typename detail::probed<A>::type>)
class probe<A> {
    using awaited = typename detail::probed<A>::type;
    using result = detail::native_result<awaited>;

public:
    explicit probe(A&& awaitable) : given_(std::forward<A>(awaitable)) {}
    probe(const probe&) = delete;
    probe& operator=(const probe&) = delete;
    ~probe() {
        if (!awaiting_.has_value() || done()) return;
        request_stop();
        executor_.run_all();
        COFLUX_VERIFY(done(), "a probe dies, and what it awaits waits on although it was stopped");
    }

    /// Begins the await.
    /// Pre: not begun.
    await_state start() {
        COFLUX_VERIFY(!awaiting_.has_value(), "a probe is started once");
        awaiting_.emplace(await_it(env_, this));
        executor_.run_one();
        return awaiting_->done() ? await_state::ready : await_state::suspended;
    }
    /// How often it was woken since: more than once is a fault of the awaitable.
    [[nodiscard]] std::size_t wakes() const {
        const std::size_t executed = executor_.executed();
        return executed == 0 ? 0 : executed - 1;
    }
    /// Goes on if it has been woken; false if it has not.
    bool resume() { return executor_.run_one(); }
    [[nodiscard]] bool done() const noexcept { return taken_ || (awaiting_.has_value() && awaiting_->done()); }
    /// Asks the awaiting coroutine to stop.
    void request_stop() noexcept { env_.request_stop(); }
    /// How it ended, once.
    /// Pre: done().
    coflux::outcome<result> outcome() {
        COFLUX_VERIFY(done() && !taken_, "the outcome of a probe that has not ended, or was asked before");
        taken_ = true;
        try {
            if constexpr (std::is_void_v<result>) {
                awaiting_->get();
                return coflux::outcome<result>(std::in_place);
            } else if constexpr (std::is_reference_v<result>) {
                return coflux::outcome<result>(std::in_place, std::addressof(awaiting_->get()));
            } else {
                return coflux::outcome<result>(std::in_place, awaiting_->get());
            }
        } catch (const task_stopped&) {
            return coflux::outcome<result>(coflux::stopped);
        } catch (...) {
            return coflux::outcome<result>(std::current_exception());
        }
    }

private:
    static task<result, manual_executor> await_it(environment&, probe* self) {
        co_return co_await detail::probed<A>::of(self->given_);
    }

    A given_;
    manual_executor executor_;
    decltype(make_environment(std::declval<manual_executor&>())) env_ = make_environment(executor_);
    std::optional<task<result, manual_executor>> awaiting_;
    bool taken_ = false;
};

}  // namespace coflux::testing
