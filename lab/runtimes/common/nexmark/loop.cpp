#include "loop.hpp"

#include "flat_map.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <queue>
#include <string>
#include <string_view>
#include <vector>

namespace lab::nexmark {
namespace {

using events_of = std::span<const event>;

constexpr timestamp never = std::numeric_limits<timestamp>::max();

timestamp end_of_window(timestamp time, timestamp length) noexcept {
    return time - time % length + length;
}

void bids_as_they_are(events_of events, row_sum& out) {
    for (const event& e : events) {
        if (const bid* const b = std::get_if<bid>(&e)) {
            out.add(b->auction, b->bidder, b->price, b->time, std::uint64_t{b->extra.size});
        }
    }
}

void bids_in_euros(events_of events, row_sum& out) {
    for (const event& e : events) {
        if (const bid* const b = std::get_if<bid>(&e)) {
            out.add(b->auction, b->bidder, b->price * euro_thousandths_of_a_dollar, b->time,
                    std::uint64_t{b->extra.size});
        }
    }
}

void bids_for_some_auctions(events_of events, row_sum& out) {
    for (const event& e : events) {
        if (const bid* const b = std::get_if<bid>(&e); b != nullptr && b->auction % every_auction == 0) {
            out.add(b->auction, b->price);
        }
    }
}

class sellers_of_some_states {
public:
    explicit sellers_of_some_states(row_sum& out) : out_{out} {}

    void take(const person& p) {
        std::uint32_t& place = places_[p.id];
        if (!is_wanted_state(p.state())) {
            place = unwanted;
            waiting_.erase(p.id);
            return;
        }
        wanted_.push_back(p);
        place = static_cast<std::uint32_t>(wanted_.size() - 1);
        if (const std::vector<std::int64_t>* const auctions = waiting_.find(p.id)) {
            for (const std::int64_t id : *auctions) {
                tell(p, id);
            }
            waiting_.erase(p.id);
        }
    }

    void take(const auction& a) {
        if (a.category != wanted_category) {
            return;
        }
        const std::uint32_t* const place = places_.find(a.seller);
        if (place == nullptr) {
            waiting_[a.seller].push_back(a.id);
        } else if (*place != unwanted) {
            tell(wanted_[*place], a.id);
        }
    }

private:
    static constexpr std::uint32_t unwanted = std::numeric_limits<std::uint32_t>::max();

    void tell(const person& p, std::int64_t auction_id) { out_.add(p.name(), p.city(), p.state(), auction_id); }

    row_sum& out_;
    flat_map<std::uint32_t> places_;  // in wanted_, of all people that have come
    std::vector<person> wanted_;
    flat_map<std::vector<std::int64_t>> waiting_;  // auctions, by a seller who has not come
};

class mean_price_of_categories {
public:
    explicit mean_price_of_categories(row_sum& out) : out_{out} {}

    void take(const auction& a) {
        close_before(a.time);
        open_auction& opened = open_[a.id];
        opened = {.category = static_cast<std::int64_t>(a.category), .expires = a.expires(), .highest = 0};
        expiries_.push({a.expires(), a.id});
        // Bids of this millisecond that came before it.
        if (time_of_early_ == a.time) {
            for (const bid& b : early_) {
                if (b.auction == a.id) {
                    opened.highest = std::max(opened.highest, b.price);
                }
            }
        }
    }

    void take(const bid& b) {
        close_before(b.time);
        if (open_auction* const found = open_.find(b.auction)) {
            found->highest = std::max(found->highest, b.price);
            return;
        }
        if (time_of_early_ != b.time) {
            early_.clear();
            time_of_early_ = b.time;
        }
        early_.push_back(b);
    }

    void end() {
        close_before(never);
        categories_.for_each(
            [this](std::int64_t id, const category& c) { out_.add(id, c.sum_of_highest / c.auctions); });
    }

private:
    struct open_auction {
        std::int64_t category = 0;
        timestamp expires = 0;
        std::int64_t highest = 0;
    };
    struct category {
        std::int64_t sum_of_highest = 0;
        std::int64_t auctions = 0;
    };
    struct expiry {
        timestamp time;
        std::int64_t auction;
        bool operator>(const expiry& other) const noexcept { return time > other.time; }
    };

    void close_before(timestamp now) {
        while (!expiries_.empty() && expiries_.top().time < now) {
            const std::int64_t id = expiries_.top().auction;
            expiries_.pop();
            if (const open_auction* const closed = open_.find(id); closed->highest != 0) {
                category& c = categories_[closed->category];
                c.sum_of_highest += closed->highest;
                ++c.auctions;
            }
            open_.erase(id);
        }
    }

    row_sum& out_;
    flat_map<open_auction> open_;
    std::priority_queue<expiry, std::vector<expiry>, std::greater<>> expiries_;
    flat_map<category> categories_;
    std::vector<bid> early_;  // for auctions that are not open, all of one millisecond
    timestamp time_of_early_ = -1;
};

// Bids are counted in panes of one step each. A window is the five last ones.
class hot_auctions {
public:
    explicit hot_auctions(row_sum& out) : out_{out} {}

    void take(const bid& b) {
        if (b.time >= pane_end_) {
            close_panes_until(b.time);
        }
        ++panes_[current_][b.auction];
    }

    void end() { close_panes_until(never); }

private:
    static constexpr std::size_t panes = window / step;

    void close_panes_until(timestamp now) {
        while (pane_end_ <= now && close_window()) {
            // The oldest pane is the next one.
            current_ = (current_ + 1) % panes;
            panes_[current_].clear();
            pane_end_ += step;
        }
        // No window is open: what comes next begins one.
        if (pane_end_ <= now && now != never) {
            pane_end_ = end_of_window(now, step);
        }
    }

    // The one that ends with the current pane. False: it is empty.
    bool close_window() {
        sums_.clear();
        std::uint32_t most = 0;
        for (const flat_map<std::uint32_t>& pane : panes_) {
            pane.for_each(
                [&](std::int64_t auction, std::uint32_t count) { most = std::max(most, sums_[auction] += count); });
        }
        sums_.for_each([&](std::int64_t auction, std::uint32_t count) {
            if (count == most) {
                out_.add(pane_end_, auction, count);
            }
        });
        return most != 0;
    }

    row_sum& out_;
    std::array<flat_map<std::uint32_t>, panes> panes_;
    std::size_t current_ = 0;
    timestamp pane_end_ = 0;
    flat_map<std::uint32_t> sums_;
};

class highest_bids {
public:
    explicit highest_bids(row_sum& out) : out_{out} {}

    void take(const bid& b) {
        if (b.time >= end_) {
            end();
            highest_.clear();
            end_ = end_of_window(b.time, window);
        }
        if (!highest_.empty() && b.price < highest_.front().price) {
            return;
        }
        if (!highest_.empty() && b.price > highest_.front().price) {
            highest_.clear();
        }
        highest_.push_back(b);
    }

    void end() {
        for (const bid& b : highest_) {
            out_.add(b.auction, b.price, b.bidder, b.time, std::uint64_t{b.extra.size});
        }
    }

private:
    row_sum& out_;
    timestamp end_ = 0;
    std::vector<bid> highest_;  // of this window
};

class new_people_who_sell {
public:
    explicit new_people_who_sell(row_sum& out) : out_{out} {}

    void take(const person& p) {
        enter(p.time);
        one& known = known_[p.id];
        known.name = p.name();
        if (known.sells) {
            tell(p.id, known);
        }
    }

    void take(const auction& a) {
        enter(a.time);
        one& known = known_[a.seller];
        if (!known.sells) {
            known.sells = true;
            if (!known.name.empty()) {
                tell(a.seller, known);
            }
        }
    }

private:
    struct one {
        std::string_view name;  // none: the person has not come
        bool sells = false;
    };

    void enter(timestamp time) {
        if (time >= end_) {
            known_.clear();
            end_ = end_of_window(time, window);
        }
    }
    void tell(std::int64_t id, const one& known) { out_.add(id, known.name, end_ - window); }

    row_sum& out_;
    timestamp end_ = 0;
    flat_map<one> known_;  // in this window
};

class sessions_of_bidders {
public:
    explicit sessions_of_bidders(row_sum& out) : out_{out} {}

    void take(const bid& b) {
        if (b.time >= next_sweep_) {
            open_.erase_if([&](std::int64_t bidder, const session& s) { return close(bidder, s, b.time); });
            next_sweep_ = b.time + gap / 10;
        }
        session& s = open_[b.bidder];
        if (s.bids != 0 && close(b.bidder, s, b.time)) {
            s.bids = 0;
        }
        if (s.bids == 0) {
            s.first = b.time;
        }
        s.last = b.time;
        ++s.bids;
    }

    void end() {
        open_.for_each([this](std::int64_t bidder, const session& s) { close(bidder, s, never); });
    }

private:
    struct session {
        timestamp first = 0;
        timestamp last = 0;
        std::int64_t bids = 0;
    };

    // Whether it has ended, and then it is told.
    bool close(std::int64_t bidder, const session& s, timestamp now) {
        const bool has_ended = now - s.last >= gap;
        if (has_ended) {
            out_.add(bidder, s.bids, s.first, s.last + gap);
        }
        return has_ended;
    }

    row_sum& out_;
    flat_map<session> open_;  // with some that have ended, until the next sweep
    timestamp next_sweep_ = 0;
};

std::vector<std::string> make_side_input() {
    std::vector<std::string> values;
    for (std::int64_t key = 0; key < side_keys; ++key) {
        values.push_back(std::to_string(key));
    }
    return values;
}

void bids_with_a_side_input(events_of events, row_sum& out) {
    static const std::vector<std::string> side_input = make_side_input();
    for (const event& e : events) {
        if (const bid* const b = std::get_if<bid>(&e)) {
            const std::string_view value = side_input[static_cast<std::size_t>(b->auction % side_keys)];
            out.add(b->auction, b->bidder, b->price, b->time, value);
        }
    }
}

// Each event goes to the query's overload of take(), where it has one.
template <typename Query>
void run(events_of events, row_sum& out) {
    Query q{out};
    const auto offer = [&q]<typename Kind>(const event& e) {
        if constexpr (requires(const Kind& kind) { q.take(kind); }) {
            if (const Kind* const found = std::get_if<Kind>(&e)) {
                q.take(*found);
            }
        }
    };
    for (const event& e : events) {
        offer.template operator()<bid>(e);
        offer.template operator()<auction>(e);
        offer.template operator()<person>(e);
    }
    if constexpr (requires { q.end(); }) {
        q.end();
    }
}

}  // namespace

row_sum run_loop(query which, std::span<const event> in_order) {
    row_sum out;
    switch (which) {
    case query::q0: bids_as_they_are(in_order, out); break;
    case query::q1: bids_in_euros(in_order, out); break;
    case query::q2: bids_for_some_auctions(in_order, out); break;
    case query::q3: run<sellers_of_some_states>(in_order, out); break;
    case query::q4: run<mean_price_of_categories>(in_order, out); break;
    case query::q5: run<hot_auctions>(in_order, out); break;
    case query::q7: run<highest_bids>(in_order, out); break;
    case query::q8: run<new_people_who_sell>(in_order, out); break;
    case query::q11: run<sessions_of_bidders>(in_order, out); break;
    case query::q13: bids_with_a_side_input(in_order, out); break;
    }
    return out;
}

}  // namespace lab::nexmark
