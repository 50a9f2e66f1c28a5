#include <coflux/testing/explore.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <system_error>
#include <unordered_set>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/testing/exhaustive_chooser.hpp>
#include <coflux/testing/pct_chooser.hpp>
#include <coflux/testing/replay_chooser.hpp>

#include "schedule_text.hpp"
#include "world.hpp"

namespace coflux::testing {
namespace detail {
namespace {

constexpr std::size_t usual_runs = 200;
/// The most steps to make a schedule small, beside explore_options::shrink_runs: a run that does not end is a million
/// already.
constexpr std::size_t shrink_steps = 3'000'000;

std::optional<std::string_view> variable(const char* name) {
    const char* const text = std::getenv(name);
    if (text == nullptr || *text == '\0') return std::nullopt;
    return text;
}

std::optional<std::uint64_t> number_in(const char* name) {
    const std::optional<std::string_view> text = variable(name);
    if (!text) return std::nullopt;
    std::uint64_t number = 0;
    const auto [end, error] = std::from_chars(text->data(), text->data() + text->size(), number);
    COFLUX_VERIFY(error == std::errc() && end == text->data() + text->size(), "%s is %s, which is no number", name,
                  text->data());
    return number;
}

/// The text that a check that fails in a run of this thread should add.
struct current_run {
    std::string_view chooser;
    std::uint64_t seed;
    const simulation* in;
};
thread_local const current_run* running = nullptr;
assertion_handler handler_before = nullptr;

void print_run(const char* message) noexcept {
    if (const current_run* const r = running) {
        std::fprintf(stderr, "coflux: in a run with COFLUX_SEED=%llu (%.*s)\n  COFLUX_SCHEDULE=%s\n",
                     static_cast<unsigned long long>(r->seed), static_cast<int>(r->chooser.size()), r->chooser.data(),
                     schedule_variable(r->in->schedule()).c_str());
    }
    if (handler_before != nullptr) handler_before(message);
}

void let_checks_print_runs() {
    [[maybe_unused]] static const bool once = (handler_before = set_assertion_handler(&print_run), true);
}

std::size_t deviations_of(const std::vector<decision>& schedule) {
    return static_cast<std::size_t>(
        std::count_if(schedule.begin(), schedule.end(), [](const decision& d) { return d.chosen != 0; }));
}

constexpr std::string_view replays = "replay";

std::string another_program(std::size_t decision) {
    return "the program is another one than that of the schedule: decision " + std::to_string(decision) +
           " has other candidates, or does not come\n";
}

std::uint64_t hash_of(const std::vector<decision>& schedule) noexcept {
    std::uint64_t h = 0xcbf29ce484222325U;
    for (const decision& d : schedule) {
        h ^= (std::uint64_t{d.chosen} << 34) ^ (std::uint64_t{d.of} << 2) ^ static_cast<std::uint64_t>(d.what);
        h *= 0x9e3779b97f4a7c15U;
        h ^= h >> 29;
    }
    return h;
}

}  // namespace

/// The chooser of a seed: what it is only depends on the seed.
class seeded {
public:
    chooser& of(std::uint64_t seed, std::size_t expected_decisions) {
        const auto depth = static_cast<std::size_t>(seed % 4);
        if (seed == 0) {
            name_ = "FIFO";
            return fifo_;
        }
        if (depth == 0) {
            name_ = "random";
            random_ = random_chooser(seed);
            return random_;
        }
        constexpr std::string_view names[]{"PCT, depth 1", "PCT, depth 2", "PCT, depth 3"};
        name_ = names[depth - 1];
        random_numbers length(seed ^ 0x5851f42d4c957f2dU);
        if (expected_decisions == 0) expected_decisions = std::size_t{8} << length.below(8);
        pct_.restart(seed, depth, expected_decisions);
        return pct_;
    }
    [[nodiscard]] std::string_view name() const noexcept { return name_; }

private:
    fifo_chooser fifo_;
    random_chooser random_{0};
    pct_chooser pct_{0, 1, 1};
    std::string_view name_;
};

/// Decides as it was decided, by the number of each decision among those of its kind: what is left out of one kind
/// moves none of another.
class by_kind_chooser final : public chooser {
public:
    explicit by_kind_chooser(const std::vector<decision>& schedule) {
        for (const decision& d : schedule) of_kind(d.what).chosen.push_back(d.chosen);
    }
    std::size_t choose(choice what, std::span<const std::uint64_t> candidates) noexcept override {
        decided& all = of_kind(what);
        const std::size_t now = all.made++;
        return now < all.chosen.size() && all.chosen[now] < candidates.size() ? all.chosen[now] : 0;
    }

private:
    struct decided {
        std::vector<std::uint32_t> chosen;
        std::size_t made = 0;
    };
    decided& of_kind(choice what) noexcept { return kinds_[static_cast<std::size_t>(what)]; }

    std::array<decided, static_cast<std::size_t>(choice::fault) + 1> kinds_;  // of all kinds: it is the last
};

class explorer {
public:
    explorer(const explore_options& options, const std::function<void(simulation&)>& body)
        : options_(options),
          body_(body) {}

    exploration mixed(std::uint64_t first, std::size_t runs) {
        seeded choosers;
        for (std::uint64_t seed = first; seed - first < runs; ++seed) {
            chooser& decides = choosers.of(seed, options_.expected_decisions);
            if (counted_run(decides, choosers.name(), seed)) continue;
            shrink();
            break;
        }
        return finished();
    }

    exploration exhaustive(std::size_t runs) {
        exhaustive_chooser all(runs, options_.deviations);
        while (all.next_run()) {
            if (counted_run(all, "exhaustive", 0)) continue;
            shrink();
            break;
        }
        result_.exhausted = all.exhausted();
        return finished();
    }

    exploration replay(std::string_view schedule) {
        const std::optional<std::string> text = schedule_of_variable(schedule);
        COFLUX_VERIFY(text, "COFLUX_SCHEDULE names a file that cannot be read: %s", schedule.data() + 1);
        std::optional<replay_chooser> decides = replay_chooser::parse(*text);
        COFLUX_VERIFY(decides, "COFLUX_SCHEDULE is none: %s", text->c_str());
        gathers_ = true;
        const bool good = counted_run(*decides, replays, 0);
        const std::size_t at = std::min(decides->diverged_at(), decides->not_reached());
        if (at != replay_chooser::nowhere) {
            result_.diverged_at = at;
            // It passes, and so nobody prints the report: as if what was to be replayed were mended.
            if (good) std::fprintf(stderr, "coflux: %s", another_program(at).c_str());
        }
        return finished();
    }

private:
    /// True if it was all right; else result_.failure says what was not.
    bool counted_run(chooser& decides, std::string_view name, std::uint64_t seed) {
        const bool good = run(decides, name, seed);
        ++result_.runs;
        result_.decisions += decisions_;
        result_.steps += steps_;
        seen_.insert(hash_);
        return good;
    }

    bool run(chooser& decides, std::string_view name, std::uint64_t seed) {
        simulation sim(decides, options_.simulation);
        world& in = *sim.world_;
        in.collects_failures = true;
        in.gathers_trees = gathers_;
        const current_run here{name, seed, &sim};
        const current_run* const outer = std::exchange(running, &here);
        std::exception_ptr error;
        std::string what;
        auto kind = failure_kind::exception;
        bool hangs = false;
        try {
            body_(sim);
            sim.run();
        } catch (const simulation_error& e) {
            error = std::current_exception();
            what = e.what();
            hangs = true;
        } catch (const std::exception& e) {
            error = std::current_exception();
            what = e.what();
        } catch (...) {
            error = std::current_exception();
            what = "what was thrown is not derived from std::exception";
        }
        running = outer;
        decisions_ = sim.schedule().size();
        steps_ = sim.steps();
        hash_ = hash_of(sim.schedule());
        if (!sim.failure().empty() && error && !hangs) {
            // While it unwound what it had made, as a rule: what waits for it then waits for ever.
            what += "\nbeside it, " + sim.failure() + in.unobserved;
        } else if (!sim.failure().empty()) {
            kind = in.was_livelock ? failure_kind::livelock : failure_kind::deadlock;
            what = sim.failure() + in.unobserved;
        } else if (!error && !in.unobserved.empty()) {
            error = in.first_unobserved;
            what = in.unobserved;
        } else if (!error && options_.verdict) {
            kind = failure_kind::verdict;
            what = options_.verdict();
        }
        if (!error && what.empty()) return true;
        result_.failure.emplace(run_failure{.kind = kind,
                                            .what = std::move(what),
                                            .error = std::move(error),
                                            .seed = seed,
                                            .chooser = std::string(name),
                                            .deviations_found = deviations_of(sim.schedule()),
                                            .schedule = sim.schedule(),
                                            .steps = steps_,
                                            .elapsed = sim.elapsed(),
                                            .tree = in.tree,
                                            .shrink_runs = 0});
        return false;
    }

    /// Whether these decisions still show the failure `f`, and with fewer deviations; then `f` is that run.
    bool still_fails(chooser& decides, run_failure& f, bool as_small = false) {
        ++tries_;
        const bool good = run(decides, f.chooser, f.seed);
        tried_steps_ += steps_;
        if (good) return false;
        run_failure& found = *result_.failure;
        const std::size_t now = deviations_of(found.schedule);
        const std::size_t before = deviations_of(f.schedule);
        if (found.kind != f.kind || (as_small ? now > before : now >= before)) return false;
        found.deviations_found = f.deviations_found;
        f = std::move(found);
        return true;
    }

    bool still_fails_without_some(const std::vector<decision>& fewer, run_failure& f) {
        replay_chooser by_number{fewer};
        if (still_fails(by_number, f)) return true;
        // They would be the same decisions if all were of one kind.
        if (std::all_of(fewer.begin(), fewer.end(), [&](const decision& d) { return d.what == fewer.front().what; }))
            return false;
        by_kind_chooser by_kind{fewer};
        return may_try() && still_fails(by_kind, f);
    }

    [[nodiscard]] bool may_try() const noexcept { return tries_ < options_.shrink_runs && tried_steps_ < shrink_steps; }

    void shrink() {
        run_failure f = std::move(*result_.failure);
        std::vector<decision> fewer;
        for (std::size_t chunk = deviations_of(f.schedule); chunk != 0 && may_try();) {
            bool smaller = false;
            // From the end: what is left out there changes no number of what stays.
            for (std::size_t behind = 0; behind < deviations_of(f.schedule) && may_try();) {
                fewer = f.schedule;
                std::size_t at = 0;
                for (auto d = fewer.rbegin(); d != fewer.rend(); ++d) {
                    if (d->chosen == 0) continue;
                    if (at >= behind && at < behind + chunk) d->chosen = 0;
                    ++at;
                }
                if (still_fails_without_some(fewer, f)) {
                    smaller = true;
                } else {
                    behind += chunk;
                }
            }
            const std::size_t left = deviations_of(f.schedule);
            chunk = smaller && chunk == 1 ? std::min<std::size_t>(1, left) : std::min(chunk / 2, left);
        }
        gathers_ = true;
        replay_chooser small{f.schedule};
        (void)still_fails(small, f, true);
        f.shrink_runs = tries_;
        result_.failure = std::move(f);
    }

    exploration finished() {
        result_.distinct = seen_.size();
        return std::move(result_);
    }

    const explore_options& options_;
    const std::function<void(simulation&)>& body_;
    exploration result_;
    std::unordered_set<std::uint64_t> seen_;  // hashes of schedules
    std::size_t tries_ = 0;
    std::size_t tried_steps_ = 0;
    bool gathers_ = false;  // the run is to leave a tree
    // The numbers of the last run.
    std::size_t decisions_ = 0;
    std::size_t steps_ = 0;
    std::uint64_t hash_ = 0;
};

}  // namespace detail

exploration explore(const explore_options& options, const std::function<void(simulation&)>& body) {
    detail::let_checks_print_runs();
    detail::explorer e(options, body);
    if (const auto schedule = detail::variable("COFLUX_SCHEDULE")) return e.replay(*schedule);
    if (const auto seed = detail::number_in("COFLUX_SEED"); seed && options.search == search_kind::mixed)
        return e.mixed(*seed, 1);
    std::size_t runs = options.runs;
    if (runs == 0) {
        runs = static_cast<std::size_t>(detail::number_in("COFLUX_RUNS").value_or(detail::usual_runs));
        COFLUX_VERIFY(runs != 0, "COFLUX_RUNS is 0: nothing would be run");
    }
    return options.search == search_kind::mixed ? e.mixed(options.first_seed, runs) : e.exhaustive(runs);
}

exploration explore(const std::function<void(simulation&)>& body) {
    return explore(explore_options{}, body);
}

std::string run_failure::replay() const {
    return "COFLUX_SCHEDULE=" + detail::schedule_variable(schedule);
}

std::string exploration::report() const {
    const std::string runs_made = std::to_string(runs) + (runs == 1 ? " run, " : " runs, ") + std::to_string(distinct) +
                                  (distinct == 1 ? " schedule, " : " different schedules, ") +
                                  std::to_string(decisions) + " decisions, " + std::to_string(steps) + " resumptions";
    const std::string another = diverged_at ? detail::another_program(*diverged_at) : std::string();
    if (!failure) return "no failure in " + runs_made + (exhausted ? ": there are no others\n" : "\n") + another;
    const run_failure& f = *failure;
    std::string text = f.what;  // a hang begins with its kind
    if (f.kind == failure_kind::exception) text = "error: " + text;
    if (f.kind == failure_kind::verdict) text = "wrong result: " + text;
    if (!text.ends_with('\n')) text += '\n';
    text += f.chooser == detail::replays
                ? "found by: COFLUX_SCHEDULE, after "
                : "found by: COFLUX_SEED=" + std::to_string(f.seed) + " (" + f.chooser + "), after ";
    text += runs_made + '\n';
    text += "replay:   " + f.replay() + '\n';
    text += "          " + std::to_string(detail::deviations_of(f.schedule)) + " decisions differ from FIFO, of " +
            std::to_string(f.deviations_found) +
            " in the run that was found; runs to make it small: " + std::to_string(f.shrink_runs) + '\n';
    if (diverged_at) text += "          " + another;
    text += "after:    " + std::to_string(f.steps) + " resumptions, " + std::to_string(f.elapsed.count()) +
            " ns of virtual time\n";
    if (!f.tree.empty()) text += f.tree;
    return text;
}

}  // namespace coflux::testing
