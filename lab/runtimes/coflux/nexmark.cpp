// Nexmark as stream jobs: each query is a flow over the events, with one worker.
#include "nexmark/queries.hpp"
#include "nexmark/rows.hpp"
#include "nexmark_work.hpp"
#include "workloads.hpp"

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace lab {
namespace {

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
using work_ref = coflux::borrowed<const harness::nexmark_work>;

constexpr milliseconds window{nexmark::window};
constexpr milliseconds step{nexmark::step};
constexpr milliseconds gap{nexmark::gap};
constexpr std::chrono::nanoseconds always = std::chrono::nanoseconds::max();

// One partition, in order. Its values are where the events are, which outlive the job.
class event_source {
public:
    using value_type = const event*;

    explicit event_source(std::span<const event> events) : events_{events} {}

    [[nodiscard]] coflux::call<bool> read(coflux::environment&, stream::batch<value_type>& into, std::size_t most) {
        const std::size_t end = std::min(events_.size(), next_ + most);
        const bool has_more = next_ != end;
        for (; next_ != end; ++next_) {
            const event& e = events_[next_];
            const stream::event_time time{milliseconds{std::visit([](const auto& kind) { return kind.time; }, e)}};
            into.push_back({&e, time, static_cast<std::int64_t>(next_ + 1)});
        }
        co_return has_more;
    }
    [[nodiscard]] std::string partition_name(std::uint32_t) const { return "events"; }

private:
    std::span<const event> events_;
    std::size_t next_ = 0;
};

// A function would be called by its address for each event.
template <typename Kind>
constexpr auto is = [](const event* e) { return std::holds_alternative<Kind>(*e); };

std::uint64_t size_of_extra(const bid& b) {
    return b.extra.size;
}

timestamp time_of(stream::event_time t) {
    return std::chrono::floor<milliseconds>(t).time_since_epoch().count();
}

auto bids_as_they_are(event_source& events, row_sum& out) {
    const auto add = [&out](const event* e) {
        const bid& b = std::get<bid>(*e);
        out.add(b.auction, b.bidder, b.price, b.time, size_of_extra(b));
    };
    return stream::from(events) | stream::filter(is<bid>) | stream::to(stream::for_each(add));
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

auto bids_in_euros(event_source& events, row_sum& out) {
    const auto in_euros = [](const event* e) {
        const bid& b = std::get<bid>(*e);
        return bid_row{b.auction, b.bidder, b.price * nexmark::euro_thousandths_of_a_dollar, b.time, size_of_extra(b)};
    };
    const auto add = [&out](const bid_row& r) { out.add(r.auction, r.bidder, r.price, r.time, r.extra); };
    return stream::from(events) | stream::filter(is<bid>) | stream::map(in_euros) | stream::to(stream::for_each(add));
}

auto bids_for_some_auctions(event_source& events, row_sum& out) {
    const auto is_wanted = [](const event* e) {
        const bid* const b = std::get_if<bid>(e);
        return b != nullptr && b->auction % nexmark::every_auction == 0;
    };
    const auto add = [&out](const event* e) {
        const bid& b = std::get<bid>(*e);
        out.add(b.auction, b.price);
    };
    return stream::from(events) | stream::filter(is_wanted) | stream::to(stream::for_each(add));
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

auto sellers_of_some_states(event_source& events, row_sum& out) {
    using either = std::variant<seller, offer>;
    struct sale {
        seller by;
        std::int64_t auction;
    };
    const auto is_wanted = [](const event* e) {
        if (const person* const p = std::get_if<person>(e)) {
            return nexmark::is_wanted_state(p->state());
        }
        const auction* const a = std::get_if<auction>(e);
        return a != nullptr && a->category == nexmark::wanted_category;
    };
    const auto to_either = [](const event* e) -> either {
        if (const person* const p = std::get_if<person>(e)) {
            return seller{p->id, std::string{p->name()}, std::string{p->city()}, std::string{p->state()}};
        }
        const auction& a = std::get<auction>(*e);
        return offer{a.id, a.seller};
    };
    const auto seller_of = [](const either& e) {
        return std::holds_alternative<seller>(e) ? std::get<seller>(e).id : std::get<offer>(e).seller;
    };
    const auto sell = [](const seller& s, const offer& o) { return sale{s, o.auction}; };
    const auto add = [&out](const sale& s) { out.add(s.by.name, s.by.city, s.by.state, s.auction); };
    return stream::from(events) | stream::filter(is_wanted) | stream::map(to_either) | stream::by_key(seller_of) |
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

auto mean_price_of_categories(event_source& events, row_sum& out) {
    const auto auction_of = [](const event* e) {
        const bid* const b = std::get_if<bid>(e);
        return b != nullptr ? b->auction : std::get<auction>(*e).id;
    };
    const auto raise = [](bids_of_auction& s, const event* e, auto& emit) {
        if (const auction* const a = std::get_if<auction>(e)) {
            if (s.early != a->time) {
                s.highest = 0;
            }
            s.category = a->category;
            s.expires = a->expires;
            if (s.highest != 0) {
                emit(rise{s.category, s.highest, true});
            }
            return;
        }
        const bid& b = std::get<bid>(*e);
        if (s.expires == 0) {
            s.highest = s.early == b.time ? std::max(s.highest, b.price) : b.price;
            s.early = b.time;
        } else if (b.time <= s.expires && b.price > s.highest) {
            const std::int64_t before = std::exchange(s.highest, b.price);
            emit(rise{s.category, b.price - before, before == 0});
        }
    };
    const auto add = [&out](const auto& category) { out.add(category.key, category.value); };
    return stream::from(events) | stream::filter(std::not_fn(is<person>)) | stream::by_key(auction_of) |
           stream::fold<bids_of_auction, rise>(raise) | stream::by_key(&rise::category) |
           stream::window(stream::all_time(), mean_of_highest{}) | stream::to(stream::for_each(add));
}

auto hot_auctions(event_source& events, row_sum& out) {
    using counted = stream::windowed<std::int64_t, std::uint64_t>;
    const auto auction_of = [](const event* e) { return std::get<bid>(*e).auction; };
    const auto add = [&out](const auto& hottest) {
        for (const counted& each : hottest.value) {
            out.add(time_of(each.end), each.key, each.value);
        }
    };
    return stream::from(events) | stream::filter(is<bid>) | stream::map(auction_of) | stream::by_key(std::identity{}) |
           stream::window(stream::sliding(window, step), stream::count{}) | stream::to_one{} |
           stream::window(stream::tumbling(step), stream::top(1, &counted::value)) | stream::to(stream::for_each(add));
}

auto highest_bids(event_source& events, row_sum& out) {
    const auto row_of = [](const event* e) {
        const bid& b = std::get<bid>(*e);
        return bid_row{b.auction, b.bidder, b.price, b.time, size_of_extra(b)};
    };
    const auto add = [&out](const auto& highest) {
        for (const bid_row& each : highest.value) {
            out.add(each.auction, each.price, each.bidder, each.time, each.extra);
        }
    };
    return stream::from(events) | stream::to_one{} | stream::filter(is<bid>) | stream::map(row_of) |
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

    void add(state& s, const event* e) const {
        if (const person* const p = std::get_if<person>(e)) {
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

auto new_people_who_sell(event_source& events, row_sum& out) {
    const auto person_of = [](const event* e) {
        const person* const p = std::get_if<person>(e);
        return p != nullptr ? p->id : std::get<auction>(*e).seller;
    };
    const auto is_both = [](const auto& w) { return w.value.sells && !w.value.name.empty(); };
    const auto add = [&out](const auto& w) { out.add(w.key, w.value.name, time_of(w.begin)); };
    return stream::from(events) | stream::filter(std::not_fn(is<bid>)) | stream::by_key(person_of) |
           stream::window(stream::tumbling(window), comer_who_sells{}) | stream::filter(is_both) |
           stream::to(stream::for_each(add));
}

auto sessions_of_bidders(event_source& events, row_sum& out) {
    const auto bidder_of = [](const event* e) { return std::get<bid>(*e).bidder; };
    const auto add = [&out](const auto& s) { out.add(s.key, s.value, time_of(s.begin), time_of(s.end)); };
    return stream::from(events) | stream::filter(is<bid>) | stream::map(bidder_of) | stream::by_key(std::identity{}) |
           stream::window(stream::session(gap), stream::count{}) | stream::to(stream::for_each(add));
}

struct side_row {
    std::int64_t key;
    std::string value;
};

using side_rows = stream::side_input<std::int64_t, side_row>;

coflux::call<side_rows> read_side_rows(coflux::environment&) {
    auto& here = co_await coflux::context();
    std::vector<side_row> rows;
    for (std::int64_t key = 0; key < nexmark::side_keys; ++key) {
        rows.push_back({key, std::to_string(key)});
    }
    stream::memory_source from{std::move(rows)};
    co_return co_await stream::read_side_input(here, from, &side_row::key);
}

auto bids_with_a_side_input(event_source& events, const side_rows& rows, row_sum& out) {
    struct with_value {
        const bid* of;
        std::string_view value;
    };
    const auto look_up = [rows](const event* e) {
        const bid& b = std::get<bid>(*e);
        return with_value{&b, rows.find(b.auction % nexmark::side_keys)->value};
    };
    const auto add = [&out](const with_value& r) {
        out.add(r.of->auction, r.of->bidder, r.of->price, r.of->time, r.value);
    };
    return stream::from(events) | stream::filter(is<bid>) | stream::map(look_up) | stream::to(stream::for_each(add));
}

template <typename Flow>
coflux::call<void> on_one_worker(coflux::environment&, Flow flow) {
    auto& here = co_await coflux::context();
    (void)co_await stream::run(here, std::move(flow), stream::job{.workers = 1});
}

coflux::task<std::uint64_t, pool> ask(coflux::environment&, work_ref work, watch_ref watch) {
    using nexmark::query;
    auto& here = co_await coflux::context();
    event_source events{work->events};
    row_sum out;
    watch->start();
    switch (work->query) {
    case query::q0: co_await on_one_worker(here, bids_as_they_are(events, out)); break;
    case query::q1: co_await on_one_worker(here, bids_in_euros(events, out)); break;
    case query::q2: co_await on_one_worker(here, bids_for_some_auctions(events, out)); break;
    case query::q3: co_await on_one_worker(here, sellers_of_some_states(events, out)); break;
    case query::q4: co_await on_one_worker(here, mean_price_of_categories(events, out)); break;
    case query::q5: co_await on_one_worker(here, hot_auctions(events, out)); break;
    case query::q7: co_await on_one_worker(here, highest_bids(events, out)); break;
    case query::q8: co_await on_one_worker(here, new_people_who_sell(events, out)); break;
    case query::q11: co_await on_one_worker(here, sessions_of_bidders(events, out)); break;
    case query::q13: {
        const side_rows rows = co_await read_side_rows(here);
        co_await on_one_worker(here, bids_with_a_side_input(events, rows, out));
        break;
    }
    }
    watch->stop();
    co_return out.value();
}

}  // namespace

harness::measured nexmark_query(const harness::request& r) {
    const harness::nexmark_work work{r};
    pool threads{r.threads()};
    auto env = coflux::make_environment(threads);
    return harness::measure(
        r, [&](harness::stopwatch& watch) { return ask(env, coflux::borrowed(work), coflux::borrowed(watch)).get(); });
}

}  // namespace lab
