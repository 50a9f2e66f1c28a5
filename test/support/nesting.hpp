// Every combinator and scope nested in itself and in each other, to any depth; for tests of what a stop of that costs.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace coflux_test {

/// Forks on `E`, one below the other. Two kinds, which take turns, say how each awaits the next one.
template <typename E>
class nesting {
    using fork = coflux::fork<int, E>;
    using level = fork (*)(coflux::environment&, const nesting*, int);
    static constexpr std::chrono::hours never_comes{24};

public:
    struct kind {
        const char* name;
        level make;
    };

    nesting(std::size_t a, std::size_t b) noexcept : makes_{kinds[a].make, kinds[b].make} {}

    /// `levels` of them, and a coroutine that sets `reached` and waits until it is stopped.
    static fork made(coflux::environment& in, const nesting* of, int levels) {
        return levels == 0 ? bottom(in, of, levels) : of->makes_[levels % 2](in, of, levels);
    }

    coflux::manual_reset_event reached;
    coflux::manual_reset_event never;

private:
    static fork below(coflux::environment& in, const nesting* of, int levels) { return made(in, of, levels - 1); }

    static fork bottom(coflux::environment&, const nesting* of, int) {
        const_cast<nesting*>(of)->reached.set();
        co_await of->event().wait();
        co_return 1;
    }
    static fork stays(coflux::environment&, const nesting* of) {
        co_await of->event().wait();
        co_return 1;
    }
    [[nodiscard]] coflux::manual_reset_event& event() const { return const_cast<nesting*>(this)->never; }

    static fork in_await(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        co_return co_await below(here, of, levels);
    }
    static coflux::call<int> called(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        co_return co_await below(here, of, levels);
    }
    static fork in_call(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        co_return co_await called(here, of, levels);
    }
    static fork in_as_outcome(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        const auto o = co_await coflux::as_outcome(below(here, of, levels));
        if (o.is_stopped()) co_await coflux::this_coroutine::stop();
        co_return 1;
    }
    static fork in_when_all(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all(below(here, of, levels), stays(here, of));
        co_return 1;
    }
    static fork in_when_all_that_stops(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all(coflux::stop_on_error, below(here, of, levels), stays(here, of));
        co_return 1;
    }
    static fork in_when_all_outcomes(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_all_outcomes(below(here, of, levels), stays(here, of));
        co_return 1;
    }
    static fork in_when_any(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::when_any(below(here, of, levels), of->event().wait());
        co_return 1;
    }
    static fork in_race(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        co_return co_await coflux::race(below(here, of, levels), stays(here, of));
    }
    static fork in_first_success(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        co_return co_await coflux::first_success(below(here, of, levels), stays(here, of));
    }
    static fork in_when_n(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        std::vector<fork> both;
        both.push_back(below(here, of, levels));
        both.push_back(stays(here, of));
        (void)co_await coflux::when_n(std::move(both), 1);
        co_return 1;
    }
    static fork in_completed(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        std::vector<fork> both;
        both.push_back(below(here, of, levels));
        both.push_back(stays(here, of));
        auto done = coflux::completed(here, std::move(both));
        while (co_await done.next()) {}
        co_return 1;
    }
    static fork in_timeout(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::timeout(below(here, of, levels), never_comes);
        co_return 1;
    }
    static fork in_deadline(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::deadline(below(here, of, levels), std::chrono::steady_clock::now() + never_comes);
        co_return 1;
    }
    static fork in_select(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        (void)co_await coflux::select(below(here, of, levels), of->event().wait());
        co_return 1;
    }
    static fork in_select_of_channel(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        coflux::channel<int[1]> c;
        (void)co_await coflux::select(below(here, of, levels), c.receive());
        co_return 1;
    }
    static fork in_select_of_ranges(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        std::vector<fork> both;
        both.push_back(below(here, of, levels));
        both.push_back(stays(here, of));
        std::array<coflux::channel<int[1]>, 2> channels;
        (void)co_await coflux::select(std::move(both), channels);
        co_return 1;
    }
    static fork in_for_each(coflux::environment&, const nesting* of, int levels) {
        const std::array<int, 1> one{1};
        auto f = [of, levels](coflux::environment& in, int) -> coflux::call<void> {
            (void)co_await below(in, of, levels);
        };
        co_await coflux::for_each_concurrent(one, 1, f);
        co_return 1;
    }
    static fork in_environment(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        auto sub = coflux::make_environment(here);
        const auto o = co_await coflux::as_outcome(below(sub, of, levels));
        co_await sub.join();
        if (o.is_stopped()) co_await coflux::this_coroutine::stop();
        co_return 1;
    }
    static fork in_task_scope(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        coflux::task_scope scope(here);
        scope.spawn([](coflux::task_scope& in, const nesting* n, int l) { return below(in, n, l); }, of, levels);
        co_await scope.join();
        co_return 1;
    }
    static fork in_with_scope(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        auto block = [of, levels](coflux::task_scope& scope) -> coflux::call<int> {
            co_return co_await below(scope, of, levels);
        };
        co_return co_await coflux::with_scope(here, block);
    }
    /// The handle is moved into an operation that runs in another fork.
    static fork in_moved_handle(coflux::environment&, const nesting* of, int levels) {
        auto&& here = co_await coflux::context();
        auto f = below(here, of, levels);
        (void)co_await coflux::timeout(coflux::when_all(std::move(f), stays(here, of)), never_comes);
        co_return 1;
    }

public:
    // Without shielded(), which a stop does not pass.
    static constexpr kind kinds[] = {{"await", &in_await},
                                     {"call", &in_call},
                                     {"as_outcome", &in_as_outcome},
                                     {"when_all", &in_when_all},
                                     {"when_all<stop_on_error>", &in_when_all_that_stops},
                                     {"when_all_outcomes", &in_when_all_outcomes},
                                     {"when_any", &in_when_any},
                                     {"race", &in_race},
                                     {"first_success", &in_first_success},
                                     {"when_n", &in_when_n},
                                     {"completed", &in_completed},
                                     {"timeout", &in_timeout},
                                     {"deadline", &in_deadline},
                                     {"select", &in_select},
                                     {"select of a channel", &in_select_of_channel},
                                     {"select of ranges", &in_select_of_ranges},
                                     {"for_each_concurrent", &in_for_each},
                                     {"make_environment", &in_environment},
                                     {"task_scope", &in_task_scope},
                                     {"with_scope", &in_with_scope},
                                     {"timeout(when_all)", &in_moved_handle}};
    static constexpr std::size_t kinds_count = std::size(kinds);

private:
    level makes_[2];
};

}  // namespace coflux_test
