#include "grammar.hpp"

#include <algorithm>
#include <array>

namespace coflux_simulations {
namespace {

constexpr std::array<const char*, parts> names{
    "value",     "yields",   "sleeps",   "timed",        "metered",  "waits_for_ever", "fails",
    "stops",     "sequence", "forked",   "viewed",       "attached", "dropped",        "abandons",
    "outcome",   "caught",   "limited",  "limited_fork", "all",      "all_outcomes",   "any",
    "success",   "some",     "each",     "scope",        "collect",  "nearer",         "stopped",
    "piped",     "nested",   "finished", "delayed",      "changed",  "result",         "selected",
    "throttled", "moved",    "streamed", "elsewhere",    "lists",    "starts"};

moment sum(moment a, moment b) {
    return std::min(never, a + b);
}

/// The bounds of an await of all of these, one after the other or at the same time.
bounds of_all(const std::vector<node>& of, bool at_once) {
    bounds b{.value = true};
    for (const node& n : of) {
        b.value = b.value && n.may.value;
        b.error = b.error || n.may.error;
        b.stop = b.stop || n.may.stop;
        b.latest = at_once ? std::max(b.latest, n.may.latest) : sum(b.latest, n.may.latest);
    }
    return b;
}

/// The first that does not stop decides; where `errors` do not, the first with a value.
bounds of_first(const std::vector<node>& of, bool errors) {
    bounds b{.stop = true, .latest = 0};
    moment decided = never;
    for (const node& n : of) {
        b.value = b.value || n.may.value;
        b.error = b.error || n.may.error;
        b.stop = b.stop && (n.may.stop || (!errors && n.may.error));
        b.latest = std::max(b.latest, n.may.latest);
        if (!n.may.stop && (errors || !n.may.error)) decided = std::min(decided, n.may.latest);
    }
    b.latest = std::min(b.latest, decided);
    return b;
}

/// With a limit: nothing once time is up.
bounds with_limit(bounds b, moment limit) {
    if (limit <= b.latest) b.value = true;
    b.latest = std::min(b.latest, limit);
    return b;
}

bounds model_of_kind(const node& n) {
    const std::vector<node>& of = n.children;
    const auto amount = static_cast<moment>(n.amount);
    switch (n.what) {
    case part::value:
    case part::yields: return {.value = true};
    case part::sleeps: return {.value = true, .latest = amount};
    case part::timed: return {.value = true, .latest = amount + (n.form % 4 == 1 ? 10 : 0)};
    case part::metered: return {.value = true, .latest = static_cast<moment>(10 * (n.form % 4))};
    case part::waits_for_ever: return {.latest = never};
    case part::fails: return {.error = true};
    case part::stops: return {.stop = true};
    case part::sequence: return of_all(of, false);
    case part::forked:
    case part::viewed: return of[0].may;
    case part::attached:
    case part::dropped: {
        bounds b = of_all(of, true);
        b.value = true;
        b.stop = false;  // they are not awaited
        return b;
    }
    case part::abandons: return {.error = true, .latest = of_all(of, true).latest};
    case part::outcome: return {.value = true, .latest = of[0].may.latest};
    case part::caught: {
        bounds b = of[0].may;
        b.value = b.value || b.error;
        b.error = false;
        return b;
    }
    case part::limited:
    case part::limited_fork: return with_limit(of[0].may, amount);
    case part::all: return of_all(of, true);
    case part::all_outcomes: return {.value = true, .latest = of_all(of, true).latest};
    case part::any: return of_first(of, true);
    case part::success: return of_first(of, false);
    case part::some: {
        bounds b = of_all(of, true);
        b.value = true;
        return b;
    }
    case part::each: return of_all(of, false);
    case part::scope:
    case part::collect: {
        bounds b = of_all(of, true);
        b.value = of.back().may.value;
        b.stop = of.back().may.stop;
        return b;
    }
    case part::nearer:
    case part::stopped:
        return {.value = true, .latest = n.what == part::stopped ? amount : std::min(of[0].may.latest, amount)};
    case part::piped: {
        bounds b = of_all(of, false);
        b.value = true;
        b.stop = false;
        b.latest = sum(b.latest, b.latest);
        return b;
    }
    case part::nested: {
        // The inner one, then the outer one: form / 4 and form % 4.
        bounds b;
        switch (n.form / 4) {
        case 0: b = of_all(of, true); break;
        case 1: b = of_first(of, true); break;
        case 2: b = {.value = true, .latest = of_all(of, true).latest}; break;
        default: b = of_first(of, false); break;
        }
        switch (n.form % 4) {
        case 0: return with_limit(b, amount);
        case 1: return {.value = true, .error = b.error, .latest = b.latest};
        case 2: {  // the first of it and a sleep
            bounds s{.value = true, .error = b.error, .latest = std::min(b.latest, amount)};
            if (b.stop) s.latest = amount;
            return s;
        }
        default: return {.value = b.value, .error = b.error, .stop = b.stop, .latest = std::max(b.latest, amount)};
        }
    }
    case part::finished: {
        bounds b = of_all(of, true);
        if (n.form % 4 == 0) return b;
        b.value = true;
        b.stop = false;
        if (n.form % 4 == 1) {
            b.error = false;
            return b;
        }
        for (const node& c : of) b.latest = std::min(b.latest, c.may.latest);  // then the rest is stopped
        return b;
    }
    case part::delayed: {
        bounds b = of_all(of, false);
        b.latest = sum(b.latest, amount);
        return b;
    }
    case part::changed: {
        bounds b = of[0].may;
        b.value = true;
        b.stop = false;
        b.latest = std::max(b.latest, amount);
        return b;
    }
    case part::result:
    case part::elsewhere: return of[0].may;
    case part::selected: {
        // The first end decides, be it a stop.
        bounds b = of_all(of, true);
        b.value = std::any_of(of.begin(), of.end(), [](const node& c) { return c.may.value; });
        for (const node& c : of) b.latest = std::min(b.latest, c.may.latest);
        return n.form % 4 == 3 ? with_limit(b, amount) : b;
    }
    case part::throttled: {
        bounds b = of_all(of, true);
        b.latest = sum(b.latest, static_cast<moment>(10 * (of.size() - 1)));
        return b;
    }
    case part::moved: {
        bounds b = of_all(of, true);
        b.value = true;
        b.stop = false;  // they are not awaited
        b.latest = sum(b.latest, std::max<moment>(amount, 15));
        return b;
    }
    case part::streamed:
    case part::lists:
    case part::starts: return of_all(of, false);
    }
    return {};
}

/// True if it may stop some of its parts without having been stopped.
bool requests_stops(part what) {
    switch (what) {
    case part::limited:
    case part::limited_fork:
    case part::any:
    case part::success:
    case part::some:
    case part::each:
    case part::scope:
    case part::collect:
    case part::piped:
    case part::nested:
    case part::finished:
    case part::changed:
    case part::selected:
    case part::moved: return true;
    default: return false;
    }
}

bounds model(const node& n, world runs_in) {
    bounds b = model_of_kind(n);
    if (runs_in == world::threads) b.latest = never;
    for (const node& c : n.children) b.error_if_stopped = b.error_if_stopped || c.may.error || c.may.error_if_stopped;
    if (requests_stops(n.what)) b.error = b.error || b.error_if_stopped;
    return b;
}

std::size_t children_of(part what, const choices& choose) {
    switch (what) {
    case part::forked:
    case part::viewed:
    case part::outcome:
    case part::caught:
    case part::limited:
    case part::limited_fork:
    case part::nearer:
    case part::stopped:
    case part::changed:
    case part::result:
    case part::elsewhere:
    case part::starts: return 1;
    case part::piped:
    case part::nested: return 2;
    default: return static_cast<std::size_t>(what) < leaves ? 0 : 1 + choose(3);
    }
}

node grown(const choices& choose, world runs_in, std::size_t depth, std::size_t& left) {
    node n;
    left -= left == 0 ? 0 : 1;
    const bool leaf = depth == 0 || left == 0;
    n.what = static_cast<part>(choose(leaf ? leaves : parts - (runs_in == world::simulated ? 1 : 0)));
    n.amount = 10 * choose(4);
    n.form = choose(16);
    for (std::size_t count = children_of(n.what, choose); count != 0; --count)
        n.children.push_back(grown(choose, runs_in, depth - 1, left));
    n.may = model(n, runs_in);
    return n;
}

}  // namespace

node random_program(const choices& choose, world runs_in) {
    std::size_t left = 64;
    return grown(choose, runs_in, 7, left);
}

std::string to_text(const node& n) {
    std::string text = names[static_cast<std::size_t>(n.what)];
    if (n.amount != 0) text += " " + std::to_string(n.amount);
    if (n.what == part::nested || n.what == part::all || n.what == part::any || n.what == part::finished ||
        n.what == part::timed || n.what == part::metered || n.what == part::result || n.what == part::selected ||
        n.what == part::moved || n.what == part::streamed || n.what == part::elsewhere || n.what == part::starts)
        text += "/" + std::to_string(n.form);
    if (n.children.empty()) return text;
    text += "(";
    for (const node& c : n.children) text += (&c == n.children.data() ? "" : ", ") + to_text(c);
    return text + ")";
}

}  // namespace coflux_simulations
