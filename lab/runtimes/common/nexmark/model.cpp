#include "model.hpp"

#include "rows.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <string_view>
#include <utility>

namespace lab::nexmark {
namespace {

std::string text_of(std::int64_t number) {
    return std::to_string(number);
}

std::string text_of(std::string_view text) {
    return std::string{text};
}

class collector {
public:
    template <typename First, typename... Rest>
    void add(const First& first, const Rest&... rest) {
        std::string row = text_of(first);
        ((row += "," + text_of(rest)), ...);
        rows_.push_back(std::move(row));
        sum_.add(first, rest...);
    }

    [[nodiscard]] answer result() && {
        std::sort(rows_.begin(), rows_.end());
        return {.rows = std::move(rows_), .checksum = sum_.value()};
    }

private:
    std::vector<std::string> rows_;
    row_sum sum_;
};

using events_of = std::span<const event>;

template <typename Kind, typename Do>
void for_each(events_of events, Do what) {
    for (const event& e : events) {
        if (const Kind* const found = std::get_if<Kind>(&e)) {
            what(*found);
        }
    }
}

std::int64_t size_of_extra(const bid& b) {
    return static_cast<std::int64_t>(b.extra.size);
}

// The begin of the window of `length` that a time is in. Times are not negative.
timestamp begin_of(timestamp time, timestamp length) {
    return time - time % length;
}

void bids_as_they_are(events_of events, collector& out) {
    for_each<bid>(events, [&](const bid& b) { out.add(b.auction, b.bidder, b.price, b.time, size_of_extra(b)); });
}

void bids_in_euros(events_of events, collector& out) {
    for_each<bid>(events, [&](const bid& b) {
        out.add(b.auction, b.bidder, b.price * euro_thousandths_of_a_dollar, b.time, size_of_extra(b));
    });
}

void bids_for_some_auctions(events_of events, collector& out) {
    for_each<bid>(events, [&](const bid& b) {
        if (b.auction % every_auction == 0) {
            out.add(b.auction, b.price);
        }
    });
}

void sellers_of_some_states(events_of events, collector& out) {
    std::map<std::int64_t, person> people;
    for_each<person>(events, [&](const person& p) { people.emplace(p.id, p); });
    for_each<auction>(events, [&](const auction& a) {
        const auto seller = people.find(a.seller);
        if (a.category == wanted_category && seller != people.end() && is_wanted_state(seller->second.state())) {
            out.add(seller->second.name(), seller->second.city(), seller->second.state(), a.id);
        }
    });
}

void mean_price_of_categories(events_of events, collector& out) {
    std::map<std::int64_t, auction> auctions;
    for_each<auction>(events, [&](const auction& a) { auctions.emplace(a.id, a); });
    std::map<std::int64_t, std::int64_t> highest;  // of an auction
    for_each<bid>(events, [&](const bid& b) {
        const auto of = auctions.find(b.auction);
        if (of != auctions.end() && of->second.time <= b.time && b.time <= of->second.expires()) {
            std::int64_t& price = highest[b.auction];
            price = std::max(price, b.price);
        }
    });
    std::map<std::int64_t, std::vector<std::int64_t>> prices;  // of a category
    for (const auto& [id, price] : highest) {
        prices[auctions.at(id).category].push_back(price);
    }
    for (const auto& [category, of] : prices) {
        std::int64_t sum = 0;
        for (const std::int64_t price : of) {
            sum += price;
        }
        out.add(category, sum / static_cast<std::int64_t>(of.size()));
    }
}

void hot_auctions(events_of events, collector& out) {
    std::map<timestamp, std::map<std::int64_t, std::int64_t>> bids;  // by the window's end, and then by auction
    for_each<bid>(events, [&](const bid& b) {
        for (timestamp begin = begin_of(b.time, step); begin > b.time - window; begin -= step) {
            ++bids[begin + window][b.auction];
        }
    });
    for (const auto& [end, of_auction] : bids) {
        std::int64_t most = 0;
        for (const auto& [auction, count] : of_auction) {
            most = std::max(most, count);
        }
        for (const auto& [auction, count] : of_auction) {
            if (count == most) {
                out.add(end, auction, count);
            }
        }
    }
}

void highest_bids(events_of events, collector& out) {
    std::map<timestamp, std::int64_t> highest;  // by the window's begin
    for_each<bid>(events, [&](const bid& b) {
        std::int64_t& price = highest[begin_of(b.time, window)];
        price = std::max(price, b.price);
    });
    for_each<bid>(events, [&](const bid& b) {
        if (b.price == highest.at(begin_of(b.time, window))) {
            out.add(b.auction, b.price, b.bidder, b.time, size_of_extra(b));
        }
    });
}

void new_people_who_sell(events_of events, collector& out) {
    std::set<std::pair<timestamp, std::int64_t>> sellers;  // each with the begin of the window
    for_each<auction>(events, [&](const auction& a) { sellers.emplace(begin_of(a.time, window), a.seller); });
    for_each<person>(events, [&](const person& p) {
        const timestamp begin = begin_of(p.time, window);
        if (sellers.contains({begin, p.id})) {
            out.add(p.id, p.name(), begin);
        }
    });
}

void sessions_of_bidders(events_of events, collector& out) {
    std::map<std::int64_t, std::vector<timestamp>> times;  // of a bidder's bids
    for_each<bid>(events, [&](const bid& b) { times[b.bidder].push_back(b.time); });
    for (auto& [bidder, of] : times) {
        std::sort(of.begin(), of.end());
        std::size_t first = 0;
        for (std::size_t i = 1; i <= of.size(); ++i) {
            if (i == of.size() || of[i] - of[i - 1] >= gap) {
                out.add(bidder, static_cast<std::int64_t>(i - first), of[first], of[i - 1] + gap);
                first = i;
            }
        }
    }
}

void bids_with_a_side_input(events_of events, collector& out) {
    for_each<bid>(events, [&](const bid& b) {
        out.add(b.auction, b.bidder, b.price, b.time, std::to_string(b.auction % side_keys));
    });
}

}  // namespace

answer ask(query which, std::span<const event> events) {
    collector out;
    switch (which) {
    case query::q0: bids_as_they_are(events, out); break;
    case query::q1: bids_in_euros(events, out); break;
    case query::q2: bids_for_some_auctions(events, out); break;
    case query::q3: sellers_of_some_states(events, out); break;
    case query::q4: mean_price_of_categories(events, out); break;
    case query::q5: hot_auctions(events, out); break;
    case query::q7: highest_bids(events, out); break;
    case query::q8: new_people_who_sell(events, out); break;
    case query::q11: sessions_of_bidders(events, out); break;
    case query::q13: bids_with_a_side_input(events, out); break;
    }
    return std::move(out).result();
}

}  // namespace lab::nexmark
