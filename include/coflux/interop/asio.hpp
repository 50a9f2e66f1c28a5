// use_coflux: operations of Boost.Asio are awaited in coroutines of Coflux.
#pragma once

#include <coroutine>
#include <cstddef>
#include <exception>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/associated_executor.hpp>
#include <boost/asio/async_result.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/execution/executor.hpp>
#include <boost/asio/execution/outstanding_work.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/prefer.hpp>
#include <boost/asio/system_executor.hpp>
#include <boost/system/system_error.hpp>

#include <coflux/interop/detail/asio_wait.hpp>

namespace coflux {

/// The completion token `use_coflux`.
struct use_coflux_t {
    explicit use_coflux_t() = default;
};

/// `co_await timer.async_wait(coflux::use_coflux)`: an operation of Boost.Asio, in a coroutine of Coflux.
///
/// Shapes: the last argument of an asynchronous operation with one completion signature. It begins when it is awaited,
/// once; its arguments are kept in what is awaited. The operation tells the executor of its I/O object, by the
/// executor_type of its initiation: those of Asio's own objects do so, and those of async_compose() with an object. For
/// any other, as one that is begun by a lambda, or one of Beast 1.81, the executor is named:
/// `boost::asio::bind_executor(stream.get_executor(), coflux::use_coflux)`. Else the program does not compile.
/// Returns: the arguments of the completion without a leading error_code or exception_ptr: nothing, a value, or a
/// tuple. With boost::asio::as_tuple(use_coflux) all, as a tuple, and no error is thrown.
/// Resumes: on the coroutine's own executor.
/// Errors: boost::system::system_error with the code of the operation; the exception of one that completes with
/// exception_ptr; what beginning it throws. std::bad_alloc: then it has not begun.
/// Stops: a stop point before it begins. Later a request emits Asio's cancellation signal (terminal), and the coroutine
/// goes on when the operation has completed: with operation_aborted it stops; another result counts. Asio says what a
/// cancelled operation loses. An operation that cannot be cancelled is waited for. Where Asio drops an
/// operation, because its io_context dies, the coroutine stops.
/// Threads: an operation is begun and cancelled on the executor of its I/O object, or on the one that bind_executor()
/// names. So coroutines on any executors may use one object, if that executor runs one function at a time: an
/// io_context that one thread runs, or a strand. An io_context does not run out of work while an operation is awaited.
/// Costs: what Asio allocates for the operation and for its way to the object's executor.
/// Lifetime: the I/O object, and buffers, until the await ends. An io_context may die before that; then the coroutine
/// has no strand of it, nor a bind_executor() to one in the expression of the co_await.
inline constexpr use_coflux_t use_coflux{};

namespace detail {

/// The result of an await from a completion with these arguments: all but a leading error.
template <typename... Args>
struct asio_result {
    static constexpr bool has_error = false;
    using values = std::tuple<Args...>;
};
template <typename... Rest>
struct asio_result<boost::system::error_code, Rest...> {
    static constexpr bool has_error = true;
    using values = std::tuple<Rest...>;
};
template <typename... Rest>
struct asio_result<std::exception_ptr, Rest...> {
    static constexpr bool has_error = true;
    using values = std::tuple<Rest...>;
};

[[nodiscard]] inline bool is_aborted(const boost::system::error_code& e) noexcept {
    return e == boost::asio::error::operation_aborted;
}
template <typename First, typename... Rest>
[[nodiscard]] bool is_aborted(const std::tuple<First, Rest...>& all) noexcept {
    if constexpr (std::is_same_v<First, boost::system::error_code>) {
        return is_aborted(std::get<0>(all));
    } else {
        return false;
    }
}
[[nodiscard]] inline bool is_aborted(const std::exception_ptr& e) noexcept {
    if (!e) return false;
    try {
        std::rethrow_exception(e);
    } catch (const boost::system::system_error& s) {
        return is_aborted(s.code());
    } catch (...) {
        return false;
    }
}
template <typename Other>
[[nodiscard]] constexpr bool is_aborted(const Other&) noexcept {
    return false;
}

inline void throw_if(const boost::system::error_code& e) {
    if (e) throw boost::system::system_error(e, "coflux: an operation of Asio");
}
inline void throw_if(const std::exception_ptr& e) {
    if (e) std::rethrow_exception(e);
}

/// In place of an executor that bind_executor() names.
struct asio_own_executor {};

/// An operation that has not begun.
template <typename Bound, typename Initiation, typename... Given>
struct asio_start {
    static constexpr bool is_bound = !std::is_same_v<Bound, asio_own_executor>;

    Initiation initiation;
    std::tuple<Given...> given;
    Bound bound;

    [[nodiscard]] auto executor() const {
        if constexpr (is_bound) {
            return bound;
        } else {
            return boost::asio::get_associated_executor(initiation);
        }
    }
};

template <typename Start, typename... Args>
class asio_awaiter;

/// Asio calls it at the end. Asio moves it about, and may drop it.
template <typename Awaiter>
class asio_handler {
public:
    using cancellation_slot_type = boost::asio::cancellation_slot;

    explicit asio_handler(Awaiter& of) noexcept : of_(&of) {}
    asio_handler(asio_handler&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    asio_handler& operator=(asio_handler&&) = delete;
    ~asio_handler() {
        if (of_ != nullptr) of_->dropped();
    }

    template <typename... Given>
    void operator()(Given&&... given) {
        std::exchange(of_, nullptr)->completed_with(std::forward<Given>(given)...);
    }
    [[nodiscard]] cancellation_slot_type get_cancellation_slot() const noexcept { return of_->slot(); }

protected:
    Awaiter* of_;
};
/// The same with the executor that bind_executor() names: composed operations go on there.
template <typename Awaiter>
class asio_bound_handler : public asio_handler<Awaiter> {
public:
    using executor_type = typename Awaiter::io_executor;
    using asio_handler<Awaiter>::asio_handler;

    [[nodiscard]] executor_type get_executor() const noexcept { return *this->of_->io_; }
};

/// Holds an executor's context at work, and lets it go last. An executor_work_guard has the executor beyond that.
template <typename Executor>
auto asio_work(const Executor& on) {
    if constexpr (boost::asio::execution::is_executor<Executor>::value) {
        return boost::asio::prefer(on, boost::asio::execution::outstanding_work.tracked);
    } else {
        return boost::asio::executor_work_guard<Executor>(on);
    }
}

template <typename Start, typename... Args>
class [[nodiscard]] asio_awaiter : public asio_wait {
    using result = asio_result<Args...>;
    using values = typename result::values;
    using handler = std::conditional_t<Start::is_bound, asio_bound_handler<asio_awaiter>, asio_handler<asio_awaiter>>;

public:
    using io_executor = decltype(std::declval<const Start&>().executor());

    asio_awaiter(promise_base& p, std::optional<Start>& start)
        : asio_wait(p, how_it_stops),
          start_(std::move(start)),
          io_(start_->executor()),
          work_(asio_work(*io_)) {
        start.reset();  // what has moved may still have copies
        // The system's executor is what Asio assumes where none is told; it runs functions on threads of its own.
        static_assert(
            Start::is_bound || !std::is_same_v<io_executor, boost::asio::system_executor>,
            "coflux: this operation does not tell the executor of its I/O object, where it must begin and be cancelled: "
            "name it, by boost::asio::bind_executor(object.get_executor(), coflux::use_coflux)");
    }

    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    auto await_resume() {
        resumed();
        throw_if(error());
        if constexpr (result::has_error) {
            return std::apply(
                [](auto& failure, auto&... rest) {
                    throw_if(failure);
                    return unpacked(values(std::move(rest)...));
                },
                *given_);
        } else {
            return unpacked(std::move(*given_));
        }
    }

private:
    friend asio_handler<asio_awaiter>;
    friend asio_bound_handler<asio_awaiter>;

    static auto unpacked(values&& all) {
        if constexpr (std::tuple_size_v<values> == 0) {
            return;
        } else if constexpr (std::tuple_size_v<values> == 1) {
            return std::get<0>(std::move(all));
        } else {
            return std::move(all);
        }
    }
    template <typename... Given>
    void completed_with(Given&&... given) noexcept {
        try {
            if constexpr (std::is_constructible_v<std::tuple<Args...>, Given...>) {
                given_.emplace(std::forward<Given>(given)...);
            } else {  // as_tuple
                given_.emplace(std::tuple<std::decay_t<Given>...>(std::forward<Given>(given)...));
            }
        } catch (...) {
            failed(std::current_exception());
            return completed(false);
        }
        bool aborted = false;
        if constexpr (sizeof...(Args) != 0) aborted = is_aborted(std::get<0>(*given_));
        completed(aborted);
    }

    static void begin_on_io(asio_wait& w) {
        auto& self = static_cast<asio_awaiter&>(w);
        boost::asio::dispatch(*self.io_, asio_step<&asio_wait::begin_operation>(w));
    }
    static void initiate(asio_wait& w) {
        auto& self = static_cast<asio_awaiter&>(w);
        std::apply([&self](auto&... given) { std::move(self.start_->initiation)(handler(self), std::move(given)...); },
                   self.start_->given);
    }
    static void cancel_on_io(asio_wait& w) {
        auto& self = static_cast<asio_awaiter&>(w);
        boost::asio::post(*self.io_, asio_step<&asio_wait::cancel_operation>(w));
    }
    static void end_work(asio_wait& w) noexcept {
        auto& self = static_cast<asio_awaiter&>(w);
        self.start_.reset();
        self.io_.reset();
        self.work_.reset();  // the last: from now on the context may be gone
    }
    static constexpr asio_kind how_it_stops{asio_wait::stops_as, &begin_on_io, &initiate, &cancel_on_io, &end_work};

    // Until none may touch the wait any more.
    std::optional<Start> start_;
    std::optional<io_executor> io_;
    std::optional<decltype(asio_work(std::declval<const io_executor&>()))> work_;
    std::optional<std::tuple<Args...>> given_;
};

/// The result of an asynchronous operation with use_coflux.
template <typename Awaiter, typename Start>
class [[nodiscard("the operation does not begin until this is awaited: co_await it")]] asio_request
    : public request<Awaiter, std::optional<Start>> {
public:
    using single_use = void;
    using request<Awaiter, std::optional<Start>>::request;
};
template <typename... Args>
struct asio_initiation {
    template <typename Initiation, typename Token, typename... Given>
    static auto initiate(Initiation&& initiation, Token&&, Given&&... given) {
        return request_on(asio_own_executor{}, std::forward<Initiation>(initiation), std::forward<Given>(given)...);
    }

protected:
    template <typename Bound, typename Initiation, typename... Given>
    static auto request_on(Bound bound, Initiation&& initiation, Given&&... given) {
        using start = asio_start<Bound, std::decay_t<Initiation>, std::decay_t<Given>...>;
        return asio_request<asio_awaiter<start, Args...>, start>(
            start{std::forward<Initiation>(initiation), {std::forward<Given>(given)...}, std::move(bound)});
    }
};
/// The same with an executor that bind_executor() names.
template <typename... Args>
struct asio_bound_initiation : asio_initiation<Args...> {
    template <typename Initiation, typename Executor, typename Token, typename... Given>
    static auto initiate(Initiation&& initiation, const boost::asio::executor_binder<Token, Executor>& token,
                         Given&&... given) {
        return asio_initiation<Args...>::request_on(token.get_executor(), std::forward<Initiation>(initiation),
                                                    std::forward<Given>(given)...);
    }
};

}  // namespace detail
}  // namespace coflux

template <typename R, typename... Args>
class boost::asio::async_result<coflux::use_coflux_t, R(Args...)>
    : public coflux::detail::asio_initiation<std::decay_t<Args>...> {};

// Asio's own adapters do not tell the executor.
template <typename R, typename... Args>
struct boost::asio::async_result<boost::asio::as_tuple_t<coflux::use_coflux_t>, R(Args...)>
    : coflux::detail::asio_initiation<std::tuple<std::decay_t<Args>...>> {};
template <typename Executor, typename R, typename... Args>
class boost::asio::async_result<boost::asio::executor_binder<coflux::use_coflux_t, Executor>, R(Args...)>
    : public coflux::detail::asio_bound_initiation<std::decay_t<Args>...> {};
template <typename Executor, typename R, typename... Args>
class boost::asio::async_result<boost::asio::executor_binder<boost::asio::as_tuple_t<coflux::use_coflux_t>, Executor>,
                                R(Args...)>
    : public coflux::detail::asio_bound_initiation<std::tuple<std::decay_t<Args>...>> {};
