// Operations in operations: a random nest of combinators, beside a model that says when it ends, and how. Handles are
// made by the coroutine around the nest, and moved into it.
#include "trial.hpp"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include "../support/operations.hpp"

namespace coflux_simulations {
namespace {

using namespace std::chrono_literals;
using coflux_test::combinator;
using coflux_test::combined;
using coflux_test::operation;
using milliseconds = std::chrono::milliseconds;
using part = coflux::fork<void, sim_executor>;

constexpr milliseconds never = 1h;  // longer than any limit here

/// How something may end: where a stop and an end come at the same time there is more than one way.
enum : unsigned {
    by_value = 1,
    by_error = 2,
    by_stop = 4,
    by_scope = 8  // by value, but then the coroutine that awaits it fails: with the error of one that lost
};
struct ends {
    milliseconds at{};
    unsigned how = by_value;
};

/// The model of an operation: a leaf, or a combinator of one or two.
struct node {
    enum class kind : unsigned char { leaf, plain, outcome, all, outcomes, any, select, success, each };

    kind is = kind::leaf;
    milliseconds at{};        // of a leaf: when it ends if it is not stopped
    bool fails = false;       //
    bool stops_there = true;  // stopped, it stops its awaiter even in as_outcome(): an operation of a primitive
    std::unique_ptr<node> a, b;

    /// If it is stopped at `stop_time`: all of it stops at once.
    [[nodiscard]] ends stopped_at(milliseconds stop_time) const {
        // In a coroutine of its own, whose end shows it.
        ends e = in_awaiting(stop_time);
        if ((e.how & by_scope) != 0) e.how = (e.how & ~unsigned{by_scope}) | by_error;
        return e;
    }

private:
    [[nodiscard]] ends in_awaiting(milliseconds stop_time) const {
        if (is == kind::leaf) return at < stop_time ? ends{at, fails ? by_error : by_value} : ends{stop_time, by_stop};
        if (is == kind::outcome) {
            const ends x = a->in_awaiting(stop_time);
            const bool stops = stops_there && (x.how & by_stop) != 0;
            const unsigned rest = x.how & ~(stops ? unsigned{by_stop} : 0U);
            return {x.at, (x.how & (by_scope | (stops ? unsigned{by_stop} : 0U))) |
                              ((rest & ~unsigned{by_scope}) != 0 ? unsigned{by_value} : 0U)};
        }
        const ends x = a->stopped_at(stop_time);
        if (is == kind::plain) return x;
        const ends y = b->stopped_at(stop_time);
        const milliseconds last = std::max(x.at, y.at);
        const unsigned either = x.how | y.how;
        const unsigned both = x.how & y.how;
        switch (is) {
        case kind::outcomes: return {last, by_value};
        case kind::all: return {last, all_of(x.how, y.how)};
        case kind::each:
            if (const milliseconds first = first_of(x, y, by_error); first < stop_time) return {first, by_error};
            return {last, all_of(x.how, y.how)};
        case kind::success:
            if (const milliseconds first = first_of(x, y, by_value); first < stop_time) return {first, by_value};
            if (last < stop_time) return {last, by_error};
            return {last, (either & by_value) | (either & by_error) | (both & by_stop)};
        default: break;
        }
        const milliseconds first = std::min(x.at, y.at);
        if (first >= stop_time && is == kind::select) {  // what its cases give then is dropped, but no error is
            const bool fails = x.how == by_error || y.how == by_error;
            return {first, (either & by_error) | (fails ? 0U : unsigned{by_stop})};
        }
        const bool value_and_error = ((x.how & by_value) != 0 && (y.how & by_error) != 0) ||
                                     ((x.how & by_error) != 0 && (y.how & by_value) != 0);
        if (first >= stop_time)
            return {first,
                    (either & (by_value | by_error)) | (both & by_stop) | (value_and_error ? unsigned{by_scope} : 0U)};
        const ends& winner = x.at < y.at ? x : y;
        // The loser is stopped then. An error of its is one of the awaiting coroutine's scope.
        const unsigned loser = (x.at < y.at ? b : a)->stopped_at(first).how;
        if (winner.how == by_error) return {first, by_error};
        return {first,
                (loser == by_error ? 0U : unsigned{by_value}) | ((loser & by_error) != 0 ? unsigned{by_scope} : 0U)};
    }

    static milliseconds first_of(ends x, ends y, unsigned how) {
        return std::min(x.how == how ? x.at : never, y.how == how ? y.at : never);
    }
    /// An error wins over a stop, and a stop over values.
    static unsigned all_of(unsigned x, unsigned y) {
        unsigned how = (x | y) & by_error;
        if ((x & ~unsigned{by_error}) == 0 || (y & ~unsigned{by_error}) == 0) return how;
        how |= (x | y) & by_stop;
        return how | (x & y & by_value);
    }
};

/// No two leaves of a nest end at the same time, so it does not matter in which order they would.
struct nest {
    borrowed<trial> t;
    coflux::environment& here;
    int& running;
    std::vector<milliseconds> times;
    std::size_t leaves = 0;

    struct fate {
        milliseconds at;
        bool fails;
    };
    fate draw() {
        const bool lasts = t->random.one_in(4);
        const fate f{lasts ? never : times[leaves], !lasts && t->random.one_in(5)};
        ++leaves;
        return f;
    }
};
using fate = nest::fate;

coflux::call<void> leaf(coflux::environment&, borrowed<trial> t, borrowed<int> running, fate f) {
    const presence here(*running);
    if (t->random.one_in(4)) co_await coflux::resume_on(t->second);
    co_await coflux::sleep_for(f.at);
    if (f.fails) throw planned_error();
}
part forked(coflux::environment&, borrowed<trial> t, borrowed<int> running, fate f) {
    auto&& here = co_await coflux::context();
    co_await leaf(here, t, running, f);
}
/// A fork that is awaited plainly in a coroutine that did not make it.
part awaits(coflux::environment&, part given) {
    co_await std::move(given);
}
coflux::call<void> calls(coflux::environment&, part given) {
    co_await std::move(given);
}

struct made {
    operation what;
    std::unique_ptr<node> model;
    bool gives_outcome = true;  // may be in as_outcome()
};

std::unique_ptr<node> leaf_of(fate f, bool stops_there) {
    auto n = std::make_unique<node>();
    n->at = f.at;
    n->fails = f.fails;
    n->stops_there = stops_there;
    return n;
}

made made_leaf(nest& n) {
    const fate f = n.draw();
    const auto fork = [&] { return forked(n.here, n.t, borrowed(n.running), f); };
    constexpr auto itself = [](part&& p) -> part&& { return std::move(p); };
    switch (n.t->random.below(f.fails ? 4 : 5)) {
    case 0: return {operation::of(itself, fork()), leaf_of(f, false)};
    case 1: return {operation::of(itself, awaits(n.here, fork())), leaf_of(f, false)};
    case 2: {
        const auto given = std::make_shared<part>(fork());
        return {operation::of([&here = n.here, given] { return calls(here, std::move(*given)); }), leaf_of(f, false)};
    }
    case 3: return {operation::of([&n, f] { return leaf(n.here, n.t, borrowed(n.running), f); }), leaf_of(f, false)};
    default: return {operation::of([f] { return coflux::sleep_for(f.at); }), leaf_of(f, true)};
    }
}

node::kind kind_of(combinator c) {
    switch (c) {
    case combinator::when_all: return node::kind::all;
    case combinator::when_all_outcomes: return node::kind::outcomes;
    case combinator::first_success: return node::kind::success;
    case combinator::for_each_concurrent: return node::kind::each;
    case combinator::timeout:
    case combinator::deadline: return node::kind::plain;
    case combinator::as_outcome: return node::kind::outcome;
    case combinator::select: return node::kind::select;
    default: return node::kind::any;  // when_any, race, when_n: the first end decides
    }
}

operation combined_two(combinator c, operation a, operation b) {
    using op = operation;
    std::vector<op> range;
    switch (c) {
    case combinator::when_all:
        return op::of([](op&& x, op&& y) { return coflux::when_all(std::move(x), std::move(y)); }, std::move(a),
                      std::move(b));
    case combinator::when_all_outcomes:
        return op::of([](op&& x, op&& y) { return coflux::when_all_outcomes(std::move(x), std::move(y)); },
                      std::move(a), std::move(b));
    case combinator::when_any:
        return op::of([](op&& x, op&& y) { return coflux::when_any(std::move(x), std::move(y)); }, std::move(a),
                      std::move(b));
    case combinator::race:
        return op::of([](op&& x, op&& y) { return coflux::race(std::move(x), std::move(y)); }, std::move(a),
                      std::move(b));
    case combinator::first_success:
        return op::of([](op&& x, op&& y) { return coflux::first_success(std::move(x), std::move(y)); }, std::move(a),
                      std::move(b));
    case combinator::select:
        return op::of([](op&& x, op&& y) { return coflux::select(std::move(x), std::move(y)); }, std::move(a),
                      std::move(b));
    default: break;
    }
    range.push_back(std::move(a));
    range.push_back(std::move(b));
    if (c == combinator::when_n)
        return op::of([](std::vector<op>&& r) { return coflux::when_n(std::move(r), 1); }, std::move(range));
    static constexpr auto itself = [](op&& o) { return std::move(o); };
    return op::of([](std::vector<op>&& r) { return coflux::for_each_concurrent(std::move(r), 2, itself); },
                  std::move(range));
}

made made_nest(nest& n, std::size_t depth) {
    if (depth == 0 || n.t->random.one_in(5)) return made_leaf(n);
    const auto c = static_cast<combinator>(n.t->random.below(coflux_test::combinators));
    made a = made_nest(n, depth - 1);
    if (c == combinator::as_outcome && !a.gives_outcome) return a;
    auto model = std::make_unique<node>();
    model->is = kind_of(c);
    if (model->is == node::kind::plain || model->is == node::kind::outcome) {
        model->stops_there = a.model->stops_there && model->is == node::kind::outcome;
        model->a = std::move(a.model);
        const bool outcome_allowed = model->is == node::kind::outcome;
        return {combined(c, std::move(a.what), false), std::move(model), outcome_allowed};
    }
    made b = made_nest(n, depth - 1);
    model->stops_there = false;
    model->a = std::move(a.model);
    model->b = std::move(b.model);
    return {combined_two(c, std::move(a.what), std::move(b.what)), std::move(model), c != combinator::select};
}

job awaits_nest(coflux::environment&, operation given) {
    co_await std::move(given);
}

root nests_end_when_the_model_says(coflux::environment&, borrowed<trial> t) {
    auto&& here = co_await coflux::context();
    int running = 0;
    nest n{t, here, running, {}};
    for (int i = 1; i != 20; ++i) n.times.push_back(milliseconds(2 * i));
    for (std::size_t i = n.times.size(); i > 1; --i) std::swap(n.times[i - 1], n.times[t->random.below(i)]);
    const auto begin = coflux::clock::now();
    made m = made_nest(n, 1 + t->random.below(3));
    const milliseconds limit(2 * t->random.below(15) + 1);  // odd: no leaf ends then
    const ends expected = m.model->stopped_at(limit);
    unsigned how = 0;
    if (t->random.one_in(2)) {
        try {
            how = co_await coflux::timeout(std::move(m.what), limit) ? by_value : by_stop;
        } catch (const planned_error&) {
            how = by_error;
        }
    } else {
        job waits = awaits_nest(here, std::move(m.what));
        (void)co_await coflux::select(coflux::as_outcome(waits.view()), coflux::sleep_for(limit));
        waits.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(waits));
        how = end.has_error() ? by_error : end.has_value() ? by_value : by_stop;
    }
    COFLUX_HOLDS(t, (expected.how & how) != 0);
    COFLUX_HOLDS(t, coflux::clock::now() - begin == expected.at);
    COFLUX_HOLDS(t, running == 0);
}

const listed nested_programs{
    {"nested combinators", nests_end_when_the_model_says},
};

}  // namespace
}  // namespace coflux_simulations
