#include "generator.hpp"

#include "draws.hpp"
#include "java_random.hpp"

#include <algorithm>
#include <iterator>

namespace lab::nexmark {
namespace {

constexpr std::int64_t first_auction_id = 1'000;
constexpr std::int64_t first_person_id = 1'000;
constexpr std::int64_t first_category = 10;
constexpr std::int32_t categories = 5;

// The first of each 50 events is a person and the next three are auctions.
constexpr std::int64_t people_of_50 = 1;
constexpr std::int64_t auctions_of_50 = 3;
constexpr std::int64_t cycle = 50;

// One of so many auctions or people is hot.
constexpr std::int64_t hot_of = 100;
// So many ids that nothing has yet are named, too: an auction may come behind its bids, and a person behind its
// auctions.
constexpr std::int64_t lead = 10;

// Numbers from 0, and not ids, of the last person and auction that events up to this one made.
constexpr std::int64_t last_person(std::int64_t event_id) noexcept {
    return event_id / cycle;
}

constexpr std::int64_t last_auction(std::int64_t event_id) noexcept {
    const std::int64_t place = std::min(event_id % cycle - people_of_50, auctions_of_50 - 1);
    return event_id / cycle * auctions_of_50 + place;
}

constexpr std::int64_t hot_one(std::int64_t last) noexcept {
    return last / hot_of * hot_of;
}

std::int64_t draw_below(java_random& random, std::int64_t n) noexcept {
    return random.next_int(static_cast<std::int32_t>(n));
}

std::int64_t draw_person(java_random& random, std::int64_t event_id, std::int32_t active) noexcept {
    const std::int64_t people = last_person(event_id) + 1;
    const std::int64_t choice = std::min<std::int64_t>(people, active);
    return people - choice + draw_below(random, choice + lead);
}

std::int64_t draw_auction(java_random& random, std::int64_t event_id, std::int32_t in_flight) noexcept {
    const std::int64_t last = last_auction(event_id);
    const std::int64_t first = std::max<std::int64_t>(last - in_flight, 0);
    return first + draw_below(random, last - first + 1 + lead);
}

person make_person(const generator& from, std::int64_t event_id, timestamp time) {
    java_random random{event_id};
    person p{};
    p.id = first_person_id + last_person(event_id);
    p.time = time;
    const std::int32_t first_name = random.next_int(static_cast<std::int32_t>(std::size(first_names)));
    const std::int32_t last_name = random.next_int(static_cast<std::int32_t>(std::size(last_names)));
    p.name_index = static_cast<std::uint8_t>(first_name * static_cast<std::int32_t>(std::size(last_names)) + last_name);
    p.address_state = random.state();
    // The email's two parts with "@" and ".com", and four groups of four digits.
    std::size_t address_size = draw_text_size(random, 7) + 1;
    address_size += draw_text_size(random, 5) + 4;
    for (int group = 0; group < 4; ++group) {
        (void)random.next_int(10'000);
    }
    p.address_size = static_cast<std::uint16_t>(address_size + 4 * 4 + 3);
    p.city_index = static_cast<std::uint8_t>(random.next_int(static_cast<std::int32_t>(std::size(cities))));
    p.state_index = static_cast<std::uint8_t>(random.next_int(static_cast<std::int32_t>(std::size(states))));
    p.extra = draw_filler(random, size_of(p), static_cast<std::size_t>(from.mean_person_size));
    return p;
}

auction make_auction(const generator& from, std::int64_t event_id, timestamp time, timestamp horizon) {
    java_random random{event_id};
    auction a{};
    a.id = first_auction_id + last_auction(event_id);
    a.time = time;
    const bool is_hot = random.next_int(from.hot_seller_ratio) > 0;
    a.seller =
        first_person_id + (is_hot ? hot_one(last_person(event_id)) : draw_person(random, event_id, from.active_people));
    a.category = static_cast<std::uint64_t>(first_category + random.next_int(categories));
    a.initial_bid = static_cast<std::uint64_t>(draw_price(random));
    a.lasts = static_cast<std::uint64_t>(1 + draw_below(random, std::max<std::int64_t>(2 * (horizon - time), 1)));
    a.item_state = random.state();
    a.mean_size = static_cast<std::uint16_t>(from.mean_auction_size);
    return a;
}

bid make_bid(const generator& from, std::int64_t event_id, timestamp time) {
    java_random random{event_id};
    bid b{};
    const bool is_hot = random.next_int(from.hot_auction_ratio) > 0;
    b.auction = first_auction_id +
                (is_hot ? hot_one(last_auction(event_id)) : draw_auction(random, event_id, from.auctions_in_flight));
    // The second of a hundred people, so that it is no hot seller.
    const bool has_hot_bidder = random.next_int(from.hot_bidder_ratio) > 0;
    b.bidder = first_person_id + (has_hot_bidder ? hot_one(last_person(event_id)) + 1
                                                 : draw_person(random, event_id, from.active_people));
    b.price = draw_price(random);
    b.time = time;
    b.extra = draw_filler(random, 4 * 8, static_cast<std::size_t>(from.mean_bid_size));
    return b;
}

}  // namespace

event generator::make(std::int64_t n) const {
    const std::int64_t number = adjusted(n);
    const std::int64_t event_id = first_event_id + number;
    const timestamp time = time_of_number(number);
    const std::int64_t place = event_id % cycle;
    if (place < people_of_50) {
        return make_person(*this, event_id, time);
    }
    if (place < people_of_50 + auctions_of_50) {
        // When so many auctions will have been opened that this one is no longer in flight.
        const std::int64_t ahead = std::int64_t{auctions_in_flight} * cycle / auctions_of_50;
        return make_auction(*this, event_id, time, time_of_number(number + ahead));
    }
    return make_bid(*this, event_id, time);
}

timestamp generator::watermark(std::int64_t n) const noexcept {
    return time_of_number(n / out_of_order_group * out_of_order_group);
}

std::int64_t generator::adjusted(std::int64_t n) const noexcept {
    // A prime, so that each number of a group comes once.
    constexpr std::int64_t stride = 953;
    return n / out_of_order_group * out_of_order_group + n * stride % out_of_order_group;
}

timestamp generator::time_of_number(std::int64_t n) const noexcept {
    constexpr std::int64_t us_of_a_second = 1'000'000;
    const std::int64_t delay_us = (us_of_a_second + events_per_second / 2) / events_per_second;
    return base_time + n * delay_us / 1'000;
}

std::vector<event> make_events(const generator& from, std::int64_t count) {
    std::vector<event> events;
    events.reserve(static_cast<std::size_t>(count));
    for (std::int64_t n = 0; n < count; ++n) {
        events.push_back(from.make(n));
    }
    return events;
}

}  // namespace lab::nexmark
