// EvaluateIPC's programs for Boost.Asio, as its authors wrote them: eight threads for the timers, and a strand or one
// thread for the cache.
#include "cachecalc.hpp"

#include "workloads.hpp"

#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/dispatch.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/thread_pool.hpp>
#include <boost/asio/use_awaitable.hpp>

#include <cstdint>
#include <future>
#include <memory>

namespace lab {
namespace {

namespace asio = boost::asio;

// num_tasks of the document's programs.
constexpr std::size_t eight = 8;

// One round: its cache, and the waiter that is told when the last task has ended. The tasks are one at a time where
// they touch it.
struct shared_round {
    explicit shared_round(const harness::cache_work& w) : work{w} {}

    void calc_last() {
        values.calc();
        if (++done == work.tasks) {
            ended.set_value();
        }
    }

    const harness::cache_work& work;
    harness::cache values{};
    std::uint64_t done = 0;
    std::promise<void> ended{};
};

using pool_strand = asio::strand<asio::thread_pool::executor_type>;

// Callbacks: three hops a task, and a timer that the callbacks share.
class callbacks {
public:
    void start(shared_round& round) {
        for (std::uint64_t task = 0; task < round.work.tasks; ++task) {
            asio::post(strand_, [this, &round] {
                round.values.calc();
                auto alarm = std::make_shared<asio::steady_timer>(timers_, round.work.wait);
                alarm->async_wait([this, &round, alarm](boost::system::error_code) {
                    asio::post(strand_, [&round] { round.calc_last(); });
                });
            });
        }
    }

private:
    asio::thread_pool timers_{eight};
    asio::thread_pool compute_{1};
    pool_strand strand_{compute_.get_executor()};
};

// Coroutines that go to the strand and, as they ask, back to the pool.
class hops {
public:
    void start(shared_round& round) {
        for (std::uint64_t task = 0; task < round.work.tasks; ++task) {
            asio::co_spawn(pool_, calc_wait_calc(round), asio::detached);
        }
    }

private:
    asio::awaitable<void> calc_wait_calc(shared_round& round) {
        co_await asio::dispatch(asio::bind_executor(strand_, asio::use_awaitable));
        round.values.calc();
        co_await asio::dispatch(asio::bind_executor(pool_, asio::use_awaitable));
        asio::steady_timer alarm{pool_, round.work.wait};
        co_await alarm.async_wait(asio::use_awaitable);
        co_await asio::dispatch(asio::bind_executor(strand_, asio::use_awaitable));
        round.calc_last();
    }

    asio::thread_pool pool_{eight};
    pool_strand strand_{pool_.get_executor()};
};

asio::awaitable<void> calc_wait_calc_here(shared_round& round) {
    round.values.calc();
    asio::steady_timer alarm{co_await asio::this_coro::executor, round.work.wait};
    co_await alarm.async_wait(asio::use_awaitable);
    round.calc_last();
}

// Coroutines that never leave the strand, over one thread.
class on_strand {
public:
    void start(shared_round& round) {
        for (std::uint64_t task = 0; task < round.work.tasks; ++task) {
            asio::co_spawn(strand_, calc_wait_calc_here(round), asio::detached);
        }
    }

private:
    asio::thread_pool pool_{1};
    pool_strand strand_{pool_.get_executor()};
};

// Coroutines on the caller's thread.
class on_io_context {
public:
    void start(shared_round& round) {
        for (std::uint64_t task = 0; task < round.work.tasks; ++task) {
            asio::co_spawn(context_, calc_wait_calc_here(round), asio::detached);
        }
        context_.run();
        context_.restart();
    }

private:
    asio::io_context context_;
};

template <typename Variant>
harness::measured measure_variant(const harness::request& r) {
    const harness::cache_work work{r};
    Variant variant;
    return harness::measure(r, [&] {
        std::uint64_t sum = 0;
        for (std::uint64_t n = 0; n < work.rounds; ++n) {
            shared_round round{work};
            auto ended = round.ended.get_future();
            variant.start(round);
            ended.get();
            sum += round.values.answer();
        }
        return sum;
    });
}

}  // namespace

harness::measured cachecalc_variants(const harness::request& r) {
    const std::string variant = r.text("variant");
    if (variant == "boost_threadpool") {
        return measure_variant<callbacks>(r);
    }
    if (variant == "boost_coroutine") {
        return measure_variant<hops>(r);
    }
    if (variant == "boost_coroutine_strand") {
        return measure_variant<on_strand>(r);
    }
    if (variant == "boost_coroutine_io_context") {
        return measure_variant<on_io_context>(r);
    }
    (void)r.choice("variant", {"serial", "mutex", "async", "simple_threadpool", "folly_future", "folly_coroutine",
                               "seastar_hash"});
    throw harness::unsupported_params("a program for the standard library, for Folly or for Seastar");
}

}  // namespace lab
