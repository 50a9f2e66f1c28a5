#include "line.hpp"

#include "draws.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <stdexcept>
#include <system_error>

namespace lab::nexmark {
namespace {

void append(std::string& line, std::string_view field) {
    line.append(",").append(field);
}
void append(std::string& line, std::int64_t field) {
    append(line, std::to_string(field));
}

template <typename... Fields>
std::string joined(std::string_view kind, const Fields&... fields) {
    std::string line{kind};
    (append(line, fields), ...);
    return line;
}

std::string line_of_kind(const person& p) {
    const person::address address = p.contact();
    return joined("P", p.id, p.time, p.name(), address.email, address.credit_card, p.city(), p.state(), p.extra.text());
}
std::string line_of_kind(const auction& a) {
    const auction::item item = a.details();
    return joined("A", a.id, a.time, item.name, item.description, a.initial_bid, item.reserve, a.expires(), a.seller,
                  a.category, item.extra.text());
}
std::string line_of_kind(const bid& b) {
    return joined("B", b.auction, b.bidder, b.price, b.time, b.extra.text());
}

[[noreturn]] void refuse() {
    throw std::invalid_argument{"it is no line of a Nexmark event"};
}

// Goes through the fields of a line.
class fields {
public:
    explicit fields(std::string_view line) : rest_{line} {}

    std::string_view text() {
        const std::size_t end = rest_.find(',');
        if (end == std::string_view::npos) {
            refuse();
        }
        const std::string_view field = rest_.substr(0, end);
        rest_.remove_prefix(end + 1);
        return field;
    }
    std::int64_t number() {
        std::int64_t value = 0;
        const char* const end = rest_.data() + rest_.size();
        const auto [behind, problem] = std::from_chars(rest_.data(), end, value);
        if (problem != std::errc{} || behind == end || *behind != ',') {
            refuse();
        }
        rest_.remove_prefix(static_cast<std::size_t>(behind - rest_.data()) + 1);
        return value;
    }
    // The last one.
    [[nodiscard]] filler extra() const {
        if (rest_.size() > UINT16_MAX || rest_.find(',') != std::string_view::npos) {
            refuse();
        }
        return {.state = 0, .size = static_cast<std::uint16_t>(rest_.size())};
    }

private:
    std::string_view rest_;
};

template <std::size_t Count>
std::uint8_t index_in(const std::string_view (&all)[Count], std::string_view text) {
    const auto* const found = std::ranges::find(all, text);
    if (found == std::end(all)) {
        refuse();
    }
    return static_cast<std::uint8_t>(found - std::begin(all));
}

// The place of a first and a last name.
std::uint8_t name_index_of(std::string_view name) {
    const std::size_t blank = std::min(name.find(' '), name.size() - 1);
    return static_cast<std::uint8_t>(index_in(first_names, name.substr(0, blank)) * std::size(last_names) +
                                     index_in(last_names, name.substr(blank + 1)));
}

person person_of(fields from) {
    person p{};
    p.id = from.number();
    p.time = from.number();
    p.name_index = name_index_of(from.text());
    (void)from.text();  // email
    (void)from.text();  // credit card
    p.city_index = index_in(cities, from.text());
    p.state_index = index_in(states, from.text());
    p.extra = from.extra();
    return p;
}

auction auction_of(fields from) {
    auction a{};
    a.id = from.number();
    a.time = from.number();
    (void)from.text();  // name of the item
    (void)from.text();  // its description
    a.initial_bid = static_cast<std::uint64_t>(from.number());
    (void)from.number();  // reserve
    a.lasts = static_cast<std::uint64_t>(from.number() - a.time);
    a.seller = from.number();
    a.category = static_cast<std::uint64_t>(from.number());
    (void)from.extra();
    return a;
}

bid bid_of(fields from) {
    bid b{};
    b.auction = from.number();
    b.bidder = from.number();
    b.price = from.number();
    b.time = from.number();
    b.extra = from.extra();
    return b;
}

}  // namespace

std::string line_of(const event& e) {
    return std::visit([](const auto& kind) { return line_of_kind(kind); }, e);
}

event event_of(std::string_view line) {
    fields all{line};
    const std::string_view kind = all.text();
    if (kind == "B") {
        return bid_of(all);
    }
    if (kind == "A") {
        return auction_of(all);
    }
    if (kind == "P") {
        return person_of(all);
    }
    refuse();
}

}  // namespace lab::nexmark
