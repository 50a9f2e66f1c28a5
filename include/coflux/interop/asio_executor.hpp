// asio_context, asio_executor: handlers of Boost.Asio on an executor of Coflux.
#pragma once

#include <coroutine>
#include <memory>
#include <type_traits>
#include <utility>

#include <boost/asio/execution/blocking.hpp>
#include <boost/asio/execution/context.hpp>
#include <boost/asio/execution_context.hpp>

#include <coflux/core/executor.hpp>
#include <coflux/interop/detail/asio_calls.hpp>

namespace coflux {

template <executor E>
class asio_executor;

/// An execution context of Asio over an executor: I/O objects that are made with it run their handlers there.
///
/// Shapes: refers to `E`. Asio's services of the context have a thread of their own that waits for the system.
/// Errors: std::bad_alloc from the constructor. Its death in a function that its executor runs is a checked error.
/// Lifetime: outlives its I/O objects, strands, and executors; `E` outlives it. The destructor destroys the functions
/// that were given to its executor and have not begun, and blocks until those that run have ended.
template <executor E>
class asio_context : public boost::asio::execution_context {
public:
    using executor_type = asio_executor<E>;

    explicit asio_context(E& on) : on_(on) {}
    asio_context(const asio_context&) = delete;
    asio_context& operator=(const asio_context&) = delete;
    ~asio_context() {
        calls_->close();  // the last to run a strand's functions uses Asio's service of strands
        shutdown();
        destroy();
    }

    [[nodiscard]] executor_type get_executor() noexcept { return executor_type(*this); }

private:
    friend class asio_executor<E>;
    E& on_;
    std::shared_ptr<detail::asio_calls> calls_ = std::make_shared<detail::asio_calls>();
};

/// Runs functions of Asio on an executor of Coflux; a model of Asio's executors that any_io_executor takes.
///
/// Shapes: a copyable reference to its asio_context; equal if they share it. A function that it runs is no coroutine of
/// Coflux: it may make tasks, and must not block.
/// Errors: a function that throws ends the process, by std::terminate. std::bad_alloc from execute(): then it is not
/// run.
/// Threads: any; what is executed runs on the threads of `E`, never inside execute(), in the order that `E` keeps.
/// Costs: for each function an allocation from the heap, and a lock of the context, three times.
/// Lifetime: as its context.
template <executor E>
class asio_executor {
public:
    explicit asio_executor(asio_context<E>& of) noexcept : of_(&of) {}

    template <typename F>
    void execute(F&& f) const {
        using call = detail::asio_call_of<std::decay_t<F>>;
        const auto h = detail::run_asio_call(of_->calls_, call(std::forward<F>(f))).handle;
        if (!of_->calls_->take(h.promise().call)) return h.destroy();
        of_->on_.execute(h);
    }

    [[nodiscard]] boost::asio::execution_context& query(boost::asio::execution::context_t) const noexcept {
        return *of_;
    }
    [[nodiscard]] static constexpr boost::asio::execution::blocking_t
    query(boost::asio::execution::blocking_t) noexcept {
        return boost::asio::execution::blocking.never;
    }
    [[nodiscard]] bool operator==(const asio_executor& other) const noexcept { return of_ == other.of_; }

private:
    asio_context<E>* of_;
};

}  // namespace coflux
