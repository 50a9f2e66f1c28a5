// A loop for each of stream_scenarios, on one thread.
#include "nexmark/flat_map.hpp"
#include "nexmark/rows.hpp"
#include "scenario_work.hpp"
#include "workloads.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace lab {
namespace {

using harness::order;
using harness::scenario_work;
using harness::tally;
using nexmark::row_sum;

using tallies = nexmark::flat_map<tally>;

void filter(std::span<const order> orders, row_sum& out) {
    for (const order& o : orders) {
        if (o.amount > scenario_work::least_amount) {
            out.add(o.number, o.customer, o.amount);
        }
    }
}

void rows(std::span<const order> orders, row_sum& out) {
    harness::last_amounts last;
    for (const order& o : orders) {
        out.add(o.number, last.add(o.amount));
    }
}

void group(std::span<const order> orders, row_sum& out) {
    tallies by_customer;
    for (const order& o : orders) {
        by_customer[o.customer].add(o.amount);
    }
    by_customer.for_each([&](std::int64_t customer, const tally& t) { out.add(customer, t.count, t.sum); });
}

// `change` gets each change, and `end` the windows that have ended: orders come in the order of their times.
template <typename Change, typename End>
void in_windows(std::span<const order> orders, Change change, End end) {
    tallies by_customer;
    std::int64_t begin = 0;
    for (const order& o : orders) {
        if (o.time >= begin + scenario_work::window_seconds) {
            end(begin, by_customer);
            by_customer.clear();
            begin = o.time - o.time % scenario_work::window_seconds;
        }
        tally& t = by_customer[o.customer];
        t.add(o.amount);
        change(o.customer, begin, t);
    }
    end(begin, by_customer);
}

void tumbling(std::span<const order> orders, row_sum& out) {
    in_windows(
        orders, [](const auto&...) {},
        [&](std::int64_t begin, tallies& all) {
            all.for_each([&](std::int64_t customer, const tally& t) { out.add(customer, begin, t.count, t.sum); });
        });
}

void changes(std::span<const order> orders, row_sum& out) {
    in_windows(
        orders,
        [&](std::int64_t customer, std::int64_t begin, const tally& t) { out.add(customer, begin, t.count, t.sum); },
        [](const auto&...) {});
}

void join(const scenario_work& work, row_sum& out) {
    nexmark::flat_map<std::vector<order>> unpaid;
    for (std::size_t i = 0; i != work.orders.size(); ++i) {
        const order& o = work.orders[i];
        unpaid[o.customer].push_back(o);
        const harness::payment& p = work.payments[i];
        std::vector<order>& of = unpaid[p.customer];
        std::erase_if(of, [&p](const order& each) { return each.time + scenario_work::pay_seconds < p.time; });
        for (const order& each : of) {
            out.add(each.number, p.number, each.amount);
        }
    }
}

}  // namespace

harness::measured stream_scenarios(const harness::request& r) {
    const scenario_work work{r};
    return harness::measure(r, [&work] {
        row_sum out;
        switch (work.what) {
        case scenario_work::scenario::filter: filter(work.orders, out); break;
        case scenario_work::scenario::rows: rows(work.orders, out); break;
        case scenario_work::scenario::group: group(work.orders, out); break;
        case scenario_work::scenario::tumbling: tumbling(work.orders, out); break;
        case scenario_work::scenario::changes: changes(work.orders, out); break;
        case scenario_work::scenario::join: join(work, out); break;
        }
        return out.value();
    });
}

}  // namespace lab
