// Small cases, each computed by hand.
#include <nexmark/model.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace nexmark = lab::nexmark;
using nexmark::query;
using nexmark::timestamp;
using rows = std::vector<std::string>;

nexmark::bid a_bid(std::int64_t auction, std::int64_t bidder, std::int64_t price, timestamp time) {
    return {.auction = auction, .bidder = bidder, .price = price, .time = time, .extra = {.state = 0, .size = 7}};
}

nexmark::auction an_auction(std::int64_t id, std::int64_t seller, std::int64_t category, timestamp time,
                            timestamp expires = 0) {
    return {.id = id,
            .seller = seller,
            .time = time,
            .category = static_cast<std::uint64_t>(category),
            .initial_bid = 1,
            .lasts = static_cast<std::uint64_t>(std::max<timestamp>(expires - time, 0)),
            .item_state = 0,
            .mean_size = 500};
}

// The first city and name; states are AZ, CA, ID, OR, WA, WY.
nexmark::person a_person(std::int64_t id, std::uint8_t state, timestamp time) {
    return {.id = id,
            .time = time,
            .name_index = 0,
            .city_index = 0,
            .state_index = state,
            .address_size = 0,
            .address_state = 0,
            .extra = {.state = 0, .size = 0}};
}

rows answer_of(query which, const std::vector<nexmark::event>& events) {
    return nexmark::ask(which, events).rows;
}

TEST(nexmark_model, q0_gives_each_bid_and_nothing_else) {
    EXPECT_EQ(
        answer_of(query::q0, {a_person(1, 0, 0), an_auction(5, 1, 10, 0), a_bid(5, 2, 30, 4), a_bid(5, 2, 30, 4)}),
        (rows{"5,2,30,4,7", "5,2,30,4,7"}));
    EXPECT_EQ(answer_of(query::q0, {}), rows{});
}

TEST(nexmark_model, q1_gives_prices_in_thousandths_of_a_euro) {
    EXPECT_EQ(answer_of(query::q1, {a_bid(5, 2, 30, 4)}), (rows{"5,2,27240,4,7"}));
}

TEST(nexmark_model, q2_gives_the_bids_of_each_123rd_auction) {
    EXPECT_EQ(
        answer_of(query::q2, {a_bid(122, 1, 10, 0), a_bid(123, 1, 11, 0), a_bid(124, 1, 12, 0), a_bid(246, 1, 13, 0)}),
        (rows{"123,11", "246,13"}));
}

TEST(nexmark_model, q3_gives_auctions_of_category_10_by_sellers_of_three_states_whoever_comes_first) {
    EXPECT_EQ(answer_of(query::q3, {a_person(1, 0, 0), a_person(2, 1, 0), a_person(3, 2, 0), a_person(4, 3, 0),
                                    a_person(5, 4, 0), a_person(6, 5, 0), an_auction(11, 1, 10, 0),
                                    an_auction(12, 2, 10, 0), an_auction(13, 3, 10, 0), an_auction(14, 4, 10, 0),
                                    an_auction(15, 5, 10, 0), an_auction(16, 6, 10, 0)}),
              (rows{"Peter Shultz,Phoenix,CA,12", "Peter Shultz,Phoenix,ID,13", "Peter Shultz,Phoenix,OR,14"}));
    // One of another category; one whose seller comes later, by a day; one whose seller never comes.
    EXPECT_EQ(answer_of(query::q3, {an_auction(11, 2, 11, 0), an_auction(12, 2, 10, 0), an_auction(13, 3, 10, 0),
                                    a_person(2, 1, 86'400'000)}),
              (rows{"Peter Shultz,Phoenix,CA,12"}));
}

TEST(nexmark_model, q4_gives_the_mean_of_the_highest_bids_that_came_in_time) {
    const nexmark::event auction = an_auction(5, 1, 10, 100, 200);
    // A bid at either end counts, and one a millisecond beyond does not. The order does not matter.
    EXPECT_EQ(answer_of(query::q4, {a_bid(5, 1, 900, 99), auction, a_bid(5, 1, 30, 150), a_bid(5, 1, 901, 201)}),
              (rows{"10,30"}));
    EXPECT_EQ(answer_of(query::q4, {a_bid(5, 1, 40, 100), auction, a_bid(5, 1, 30, 150)}), (rows{"10,40"}));
    EXPECT_EQ(answer_of(query::q4, {auction, a_bid(5, 1, 30, 150), a_bid(5, 1, 50, 200)}), (rows{"10,50"}));
    // An auction without a bid in time is not in the mean; the mean is rounded down; a category has its own.
    EXPECT_EQ(answer_of(query::q4, {auction, an_auction(6, 1, 10, 100, 200), an_auction(7, 1, 10, 100, 200),
                                    an_auction(8, 1, 11, 100, 200), a_bid(5, 1, 30, 150), a_bid(6, 1, 33, 150),
                                    a_bid(8, 1, 70, 150), a_bid(9, 1, 80, 150)}),
              (rows{"10,31", "11,70"}));
}

TEST(nexmark_model, q5_gives_the_auctions_with_the_most_bids_of_each_window_and_all_that_tie) {
    // Each of the windows that end at 2, 4, ..., 10 s has this bid, and the one that ends at 12 s has not.
    EXPECT_EQ(answer_of(query::q5, {a_bid(5, 1, 1, 0)}),
              (rows{"10000,5,1", "2000,5,1", "4000,5,1", "6000,5,1", "8000,5,1"}));
    // 1 999 ms is in the window before 2 s; 2 000 ms is not.
    EXPECT_EQ(answer_of(query::q5, {a_bid(5, 1, 1, 1'999), a_bid(6, 1, 1, 2'000), a_bid(6, 1, 1, 11'999)}),
              (rows{"10000,5,1", "10000,6,1", "12000,6,2", "14000,6,1", "16000,6,1", "18000,6,1", "2000,5,1",
                    "20000,6,1", "4000,5,1", "4000,6,1", "6000,5,1", "6000,6,1", "8000,5,1", "8000,6,1"}));
}

TEST(nexmark_model, q7_gives_the_highest_bids_of_each_ten_seconds_and_all_that_tie) {
    EXPECT_EQ(answer_of(query::q7, {a_bid(5, 1, 30, 0), a_bid(6, 2, 40, 1), a_bid(7, 3, 40, 9'999),
                                    a_bid(8, 4, 35, 10'000), a_bid(9, 5, 40, 20'000)}),
              // The last one is no highest bid of the window before it, although its price is.
              (rows{"6,40,2,1,7", "7,40,3,9999,7", "8,35,4,10000,7", "9,40,5,20000,7"}));
}

TEST(nexmark_model, q8_gives_people_who_sell_in_the_ten_seconds_in_which_they_come) {
    EXPECT_EQ(answer_of(query::q8, {an_auction(11, 1, 10, 10'000), an_auction(12, 1, 10, 12'000),
                                    a_person(1, 0, 19'999), a_person(2, 0, 10'000), an_auction(13, 2, 10, 20'000),
                                    an_auction(14, 3, 10, 9'999), a_person(3, 0, 10'000)}),
              (rows{"1,Peter Shultz,10000"}));
}

TEST(nexmark_model, q11_begins_a_session_with_a_bid_that_comes_ten_seconds_after_the_last) {
    EXPECT_EQ(
        answer_of(query::q11, {a_bid(5, 1, 1, 0), a_bid(5, 1, 1, 9'999), a_bid(5, 1, 1, 19'998), a_bid(5, 2, 1, 5)}),
        (rows{"1,3,0,29998", "2,1,5,10005"}));
    EXPECT_EQ(answer_of(query::q11, {a_bid(5, 1, 1, 0), a_bid(6, 1, 1, 10'000)}),
              (rows{"1,1,0,10000", "1,1,10000,20000"}));
    // In any order.
    EXPECT_EQ(answer_of(query::q11, {a_bid(5, 1, 1, 19'998), a_bid(5, 1, 1, 0), a_bid(5, 1, 1, 9'999)}),
              (rows{"1,3,0,29998"}));
}

TEST(nexmark_model, q13_gives_each_bid_with_the_value_of_its_auction_modulo_10_000) {
    EXPECT_EQ(answer_of(query::q13, {a_bid(9'999, 1, 30, 4), a_bid(10'000, 2, 31, 5), a_bid(61'007, 3, 32, 6)}),
              (rows{"10000,2,31,5,0", "61007,3,32,6,1007", "9999,1,30,4,9999"}));
}

TEST(nexmark_model, a_checksum_counts_each_row_and_not_their_order) {
    const std::vector<nexmark::event> one{a_bid(5, 2, 30, 4), a_bid(6, 2, 30, 4)};
    const std::vector<nexmark::event> other_way_round{one[1], one[0]};
    const std::vector<nexmark::event> twice{one[0], one[1], one[1]};
    const std::vector<nexmark::event> swapped{a_bid(2, 5, 30, 4), a_bid(6, 2, 30, 4)};
    const auto checksum = [](const std::vector<nexmark::event>& events) {
        return nexmark::ask(query::q0, events).checksum;
    };
    EXPECT_EQ(checksum(one), checksum(other_way_round));
    EXPECT_NE(checksum(one), checksum(twice));
    EXPECT_NE(checksum(one), checksum(swapped));
    EXPECT_EQ(checksum({}), 0U);
}

TEST(nexmark_model, a_query_has_a_name) {
    for (const nexmark::named_query& each : nexmark::queries) {
        EXPECT_EQ(nexmark::find_query(each.name), each.which);
    }
    EXPECT_EQ(nexmark::find_query("q6"), std::nullopt);
}

}  // namespace
