// Records and orders on their way as stream jobs: the paths of record_path, and the scenarios.
// Idioms: docs/tour/00-if-you-know.md, docs/tour/01-first-program.md, docs/tour/06-a-stream-job.md
#include "nexmark/rows.hpp"
#include "scenario_work.hpp"
#include "seed_work.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace lab {
namespace {

namespace stream = coflux::stream;

using harness::order;
using harness::payment;
using harness::scenario_work;
using harness::tally;
using nexmark::row_sum;
using std::chrono::seconds;

using pool = coflux::thread_pool_executor;
using watch_ref = coflux::borrowed<harness::stopwatch>;

// A job has a slot of state for each partition, and a worker for each thread.
struct widths {
    std::size_t workers;
    std::uint32_t slots;
    std::size_t batch;
};

widths widths_of(const harness::request& r, std::uint64_t partitions, std::uint64_t batch) {
    return {.workers = static_cast<std::size_t>(std::min<std::uint64_t>(r.threads(), partitions)),
            .slots = static_cast<std::uint32_t>(partitions),
            .batch = static_cast<std::size_t>(batch)};
}

template <typename Flow>
coflux::call<void> run_flow(coflux::environment&, Flow flow, widths w) {
    auto& here = co_await coflux::context();
    (void)co_await stream::run(here, std::move(flow),
                               stream::job{.workers = w.workers, .slots = w.slots, .max_batch = w.batch});
}

// The batches of record_path, one partition.
class record_source {
public:
    using value_type = harness::record;

    explicit record_source(const harness::record_work& work) : work_{work} {}

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<value_type>& into, std::size_t) {
        const bool has_more = next_ != work_.batches();
        if (has_more) {
            for (const harness::record each : work_.read(next_++)) {
                into.push_back({each, stream::no_time, static_cast<std::int64_t>(each.number)});
            }
        }
        co_return has_more;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "records"; }

private:
    const harness::record_work& work_;
    std::uint64_t next_ = 0;
};

struct shared_engine {
    harness::engine engine;
    coflux::mutex lock{};
};

coflux::task<std::uint64_t, pool> run_path(coflux::environment&, coflux::borrowed<const harness::record_work> work,
                                           std::string path, widths w, watch_ref watch) {
    auto& here = co_await coflux::context();
    watch->start();
    record_source source{*work};
    std::uint64_t sum = 0;
    shared_engine shared{harness::engine{*work}};
    const auto result_of = [own = *work](harness::record r) {
        harness::engine engine{own};
        engine.process(r);
        return engine.answer();
    };
    const auto by_number = stream::by_key(&harness::record::number);
    const auto add = stream::to(stream::for_each([&sum](std::uint64_t result) { sum += result; }));
    if (path == "plain") {  // in the reader
        co_await run_flow(here, stream::from(source) | stream::map(result_of) | stream::to_one() | add, w);
    } else if (path == "direct") {
        co_await run_flow(here, stream::from(source) | stream::to_one() | stream::map(result_of) | add, w);
    } else if (path == "coordinator") {
        co_await run_flow(here, stream::from(source) | by_number | stream::map(result_of) | add, w);
    } else {
        const auto locked = [&shared](coflux::environment&, const harness::record& r) -> coflux::call<std::uint64_t> {
            const auto guard = co_await shared.lock.lock();
            shared.engine.process(r);
            co_return 0;
        };
        co_await run_flow(here, stream::from(source) | by_number | stream::call_each(locked) | add, w);
    }
    watch->stop();
    co_return sum + shared.engine.answer();
}

// Orders or payments where they are, which outlive the job; one partition, in order. It tells of the partition, so that
// of two sources none runs ahead of the watermark.
template <typename Item>
class item_source {
public:
    using value_type = const Item*;

    explicit item_source(std::span<const Item> items) : items_{items} {}

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<value_type>& into, std::size_t most) {
        const std::size_t end = std::min(items_.size(), next_ + most);
        const bool has_more = next_ != end;
        for (; next_ != end; ++next_) {
            const Item& item = items_[next_];
            into.push_back({&item, stream::event_time{seconds{item.time}}, static_cast<std::int64_t>(next_ + 1)});
        }
        co_return has_more;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "items"; }
    [[nodiscard]] std::vector<std::uint32_t> partitions() const { return {0}; }

private:
    std::span<const Item> items_;
    std::size_t next_ = 0;
};

using order_source = item_source<order>;
using payment_source = item_source<payment>;

constexpr auto customer_of = [](const order* o) { return o->customer; };

auto filter(order_source& orders, row_sum& out) {
    struct projection {
        std::int64_t number;
        std::int64_t customer;
        std::int64_t amount;
    };
    const auto is_large = [](const order* o) { return o->amount > scenario_work::least_amount; };
    const auto projected = [](const order* o) { return projection{o->number, o->customer, o->amount}; };
    const auto add = [&out](const projection& row) { out.add(row.number, row.customer, row.amount); };
    return stream::from(orders) | stream::filter(is_large) | stream::map(projected) | stream::to(stream::for_each(add));
}

auto rows(order_source& orders, row_sum& out) {
    struct sum_of_last {
        std::int64_t number;
        std::int64_t sum;
    };
    const auto take = [](harness::last_amounts& last, const order* o, const auto& emit) {
        emit(sum_of_last{o->number, last.add(o->amount)});
    };
    const auto add = [&out](const sum_of_last& row) { out.add(row.number, row.sum); };
    return stream::from(orders) | stream::to_one() | stream::fold<harness::last_amounts, sum_of_last>(take) |
           stream::to(stream::for_each(add));
}

struct tally_amounts {
    struct state : tally {
        template <typename A>
        void fields(A& all) {
            all(count, sum);
        }
    };

    void add(state& s, const order* o) const { s.add(o->amount); }
    void merge(state& s, const state& later) const {
        s.count += later.count;
        s.sum += later.sum;
    }
    [[nodiscard]] tally result(const state& s) const { return s; }
};

auto group(order_source& orders, row_sum& out) {
    const auto add = [&out](const auto& w) { out.add(w.key, w.value.count, w.value.sum); };
    return stream::from(orders) | stream::by_key(customer_of) | stream::window(stream::all_time(), tally_amounts{}) |
           stream::to(stream::for_each(add));
}

template <typename Options>
auto windows(order_source& orders, row_sum& out, Options options) {
    const auto add = [&out](const auto& w) {
        const auto begin = std::chrono::floor<seconds>(w.begin).time_since_epoch().count();
        out.add(w.key, std::int64_t{begin}, w.value.count, w.value.sum);
    };
    return stream::from(orders) | stream::by_key(customer_of) |
           stream::window(stream::tumbling(seconds{scenario_work::window_seconds}), tally_amounts{}, options) |
           stream::to(stream::for_each(add));
}

struct unpaid {
    std::int64_t number = 0;
    std::int64_t customer = 0;
    std::int64_t amount = 0;

    template <typename A>
    void fields(A& all) {
        all(number, customer, amount);
    }
};

struct paying {
    std::int64_t number = 0;
    std::int64_t customer = 0;

    template <typename A>
    void fields(A& all) {
        all(number, customer);
    }
};

auto join(order_source& orders, payment_source& payments, row_sum& out) {
    using either = std::variant<unpaid, paying>;
    struct pair {
        std::int64_t order;
        std::int64_t payment;
        std::int64_t amount;
    };
    const auto to_either = [](const std::variant<const order*, const payment*>& item) -> either {
        if (const order* const* o = std::get_if<0>(&item)) {
            return unpaid{(*o)->number, (*o)->customer, (*o)->amount};
        }
        const payment* const p = std::get<1>(item);
        return paying{p->number, p->customer};
    };
    const auto customer = [](const either& e) { return std::visit([](const auto& each) { return each.customer; }, e); };
    const auto meet = [](const unpaid& o, const paying& p) { return pair{o.number, p.number, o.amount}; };
    const auto add = [&out](const pair& p) { out.add(p.order, p.payment, p.amount); };
    return stream::from(stream::merge(orders, payments)) | stream::map(to_either) | stream::by_key(customer) |
           stream::join(stream::within(seconds{0}, seconds{scenario_work::pay_seconds}), meet) |
           stream::to(stream::for_each(add));
}

coflux::task<std::uint64_t, pool> run_scenario(coflux::environment&, coflux::borrowed<const scenario_work> work,
                                               widths w, watch_ref watch) {
    using enum scenario_work::scenario;
    auto& here = co_await coflux::context();
    watch->start();
    order_source orders{work->orders};
    payment_source payments{work->payments};
    row_sum out;
    switch (work->what) {
    case scenario_work::scenario::filter: co_await run_flow(here, lab::filter(orders, out), w); break;
    case scenario_work::scenario::rows: co_await run_flow(here, lab::rows(orders, out), w); break;
    case scenario_work::scenario::group: co_await run_flow(here, lab::group(orders, out), w); break;
    case tumbling: co_await run_flow(here, windows(orders, out, stream::window_options<>{}), w); break;
    case changes:
        co_await run_flow(here, windows(orders, out, stream::window_options{.emit = stream::emit_changes{}}), w);
        break;
    case scenario_work::scenario::join: co_await run_flow(here, lab::join(orders, payments, out), w); break;
    }
    watch->stop();
    co_return out.value();
}

}  // namespace

harness::measured record_path_as_jobs(const harness::request& r) {
    const harness::record_work work{r};
    const std::string path = r.choice("path", {"plain", "direct", "coordinator", "shared"});
    const widths w = widths_of(r, work.partitions, work.batch);
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_path(env, coflux::borrowed(work), path, w, coflux::borrowed(watch)).get();
    });
}

harness::measured stream_scenarios(const harness::request& r) {
    const scenario_work work{r};
    const widths w = widths_of(r, work.partitions, work.batch);
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(r, [&](harness::stopwatch& watch) {
        return run_scenario(env, coflux::borrowed(work), w, coflux::borrowed(watch)).get();
    });
}

}  // namespace lab
