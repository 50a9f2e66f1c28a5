#include <nexmark/generator.hpp>
#include <nexmark/loop.hpp>
#include <nexmark/model.hpp>

#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>
#include <vector>

namespace {

namespace nexmark = lab::nexmark;
using nexmark::timestamp;

void expect_the_model_s_answers(const std::vector<nexmark::event>& events, const std::string& what) {
    for (const nexmark::named_query& each : nexmark::queries) {
        const nexmark::answer expected = nexmark::ask(each.which, events);
        const nexmark::row_sum found = nexmark::run_loop(each.which, events);
        EXPECT_EQ(found.rows(), expected.rows.size()) << each.name << ' ' << what;
        EXPECT_EQ(found.value(), expected.checksum) << each.name << ' ' << what;
    }
}

// A hundred seconds, as 1 000 000 events of the usual rate.
TEST(nexmark_loop, answers_as_the_model_does) {
    expect_the_model_s_answers(nexmark::make_events({.events_per_second = 1'000}, 100'000), "of the generator");
}

TEST(nexmark_loop, answers_nothing_to_nothing) {
    expect_the_model_s_answers({}, "of none");
}

// Events that the generator never makes: silences, times at the ends of windows and sessions, equal prices and counts,
// bids before their auction, and sellers who come late or never.
std::vector<nexmark::event> wild_events(std::uint32_t seed) {
    std::mt19937 random{seed};
    const auto below = [&random](std::uint32_t n) { return static_cast<std::int64_t>(random() % n); };
    constexpr timestamp gaps[]{0, 0, 0, 1, 1, 500, 1'999, 2'000, 2'001, 9'999, 10'000, 10'001, 60'000};
    const std::uint32_t likely = 3 + static_cast<std::uint32_t>(below(11));
    std::vector<nexmark::event> events;
    std::int64_t next_person = 0;
    std::int64_t next_auction = 0;
    timestamp time = below(30) * 1'000;
    for (std::int64_t count = below(120); count > 0; --count) {
        time += gaps[below(likely)];
        switch (below(4)) {
        case 0:
            events.push_back(nexmark::person{.id = next_person++,
                                             .time = time,
                                             .name_index = static_cast<std::uint8_t>(below(99)),
                                             .city_index = static_cast<std::uint8_t>(below(10)),
                                             .state_index = static_cast<std::uint8_t>(below(6)),
                                             .address_size = 0,
                                             .address_state = 0,
                                             .extra = {.state = 0, .size = 0}});
            break;
        case 1:
            events.push_back(nexmark::auction{.id = next_auction++,
                                              .seller = below(static_cast<std::uint32_t>(next_person + 3)),
                                              .time = time,
                                              .category = static_cast<std::uint64_t>(10 + below(2)),
                                              .initial_bid = 1,
                                              .lasts = static_cast<std::uint64_t>(1 + gaps[below(13)]),
                                              .item_state = 0,
                                              .mean_size = 500});
            break;
        default:
            events.push_back(nexmark::bid{.auction = below(static_cast<std::uint32_t>(next_auction + 2)),
                                          .bidder = below(4),
                                          .price = 1 + below(3),
                                          .time = time,
                                          .extra = {.state = 0, .size = static_cast<std::uint64_t>(below(3))}});
        }
    }
    return events;
}

TEST(nexmark_loop, answers_as_the_model_does_what_the_generator_never_makes) {
    for (std::uint32_t seed = 0; seed < 500; ++seed) {
        expect_the_model_s_answers(wild_events(seed), "of seed " + std::to_string(seed));
        ASSERT_FALSE(HasFailure()) << seed;
    }
}

}  // namespace
