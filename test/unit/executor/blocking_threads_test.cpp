// The queue of a blocking pool, by hand: what comes between the steps of a call.
#include "../../../src/executor/detail/blocking_threads.hpp"

#include <atomic>
#include <cstring>
#include <functional>
#include <memory_resource>
#include <new>
#include <source_location>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "support/witness.hpp"
#include "watchdog.hpp"

namespace {

using coflux::borrowed;
using coflux::detail::blocking_job;
using coflux::detail::blocking_threads;
using coflux::detail::promise_base;
using coflux::detail::wait_operation;
using coflux_test::watchdog;
using pool = coflux::thread_pool_executor;

struct job : blocking_job {
    job() noexcept : blocking_job(how) {}
    static bool run(blocking_job& j) noexcept { return ++static_cast<job&>(j).ran, true; }
    static void fail(blocking_job&, const std::exception_ptr&) noexcept {}
    static constexpr coflux::detail::blocking_job_kind how{&run, &fail, nullptr};
    std::atomic<int> ran{0};
};

/// Submits a job, and calls `before` when the wait is published and the job not yet queued.
class awaiter : public wait_operation {
public:
    awaiter(promise_base& p, blocking_threads& to, job& j, std::function<void()>& before) noexcept
        : wait_operation(p, kind),
          to_(to),
          job_(j),
          before_(before) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) {
        promise_base& p = coroutine();
        if (p.begin_suspend() == coflux::detail::suspension::stop) return p.stop_here();
        begin();
        job_.waiter = this;
        before_();
        if (to_.submit(job_, *this, false)) return suspended();
        end();
        return p.stop_here();
    }
    void await_resume() noexcept { end(); }

private:
    static bool claim(wait_operation& waiting) noexcept {
        auto& self = static_cast<awaiter&>(waiting);
        return self.to_.claim(self.job_) != blocking_threads::claimed::no;
    }
    static constexpr coflux::detail::wait_kind kind{&claim, &stop_claimed, "a job"};

    blocking_threads& to_;
    job& job_;
    std::function<void()>& before_;
};
struct [[nodiscard]] submitted {
    blocking_threads& to;
    job& j;
    std::function<void()>& before;
    awaiter await_in(promise_base& p, std::source_location) const noexcept { return awaiter(p, to, j, before); }
};

coflux::task<void, pool> submits(coflux::environment&, borrowed<blocking_threads> to, borrowed<job> j,
                                 borrowed<std::function<void()>> before) {
    co_await submitted{*to, *j, *before};
}
TEST(blocking_threads, takes_no_job_whose_stop_came_while_it_was_on_its_way) {
    const watchdog guard("a stop on the way to the queue");
    pool workers(1);
    auto env = coflux::make_environment(workers);
    blocking_threads threads({});
    job j;
    std::function<void()> before = [&] { env.request_stop(); };
    submits(env, borrowed(threads), borrowed(j), borrowed(before)).join();
    EXPECT_EQ(j.ran, 0);
    EXPECT_EQ(threads.counters().threads, 0U) << "no thread is made for it";
    EXPECT_TRUE(threads.end(blocking_threads::ends_after::all));
}

/// Overwrites what is freed, and keeps it.
class poison : public std::pmr::memory_resource {
    void* do_allocate(std::size_t size, std::size_t alignment) override { return memory_.allocate(size, alignment); }
    void do_deallocate(void* p, std::size_t size, std::size_t) override { std::memset(p, 0xdd, size); }
    bool do_is_equal(const memory_resource& other) const noexcept override { return this == &other; }

    std::pmr::monotonic_buffer_resource memory_;
};

coflux::call<void> waits_in_a_call(coflux::environment&, coflux::blocking_pool& threads, coflux_test::flag& runs,
                                   coflux_test::flag& goes) {
    co_await coflux::blocking(threads, [&] {
        runs.set();
        goes.wait();
    });
}
coflux::task<bool, pool> stops_a_call_twice(coflux::environment&, borrowed<coflux::blocking_pool> threads,
                                            borrowed<coflux_test::flag> runs, borrowed<coflux_test::flag> goes,
                                            borrowed<coflux::environment*> stopped) {
    auto&& here = co_await coflux::context();
    auto sub = coflux::make_environment(here);
    *stopped = &sub;
    const auto how = co_await coflux::as_outcome(waits_in_a_call(sub, *threads, *runs, *goes));
    sub.request_stop();  // looks at the waits in `sub`: none is left of the call, whose frame is gone
    co_await sub.join();
    co_return how.is_stopped();
}
TEST(blocking_threads, leave_no_wait_behind_in_what_is_stopped_when_the_function_has_ended) {
    const watchdog guard("a stopped call");
    poison memory;
    pool workers(1);
    coflux::blocking_pool threads;
    auto env = coflux::make_environment(workers, &memory);
    coflux_test::flag runs;
    coflux_test::flag goes;
    coflux::environment* stopped = nullptr;
    auto t = stops_a_call_twice(env, borrowed(threads), borrowed(runs), borrowed(goes), borrowed(stopped));
    runs.wait();
    stopped->request_stop();
    goes.set();
    EXPECT_TRUE(t.get());
}

}  // namespace
