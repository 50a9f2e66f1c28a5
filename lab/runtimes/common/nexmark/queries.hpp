// The questions of Nexmark's queries, to the millisecond: docs/bench/nexmark.md says it in words.
#pragma once

#include "event.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

namespace lab::nexmark {

enum class query { q0, q1, q2, q3, q4, q5, q7, q8, q11, q13 };

struct named_query {
    std::string_view name;
    query which;
};

inline constexpr std::array<named_query, 10> queries{{{"q0", query::q0},
                                                      {"q1", query::q1},
                                                      {"q2", query::q2},
                                                      {"q3", query::q3},
                                                      {"q4", query::q4},
                                                      {"q5", query::q5},
                                                      {"q7", query::q7},
                                                      {"q8", query::q8},
                                                      {"q11", query::q11},
                                                      {"q13", query::q13}}};

// None: there is no such query here.
[[nodiscard]] constexpr std::optional<query> find_query(std::string_view name) noexcept {
    for (const named_query& each : queries) {
        if (each.name == name) {
            return each.which;
        }
    }
    return std::nullopt;
}

// q1: a price in thousandths of a euro, of one in cents.
inline constexpr std::int64_t euro_thousandths_of_a_dollar = 908;

// q2: the auctions whose number is a multiple.
inline constexpr std::int64_t every_auction = 123;

// q3: what is sold, and where from.
inline constexpr std::int64_t wanted_category = 10;
[[nodiscard]] constexpr bool is_wanted_state(std::string_view state) noexcept {
    return state == "OR" || state == "ID" || state == "CA";
}

// q5, q7 and q8: a window has its begin and not its end. q5 has one at each step, the others one after the other.
inline constexpr timestamp window = 10'000;
inline constexpr timestamp step = 2'000;

// q11: a bid that comes so long after the bidder's last one, or later, begins a session.
inline constexpr timestamp gap = 10'000;

// q13: so many keys has the side input. The value of a key is the key, as a text.
inline constexpr std::int64_t side_keys = 10'000;

}  // namespace lab::nexmark
