// The page docs/design/blocking_pool.md has the protocol.
#include <coflux/executor/blocking_pool.hpp>

#include <stdexcept>

#include <coflux/base/assert.hpp>

#include "executor/detail/blocking_threads.hpp"

namespace coflux::detail {

constinit const wait_kind blocking_wait::how_it_stops{&blocking_wait::claim, &wait_operation::stop_claimed,
                                                      "a function on a blocking thread"};

std::coroutine_handle<> blocking_wait::suspend() {
    promise_base& p = coroutine();
    if (p.begin_suspend() == suspension::stop) [[unlikely]]
        return p.stop_here();
    if (this_thread.driver != nullptr && line_ == nullptr) [[unlikely]]
        return run_here();
    const bool finds_it_itself = line_ == nullptr && of_.looks_at_once(p);
    job_->waiter = this;
    const wait_attempt went = attempt_wait(*this, [this, finds_it_itself]() {
        const bool queued = line_ == nullptr ? of_.submit(*job_, *this, finds_it_itself) : line_->submit(*job_, *this);
        return queued ? wait_attempt::waits : wait_attempt::stop;
    });
    return went == wait_attempt::waits ? suspended() : p.stop_here();  // where it waits this object may be gone
}

std::coroutine_handle<> blocking_wait::run_here() noexcept {
    const bool gave = job_->kind->run(*job_);
    if (gave && coroutine().is_stop_requested()) return coroutine().stop_here();
    return transfer(coroutine().handle());
}

bool blocking_wait::claim(wait_operation& waiting) noexcept {
    auto& self = static_cast<blocking_wait&>(waiting);
    if (self.line_ != nullptr) [[unlikely]]
        return self.line_->claim(*self.job_);
    const blocking_threads::claimed found = self.of_.claim(*self.job_);
    if (found == blocking_threads::claimed::from_thread) self.job_ = nullptr;
    return found != blocking_threads::claimed::no;
}

}  // namespace coflux::detail

namespace coflux {
namespace {

blocking_pool_options checked(blocking_pool_options options) {
    if (options.max_threads == 0) {
        throw std::invalid_argument(
            "coflux: blocking_pool_options::max_threads is 0: a blocking pool has at least one thread");
    }
    if (options.idle_timeout < std::chrono::nanoseconds(0))
        throw std::invalid_argument("coflux: blocking_pool_options::idle_timeout is negative");
    return options;
}

}  // namespace

blocking_pool::blocking_pool(blocking_pool_options options)
    : threads_(new detail::blocking_threads(checked(std::move(options)))) {}

blocking_pool::~blocking_pool() {
    COFLUX_VERIFY(!threads_->runs_this_thread(),
                  "a blocking pool is destroyed on one of its own threads: by a coroutine without an executor, or by "
                  "what it was given to call");
    if (threads_->end(detail::blocking_threads::ends_after::all)) {
        delete threads_;
    } else {
        threads_->keep();
    }
}

blocking_pool& blocking_pool::shared() {
    // Static objects that die later may still name it: it stays, only the threads end.
    struct owner {
        blocking_pool& pool = *new blocking_pool;
        ~owner() { (void)pool.threads_->end(detail::blocking_threads::ends_after::all_but_abandoned); }
    };
    static owner the_one;
    return the_one.pool;
}

blocking_pool_counters blocking_pool::counters() const noexcept {
    return threads_->counters();
}

}  // namespace coflux
