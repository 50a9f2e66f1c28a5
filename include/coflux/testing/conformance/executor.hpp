// The laws of an executor (core/executor.hpp) as checks, for foreign executors.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <deque>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>
#include <coflux/testing/conformance/detail/subject.hpp>
#include <coflux/testing/conformance/violation.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing {

/// Each law of executors as a function of a subject's maker, which gives what broke it.
///
/// Shapes: `make()` gives a fresh executor, by value; one that has threads of its own, or a member `run_all()` that
/// resumes what is queued until nothing is. Or it gives an object with `executor()` and, if it must be run, `drive()`.
/// A subject with `static constexpr bool one_thread_only = true` is not called from other threads. The subject's
/// destructor ends the executor.
/// Threads: the caller's; a check starts and joins its own.
namespace executor_laws {

template <typename Make>
using subject_of = decltype(std::declval<Make&>()());
using detail::marked_frame;

/// Each handle is resumed exactly once, also by the end of the executor.
template <typename Make>
violations resumes_each_handle_once(Make make, const conformance_options& options = {}) {
    std::deque<marked_frame> frames(options.many);
    {
        auto subject = make();
        for (marked_frame& f : frames) detail::execute_marked(detail::executor_of(subject), f.handle());
        (void)detail::wait_until(subject, options.patience, [&] {
            for (const marked_frame& f : frames)
                if (f.times() == 0) return false;
            return true;
        });
    }
    std::size_t lost = 0;
    std::size_t doubled = 0;
    for (const marked_frame& f : frames) {
        lost += f.times() == 0 ? 1 : 0;
        doubled += f.times() > 1 ? 1 : 0;
    }
    if (lost == 0 && doubled == 0) return {};
    return {{"resumes_each_handle_once", std::to_string(lost) + " of " + std::to_string(frames.size()) +
                                             " handles were not resumed, " + std::to_string(doubled) +
                                             " more than once"}};
}

/// Never inside execute(), and never on the stack of a coroutine: what execute() is given from within a coroutine waits
/// until that one has suspended.
template <typename Make>
violations resumes_later_and_from_a_plain_stack(Make make, const conformance_options& options = {}) {
    using executor = detail::executor_type<subject_of<Make>>;
    struct pair_of_frames {
        marked_frame outer, inner;
        executor* on;
    };
    std::deque<pair_of_frames> frames(100);
    {
        auto subject = make();
        for (pair_of_frames& p : frames) {
            p.on = std::addressof(detail::executor_of(subject));
            p.outer.given = &p;
            p.outer.body = [](marked_frame& self) noexcept {
                auto& pair = *static_cast<pair_of_frames*>(self.given);
                detail::execute_marked(*pair.on, pair.inner.handle());
            };
            detail::execute_marked(*p.on, p.outer.handle());
        }
        (void)detail::wait_until(subject, options.patience, [&] {
            for (const pair_of_frames& p : frames)
                if (p.outer.times() == 0 || p.inner.times() == 0) return false;
            return true;
        });
    }
    violations found;
    for (const pair_of_frames& p : frames) {
        if (p.outer.inside_execute.load() || p.inner.inside_execute.load())
            found.push_back({"resumes_later_and_from_a_plain_stack", "a handle was resumed inside execute()"});
        else if (p.outer.on_a_coroutine.load() || p.inner.on_a_coroutine.load())
            found.push_back(
                {"resumes_later_and_from_a_plain_stack", "a handle was resumed on the stack of a coroutine"});
        if (!found.empty()) break;
    }
    return found;
}

/// Effects before execute() happen before the resumption. By itself this sees little; under ThreadSanitizer it sees
/// all.
template <typename Make>
violations shows_what_happened_before(Make make, const conformance_options& options = {}) {
    using executor = detail::executor_type<subject_of<Make>>;
    struct relay {
        std::deque<marked_frame> frames;
        executor* on = nullptr;
        std::size_t runs = 0;  // not atomic: each resumption writes what the next one reads
        std::atomic<bool> torn{false};
    };
    relay r;
    r.frames.resize(1000);
    {
        auto subject = make();
        r.on = std::addressof(detail::executor_of(subject));
        for (marked_frame& f : r.frames) {
            f.given = &r;
            f.body = [](marked_frame& self) noexcept {
                auto& all = *static_cast<relay*>(self.given);
                if (all.runs == all.frames.size() || &all.frames[all.runs] != &self)
                    return all.torn.store(true, std::memory_order_relaxed);
                if (++all.runs != all.frames.size()) all.on->execute(all.frames[all.runs].handle());
            };
        }
        r.on->execute(r.frames[0].handle());
        (void)detail::wait_until(subject, options.patience, [&] { return r.frames.back().times() != 0; });
    }
    if (!r.torn.load()) return {};
    return {{"shows_what_happened_before", "a resumption did not see what was written before execute()"}};
}

/// execute() may be called by many threads at once.
template <typename Make>
violations takes_handles_from_many_threads(Make make, const conformance_options& options = {}) {
    if constexpr (detail::one_thread_only<subject_of<Make>>) {
        return {};
    } else {
        std::deque<marked_frame> frames(options.many / options.threads * options.threads);
        {
            auto subject = make();
            std::vector<std::thread> callers;
            for (std::size_t t = 0; t < options.threads; ++t) {
                callers.emplace_back([&, t] {
                    for (std::size_t i = t; i < frames.size(); i += options.threads)
                        detail::execute_marked(detail::executor_of(subject), frames[i].handle());
                });
            }
            (void)detail::wait_until(subject, options.patience, [&] {
                for (const marked_frame& f : frames)
                    if (f.times() == 0) return false;
                return true;
            });
            for (std::thread& t : callers) t.join();
            detail::drive(subject);
        }
        std::size_t wrong = 0;
        for (const marked_frame& f : frames) wrong += f.times() == 1 ? 0 : 1;
        if (wrong == 0) return {};
        return {{"takes_handles_from_many_threads", std::to_string(wrong) + " of " + std::to_string(frames.size()) +
                                                        " handles were not resumed exactly once"}};
    }
}

/// An executor with threads of its own resumes what is queued before it ends.
template <typename Make>
violations resumes_what_is_queued_when_it_dies(Make make, const conformance_options& options = {}) {
    if constexpr (detail::is_driven<subject_of<Make>>) {
        return {};
    } else {
        std::size_t lost = 0;
        for (std::size_t round = 0; round < options.rounds; ++round) {
            std::deque<marked_frame> frames(20);
            {
                auto subject = make();
                for (marked_frame& f : frames) detail::executor_of(subject).execute(f.handle());
            }
            for (const marked_frame& f : frames) lost += f.times() == 1 ? 0 : 1;
        }
        if (lost == 0) return {};
        return {{"resumes_what_is_queued_when_it_dies", std::to_string(lost) + " handles were lost by its destructor"}};
    }
}

/// Its destructor waits for calls of execute() that have not returned: a coroutine may let the owner destroy the
/// executor while the call that queued it still has something to do. By itself this sees a crash; a sanitizer
/// sees more.
template <typename Make>
violations waits_for_calls_when_it_dies(Make make, const conformance_options& options = {}) {
    if constexpr (!detail::is_driven<subject_of<Make>>) {
        for (std::size_t round = 0; round < options.rounds; ++round) {
            marked_frame last;
            std::thread caller;
            {
                auto subject = make();
                caller = std::thread([&] { detail::executor_of(subject).execute(last.handle()); });
                (void)detail::wait_until(subject, options.patience, [&] { return last.times() != 0; });
            }
            caller.join();
            if (last.times() != 1)
                return {{"waits_for_calls_when_it_dies", "a handle given by another thread was not resumed"}};
        }
    }
    return {};
}

/// Two executors are two: environments distinguish them, and one stays itself.
template <typename Make>
violations is_told_apart_from_another(Make make, const conformance_options& = {}) {
    auto one = make();
    auto other = make();
    const auto identity = [](auto& subject) {
        return coflux::detail::entry_for(detail::executor_of(subject)).identity;
    };
    if (identity(one) == identity(other)) return {{"is_told_apart_from_another", "two executors have one identity"}};
    if (identity(one) != identity(one)) return {{"is_told_apart_from_another", "its identity changes"}};
    return {};
}

namespace coroutines {

template <typename E>
fork<int, E> counted_tree(environment&, int depth) {
    auto&& here = co_await context();
    co_await yield();
    if (depth == 0) co_return 1;
    auto a = counted_tree<E>(here, depth - 1);
    auto b = counted_tree<E>(here, depth - 1);
    const int left = co_await std::move(a);
    const int right = co_await std::move(b);
    co_return left + right;
}
template <typename E>
task<int, E> tree(environment&, int depth) {
    auto&& here = co_await context();
    auto all = counted_tree<E>(here, depth);
    co_return co_await std::move(all);
}
template <typename E>
fork<void, E> yields_until_stopped(environment&) {
    for (;;) co_await yield();
}
template <typename E>
task<int, E> stops_a_child(environment&) {
    auto&& here = co_await context();
    auto sub = make_environment(here);
    auto child = yields_until_stopped<E>(sub);
    std::move(child).attach();
    for (int i = 0; i < 3; ++i) co_await yield();
    sub.request_stop();
    co_await sub.join();
    co_return 1;
}

template <typename Make, typename Root>
violations runs(const char* law, Make& make, const conformance_options& options, Root root, int expected) {
    using stage_type = detail::staged<subject_of<Make>>;
    auto stage = std::make_shared<stage_type>(make);
    auto t = root(stage->env);
    if (!detail::ends(stage, t, options.patience)) return {{law, "a root did not end"}};
    const int got = t.get();
    if (got == expected) return {};
    return {{law, "a root gave " + std::to_string(got) + " instead of " + std::to_string(expected)}};
}

}  // namespace coroutines

/// A tree of coroutines that fork, yield and await each other ends with its result.
template <typename Make>
violations runs_a_tree_of_coroutines(Make make, const conformance_options& options = {}) {
    using executor = detail::executor_type<subject_of<Make>>;
    return coroutines::runs(
        "runs_a_tree_of_coroutines", make, options, [](environment& env) { return coroutines::tree<executor>(env, 8); },
        256);
}

/// A stop reaches a coroutine that yields for ever, and its waiters go on.
template <typename Make>
violations lets_a_stop_reach_its_coroutines(Make make, const conformance_options& options = {}) {
    using executor = detail::executor_type<subject_of<Make>>;
    return coroutines::runs(
        "lets_a_stop_reach_its_coroutines", make, options,
        [](environment& env) { return coroutines::stops_a_child<executor>(env); }, 1);
}

}  // namespace executor_laws

/// All laws of executors, those about coroutines only where the rest hold.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_executor(Make make, const conformance_options& options = {}) {
    violations found;
    const auto add = [&](violations more) { found.insert(found.end(), more.begin(), more.end()); };
    add(executor_laws::resumes_each_handle_once(make, options));
    add(executor_laws::resumes_later_and_from_a_plain_stack(make, options));
    add(executor_laws::shows_what_happened_before(make, options));
    add(executor_laws::takes_handles_from_many_threads(make, options));
    add(executor_laws::resumes_what_is_queued_when_it_dies(make, options));
    add(executor_laws::waits_for_calls_when_it_dies(make, options));
    add(executor_laws::is_told_apart_from_another(make, options));
    if (!found.empty()) return found;
    add(executor_laws::runs_a_tree_of_coroutines(make, options));
    add(executor_laws::lets_a_stop_reach_its_coroutines(make, options));
    return found;
}

}  // namespace coflux::testing

COFLUX_TYPES_OF_USERS_END
