// Coroutines that are left when something that they need ends: for checks that fail, and private to the library.
#pragma once

#include <array>
#include <coroutine>
#include <cstddef>

#include <coflux/core/environment.hpp>

namespace coflux::detail {

/// `name at file:line` of a coroutine, or a text for one that is not known.
class location_text {
public:
    explicit location_text(const environment& e) noexcept;
    explicit location_text(const char* text) noexcept;
    /// Pre: a coroutine of Coflux.
    explicit location_text(std::coroutine_handle<> h) noexcept;

    [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

private:
    void write(const frame_control& c) noexcept;

    std::array<char, 512> text_{};  // what does not fit is cut off
};

/// A list of them on stderr, for the message of a check that fails.
class left_behind {
public:
    /// Prints the place of `e`, what it `does` there, and the environments above it.
    void add(const environment& e, const char* does) noexcept;
    [[nodiscard]] std::size_t count() const noexcept { return count_; }
    /// The text of the environment that was added first.
    [[nodiscard]] const char* first() const noexcept { return first_.data(); }

private:
    static constexpr std::size_t most_named = 32;
    static constexpr std::size_t most_above = 8;

    std::size_t count_ = 0;
    std::array<char, 640> first_{};
};

}  // namespace coflux::detail
