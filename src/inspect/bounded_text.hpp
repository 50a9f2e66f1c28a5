// Text in a buffer of fixed size: what does not fit is taken back whole.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace coflux::detail::inspection {

class bounded_text {
public:
    bounded_text(char* begin, std::size_t capacity) noexcept : begin_(begin), capacity_(capacity) {}

    [[nodiscard]] std::string_view view() const noexcept { return {begin_, size_}; }

    bounded_text& add(std::string_view text) noexcept {
        if (text.size() > capacity_ - size_) {
            full_ = true;
        } else {
            std::memcpy(begin_ + size_, text.data(), text.size());
            size_ += text.size();
        }
        return *this;
    }
    bounded_text& add(std::uint64_t number) noexcept { return add_digits(number, 10); }
    bounded_text& add_address(std::uint64_t address) noexcept { return add("0x").add_digits(address, 16); }
    bounded_text& add_spaces(std::size_t n) noexcept {
        for (; n != 0; --n) add(" ");
        return *this;
    }
    /// In quotation marks, as JSON has it; what is no ASCII is UTF-8 already.
    bounded_text& add_quoted(std::string_view text) noexcept {
        add("\"");
        for (const char c : text) {
            if (c == '"' || c == '\\') add("\\");
            if (static_cast<unsigned char>(c) >= ' ') add({&c, 1});
        }
        return add("\"");
    }

    /// Calls `f()`, which adds; false, and as it was before, if not all of that fits above `reserve`.
    template <typename F>
    bool try_to_add(std::size_t reserve, F f) noexcept {
        const std::size_t before = size_;
        f();
        if (!full_ && capacity_ - size_ >= reserve) return true;
        full_ = false;
        size_ = before;
        return false;
    }

private:
    bounded_text& add_digits(std::uint64_t number, unsigned base) noexcept {
        char digits[24];
        std::size_t at = sizeof digits;
        do {
            digits[--at] = "0123456789abcdef"[number % base];
            number /= base;
        } while (number != 0);
        return add({digits + at, sizeof digits - at});
    }

    char* begin_;
    std::size_t capacity_;
    std::size_t size_ = 0;
    bool full_ = false;
};

}  // namespace coflux::detail::inspection
