// Jobs that crash, stop, fail, have no memory and are run again, in simulation, under many seeds: nothing is lost; at
// least once gives no gap, exactly once no double; the same output whatever the schedule. Each mutant of
// test/model/mutants_stream.toml must be found here, too. The program itself is right.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory_resource>
#include <new>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

#include "simulation/scenarios.hpp"

namespace {

using namespace std::chrono_literals;
namespace stream = coflux::stream;
using coflux::borrowed;
using coflux::call;
using coflux::environment;
using coflux::testing::sim_executor;
using coflux::testing::simulation;

std::size_t choose(std::size_t of) {
    return simulation::current()->choose(of);
}
void expect(bool holds, const std::string& what) {
    if (!holds) throw std::runtime_error(what);
}

struct order {
    int customer;
    int number;  // of this customer's orders, from 1
};
struct total {
    int count = 0;
    template <typename A>
    void fields(A& all) {
        all(count);
    }
};
/// A customer, and the count of orders up to one of them: the same for each order, however often it is given.
using counted = std::tuple<int, int, int>;

struct fault : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// The world outlives a crash: the records, and what source, sink and store have kept.
struct world {
    std::vector<std::vector<order>> partitions;
    std::map<std::string, std::int64_t> committed;  // by the source
    std::vector<counted> written;                   // by the sink, visible
    std::optional<stream::positions> with_outputs;  // by the sink, exactly once
    stream::memory_store store;
    std::size_t faults = 0;  // that may still happen
    bool may_fail() {
        if (faults == 0 || choose(8) != 1) return false;
        --faults;
        return true;
    }
};

class source {
public:
    using value_type = order;
    explicit source(world& w, bool commits) : world_(w), next_(w.partitions.size()), commits_(commits) {
        for (std::size_t p = 0; p != next_.size(); ++p) {
            const auto found = w.committed.find(partition_name(static_cast<std::uint32_t>(p)));
            if (commits && found != w.committed.end()) next_[p] = static_cast<std::size_t>(found->second);
        }
    }
    call<bool> read(environment&, stream::batch<order>& into, std::size_t most) {
        if (choose(3) == 1) co_await coflux::sleep_for(choose(4) * 1ms);
        if (world_.may_fail()) throw fault("read");
        for (std::size_t tried = 0; tried != next_.size(); ++tried) {
            const std::size_t p = turn_++ % next_.size();
            const std::size_t left = world_.partitions[p].size() - next_[p];
            if (left == 0) continue;
            for (std::size_t n = std::min(left, 1 + choose(most)); n != 0; --n) {
                const order& o = world_.partitions[p][next_[p]++];
                into.push_back({o, stream::event_time(o.number * 1s), static_cast<std::int64_t>(next_[p]),
                                static_cast<std::uint32_t>(p)});
            }
            co_return true;
        }
        co_return false;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return "p" + std::to_string(p); }
    call<void> seek(environment&, const stream::positions& to) {
        for (const auto& each : to) next_[each.partition[1] - '0'] = static_cast<std::size_t>(each.next);
        co_return;
    }
    call<void> commit(environment&, const stream::positions& done) {
        if (world_.may_fail()) throw fault("source commit");
        if (commits_) {
            for (const auto& each : done) world_.committed[each.partition] = each.next;
        }
        co_return;
    }

private:
    world& world_;
    std::vector<std::size_t> next_;
    std::size_t turn_ = 0;
    bool commits_;
};

/// A written record waits in the process; a flush, or a commit, makes it visible.
class sink {
public:
    explicit sink(world& w, bool transactional) : world_(w), is_transactional_(transactional) {}
    call<void> write(environment&, std::span<stream::record<counted>> records) {
        if (choose(3) == 1) co_await coflux::sleep_for(choose(4) * 1ms);
        const bool fails = world_.may_fail();
        const std::size_t taken = fails && !is_transactional_ ? choose(records.size() + 1) : records.size();
        if (fails && is_transactional_) throw fault("write");
        for (std::size_t i = 0; i != taken; ++i) waiting_.push_back(records[i].value);
        if (fails) throw fault("write");
    }
    call<void> flush(environment&) {
        if (choose(3) == 1) co_await coflux::sleep_for(choose(4) * 1ms);
        if (world_.may_fail()) throw fault("flush");
        if (!is_transactional_) make_visible();
    }
    call<void> begin(environment&) {
        waiting_.clear();
        co_return;
    }
    call<void> commit(environment&, const stream::positions& done) {
        if (world_.may_fail()) throw fault("commit");
        make_visible();
        world_.with_outputs = done;
        if (choose(4) == 1) co_await coflux::sleep_for(1ms);
        if (world_.may_fail()) throw fault("after the commit");
    }
    call<void> abort(environment&) {
        waiting_.clear();
        co_return;
    }
    call<std::optional<stream::positions>> committed(environment&) { co_return world_.with_outputs; }

private:
    void make_visible() {
        world_.written.insert(world_.written.end(), waiting_.begin(), waiting_.end());
        waiting_.clear();
    }
    world& world_;
    std::vector<counted> waiting_;
    bool is_transactional_;
};

/// A store that can fail before and after it has stored.
struct faulty_store {
    world* w = nullptr;
    call<void> store(environment&, const stream::checkpoint& c) {
        auto& here = co_await coflux::context();
        if (w->may_fail()) throw fault("store");
        co_await w->store.store(here, c);
        if (w->may_fail()) throw fault("after the store");
    }
    call<std::optional<stream::checkpoint>> load(environment&, const stream::positions* wanted) {
        auto& here = co_await coflux::context();
        co_return co_await w->store.load(here, wanted);
    }
};

/// The memory of the jobs' coroutines: in one world of four there is sometimes none while a job runs.
class failing_memory final : public std::pmr::memory_resource {
public:
    explicit failing_memory(world& w) : world_(w), fails_(choose(4) == 1) {}
    bool is_armed = false;

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        if (fails_ && is_armed && world_.faults != 0 && choose(32) == 1) {
            --world_.faults;
            throw std::bad_alloc();
        }
        return std::pmr::new_delete_resource()->allocate(bytes, alignment);
    }
    void do_deallocate(void* at, std::size_t bytes, std::size_t alignment) override {
        std::pmr::new_delete_resource()->deallocate(at, bytes, alignment);
    }
    [[nodiscard]] bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override {
        return this == &other;
    }

    world& world_;
    bool fails_;
};

constexpr int customers = 4;

world make_world(std::size_t faults) {
    world w;
    w.faults = faults;
    w.partitions.resize(1 + choose(3));
    std::vector<int> numbers(customers);
    const std::size_t records = 5 + choose(20);
    for (std::size_t i = 0; i != records; ++i) {
        const int customer = static_cast<int>(choose(customers));
        // A customer's orders are in one partition, in order.
        w.partitions[static_cast<std::size_t>(customer) % w.partitions.size()].push_back(
            {customer, ++numbers[static_cast<std::size_t>(customer)]});
    }
    return w;
}

std::vector<counted> model_of(const world& w) {
    std::vector<counted> all;
    for (const auto& p : w.partitions) {
        for (const order& o : p) all.emplace_back(o.customer, o.number, o.number);
    }
    std::ranges::sort(all);
    return all;
}

/// How the jobs of a scenario run.
struct plan {
    bool stops = true;    // some are cut off
    bool drains = false;  // some are drained
};

auto to_counts(world& w) {
    return stream::fold<total, counted>([&w](total& t, const order& o, const auto& emit) {
        if (w.may_fail()) throw fault("step");
        ++t.count;
        emit(counted{o.customer, o.number, t.count});
    });
}
auto to_numbers(world& w) {
    return stream::map([&w](const order& o) {
        if (w.may_fail()) throw fault("step");
        return counted{o.customer, o.number, o.number};
    });
}
auto that_fails(world& w) {
    return stream::flat_map<counted>([&w](const counted& c, const auto& emit) {
        emit(c);
        if (w.may_fail()) throw fault("second step");
    });
}

auto flow_of(world& w, source& from, sink& into, const faulty_store&) {
    return stream::from(from) | stream::by_key(&order::customer) | to_counts(w) | stream::by_partition() |
           that_fails(w) | stream::to(into);
}
auto flow_of(world& w, source& from, sink& into, const stream::no_store&) {
    return stream::from(from) | stream::by_key(&order::customer) | to_numbers(w) | stream::by_partition() |
           that_fails(w) | stream::to(into);
}

template <typename Delivery, typename Store>
coflux::task<void, sim_executor> run_until_done(environment&, borrowed<world> w, borrowed<failing_memory> memory,
                                                Delivery delivery, Store kept, plan how) {
    auto& here = co_await coflux::context();
    constexpr bool exact = std::is_same_v<Delivery, stream::exactly_once_t>;
    stream::job options{.workers = 1 + choose(3),
                        .slots = 5,
                        .max_batch = 1 + choose(5),
                        .linger = 1ms,
                        .queue_batches = 2,
                        .commit_every = 2ms,
                        .delivery = delivery,
                        .retries = {.attempts = static_cast<std::uint32_t>(choose(3)), .first = 1ms},
                        .state = kept};
    for (bool done = false; !done;) {
        source from(*w, !exact);
        sink into(*w, exact);
        stream::job_control control;
        options.control = &control;
        memory->is_armed = true;
        try {
            if (how.drains && choose(2) == 1) {
                auto draining = [](environment&, borrowed<stream::job_control> c) -> coflux::fork<void> {
                    co_await coflux::sleep_for(choose(20) * 1ms);
                    c->drain();
                }(here, borrowed(control));
                const auto report = co_await stream::run(here, flow_of(*w, from, into, kept), options);
                done = !report.drained;
                co_await std::move(draining);
            } else if (how.stops && w->faults != 0 && choose(2) == 1) {
                --w->faults;
                const auto report = co_await coflux::timeout(stream::run(here, flow_of(*w, from, into, kept), options),
                                                             choose(30) * 1ms);
                done = !report.timed_out();
            } else {
                (void)co_await stream::run(here, flow_of(*w, from, into, kept), options);
                done = true;
            }
        } catch (const fault&) {
        } catch (const std::bad_alloc&) {}
        memory->is_armed = false;
    }
}

template <typename Delivery>
std::vector<counted> outputs_of(world& w, Delivery delivery, plan how) {
    sim_executor on;
    failing_memory memory(w);
    auto env = coflux::make_environment(&memory, on);
    run_until_done(env, borrowed(w), borrowed(memory), delivery, faulty_store{&w}, how).get();
    return w.written;
}

// The difference, for a report.
std::string difference(const std::vector<counted>& got, const std::vector<counted>& wanted) {
    std::string text;
    const auto add = [&](const char* what, const std::vector<counted>& these, const std::vector<counted>& those) {
        for (const auto& [customer, number, count] : these) {
            if (std::ranges::count(these, counted{customer, number, count}) <=
                std::ranges::count(those, counted{customer, number, count}))
                continue;
            text += std::string("; ") + what + " order " + std::to_string(number) + " of customer " +
                    std::to_string(customer) + ", counted as " + std::to_string(count);
        }
    };
    add("too much:", got, wanted);
    add("missing:", wanted, got);
    return text;
}

void exactly_once() {
    world w = make_world(choose(6));
    auto got = outputs_of(w, stream::exactly_once, plan());
    std::ranges::sort(got);
    expect(got == model_of(w), "the outputs are not those of each record, once" + difference(got, model_of(w)));
}

void at_least_once() {
    world w = make_world(choose(6));
    auto got = outputs_of(w, stream::at_least_once, plan());
    std::ranges::sort(got);
    const auto [first, last] = std::ranges::unique(got);
    got.erase(first, last);
    expect(got == model_of(w), "an output is missing, or counts a record twice" + difference(got, model_of(w)));
}

void keeps_order() {
    world w = make_world(0);
    const auto got = outputs_of(w, stream::at_least_once, {.stops = false});
    std::map<int, int> last;
    for (const auto& [customer, number, count] : got) {
        expect(number == last[customer] + 1 && count == number, "the order of a customer's records is not kept");
        last[customer] = number;
    }
    expect(got.size() == model_of(w).size(), "an output is missing, or comes twice");
}

// A job without a state goes on where its source has committed.
void forwards() {
    world w = make_world(choose(6));
    sim_executor on;
    failing_memory memory(w);
    auto env = coflux::make_environment(&memory, on);
    run_until_done(env, borrowed(w), borrowed(memory), stream::at_least_once, stream::no_store(), plan()).get();
    auto got = w.written;
    std::ranges::sort(got);
    const auto [first, last] = std::ranges::unique(got);
    got.erase(first, last);
    expect(got == model_of(w), "an output is missing" + difference(got, model_of(w)));
}

// Jobs that are drained again and again do what one job does.
void drains() {
    world w = make_world(0);
    auto got = outputs_of(w, stream::at_least_once, {.stops = false, .drains = true});
    std::ranges::sort(got);
    expect(got == model_of(w), "a drained job has lost or doubled an output" + difference(got, model_of(w)));
}

/// A consumer group of two jobs: partitions go from one to the other, and are where they were committed.
struct group {
    world& w;
    struct partition {
        int owner = -1;   // a job, or none
        int wanted = -1;  // who shall have it
        std::int64_t next = 0;
    };
    std::vector<partition> of;
    bool loses = false;

    bool done() const {
        for (std::size_t p = 0; p != of.size(); ++p) {
            if (of[p].next != static_cast<std::int64_t>(w.partitions[p].size())) return false;
        }
        return true;
    }
};

class member {
public:
    using value_type = order;
    member(group& g, int number) : group_(g), number_(number), next_(g.of.size()), has_(g.of.size()) {}

    call<bool> read(environment&, stream::batch<order>& into, std::size_t most) {
        for (;;) {
            co_await coflux::sleep_for((1 + choose(3)) * 1ms);
            for (std::uint32_t p = 0; p != group_.of.size(); ++p) {
                auto& at = group_.of[p];
                if (has_[p] && (at.wanted != number_ || at.owner != number_)) {
                    has_[p] = false;
                    const bool lost = at.owner != number_;
                    changes_.push_back({lost ? stream::partition_event::lost : stream::partition_event::revoked, p});
                } else if (!has_[p] && at.wanted == number_ && at.owner == -1) {
                    at.owner = number_;
                    has_[p] = true;
                    next_[p] = at.next;
                    changes_.push_back({stream::partition_event::assigned, p});
                }
            }
            if (!changes_.empty()) co_return true;
            if (group_.done()) co_return false;
            for (std::uint32_t p = 0; p != group_.of.size(); ++p) {
                const auto& from = group_.w.partitions[p];
                if (!has_[p] || next_[p] == static_cast<std::int64_t>(from.size())) continue;
                for (std::size_t n = 1 + choose(most); n != 0 && next_[p] != static_cast<std::int64_t>(from.size());
                     --n) {
                    const order& o = from[static_cast<std::size_t>(next_[p]++)];
                    into.push_back({o, {}, next_[p], p});
                }
                co_return true;
            }
        }
    }
    [[nodiscard]] std::string partition_name(std::uint32_t p) const { return "p" + std::to_string(p); }
    call<void> commit(environment&, const stream::positions& done) {
        for (const auto& each : done) {
            auto& at = group_.of[static_cast<std::size_t>(each.partition[1] - '0')];
            if (at.owner != number_) continue;
            // A record that was on its way when the partition was lost may be committed when it is back.
            expect(group_.loses || each.next >= at.next, "a commit goes back");
            at.next = each.next;
        }
        co_return;
    }
    std::optional<stream::partition_change> take_change() {
        if (changes_.empty()) return std::nullopt;
        const auto c = changes_.front();
        changes_.erase(changes_.begin());
        return c;
    }
    call<void> release(environment&, std::uint32_t p) {
        if (group_.of[p].owner == number_) group_.of[p].owner = -1;
        co_return;
    }

private:
    group& group_;
    int number_;
    std::vector<std::int64_t> next_;
    std::vector<bool> has_;
    std::vector<stream::partition_change> changes_;
};
static_assert(stream::rebalanced_source<member>);

coflux::fork<void, sim_executor> run_member(environment&, borrowed<group> g, int number) {
    auto& here = co_await coflux::context();
    member from(*g, number);
    sink into(g->w, false);
    (void)co_await stream::run(here, stream::from(from) | stream::map([](const order& o) {
                                         return counted{o.customer, o.number, o.number};
                                     }) | stream::to(into),
                               stream::job{.workers = 1 + choose(2),
                                           .slots = 4,
                                           .max_batch = 1 + choose(4),
                                           .linger = 1ms,
                                           .queue_batches = 2,
                                           .commit_every = 4ms});
}

coflux::task<void, sim_executor> run_group(environment&, borrowed<group> g) {
    auto& here = co_await coflux::context();
    auto a = run_member(here, g, 0);
    auto b = run_member(here, g, 1);
    for (std::size_t moves = choose(6); moves != 0; --moves) {
        co_await coflux::sleep_for(choose(12) * 1ms);
        auto& p = g->of[choose(g->of.size())];
        p.wanted = static_cast<int>(choose(2));
        if (g->loses && choose(2) == 1 && p.owner != p.wanted) p.owner = -1;  // it was too slow
    }
    co_await coflux::when_all(std::move(a), std::move(b));
}

std::vector<counted> outputs_of_group(world& w, bool loses) {
    group g{w, std::vector<group::partition>(w.partitions.size()), loses};
    for (auto& p : g.of) p.wanted = static_cast<int>(choose(2));
    sim_executor on;
    auto env = coflux::make_environment(on);
    run_group(env, borrowed(g)).get();
    return w.written;
}

// Partitions that are revoked and released: nothing comes twice, and a customer's orders stay in order.
void rebalances() {
    world w = make_world(0);
    auto got = outputs_of_group(w, false);
    std::map<int, int> last;
    for (const auto& [customer, number, count] : got) {
        expect(number == last[customer] + 1, "a rebalance has changed the order, or lost or doubled a record");
        last[customer] = number;
    }
    std::ranges::sort(got);
    expect(got == model_of(w), "the outputs are not those of each record, once" + difference(got, model_of(w)));
}

// Partitions that are lost: nothing is missing.
void loses() {
    world w = make_world(0);
    auto got = outputs_of_group(w, true);
    std::ranges::sort(got);
    const auto [first, end] = std::ranges::unique(got);
    got.erase(first, end);
    expect(got == model_of(w), "an output is missing" + difference(got, model_of(w)));
}

constexpr coflux_simulations::scenario scenarios[] = {{"exactly_once", exactly_once},
                                                      {"at_least_once", at_least_once},
                                                      {"keeps_order", keeps_order},
                                                      {"drains", drains},
                                                      {"forwards", forwards},
                                                      {"rebalances", rebalances},
                                                      {"loses", loses}};

}  // namespace

int main(int argc, char** argv) {
    return coflux_simulations::run_scenarios(argc, argv, scenarios, "simulation.stream",
                                             "stream jobs that crash, stop, fail and are run again");
}
