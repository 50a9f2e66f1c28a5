// Nexmark as stream jobs: each query is a flow of the events, with one worker.
// Idioms: docs/tour/01-first-program.md, docs/tour/06-a-stream-job.md
#pragma once

#include "harness.hpp"
#include "nexmark/event.hpp"
#include "nexmark/queries.hpp"
#include "nexmark/rows.hpp"

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lab {

namespace stream = coflux::stream;

using nexmark::auction;
using nexmark::bid;
using nexmark::event;
using nexmark::person;
using nexmark::row_sum;
using nexmark::timestamp;
using std::chrono::milliseconds;

using pool = coflux::thread_pool_executor;
using watch_ref = coflux::borrowed<harness::stopwatch>;

constexpr milliseconds window{nexmark::window};
constexpr milliseconds step{nexmark::step};
constexpr milliseconds gap{nexmark::gap};
constexpr std::chrono::nanoseconds always = std::chrono::nanoseconds::max();

// The values of a flow are events, or the places of some that outlive the job.
inline const event& at(const event& e) {
    return e;
}
inline const event& at(const auto& e) {
    return *e;
}

// A function would be called by its address for each event.
template <typename Kind>
constexpr auto is = [](const auto& e) { return std::holds_alternative<Kind>(at(e)); };

inline std::uint64_t size_of_extra(const bid& b) {
    return b.extra.size;
}

inline timestamp time_of(stream::event_time t) {
    return std::chrono::floor<milliseconds>(t).time_since_epoch().count();
}

template <typename Events>
auto bids_as_they_are(Events events, row_sum& out) {
    const auto add = [&out](const auto& e) {
        const bid& b = std::get<bid>(at(e));
        out.add(b.auction, b.bidder, b.price, b.time, size_of_extra(b));
    };
    return std::move(events) | stream::filter(is<bid>) | stream::to(stream::for_each(add));
}

struct bid_row {
    std::int64_t auction = 0;
    std::int64_t bidder = 0;
    std::int64_t price = 0;
    timestamp time = 0;
    std::uint64_t extra = 0;

    template <typename A>
    void fields(A& all) {
        all(auction, bidder, price, time, extra);
    }
};

template <typename Events>
auto bids_in_euros(Events events, row_sum& out) {
    const auto in_euros = [](const auto& e) {
        const bid& b = std::get<bid>(at(e));
        return bid_row{b.auction, b.bidder, b.price * nexmark::euro_thousandths_of_a_dollar, b.time, size_of_extra(b)};
    };
    const auto add = [&out](const bid_row& r) { out.add(r.auction, r.bidder, r.price, r.time, r.extra); };
    return std::move(events) | stream::filter(is<bid>) | stream::map(in_euros) | stream::to(stream::for_each(add));
}

template <typename Events>
auto bids_for_some_auctions(Events events, row_sum& out) {
    const auto is_wanted = [](const auto& e) {
        const bid* const b = std::get_if<bid>(&at(e));
        return b != nullptr && b->auction % nexmark::every_auction == 0;
    };
    const auto add = [&out](const auto& e) {
        const bid& b = std::get<bid>(at(e));
        out.add(b.auction, b.price);
    };
    return std::move(events) | stream::filter(is_wanted) | stream::to(stream::for_each(add));
}

struct seller {
    std::int64_t id = 0;
    std::string name{};
    std::string city{};
    std::string state{};

    template <typename A>
    void fields(A& all) {
        all(id, name, city, state);
    }
};

struct offer {
    std::int64_t auction = 0;
    std::int64_t seller = 0;

    template <typename A>
    void fields(A& all) {
        all(auction, seller);
    }
};

template <typename Events>
auto sellers_of_some_states(Events events, row_sum& out) {
    using either = std::variant<seller, offer>;
    struct sale {
        seller by;
        std::int64_t auction;
    };
    const auto is_wanted = [](const auto& e) {
        if (const person* const p = std::get_if<person>(&at(e))) {
            return nexmark::is_wanted_state(p->state());
        }
        const auction* const a = std::get_if<auction>(&at(e));
        return a != nullptr && a->category == nexmark::wanted_category;
    };
    const auto to_either = [](const auto& e) -> either {
        if (const person* const p = std::get_if<person>(&at(e))) {
            return seller{p->id, std::string{p->name()}, std::string{p->city()}, std::string{p->state()}};
        }
        const auction& a = std::get<auction>(at(e));
        return offer{a.id, a.seller};
    };
    const auto seller_of = [](const either& e) {
        return std::holds_alternative<seller>(e) ? std::get<seller>(e).id : std::get<offer>(e).seller;
    };
    const auto sell = [](const seller& s, const offer& o) { return sale{s, o.auction}; };
    const auto add = [&out](const sale& s) { out.add(s.by.name, s.by.city, s.by.state, s.auction); };
    return std::move(events) | stream::filter(is_wanted) | stream::map(to_either) | stream::by_key(seller_of) |
           stream::join(stream::within(-always, always), sell) | stream::to(stream::for_each(add));
}

// By how much the highest bid for an auction rises.
struct rise {
    std::int64_t category = 0;
    std::int64_t price = 0;
    bool is_first = false;
};

class mean_of_highest {
public:
    struct state {
        std::int64_t sum = 0;
        std::int64_t auctions = 0;

        template <typename A>
        void fields(A& all) {
            all(sum, auctions);
        }
    };

    void add(state& s, const rise& r) const {
        s.sum += r.price;
        s.auctions += r.is_first ? 1 : 0;
    }
    void merge(state& s, const state& later) const {
        s.sum += later.sum;
        s.auctions += later.auctions;
    }
    [[nodiscard]] std::int64_t result(const state& s) const { return s.sum / s.auctions; }
};

struct bids_of_auction {
    std::int64_t category = 0;
    timestamp expires = 0;  // 0: the auction has not come
    std::int64_t highest = 0;
    timestamp early = 0;  // when the bids came that `highest` is of, before the auction

    template <typename A>
    void fields(A& all) {
        all(category, expires, highest, early);
    }
};

template <typename Events>
auto mean_price_of_categories(Events events, row_sum& out) {
    const auto auction_of = [](const auto& e) {
        const bid* const b = std::get_if<bid>(&at(e));
        return b != nullptr ? b->auction : std::get<auction>(at(e)).id;
    };
    const auto raise = [](bids_of_auction& s, const auto& e, auto& emit) {
        if (const auction* const a = std::get_if<auction>(&at(e))) {
            if (s.early != a->time) {
                s.highest = 0;
            }
            s.category = a->category;
            s.expires = a->expires();
            if (s.highest != 0) {
                emit(rise{s.category, s.highest, true});
            }
            return;
        }
        const bid& b = std::get<bid>(at(e));
        if (s.expires == 0) {
            s.highest = s.early == b.time ? std::max(s.highest, b.price) : b.price;
            s.early = b.time;
        } else if (b.time <= s.expires && b.price > s.highest) {
            const std::int64_t before = std::exchange(s.highest, b.price);
            emit(rise{s.category, b.price - before, before == 0});
        }
    };
    const auto add = [&out](const auto& category) { out.add(category.key, category.value); };
    return std::move(events) | stream::filter(std::not_fn(is<person>)) | stream::by_key(auction_of) |
           stream::fold<bids_of_auction, rise>(raise) | stream::by_key(&rise::category) |
           stream::window(stream::all_time(), mean_of_highest{}) | stream::to(stream::for_each(add));
}

template <typename Events>
auto hot_auctions(Events events, row_sum& out) {
    using counted = stream::windowed<std::int64_t, std::uint64_t>;
    const auto auction_of = [](const auto& e) { return std::get<bid>(at(e)).auction; };
    const auto add = [&out](const auto& hottest) {
        for (const counted& each : hottest.value) {
            out.add(time_of(each.end), each.key, each.value);
        }
    };
    return std::move(events) | stream::filter(is<bid>) | stream::map(auction_of) | stream::by_key(std::identity{}) |
           stream::window(stream::sliding(window, step), stream::count{}) | stream::to_one{} |
           stream::window(stream::tumbling(step), stream::top(1, &counted::value)) | stream::to(stream::for_each(add));
}

template <typename Events>
auto highest_bids(Events events, row_sum& out) {
    const auto row_of = [](const auto& e) {
        const bid& b = std::get<bid>(at(e));
        return bid_row{b.auction, b.bidder, b.price, b.time, size_of_extra(b)};
    };
    const auto add = [&out](const auto& highest) {
        for (const bid_row& each : highest.value) {
            out.add(each.auction, each.price, each.bidder, each.time, each.extra);
        }
    };
    return std::move(events) | stream::to_one{} | stream::filter(is<bid>) | stream::map(row_of) |
           stream::window(stream::tumbling(window), stream::top(1, &bid_row::price)) |
           stream::to(stream::for_each(add));
}

// Who has come, and who sells.
class comer_who_sells {
public:
    struct state {
        std::string name{};  // none: the person has not come
        bool sells = false;

        template <typename A>
        void fields(A& all) {
            all(name, sells);
        }
    };

    void add(state& s, const auto& e) const {
        if (const person* const p = std::get_if<person>(&at(e))) {
            s.name = p->name();
        } else {
            s.sells = true;
        }
    }
    void merge(state& s, const state& later) const {
        if (s.name.empty()) {
            s.name = later.name;
        }
        s.sells = s.sells || later.sells;
    }
    [[nodiscard]] state result(state s) const { return s; }
};

template <typename Events>
auto new_people_who_sell(Events events, row_sum& out) {
    const auto person_of = [](const auto& e) {
        const person* const p = std::get_if<person>(&at(e));
        return p != nullptr ? p->id : std::get<auction>(at(e)).seller;
    };
    const auto is_both = [](const auto& w) { return w.value.sells && !w.value.name.empty(); };
    const auto add = [&out](const auto& w) { out.add(w.key, w.value.name, time_of(w.begin)); };
    return std::move(events) | stream::filter(std::not_fn(is<bid>)) | stream::by_key(person_of) |
           stream::window(stream::tumbling(window), comer_who_sells{}) | stream::filter(is_both) |
           stream::to(stream::for_each(add));
}

template <typename Events>
auto sessions_of_bidders(Events events, row_sum& out) {
    const auto bidder_of = [](const auto& e) { return std::get<bid>(at(e)).bidder; };
    const auto add = [&out](const auto& s) { out.add(s.key, s.value, time_of(s.begin), time_of(s.end)); };
    return std::move(events) | stream::filter(is<bid>) | stream::map(bidder_of) | stream::by_key(std::identity{}) |
           stream::window(stream::session(gap), stream::count{}) | stream::to(stream::for_each(add));
}

struct side_row {
    std::int64_t key;
    std::string value;
};

using side_rows = stream::side_input<std::int64_t, side_row>;

inline coflux::call<side_rows> read_side_rows(coflux::environment&) {
    auto& here = co_await coflux::context();
    std::vector<side_row> rows;
    for (std::int64_t key = 0; key < nexmark::side_keys; ++key) {
        rows.push_back({key, std::to_string(key)});
    }
    stream::memory_source from{std::move(rows)};
    co_return co_await stream::read_side_input(here, from, &side_row::key);
}

template <typename Value, typename Events>
auto bids_with_a_side_input(Events events, const side_rows& rows, row_sum& out) {
    struct with_value {
        Value of;
        std::string_view value;
    };
    const auto look_up = [rows](const auto& e) {
        return with_value{e, rows.find(std::get<bid>(at(e)).auction % nexmark::side_keys)->value};
    };
    const auto add = [&out](const with_value& r) {
        const bid& b = std::get<bid>(at(r.of));
        out.add(b.auction, b.bidder, b.price, b.time, r.value);
    };
    return std::move(events) | stream::filter(is<bid>) | stream::map(look_up) | stream::to(stream::for_each(add));
}

template <typename Flow>
coflux::call<void> on_one_worker(coflux::environment&, Flow flow) {
    auto& here = co_await coflux::context();
    (void)co_await stream::run(here, std::move(flow), stream::job{.workers = 1});
}

// `begin()` gives the flow of the events, whose values are of type Value.
template <typename Value, typename Begin>
coflux::call<std::uint64_t> ask(coflux::environment&, nexmark::query which, Begin begin) {
    using nexmark::query;
    auto& here = co_await coflux::context();
    row_sum out;
    switch (which) {
    case query::q0: co_await on_one_worker(here, bids_as_they_are(begin(), out)); break;
    case query::q1: co_await on_one_worker(here, bids_in_euros(begin(), out)); break;
    case query::q2: co_await on_one_worker(here, bids_for_some_auctions(begin(), out)); break;
    case query::q3: co_await on_one_worker(here, sellers_of_some_states(begin(), out)); break;
    case query::q4: co_await on_one_worker(here, mean_price_of_categories(begin(), out)); break;
    case query::q5: co_await on_one_worker(here, hot_auctions(begin(), out)); break;
    case query::q7: co_await on_one_worker(here, highest_bids(begin(), out)); break;
    case query::q8: co_await on_one_worker(here, new_people_who_sell(begin(), out)); break;
    case query::q11: co_await on_one_worker(here, sessions_of_bidders(begin(), out)); break;
    case query::q13: {
        const side_rows rows = co_await read_side_rows(here);
        co_await on_one_worker(here, bids_with_a_side_input<Value>(begin(), rows, out));
        break;
    }
    }
    co_return out.value();
}

}  // namespace lab
