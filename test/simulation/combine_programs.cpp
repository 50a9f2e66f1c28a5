// Combinators and scopes: which child wins, which are stopped, and that all have ended when the await ends.
#include "trial.hpp"

#include <array>
#include <ranges>
#include <variant>
#include <vector>

namespace coflux_simulations {
namespace {

using number = coflux::fork<int, sim_executor>;

enum class fate : unsigned char { value, error, stop };

/// Children of one await: how each of them is going to end, and how many have not.
struct children {
    int running = 0;
    int values = 0;
    std::array<fate, 4> fates{};

    [[nodiscard]] std::size_t count(fate f, std::size_t n) const noexcept {
        std::size_t sum = 0;
        for (std::size_t i = 0; i != n; ++i) sum += fates[i] == f ? 1 : 0;
        return sum;
    }
};

number child(coflux::environment&, borrowed<trial> t, borrowed<children> x, std::size_t i) {
    const presence here(x->running);
    if (t->random.one_in(4)) co_await coflux::resume_on(t->second);
    for (std::size_t pause = t->random.below(4); pause != 0; --pause) co_await coflux::yield();
    if (x->fates[i] == fate::error) throw planned_error();
    if (x->fates[i] == fate::stop) co_await coflux::this_coroutine::stop();
    ++x->values;
    co_return static_cast<int>(i) + 10;
}

/// The same, in the awaiting coroutine: in a combinator a call is wrapped in a coroutine of its own.
coflux::call<int> called(coflux::environment&, borrowed<trial> t, borrowed<children> x, std::size_t i) {
    auto&& here = co_await coflux::context();
    co_return co_await child(here, t, x, i);
}

void draw(trial& t, children& x) {
    for (fate& f : x.fates) {
        const std::size_t n = t.random.below(8);
        f = n == 0 ? fate::error : n == 1 ? fate::stop : fate::value;
    }
}

std::vector<number> range_of(coflux::environment& here, borrowed<trial> t, borrowed<children> x) {
    std::vector<number> all;
    for (std::size_t i = 0; i != x->fates.size(); ++i) all.push_back(child(here, t, x, i));
    return all;
}

job waits_for_all(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    try {
        if (t->random.one_in(2)) {
            auto [a, b, c] =
                co_await coflux::when_all(child(here, t, x, 0), called(here, t, x, 1), child(here, t, x, 2));
            COFLUX_HOLDS(t, a == 10 && b == 11 && c == 12 && x->values == 3);
        } else {
            const auto all = co_await coflux::when_all(range_of(here, t, x));
            COFLUX_HOLDS(t, all.size() == 4 && all[0] == 10 && all[3] == 13 && x->values == 4);
        }
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, x->count(fate::error, 4) != 0);
    }
    COFLUX_HOLDS(t, x->running == 0);
}

job looks_at_all_outcomes(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    const auto [a, b] = co_await coflux::when_all_outcomes(child(here, t, x, 0), child(here, t, x, 1));
    COFLUX_HOLDS(t, x->running == 0);
    // A request of a stop reached the children, too; what they give all the same counts.
    const auto token = co_await coflux::this_coroutine::stop_token();
    COFLUX_HOLDS(t, token.stop_requested() ? !a.has_value() || x->fates[0] == fate::value
                                           : a.has_value() == (x->fates[0] == fate::value));
    COFLUX_HOLDS(t, token.stop_requested() ? !b.has_error() || x->fates[1] == fate::error
                                           : b.has_error() == (x->fates[1] == fate::error));
}

job waits_for_any(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    try {
        if (t->random.one_in(2)) {
            const auto first =
                co_await coflux::when_any(child(here, t, x, 0), called(here, t, x, 1), child(here, t, x, 2));
            const int value = first.index() == 0   ? std::get<0>(first)
                              : first.index() == 1 ? std::get<1>(first)
                                                   : std::get<2>(first);
            COFLUX_HOLDS(t, value == static_cast<int>(first.index()) + 10);
        } else {
            const auto [index, value] = co_await coflux::when_any(range_of(here, t, x));
            COFLUX_HOLDS(t, value == static_cast<int>(index) + 10);
        }
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, x->count(fate::error, 4) != 0);
    }
    COFLUX_HOLDS(t, x->running == 0);
}

job races(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    try {
        const int value = co_await coflux::race(child(here, t, x, 0), child(here, t, x, 1));
        COFLUX_HOLDS(t, value == 10 || value == 11);
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, x->count(fate::error, 2) != 0);
    }
    COFLUX_HOLDS(t, x->running == 0);
}

job takes_the_first_that_works(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    const auto token = co_await coflux::this_coroutine::stop_token();
    try {
        const int value =
            co_await coflux::first_success(child(here, t, x, 0), child(here, t, x, 1), child(here, t, x, 2));
        COFLUX_HOLDS(t, x->fates[static_cast<std::size_t>(value - 10)] == fate::value);
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, x->count(fate::value, 3) == 0 || token.stop_requested());
    }
    COFLUX_HOLDS(t, x->running == 0);
}

job waits_for_two(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    try {
        const auto two = co_await coflux::when_n(range_of(here, t, x), 2);
        COFLUX_HOLDS(t, two.size() == 2 && two[0].index() != two[1].index());
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, x->count(fate::error, 4) != 0);
    }
    COFLUX_HOLDS(t, x->running == 0);
}

job takes_each(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    const auto token = co_await coflux::this_coroutine::stop_token();
    auto done = coflux::completed(here, range_of(here, t, x));
    std::array<bool, 4> taken{};
    const bool leaves_early = t->random.one_in(4);
    while (!done.empty()) {
        auto got = co_await done.next_outcome();
        COFLUX_HOLDS(t, got && !taken[got->index()]);
        taken[got->index()] = true;
        const fate f = x->fates[got->index()];
        const auto& end = got->value();
        if (end) {
            COFLUX_HOLDS(t, f == fate::value && *end == static_cast<int>(got->index()) + 10);
        } else {
            COFLUX_HOLDS(t, end.has_error() ? f == fate::error : f == fate::stop || token.stop_requested());
        }
        if (leaves_early && t->random.one_in(2)) break;
    }
    COFLUX_HOLDS(t, leaves_early || x->running == 0);
}

job takes_values(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    coflux::completions<int> done(here);
    std::size_t added = 0;
    for (; added != 2; ++added) done.add(child(here, t, x, added));
    std::size_t taken = 0;
    try {
        while (auto got = co_await done.next()) {
            COFLUX_HOLDS(t, got->value() == static_cast<int>(got->index()) + 10);
            ++taken;
            if (added != 4) {
                done.add(child(here, t, x, added));
                ++added;
            }
        }
        COFLUX_HOLDS(t, taken == 4 && x->values == 4 && x->running == 0);
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, x->count(fate::error, 4) != 0 && taken + 1 + done.size() == added);
    }
}

job visits_each(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    int begun = 0;
    const std::size_t window = 1 + t->random.below(3);
    const auto visit = [&t, &x, &begun, window](auto&&, int i) -> coflux::call<void> {
        const presence here(x->running);
        t->expect(x->running <= static_cast<int>(window), "no more run than the window has");
        ++begun;
        if (t->random.one_in(2)) co_await coflux::yield();
        if (i < 4 && x->fates[static_cast<std::size_t>(i)] == fate::error) throw planned_error();
        if (i < 4 && x->fates[static_cast<std::size_t>(i)] == fate::stop) co_await coflux::this_coroutine::stop();
        ++x->values;
    };
    try {
        co_await coflux::for_each_concurrent(std::views::iota(0, 5), window, visit);
        COFLUX_HOLDS(t, begun == 5 && x->values == 5);
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, x->count(fate::error, 4) != 0);
    }
    COFLUX_HOLDS(t, x->running == 0);
}

coflux::fork<void, sim_executor> spawns(coflux::task_scope& scope, borrowed<trial> t, borrowed<children> x,
                                        std::size_t depth) {
    const presence here(x->running);
    for (std::size_t pause = t->random.below(3); pause != 0; --pause) co_await coflux::yield();
    if (t->random.one_in(12)) throw planned_error();
    if (t->random.one_in(12)) scope.request_stop();
    ++x->values;
    if (depth == 0) co_return;
    scope.spawn(spawns, t, x, depth - 1);
    scope.spawn(spawns, t, x, depth - 1);
}

job joins_a_scope(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    const bool strict = t->random.one_in(2);
    coflux::task_scope scope(here, strict ? coflux::error_policy::stop_on_error : coflux::error_policy::collect_all);
    scope.spawn(spawns, t, x, 2);
    if (t->random.one_in(2)) co_await coflux::yield();
    scope.spawn(spawns, t, x, 1);
    try {
        co_await scope.join();
    } catch (const planned_error&) {}
    COFLUX_HOLDS(t, x->running == 0 && x->values <= 10);
}

/// The objects outside a block, while its children and the block may look at it.
struct outside {
    int users = 0;
    bool dead = false;
    ~outside() { dead = true; }
};

coflux::fork<void, sim_executor> looks(coflux::environment&, borrowed<trial> t, borrowed<children> x,
                                       coflux::borrowed<outside> at, fate end) {
    const presence here(x->running);
    const presence user(at->users);
    for (std::size_t pause = t->random.below(4); pause != 0; --pause) {
        co_await coflux::yield();
        COFLUX_HOLDS(t, !at->dead);
    }
    if (end == fate::error) throw planned_error();
    if (end == fate::stop) co_await coflux::this_coroutine::stop();
}

coflux::call<int> runs_a_block(coflux::environment& here, borrowed<trial> t, borrowed<children> x, int depth) {
    outside local;
    const auto policy = t->random.one_in(2) ? coflux::error_policy::stop_on_error : coflux::error_policy::collect_all;
    auto block = [&](coflux::task_scope& scope) -> coflux::call<int> {
        const presence user(local.users);
        scope.spawn(looks, t, x, coflux::borrowed(local), x->fates[0]);
        auto kept = looks(scope, t, x, coflux::borrowed(local), x->fates[1]);
        if (t->random.one_in(3)) co_await coflux::yield();
        if (depth != 0) co_await runs_a_block(scope, t, x, depth - 1);
        if (t->random.one_in(6)) scope.request_stop();
        if (t->random.one_in(2)) co_await std::move(kept);
        if (x->fates[2] == fate::error) throw planned_error();
        if (x->fates[2] == fate::stop) co_await coflux::this_coroutine::stop();
        co_return depth;
    };
    const bool may_fail = x->count(fate::error, 3) != 0;
    try {
        const int given = co_await coflux::with_scope(here, policy, block);
        COFLUX_HOLDS(t, given == depth);
    } catch (const planned_error&) {
        COFLUX_HOLDS(t, may_fail);
    }
    COFLUX_HOLDS(t, local.users == 0);
    co_return depth;
}

job joins_a_block(coflux::environment&, borrowed<trial> t, borrowed<children> x) {
    auto&& here = co_await coflux::context();
    (void)co_await runs_a_block(here, t, x, 2);
    COFLUX_HOLDS(t, x->running == 0);
}

template <auto Body>
root with_children(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    children x;
    draw(*t, x);
    std::vector<job> jobs;
    jobs.push_back(Body(here, t, borrowed(x)));
    co_await joined(here, *t, jobs, t->random.one_in(2) ? 1 : 0);
    COFLUX_HOLDS(t, x.running == 0);
}

const listed combine_programs{
    {"when_all", with_children<waits_for_all>},
    {"when_all_outcomes", with_children<looks_at_all_outcomes>},
    {"when_any", with_children<waits_for_any>},
    {"race", with_children<races>},
    {"first_success", with_children<takes_the_first_that_works>},
    {"when_n", with_children<waits_for_two>},
    {"completed", with_children<takes_each>},
    {"completions", with_children<takes_values>},
    {"for_each_concurrent", with_children<visits_each>},
    {"task_scope", with_children<joins_a_scope>},
    {"with_scope", with_children<joins_a_block>},
};

}  // namespace
}  // namespace coflux_simulations
