#include "event.hpp"

#include "draws.hpp"
#include "java_random.hpp"

#include <array>
#include <iterator>

namespace lab::nexmark {
namespace {

const auto full_names = [] {
    std::array<std::string, std::size(first_names) * std::size(last_names)> all;
    auto next = all.begin();
    for (const std::string_view first : first_names) {
        for (const std::string_view last : last_names) {
            *next++ = std::string{first}.append(" ").append(last);
        }
    }
    return all;
}();

template <typename... Cases>
struct overloaded : Cases... {
    using Cases::operator()...;
};

}  // namespace

std::string filler::text() const {
    std::string letters;
    java_random random = java_random::at(state);
    std::int32_t drawn = 0;
    for (std::size_t i = 0; i < size; ++i) {
        // Six letters of a draw. One of a negative draw lies before 'a': H to Z, [ to `.
        if (i % 6 == 0) {
            drawn = random.next_int();
        }
        letters += static_cast<char>('a' + drawn % 26);
        drawn /= 26;
    }
    return letters;
}

std::string_view person::name() const noexcept {
    return full_names[name_index];
}

std::string_view person::city() const noexcept {
    return cities[city_index];
}

std::string_view person::state() const noexcept {
    return states[state_index];
}

person::address person::contact() const {
    java_random random = java_random::at(address_state);
    address drawn;
    drawn.email = draw_text(random, 7) + '@';
    drawn.email += draw_text(random, 5) + ".com";
    for (int group = 0; group < 4; ++group) {
        const std::string digits = std::to_string(random.next_int(10'000));
        drawn.credit_card.append(group == 0 ? "" : " ").append(4 - digits.size(), '0').append(digits);
    }
    return drawn;
}

auction::item auction::details() const {
    java_random random = java_random::at(item_state);
    item drawn;
    drawn.name = draw_text(random, 20);
    drawn.description = draw_text(random, 100);
    drawn.reserve = static_cast<std::int64_t>(initial_bid) + draw_price(random);
    drawn.extra = draw_filler(random, 6 * 8 + drawn.name.size() + drawn.description.size(), mean_size);
    return drawn;
}

timestamp time_of(const event& e) noexcept {
    return std::visit([](const auto& each) { return each.time; }, e);
}

std::size_t size_of(const event& e) {
    return std::visit(overloaded{[](const person& p) {
                                     return 8 + p.name().size() + p.address_size + p.city().size() + p.state().size() +
                                            std::size_t{p.extra.size};
                                 },
                                 [](const auction& a) {
                                     const auction::item item = a.details();
                                     return 6 * 8 + item.name.size() + item.description.size() +
                                            std::size_t{item.extra.size};
                                 },
                                 [](const bid& b) { return 4 * 8 + std::size_t{b.extra.size}; }},
                      e);
}

}  // namespace lab::nexmark
