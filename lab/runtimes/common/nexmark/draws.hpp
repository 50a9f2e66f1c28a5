// How the generator draws texts and prices: the part that events share with it.
#pragma once

#include "event.hpp"
#include "java_random.hpp"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>

namespace lab::nexmark {

inline constexpr std::string_view first_names[]{"Peter", "Paul",  "Luke",  "John",   "Saul",  "Vicky",
                                                "Kate",  "Julie", "Sarah", "Deiter", "Walter"};
inline constexpr std::string_view last_names[]{"Shultz", "Abrams", "Spencer", "White", "Bartels",
                                               "Walton", "Smith",  "Jones",   "Noris"};
inline constexpr std::string_view cities[]{"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland",
                                           "Bend",    "Redmond",     "Seattle",       "Kent",  "Cheyenne"};
inline constexpr std::string_view states[]{"AZ", "CA", "ID", "OR", "WA", "WY"};

// From 1 to 10 000 000 in cents, each power of ten as likely as the next.
inline std::int64_t draw_price(java_random& random) noexcept {
    const double price = std::pow(10.0, random.next_double() * 6.0) * 100.0;
    return static_cast<std::int64_t>(price + 0.5);
}

// A text of 3 to most - 1 letters and blanks, of which those at either end are left out, a character at a time to
// `put`. Returns nothing: the draws go on behind it.
template <typename Put>
void draw_text(java_random& random, std::int32_t most, Put put) {
    constexpr std::int32_t least = 3;
    std::int32_t blanks = 0;
    bool begun = false;
    for (std::int32_t left = least + random.next_int(most - least); left > 0; --left) {
        if (random.next_int(13) == 0) {
            ++blanks;
            continue;
        }
        const char letter = static_cast<char>('a' + random.next_int(26));
        for (; begun && blanks > 0; --blanks) {
            put(' ');
        }
        blanks = 0;
        begun = true;
        put(letter);
    }
}

inline std::string draw_text(java_random& random, std::int32_t most) {
    std::string text;
    draw_text(random, most, [&text](char c) { text += c; });
    return text;
}

inline std::size_t draw_text_size(java_random& random, std::int32_t most) {
    std::size_t size = 0;
    draw_text(random, most, [&size](char) { ++size; });
    return size;
}

// The text that fills `size` bytes up to `mean` on average, give or take a fifth.
inline filler draw_filler(java_random& random, std::size_t size, std::size_t mean) {
    std::int32_t length = 0;
    if (size <= mean) {
        const auto missing = static_cast<std::int32_t>(mean - size);
        const auto spread = static_cast<std::int32_t>(missing * 0.2 + 0.5);
        length = missing - spread + (spread == 0 ? 0 : random.next_int(2 * spread));
    }
    return {.state = random.state(), .size = static_cast<std::uint16_t>(length)};
}

}  // namespace lab::nexmark
