// The laws of sleeps on an executor as checks, for foreign executors.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <coflux/base/config.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/task.hpp>
#include <coflux/testing/conformance/detail/subject.hpp>
#include <coflux/testing/conformance/violation.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/sleep.hpp>
#include <coflux/time/timeout.hpp>

COFLUX_TYPES_OF_USERS_BEGIN

namespace coflux::testing {

/// Each law of sleeps as a function of a subject's maker, as executor_laws have it. On the executor of a simulation,
/// time is virtual.
namespace timer_laws {

template <typename Make>
using subject_of = decltype(std::declval<Make&>()());

namespace coroutines {

/// By how much the shortest was early, in nanoseconds; 0: none was.
template <typename E>
fork<long long, E> sleeps(environment&, std::chrono::nanoseconds d) {
    const clock::time_point before = clock::now();
    co_await sleep_for(d);
    const auto early = d - (clock::now() - before);
    co_return early.count() > 0 ? static_cast<long long>(early.count()) : 0;
}
template <typename E>
task<long long, E> many_sleep(environment&) {
    auto&& here = co_await context();
    std::vector<fork<long long, E>> all;
    for (int i = 0; i < 60; ++i) all.push_back(sleeps<E>(here, std::chrono::microseconds(i * 37 % 2000)));
    long long earliest = 0;
    for (fork<long long, E>& f : all) {
        const long long early = co_await std::move(f);
        earliest = std::max(earliest, early);
    }
    co_return earliest;
}
template <typename E>
fork<void, E> sleeps_for_a_year(environment&) {
    co_await sleep_for(std::chrono::hours(24 * 365));
}
template <typename E>
task<long long, E> stops_a_sleep(environment&) {
    auto&& here = co_await context();
    auto sub = make_environment(here);
    auto sleeper = sleeps_for_a_year<E>(sub);
    std::move(sleeper).attach();
    co_await sleep_for(std::chrono::microseconds(100));
    sub.request_stop();
    co_await sub.join();
    co_return 0;
}
template <typename E>
task<long long, E> limits_a_sleep(environment&) {
    auto&& here = co_await context();
    auto sleeper = sleeps_for_a_year<E>(here);
    const auto in_time = co_await timeout(std::move(sleeper), std::chrono::microseconds(100));
    co_return in_time ? 1 : 0;
}

template <typename Make, typename Root>
violations runs(const char* law, const char* otherwise, Make& make, const conformance_options& options, Root root) {
    using stage_type = detail::staged<subject_of<Make>>;
    auto stage = std::make_shared<stage_type>(make);
    auto t = root(stage->env);
    if (!detail::ends(stage, t, options.patience)) return {{law, "a root did not end"}};
    const long long got = t.get();
    if (got == 0) return {};
    return {{law, otherwise + (" (" + std::to_string(got) + ")")}};
}

}  // namespace coroutines

/// Each sleep ends, and none ends early.
template <typename Make>
violations is_never_early(Make make, const conformance_options& options = {}) {
    using executor = detail::executor_type<subject_of<Make>>;
    return coroutines::runs("is_never_early", "a sleep was early, by nanoseconds", make, options,
                            [](environment& env) { return coroutines::many_sleep<executor>(env); });
}

/// A stop ends a sleep.
template <typename Make>
violations ends_a_sleep_by_a_stop(Make make, const conformance_options& options = {}) {
    using executor = detail::executor_type<subject_of<Make>>;
    return coroutines::runs("ends_a_sleep_by_a_stop", "", make, options,
                            [](environment& env) { return coroutines::stops_a_sleep<executor>(env); });
}

/// A timeout ends a sleep that is longer.
template <typename Make>
violations ends_a_sleep_by_a_timeout(Make make, const conformance_options& options = {}) {
    using executor = detail::executor_type<subject_of<Make>>;
    return coroutines::runs("ends_a_sleep_by_a_timeout", "a sleep of a year was in time", make, options,
                            [](environment& env) { return coroutines::limits_a_sleep<executor>(env); });
}

}  // namespace timer_laws

/// All laws of sleeps.
/// Returns: what is broken; empty: nothing.
template <typename Make>
violations check_timers(Make make, const conformance_options& options = {}) {
    violations found;
    const auto add = [&](violations more) { found.insert(found.end(), more.begin(), more.end()); };
    add(timer_laws::is_never_early(make, options));
    add(timer_laws::ends_a_sleep_by_a_stop(make, options));
    add(timer_laws::ends_a_sleep_by_a_timeout(make, options));
    return found;
}

}  // namespace coflux::testing

COFLUX_TYPES_OF_USERS_END
