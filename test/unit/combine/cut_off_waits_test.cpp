// Each operation that waits for a moment, for one of many, for a child or for bytes, cut off by whatever may ask, alone
// and through any combinator: the result says so, and nothing is lost: the same operation, done again, gives what it
// would have given.
#include <coflux/combine/completed.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <deque>
#include <exception>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/chooser.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "support/limits.hpp"
#include "support/operations.hpp"

namespace {

using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux_test::combinator;
using coflux_test::combined;
using coflux_test::limit;
using coflux_test::operation;
using sim_fork = coflux::fork<void, sim_executor>;
using sim_task = coflux::task<void, sim_executor>;
using inbox = coflux::channel<int[1]>;

enum class wait : unsigned char {
    timer,
    permits,
    due_value,
    change,        ///< condition_variable::wait_for
    change_until,  ///< condition_variable::wait_until, with a predicate
    any_channel,   ///< select of a range
    channel_or_timer,
    any_handle,  ///< select of a range of forks
    finished,    ///< next() of completions
    finished_outcome,
    result_of_timer,  ///< as_result
    result_of_call,
    result_of_fork,
    limited_timer,  ///< by a limit that lies further away
    limited_pop,
    limited_permits,
    bytes,  ///< read_to_end
    copied,
};
constexpr std::size_t waits = static_cast<std::size_t>(wait::copied) + 1;
constexpr const char* names[waits] = {"timer::wait",
                                      "rate_limiter::acquire",
                                      "delay_queue::pop",
                                      "condition_variable::wait_for",
                                      "condition_variable::wait_until",
                                      "select of a range of channels",
                                      "select of a range and a timer",
                                      "select of a range of forks",
                                      "next of completions",
                                      "next_outcome of completions",
                                      "as_result of a timer",
                                      "as_result of a call",
                                      "as_result of a fork",
                                      "timeout of a timer",
                                      "timeout of a pop",
                                      "timeout of an acquire",
                                      "read_to_end",
                                      "copy"};

/// The moment at which each of them ends by itself.
constexpr auto natural_end = 1h;

/// Gives "ab", waits, gives "cd", and ends.
class slow_source {
public:
    explicit slow_source(coflux::timer& until) noexcept : until_(until) {}
    coflux::call<std::size_t> read_some(coflux::environment&, std::span<std::byte> into) {
        if (at_ == 2) (void)co_await until_.wait();
        if (at_ == 4 || into.empty()) co_return 0;
        into[0] = static_cast<std::byte>('a' + at_++);
        co_return 1;
    }

private:
    coflux::timer& until_;
    int at_ = 0;
};
class text_sink {
public:
    coflux::call<std::size_t> write_some(coflux::environment&, std::span<const std::byte> from) {
        for (const std::byte b : from) text_ += static_cast<char>(b);
        co_return from.size();
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};

coflux::fork<int, sim_executor> ends_after(coflux::environment&, std::chrono::nanoseconds d) {
    co_await coflux::sleep_for(d);
    co_return 7;
}

/// The awaited object. It comes at its natural end.
struct place {
    explicit place(coflux::environment& at)
        : here(at),
          // In an environment of its own, so that no stop of those that wait reaches it.
          children(coflux::make_environment(at)),
          done(children) {
        (void)permits.try_acquire();
        (void)due.push(7, natural_end);
        done.add(ends_after(children, natural_end));
    }
    coflux::environment& here;
    coflux::timer moment{natural_end};
    coflux::rate_limiter permits{1, natural_end, 1};
    coflux::delay_queue<int> due;
    coflux::mutex lock;
    coflux::condition_variable changed;
    bool has_changed = false;
    std::array<inbox, 3> channels;
    decltype(coflux::make_environment(std::declval<coflux::environment&>())) children;
    coflux::completions<int> done;
    slow_source from{moment};
    std::string read;
    text_sink to;
};
/// The acts of others at the natural end.
sim_fork changes_all(coflux::environment&, borrowed<place> at) {
    co_await coflux::sleep_for(natural_end);
    (void)co_await at->channels[1].send(7);
    const auto held = co_await at->lock.lock();
    at->has_changed = true;
    at->changed.notify_all();
}

coflux::call<void> waits_for_change(coflux::environment&, place& at, bool& got) {
    auto held = co_await at.lock.lock();
    const bool in_time = co_await at.changed.wait_for(held, 2 * natural_end);
    got = in_time && held.owns_lock() && at.has_changed;
}
coflux::call<void> waits_until_change(coflux::environment&, place& at, bool& got) {
    auto held = co_await at.lock.lock();
    const bool in_time =
        co_await at.changed.wait_until(held, coflux::clock::now() + 2 * natural_end, [&at] { return at.has_changed; });
    got = in_time && held.owns_lock();
}
coflux::call<int> waits_in_call(coflux::environment&, place& at) {
    (void)co_await at.moment.wait();
    co_return 7;
}
coflux::fork<int, sim_executor> waits_in_fork(coflux::environment&, place* at) {
    (void)co_await at->moment.wait();
    co_return 7;
}
/// The second is the first that ends.
std::vector<coflux::fork<int, sim_executor>> forks_of(place& at) {
    std::vector<coflux::fork<int, sim_executor>> forks;
    forks.push_back(ends_after(at.here, 10 * natural_end));
    forks.push_back(waits_in_fork(at.here, &at));
    return forks;
}
coflux::call<void> result_of_call(coflux::environment&, place& at, bool& got) {
    auto&& here = co_await coflux::context();
    const auto r = co_await coflux::as_result(waits_in_call(here, at));
    got = r.has_value() && *r == 7;
}
coflux::call<void> reads_all(coflux::environment&, place& at, bool& got) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::read_to_end(here, at.from, at.read, 100);
    got = at.read == "abcd";
}
coflux::call<void> copies(coflux::environment&, place& at, bool& got) {
    auto&& here = co_await coflux::context();
    (void)co_await coflux::copy(here, at.from, at.to);
    got = at.to.text() == "abcd";
}

std::vector<inbox*> channels_of(place& at) {
    return {&at.channels[0], &at.channels[1], &at.channels[2]};
}

/// `got`, which outlives it: true once it has given what it is to give, where it is a call.
operation made(wait w, place& at, bool& got) {
    using channels = std::vector<inbox*>;
    using of_timer = decltype(at.moment.wait());
    using of_pop = decltype(at.due.pop());
    using of_permits = decltype(at.permits.acquire());
    using fork = coflux::fork<int, sim_executor>;
    switch (w) {
    case wait::timer: return operation::of([&at] { return at.moment.wait(); });
    case wait::permits: return operation::of([&at] { return at.permits.acquire(); });
    case wait::due_value: return operation::of([&at] { return at.due.pop(); });
    case wait::change: return operation::of([&] { return waits_for_change(at.here, at, got); });
    case wait::change_until: return operation::of([&] { return waits_until_change(at.here, at, got); });
    case wait::any_channel:
        return operation::of([](channels&& of) { return coflux::select(std::move(of)); }, channels_of(at));
    case wait::channel_or_timer:
        return operation::of([](channels&& of, of_timer&& t) { return coflux::select(std::move(of), std::move(t)); },
                             channels_of(at), at.moment.wait());
    case wait::any_handle:
        return operation::of([](std::vector<fork>&& of) { return coflux::select(std::move(of)); }, forks_of(at));
    case wait::finished: return operation::of([&at] { return at.done.next(); });
    case wait::finished_outcome: return operation::of([&at] { return at.done.next_outcome(); });
    case wait::result_of_timer:
        return operation::of([](of_timer&& t) { return coflux::as_result(std::move(t)); }, at.moment.wait());
    case wait::result_of_call: return operation::of([&] { return result_of_call(at.here, at, got); });
    case wait::result_of_fork:
        return operation::of([](fork&& f) { return coflux::as_result(std::move(f)); }, waits_in_fork(at.here, &at));
    case wait::limited_timer:
        return operation::of([](of_timer&& t) { return coflux::timeout(std::move(t), 2 * natural_end); },
                             at.moment.wait());
    case wait::limited_pop:
        return operation::of([](of_pop&& p) { return coflux::timeout(std::move(p), 2 * natural_end); }, at.due.pop());
    case wait::limited_permits:
        return operation::of([](of_permits&& p) { return coflux::timeout(std::move(p), 2 * natural_end); },
                             at.permits.acquire());
    case wait::bytes: return operation::of([&] { return reads_all(at.here, at, got); });
    case wait::copied: break;
    }
    return operation::of([&] { return copies(at.here, at, got); });
}

/// The same once more, with nothing that cuts it off: it gives what the first would have given.
coflux::call<bool> gives_all(coflux::environment&, wait w, place& at) {
    auto&& here = co_await coflux::context();
    bool got = false;
    switch (w) {
    case wait::timer: co_return co_await at.moment.wait();
    case wait::permits: co_await at.permits.acquire(); co_return at.permits.available() == 0;
    case wait::due_value: co_return (co_await at.due.pop()) == 7;
    case wait::change: co_await waits_for_change(here, at, got); break;
    case wait::change_until: co_await waits_until_change(here, at, got); break;
    case wait::any_channel: {
        const auto [index, value] = co_await coflux::select(channels_of(at));
        co_return index == 1 && value == 7;
    }
    case wait::channel_or_timer: (void)co_await coflux::select(channels_of(at), at.moment.wait()); co_return true;
    case wait::any_handle: {
        const auto [index, value] = co_await coflux::select(forks_of(at));
        co_return index == 1 && value == 7;
    }
    case wait::finished: {
        const auto first = co_await at.done.next();
        co_return first && first->value() == 7;
    }
    case wait::finished_outcome: {
        const auto first = co_await at.done.next_outcome();
        co_return first && first->value().value() == 7;
    }
    case wait::result_of_timer: {
        const auto r = co_await coflux::as_result(at.moment.wait());
        co_return r.has_value() && *r;
    }
    case wait::result_of_call: co_await result_of_call(here, at, got); break;
    case wait::result_of_fork: {
        const auto r = co_await coflux::as_result(waits_in_fork(here, &at));
        co_return r.has_value() && *r == 7;
    }
    case wait::limited_timer: {
        const auto fired = co_await coflux::timeout(at.moment.wait(), 2 * natural_end);
        co_return !fired.timed_out() && *fired;
    }
    case wait::limited_pop: {
        const auto value = co_await coflux::timeout(at.due.pop(), 2 * natural_end);
        co_return !value.timed_out() && *value == 7;
    }
    case wait::limited_permits: {
        const auto taken = co_await coflux::timeout(at.permits.acquire(), 2 * natural_end);
        co_return !taken.timed_out() && at.permits.available() == 0;
    }
    case wait::bytes: co_await reads_all(here, at, got); break;
    case wait::copied: co_await copies(here, at, got); break;
    }
    co_return got;
}

struct cell {
    wait of{};
    std::optional<combinator> through;
    limit by{};
    bool beside = false;
    std::chrono::nanoseconds after{};
    bool finished = false;
    bool lost = false;
};

sim_task cuts_off(coflux::environment&, borrowed<cell> c) {
    auto&& here = co_await coflux::context();
    place at(here);
    changes_all(here, borrowed(at)).attach();
    const auto begun = coflux::clock::now();
    bool got = false;
    {
        operation o = made(c->of, at, got);
        if (c->through) o = combined(*c->through, std::move(o), c->beside);
        c->finished = co_await coflux_test::finishes<sim_executor>(here, std::move(o), c->by, c->after);
    }
    if (c->after < natural_end) {
        EXPECT_EQ(coflux::clock::now() - begun, c->after);
        EXPECT_FALSE(got);
        c->lost = !co_await gives_all(here, c->of, at) || coflux::clock::now() - begun != natural_end;
    }
    co_await at.children.join();
}

std::string run_of(cell& c) {
    coflux::testing::fifo_chooser in_order;
    coflux::testing::simulation sim(in_order);
    sim_executor executor;
    auto env = coflux::make_environment(executor);
    std::string name = names[static_cast<std::size_t>(c.of)];
    if (c.through) name = std::string(name_of(*c.through)) + " of " + name;
    name += std::string(", by ") + coflux_test::name_of(c.by);
    if (c.beside) name += ", beside another";
    try {
        cuts_off(env, borrowed(c)).get();
    } catch (const std::exception& e) {
        ADD_FAILURE() << name << ": " << e.what();
    }
    return name;
}

/// An operation of an object gives no outcome itself: a stop of it is that of its coroutine.
bool is_coroutine(wait w) {
    return w == wait::change || w == wait::change_until || w == wait::result_of_call || w == wait::bytes ||
           w == wait::copied;
}
/// True if it compiles, or is checked, as in is_allowed().
bool is_allowed(const cell& c) {
    return c.through != combinator::as_outcome || is_coroutine(c.of);
}
/// Takes the stop of what it is given as an outcome: that says it.
bool gives_outcome(const cell& c) {
    return c.through == combinator::as_outcome || c.through == combinator::when_all_outcomes;
}

TEST(cut_off_waits, say_so_and_lose_nothing_through_any_combinator) {
    for (std::size_t of = 0; of != waits; ++of) {
        for (std::size_t by = 0; by != coflux_test::limits; ++by) {
            for (std::size_t through = 0; through <= coflux_test::combinators; ++through) {
                for (const bool beside : {false, true}) {
                    cell c{static_cast<wait>(of), std::nullopt, static_cast<limit>(by), beside, 10ms};
                    if (through != coflux_test::combinators) c.through = static_cast<combinator>(through);
                    if ((!c.through && beside) || !is_allowed(c)) continue;
                    const std::string name = run_of(c);
                    EXPECT_FALSE(c.lost) << name;
                    EXPECT_TRUE(!c.finished || gives_outcome(c)) << name;
                }
            }
        }
    }
}

TEST(cut_off_waits, are_finished_where_the_limit_comes_later) {
    for (std::size_t of = 0; of != waits; ++of) {
        for (std::size_t by = 0; by != coflux_test::limits; ++by) {
            cell c{static_cast<wait>(of), std::nullopt, static_cast<limit>(by), false, 2 * natural_end};
            const std::string name = run_of(c);
            EXPECT_TRUE(c.finished) << name;
        }
    }
}

}  // namespace
