// The events of Nexmark: people, the auctions that they open, and bids. An event is small and owns no memory. The texts
// that no query of ours looks at are made when they are asked for, from the place in the draws where they begin; how
// long they are is known before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace lab::nexmark {

// Milliseconds since 1970.
using timestamp = std::int64_t;

// The text that fills an event up to its size: letters without a meaning.
struct filler {
    std::uint64_t state : 48;  // of the java_random that draws it
    std::uint64_t size : 16;

    [[nodiscard]] std::string text() const;
};

struct person {
    std::int64_t id;
    timestamp time;
    std::uint8_t name_index;
    std::uint8_t city_index;
    std::uint8_t state_index;
    std::uint16_t address_size;   // of email and credit card together
    std::uint64_t address_state;  // of the java_random that draws them
    filler extra;

    struct address {
        std::string email;
        std::string credit_card;
    };

    [[nodiscard]] std::string_view name() const noexcept;
    [[nodiscard]] std::string_view city() const noexcept;
    [[nodiscard]] std::string_view state() const noexcept;
    [[nodiscard]] address contact() const;
};

struct auction {
    std::int64_t id;
    std::int64_t seller;
    timestamp time;
    std::uint64_t category : 8;
    std::uint64_t initial_bid : 27;  // in cents, as all prices; at most 10^8
    std::uint64_t lasts : 29;        // milliseconds
    std::uint64_t item_state : 48;   // of the java_random that draws the contents of `item`
    std::uint64_t mean_size : 16;    // what the filler's size depends on

    struct item {
        std::string name;
        std::string description;
        std::int64_t reserve;
        filler extra;
    };

    [[nodiscard]] timestamp expires() const noexcept { return time + static_cast<timestamp>(lasts); }
    // A tenth of a microsecond or more: it draws two texts.
    [[nodiscard]] item details() const;
};

struct bid {
    std::int64_t auction;
    std::int64_t bidder;
    std::int64_t price;
    timestamp time;
    filler extra;
};

using event = std::variant<person, auction, bid>;
static_assert(sizeof(event) == 48);  // how many are read from memory is most of what some queries take

[[nodiscard]] timestamp time_of(const event& e) noexcept;

// The size of its fields: 8 for a number, and the length of a text. A generator's mean sizes are means of this.
[[nodiscard]] std::size_t size_of(const event& e);

}  // namespace lab::nexmark
