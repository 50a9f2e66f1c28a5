// Random programs over the public API, interpreted: each part of a program is a coroutine that checks what comes of it
// against what the grammar says may come. Seeds make them here, bytes where they are fuzzed
// (test/fuzz/programs_fuzz.cpp).
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "grammar.hpp"
#include "trial.hpp"

namespace coflux_simulations {
namespace {

using std::chrono::milliseconds;
using part_fork = coflux::fork<int, program_executor>;

/// A local of a part: sees how it ends, and when.
class witness {
public:
    witness(const node& n, trial& t, coflux::stop_token token) noexcept : n_(n), t_(t), token_(token) { ++t.live; }
    witness(const witness&) = delete;
    witness& operator=(const witness&) = delete;
    ~witness() {
        --t_.live;
        if (!ended_) ends(n_.may.stop || token_.stop_requested(), "a part was stopped for no reason");
    }
    /// A stop from above ended a child of the part that it does not await.
    void cuts_off() noexcept { cuts_off_ = true; }
    /// The part gives its value nevertheless.
    void keeps_value() noexcept { keeps_value_ = true; }
    void gives_value() noexcept {
        t_.expect_in_time(keeps_value_ || !cuts_off_, "a part gave a value, and a child of its was cut off");
        ends(n_.may.value || token_.stop_requested(), "a part gave a value that it cannot have");
    }
    void fails() noexcept {
        ends(n_.may.error || (n_.may.error_if_stopped && token_.stop_requested()), "a part failed that cannot");
    }

private:
    void ends(bool may, const char* what) noexcept {
        const bool late = coflux::clock::now() - begun_ > milliseconds(n_.may.latest);
        if (t_.says_programs && (!may || late))
            std::fprintf(stderr, "%s: %s\n", late ? "late" : what, to_text(n_).c_str());
        t_.expect(!ended_, "a part ended twice");
        t_.expect(may, what);
        t_.expect(!late, "a part ended too late");
        ended_ = true;
    }

    const node& n_;
    trial& t_;
    coflux::stop_token token_;
    coflux::clock::time_point begun_ = coflux::clock::now();
    bool ended_ = false;
    std::atomic<bool> cuts_off_{false};
    bool keeps_value_ = false;
};

/// A local of a child that its part does not await: tells the part if a stop from above ended the child.
class left_child {
public:
    left_child(witness& part, coflux::environment& here) noexcept : part_(part), here_(here) {}
    left_child(const left_child&) = delete;
    left_child& operator=(const left_child&) = delete;
    ~left_child() {
        if (ended_ || std::uncaught_exceptions() != 0 || !here_.stop_requested()) return;
        // At the very moment of a deadline, the child may have stopped before the request came.
        if (here_.deadline() != coflux::clock::now()) part_.cuts_off();
    }
    void ends() noexcept { ended_ = true; }

private:
    witness& part_;
    coflux::environment& here_;
    bool ended_ = false;
};

coflux::call<void> does(coflux::environment& in, const node& n, trial& t, witness& w);

/// A part, with what checks it.
coflux::call<int> runs(const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    witness w(n, t, co_await coflux::this_coroutine::stop_token());
    try {
        co_await does(here, n, t, w);
    } catch (const planned_error&) {
        w.fails();
        throw;
    }
    w.gives_value();
    co_return 1;
}
coflux::call<int> runs_in(coflux::environment&, const node& n, trial& t) {
    co_return co_await runs(n, t);
}
/// A call that names its environment, `here`, or that of whatever awaits it, which is `here` or below.
coflux::call<int> run(coflux::environment& here, const node& n, trial& t) {
    if ((n.form + n.amount) % 2 == 0) return runs_in(here, n, t);
    return runs(n, t);
}

part_fork forked(coflux::environment&, const node* n, trial* t) {
    auto&& here = co_await coflux::context();
    const int one = co_await run(here, *n, *t);
    co_return one;
}

/// A child that the part of `w` does not await.
part_fork left(coflux::environment&, const node* n, trial* t, witness* w) {
    auto&& here = co_await coflux::context();
    left_child tells(*w, here);
    const int one = co_await run(here, *n, *t);
    tells.ends();
    co_return one;
}

part_fork naps(coflux::environment&, std::size_t amount) {
    co_await coflux::sleep_for(milliseconds(amount));
    co_return 1;
}

std::vector<part_fork> all_forked(coflux::environment& here, const node& n, trial& t) {
    std::vector<part_fork> forks;
    forks.reserve(n.children.size());
    for (const node& c : n.children) forks.push_back(forked(here, &c, &t));
    return forks;
}

coflux::call<void> all(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    const std::vector<node>& of = n.children;
    if (n.form % 2 == 0) {
        const auto ones = co_await coflux::when_all(all_forked(here, n, t));
        COFLUX_HOLDS(&t, ones.size() == of.size());
    } else if (of.size() == 1) {
        (void)co_await coflux::when_all(run(here, of[0], t));
    } else if (of.size() == 2) {
        (void)co_await coflux::when_all(run(here, of[0], t), forked(here, &of[1], &t));
    } else {
        (void)co_await coflux::when_all(forked(here, &of[0], &t), run(here, of[1], t), forked(here, &of[2], &t));
    }
}

coflux::call<void> any(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    const std::vector<node>& of = n.children;
    if (n.form % 4 == 0) {
        (void)co_await coflux::when_any(all_forked(here, n, t));
    } else if (n.form % 4 == 2) {
        (void)co_await coflux::race(all_forked(here, n, t));
    } else if (of.size() == 1) {
        (void)co_await coflux::when_any(run(here, of[0], t));
    } else if (of.size() == 2) {
        (void)co_await coflux::when_any(run(here, of[0], t), forked(here, &of[1], &t));
    } else {
        (void)co_await coflux::when_any(forked(here, &of[0], &t), run(here, of[1], t), forked(here, &of[2], &t));
    }
}

/// A local that children borrow.
struct life {
    bool alive = true;
    ~life() { alive = false; }
};

/// In such a child: the local outlives it.
class borrower {
public:
    borrower(trial& t, borrowed<bool> alive) noexcept : t_(t), alive_(alive) {}
    borrower(const borrower&) = delete;
    borrower& operator=(const borrower&) = delete;
    ~borrower() { t_.expect(*alive_, "a local died before a child that borrowed it"); }

private:
    trial& t_;
    borrowed<bool> alive_;
};

/// Works on a local of its parent.
part_fork borrows(coflux::environment&, const node* n, trial* t, witness* w, borrowed<bool> alive) {
    auto&& here = co_await coflux::context();
    const borrower checks(*t, alive);
    left_child tells(*w, here);
    const int one = co_await run(here, *n, *t);
    tells.ends();
    co_return one;
}

coflux::call<void> scope(coflux::environment&, const node& n, trial& t, witness& w) {
    auto&& here = co_await coflux::context();
    life local;
    const auto block = [&](coflux::task_scope& inside) -> coflux::call<void> {
        if (n.form % 4 == 3) {
            inside.finish_with_value();
            w.keeps_value();
        }
        for (std::size_t i = 0; i + 1 != n.children.size(); ++i)
            inside.spawn(borrows, &n.children[i], &t, &w, borrowed(local.alive));
        auto&& me = co_await coflux::context();
        (void)co_await run(me, n.children.back(), t);
    };
    const auto policy = n.what == part::scope ? coflux::error_policy::stop_on_error : coflux::error_policy::collect_all;
    co_await coflux::with_scope(here, policy, block);
}

using numbers = coflux::channel<int[1]>;

part_fork sends(coflux::environment&, coflux::channel_sender<numbers> to, const node* n, trial* t, witness* w) {
    auto&& here = co_await coflux::context();
    left_child tells(*w, here);
    for (int i = 0; i != 2; ++i) {
        (void)co_await run(here, *n, *t);
        const bool sent = co_await to.send(i);
        if (!sent) break;
    }
    tells.ends();
    co_return 1;
}
part_fork receives(coflux::environment&, coflux::channel_receiver<numbers> from, const node* n, trial* t, witness* w) {
    auto&& here = co_await coflux::context();
    left_child tells(*w, here);
    while (auto v = co_await from.receive()) (void)co_await run(here, *n, *t);
    tells.ends();
    co_return 1;
}
coflux::call<void> piped(coflux::environment&, const node& n, trial& t, witness& w) {
    auto&& here = co_await coflux::context();
    numbers between;
    const auto block = [&](coflux::task_scope& stages) -> coflux::call<void> {
        stages.spawn(sends, between.sender(), &n.children[0], &t, &w);
        stages.spawn(receives, between.receiver(), &n.children[1], &t, &w);
        co_return;
    };
    co_await coflux::with_scope(here, block);
}

template <std::size_t Inner>
auto inner(part_fork& f, part_fork& g) {
    if constexpr (Inner == 0) {
        return coflux::when_all(std::move(f), std::move(g));
    } else if constexpr (Inner == 1) {
        return coflux::when_any(std::move(f), std::move(g));
    } else if constexpr (Inner == 2) {
        return coflux::when_all_outcomes(std::move(f), std::move(g));
    } else {
        return coflux::first_success(std::move(f), std::move(g));
    }
}

/// A combinator of a combinator of forks: they are of this coroutine, and stopped by what took them over.
template <std::size_t Inner>
coflux::call<void> nested(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    part_fork f = forked(here, &n.children[0], &t);
    part_fork g = forked(here, &n.children[1], &t);
    switch (n.form % 4) {
    case 0: (void)co_await coflux::timeout(inner<Inner>(f, g), milliseconds(n.amount)); break;
    case 1: (void)co_await coflux::as_outcome(inner<Inner>(f, g)); break;
    case 2: (void)co_await coflux::when_any(inner<Inner>(f, g), naps(here, n.amount)); break;
    default: (void)co_await coflux::when_all(inner<Inner>(f, g), naps(here, n.amount)); break;
    }
}

coflux::call<void> each(coflux::environment&, const node& n, trial& t) {
    const std::size_t window = 1 + n.form / 2 % 3;
    const auto by_fork = [&](coflux::environment& in, const node& c) { return forked(in, &c, &t); };
    const auto by_call = [&](coflux::environment& in, const node& c) { return run(in, c, t); };
    if (n.form % 2 == 0) {
        std::vector<const node*> by_address;
        for (const node& c : n.children) by_address.push_back(&c);
        const auto fork_at = [&](coflux::environment& in, const node* c) { return by_fork(in, *c); };
        co_await coflux::for_each_concurrent(by_address, window, fork_at);
    } else {
        co_await coflux::for_each_concurrent(n.children, window, by_call);
    }
}

/// Takes forks as they finish. Forms 0 and 1 take all, the others leave after the first; the forks of form 3 were made
/// in an environment that is joined afterwards.
coflux::call<void> finished(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    auto below = coflux::make_environment(here);
    {
        auto done = n.form % 4 == 3 ? coflux::completed(here, all_forked(below, n, t))
                                    : coflux::completed(here, all_forked(here, n, t));
        std::size_t taken = 0;
        if (n.form % 4 == 0) {
            while (co_await done.next()) ++taken;
        } else {
            while (auto got = co_await done.next_outcome()) {
                COFLUX_HOLDS(&t, got->index() < n.children.size());
                ++taken;
                if (n.form % 4 != 1) break;
            }
        }
        COFLUX_HOLDS(&t, taken == (n.form % 4 < 2 ? n.children.size() : 1));
    }
    co_await below.join();
}

coflux::call<void> timed(coflux::environment&, const node& n, trial& t) {
    const milliseconds amount(n.amount);
    const auto begun = coflux::clock::now();
    coflux::timer moment;
    switch (n.form % 4) {
    case 0: (void)moment.reset(amount); break;
    case 1:
        (void)moment.reset(amount);
        // At the very moment it has fired.
        t.expect_in_time(moment.reset(begun + amount + milliseconds(10)) == (n.amount != 0),
                         "a timer that was pending was not");
        break;
    case 2: {
        (void)moment.reset(std::chrono::hours(1));
        const auto fired = co_await coflux::timeout(moment.wait(), amount);
        COFLUX_HOLDS(&t, fired.timed_out() && moment.pending());
        (void)moment.stop();
        break;
    }
    default: break;
    }
    const bool fires = n.form % 4 < 2;
    COFLUX_HOLDS(&t, (co_await moment.wait()) == fires && !moment.pending());
}

coflux::call<void> metered(coflux::environment&, const node& n) {
    coflux::rate_limiter each(1, milliseconds(10), 1);
    for (std::size_t i = 0; i <= n.form % 4; ++i) co_await each.acquire();
}

coflux::call<void> delayed(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    coflux::delay_queue<const node*> due;
    for (const node& c : n.children) COFLUX_HOLDS(&t, due.push(&c, milliseconds(n.amount)));
    due.close();
    for (const node& expected : n.children) {
        const auto next = co_await due.pop();
        COFLUX_HOLDS(&t, next && *next == &expected);
        (void)co_await run(here, expected, t);
    }
    COFLUX_HOLDS(&t, !co_await due.pop());
}

struct condition {
    coflux::mutex lock;
    coflux::condition_variable changed;
    bool holds = false;
};
part_fork changes(coflux::environment&, condition* of, const node* n, trial* t, witness* w) {
    auto&& here = co_await coflux::context();
    left_child tells(*w, here);
    (void)co_await run(here, *n, *t);
    {
        const auto held = co_await of->lock.lock();
        of->holds = true;
        of->changed.notify_one();
    }
    tells.ends();
    co_return 1;
}
coflux::call<void> changed(coflux::environment&, const node& n, trial& t, witness& w) {
    auto&& here = co_await coflux::context();
    condition of;
    const auto block = [&](coflux::task_scope& inside) -> coflux::call<void> {
        inside.spawn(changes, &of, &n.children[0], &t, &w);
        auto held = co_await of.lock.lock();
        const milliseconds amount(n.amount);
        const auto holds = [&of] { return of.holds; };
        const bool in_time = n.form % 2 == 0
                                 ? co_await of.changed.wait_for(held, amount, holds)
                                 : co_await of.changed.wait_until(held, coflux::clock::now() + amount, holds);
        COFLUX_HOLDS(&t, held.owns_lock() && in_time == of.holds);
    };
    co_await coflux::with_scope(here, block);
}

coflux::call<int> refused(coflux::environment&) {
    co_await coflux::yield();
    throw std::system_error(std::make_error_code(std::errc::connection_refused));
}
coflux::call<void> result(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    if (n.form % 2 == 0) {
        const auto one = co_await coflux::as_result(run(here, n.children[0], t));
        COFLUX_HOLDS(&t, one.has_value() && *one == 1);
    } else {
        const auto one = co_await coflux::as_result(forked(here, &n.children[0], &t));
        COFLUX_HOLDS(&t, one.has_value() && *one == 1);
    }
    const auto none = co_await coflux::as_result(refused(here));
    COFLUX_HOLDS(&t, !none.has_value() && none.error() == std::errc::connection_refused);
}

/// The first end decides, be it a stop. Beside the forks, cases that never win, or a sleep.
coflux::call<void> selected(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    auto forks = all_forked(here, n, t);
    numbers empty[2];
    const std::vector<numbers*> channels{&empty[0], &empty[1]};
    switch (n.form % 4) {
    case 0: {
        const auto first = co_await coflux::select(std::move(forks));
        COFLUX_HOLDS(&t, first.index() < n.children.size() && first.value() == 1);
        break;
    }
    case 1: {
        const auto first = co_await coflux::select(std::move(forks), channels);
        COFLUX_HOLDS(&t, first.index() == 0);
        break;
    }
    case 2: {
        const auto first = co_await coflux::select(empty[0].receive(), std::move(forks), channels);
        COFLUX_HOLDS(&t, first.index() == 1);
        break;
    }
    default: (void)co_await coflux::select(std::move(forks), coflux::sleep_for(milliseconds(n.amount)));
    }
}

/// Permits, one each 10 ms, and how many were given.
struct permits {
    coflux::rate_limiter limiter{1, milliseconds(10), 1};
    coflux::clock::time_point begun = coflux::clock::now();
    std::atomic<int> given{0};
};
part_fork permitted(coflux::environment&, permits* from, const node* n, trial* t) {
    auto&& here = co_await coflux::context();
    co_await from->limiter.acquire();
    const int before = from->given++;
    COFLUX_HOLDS(t, coflux::clock::now() >= from->begun + before * milliseconds(10));
    const int one = co_await run(here, *n, *t);
    co_return one;
}
coflux::call<void> throttled(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    permits all;
    std::vector<part_fork> forks;
    for (const node& c : n.children) forks.push_back(permitted(here, &all, &c, &t));
    (void)co_await coflux::when_all(std::move(forks));
}

/// A timer, and what its waiters are to see.
struct moved_timer {
    coflux::timer timer;
    coflux::clock::time_point end{};
    bool fires = true;
};
part_fork timed_child(coflux::environment&, moved_timer* after, const node* n, trial* t, witness* w) {
    auto&& here = co_await coflux::context();
    left_child tells(*w, here);
    const bool fired = co_await after->timer.wait();
    if (!on_pool) COFLUX_HOLDS(t, fired == after->fires && coflux::clock::now() == after->end);
    const int one = co_await run(here, *n, *t);
    tells.ends();
    co_return one;
}
coflux::call<void> moved(coflux::environment&, const node& n, trial& t, witness& w) {
    auto&& here = co_await coflux::context();
    const auto begun = coflux::clock::now();
    moved_timer shared;
    shared.end = begun + milliseconds(n.amount);
    (void)shared.timer.reset(milliseconds(n.amount));
    const auto block = [&](coflux::task_scope& inside) -> coflux::call<void> {
        for (const node& c : n.children) inside.spawn(timed_child, &shared, &c, &t, &w);
        const bool pending = n.amount != 0;
        co_await coflux::sleep_for(milliseconds(5));
        if (n.form % 4 == 0) co_return;
        if (pending && !on_pool) {
            shared.end = begun + milliseconds(n.form % 4 == 1 ? 15 : 5);
            shared.fires = n.form % 4 != 2;
        }
        const bool was_pending = n.form % 4 == 1   ? shared.timer.reset(milliseconds(10))
                                 : n.form % 4 == 2 ? shared.timer.stop()
                                                   : shared.timer.reset(milliseconds(0));
        t.expect_in_time(was_pending == pending, "a timer that was pending was not");
    };
    co_await coflux::with_scope(here, block);
}

/// Awaits a child for each byte that it gives.
class slow_source {
public:
    slow_source(const node& n, trial& t) noexcept : n_(n), t_(t) {}
    coflux::call<std::size_t> read_some(coflux::environment&, std::span<std::byte> into) {
        auto&& here = co_await coflux::context();
        if (at_ == n_.children.size() || into.empty()) co_return 0;
        (void)co_await run(here, n_.children[at_], t_);
        into[0] = static_cast<std::byte>('a' + at_++);
        co_return 1;
    }

private:
    const node& n_;
    trial& t_;
    std::size_t at_ = 0;
};
/// Lets others run for each byte that it takes.
class slow_sink {
public:
    coflux::call<std::size_t> write_some(coflux::environment&, std::span<const std::byte> from) {
        co_await coflux::yield();
        text_ += static_cast<char>(from[0]);
        co_return 1;
    }
    [[nodiscard]] const std::string& text() const noexcept { return text_; }

private:
    std::string text_;
};
coflux::call<void> streamed(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    const std::string expected = std::string("abc").substr(0, n.children.size());
    slow_source from(n, t);
    coflux::buffered_reader buffered(from, 16);
    slow_sink to;
    std::string read;
    switch (n.form % 4) {
    case 0: (void)co_await coflux::read_to_end(here, from, read, 3); break;
    case 1: (void)co_await coflux::copy(here, from, to); break;
    case 2: (void)co_await coflux::copy(here, buffered, to); break;
    default: (void)co_await coflux::read_to_end(here, buffered, read, 3);
    }
    COFLUX_HOLDS(&t, read + to.text() == expected);
}

#if COFLUX_PROGRAMS_ON_POOL
template <coflux::priority Level>
coflux::fork<int, coflux::prioritised<Level>> runs_elsewhere(coflux::environment&, const node* n, trial* t) {
    auto&& here = co_await coflux::context();
    const int one = co_await run(here, *n, *t);
    const coflux::executor_ref there = co_await coflux::this_coroutine::executor();
    auto own = t->first.at<Level>();
    COFLUX_HOLDS(t, there.is(own));
    co_return one;
}
coflux::call<void> elsewhere(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    if (n.form % 2 == 0) {
        (void)co_await runs_elsewhere<coflux::priority::high>(here, &n.children[0], &t);
    } else {
        (void)co_await runs_elsewhere<coflux::priority::low>(here, &n.children[0], &t);
    }
}
#else
coflux::fork<int, coflux::nth<sim_executor, 1>> runs_elsewhere(coflux::environment&, const node* n, trial* t) {
    auto&& here = co_await coflux::context();
    const int one = co_await run(here, *n, *t);
    const coflux::executor_ref there = co_await coflux::this_coroutine::executor();
    COFLUX_HOLDS(t, there.is(t->second));
    co_return one;
}
coflux::call<void> elsewhere(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    (void)co_await runs_elsewhere(here, &n.children[0], &t);
}
#endif

/// A directory with three files, for the whole process.
class three_files {
public:
    three_files() {
        std::string made = (std::filesystem::temp_directory_path() / "coflux_programs_XXXXXX").string();
        if (mkdtemp(made.data()) == nullptr) std::abort();
        path = made;
        for (const char* name : {"a", "b", "c"}) std::ofstream(path / name) << name;
    }
    three_files(const three_files&) = delete;
    three_files& operator=(const three_files&) = delete;
    ~three_files() { std::filesystem::remove_all(path); }

    std::filesystem::path path;
};
coflux::call<void> lists(coflux::environment&, const node& n, trial& t) {
    static const three_files listed;
    auto&& here = co_await coflux::context();
    coflux::directory d = co_await coflux::directory::open(listed.path.string());
    std::string names;
    for (auto batch = co_await d.next(); !batch.empty(); batch = co_await d.next()) {
        for (const coflux::directory_entry& e : batch) {
            if (names.size() < n.children.size()) (void)co_await run(here, n.children[names.size()], t);
            COFLUX_HOLDS(&t, e.name.size() == 1 && e.type == coflux::entry_type::regular);
            names += e.name;
        }
    }
    COFLUX_HOLDS(&t, names.size() == 3 && names.find_first_not_of("abc") == std::string::npos);
}

#if COFLUX_PROGRAMS_ON_POOL
coflux::call<void> starts(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    const std::string text(n.amount * 3000, 'x');  // more than a pipe holds, or nothing
    switch (n.form % 4) {
    case 0: {
        const auto made = co_await coflux::output_of(here, {"cat"}, {.input = text});
        COFLUX_HOLDS(&t, made.status.is_success() && made.output == text);
        break;
    }
    case 1: {
        const auto made = co_await coflux::output_of(here, {"sh", "-c", "printf out; printf err >&2; exit 3"});
        COFLUX_HOLDS(&t, made.status.code() == 3 && made.output == "out" && made.error == "err");
        break;
    }
    case 2: {
        const auto made = co_await coflux::timeout(coflux::output_of(here, {"sleep", "1000"}), milliseconds(n.amount));
        COFLUX_HOLDS(&t, made.timed_out());
        break;
    }
    default:
        bool refused = false;
        try {
            (void)co_await coflux::output_of(here, {"echo", "abc"}, {.output_limit = 2});
        } catch (const coflux::limit_exceeded&) {
            refused = true;
        }
        COFLUX_HOLDS(&t, refused);
    }
    (void)co_await run(here, n.children[0], t);
}
#endif

coflux::call<void> nearer(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    auto below = coflux::make_environment(here, coflux::clock::now() + milliseconds(n.amount));
    auto f = forked(below, &n.children[0], &t);
    (void)co_await coflux::as_outcome(std::move(f));
    co_await below.join();
}

coflux::call<void> stopped(coflux::environment&, const node& n, trial& t) {
    auto&& here = co_await coflux::context();
    auto f = forked(here, &n.children[0], &t);
    co_await coflux::sleep_for(milliseconds(n.amount));
    f.request_stop();
    (void)co_await coflux::as_outcome(std::move(f));
}

coflux::call<void> waits_for_ever(coflux::environment&, std::size_t form) {
    coflux::manual_reset_event never_set;
    numbers empty;
    coflux::semaphore none{0};
    if (form % 3 == 0) co_await never_set.wait();
    if (form % 3 == 1) (void)co_await empty.receive();
    if (form % 3 == 2) co_await none.acquire();
}

coflux::call<void> does(coflux::environment&, const node& n, trial& t, witness& w) {
    auto&& here = co_await coflux::context();
    const std::vector<node>& of = n.children;
    const milliseconds amount(n.amount);
    switch (n.what) {
    case part::value: break;
    case part::yields:
        for (std::size_t i = 0; i <= n.form % 4; ++i) co_await coflux::yield();
        break;
    case part::sleeps: co_await coflux::sleep_for(amount); break;
    case part::timed: co_await timed(here, n, t); break;
    case part::metered: co_await metered(here, n); break;
    case part::waits_for_ever: co_await waits_for_ever(here, n.form); break;
    case part::fails: throw planned_error();
    case part::stops: co_await coflux::this_coroutine::stop(); break;
    case part::sequence:
        for (const node& c : of) (void)co_await run(here, c, t);
        break;
    case part::forked: (void)co_await forked(here, &of[0], &t); break;
    case part::viewed: {
        auto f = forked(here, &of[0], &t);
        const auto v = f.view();
        (void)co_await v;
        break;
    }
    case part::attached:
        if (n.form % 4 == 3) {
            here.finish_with_value();
            w.keeps_value();
        }
        for (const node& c : of) left(here, &c, &t, &w).attach();
        break;
    case part::dropped:
        for (const node& c : of) {
            const auto dies = left(here, &c, &t, &w);
        }
        break;
    case part::abandons:
        for (const node& c : of) forked(here, &c, &t).attach();
        throw planned_error();
    case part::outcome: (void)co_await coflux::as_outcome(run(here, of[0], t)); break;
    case part::caught: try { (void)co_await run(here, of[0], t);
        } catch (const planned_error&) {}
        break;
    case part::limited: {
        const auto one = co_await coflux::timeout(run(here, of[0], t), amount);
        COFLUX_HOLDS(&t, one.timed_out() || *one == 1);
        break;
    }
    case part::limited_fork: {
        const auto one = co_await coflux::deadline(forked(here, &of[0], &t), coflux::clock::now() + amount);
        COFLUX_HOLDS(&t, one.timed_out() || *one == 1);
        break;
    }
    case part::all: co_await all(here, n, t); break;
    case part::all_outcomes: {
        const auto ends = co_await coflux::when_all_outcomes(all_forked(here, n, t));
        COFLUX_HOLDS(&t, ends.size() == of.size());
        break;
    }
    case part::any: co_await any(here, n, t); break;
    case part::success: (void)co_await coflux::first_success(all_forked(here, n, t)); break;
    case part::some: (void)co_await coflux::when_n(all_forked(here, n, t), 1 + n.form % of.size()); break;
    case part::each: co_await each(here, n, t); break;
    case part::scope:
    case part::collect: co_await scope(here, n, t, w); break;
    case part::nearer: co_await nearer(here, n, t); break;
    case part::stopped: co_await stopped(here, n, t); break;
    case part::piped: co_await piped(here, n, t, w); break;
    case part::nested:
        switch (n.form / 4) {
        case 0: co_await nested<0>(here, n, t); break;
        case 1: co_await nested<1>(here, n, t); break;
        case 2: co_await nested<2>(here, n, t); break;
        default: co_await nested<3>(here, n, t); break;
        }
        break;
    case part::finished: co_await finished(here, n, t); break;
    case part::delayed: co_await delayed(here, n, t); break;
    case part::changed: co_await changed(here, n, t, w); break;
    case part::result: co_await result(here, n, t); break;
    case part::selected: co_await selected(here, n, t); break;
    case part::throttled: co_await throttled(here, n, t); break;
    case part::moved: co_await moved(here, n, t, w); break;
    case part::streamed: co_await streamed(here, n, t); break;
    case part::elsewhere: co_await elsewhere(here, n, t); break;
    case part::lists: co_await lists(here, n, t); break;
    case part::starts:
#if COFLUX_PROGRAMS_ON_POOL
        co_await starts(here, n, t);
#endif
        break;
    }
}

/// Whatever the program is, it ends within its limit, and nothing of it is left.
root generated(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    constexpr milliseconds limit(on_pool ? 50 : 500);
    const node program = random_program(t->choose, on_pool ? world::threads : world::simulated);
    if (t->says_programs) std::fprintf(stderr, "%s\n", to_text(program).c_str());
    const auto begun = coflux::clock::now();
    const std::size_t stop_after = t->choose(16);
    auto f = forked(here, &program, &*t);
    if (stop_after >= 12) {
        co_await coflux::sleep_for(milliseconds(5 * (stop_after - 12)));
        f.request_stop();
    }
    try {
        (void)co_await coflux::timeout(std::move(f), limit);
    } catch (const planned_error&) {}
    t->expect_in_time(coflux::clock::now() - begun <= limit + milliseconds(20), "the program ended after its limit");
}

const listed programs_of_generator{{"generated", generated}};

}  // namespace
}  // namespace coflux_simulations
