// Nexmark's generator, as Apache Beam's: an event follows from its number alone, so it may be made anywhere, in any
// order and again.
//
// Source: Apache Beam, org.apache.beam.sdk.nexmark.sources.generator (GeneratorConfig, Generator and model), its
// definitions and constants. The rate is constant, where Beam's may follow a curve. nexmark/nexmark draws from a
// generator without a seed, so its events are other ones in each run; its bids have a channel and a URL, too.
#pragma once

#include "event.hpp"

#include <cstdint>
#include <vector>

namespace lab::nexmark {

struct generator {
    timestamp base_time = 1'436'918'400'000;  // 2015-07-15
    // The id of event 0. The id is the seed of an event's draws: generators with ids of their own make other events.
    std::int64_t first_event_id = 0;
    std::int64_t events_per_second = 10'000;
    // So many events after one another are in an order of their own, and their times with them. 1: in order of time.
    std::int64_t out_of_order_group = 1;

    std::int32_t mean_person_size = 200;
    std::int32_t mean_auction_size = 500;
    std::int32_t mean_bid_size = 100;

    // All but one of so many bids, or auctions, are of hot ones.
    std::int32_t hot_auction_ratio = 2;
    std::int32_t hot_bidder_ratio = 4;
    std::int32_t hot_seller_ratio = 4;
    std::int32_t auctions_in_flight = 100;
    std::int32_t active_people = 1'000;

    // The event that is made as number `n`, from 0.
    [[nodiscard]] event make(std::int64_t n) const;
    // No event from number `n` on is earlier than this.
    [[nodiscard]] timestamp watermark(std::int64_t n) const noexcept;

private:
    [[nodiscard]] std::int64_t adjusted(std::int64_t n) const noexcept;
    [[nodiscard]] timestamp time_of_number(std::int64_t n) const noexcept;
};

// The events 0 to count - 1.
[[nodiscard]] std::vector<event> make_events(const generator& from, std::int64_t count);

}  // namespace lab::nexmark
