// Names of functions and types for messages, made of what the compilers call them.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>

namespace coflux::detail {

/// `bank::transfer` of `coflux::fork<void> bank::transfer(auto &&, int) [env:auto = …]`, as clang writes it, and of
/// `void bank::transfer(bank::transfer<…>(…)::_ZN4bank8transferI….Frame*)`, as g++ does in the body of a coroutine. A
/// lambda is `main()::lambda`. Allocates nothing: it is for checks that fail.
class readable_name {
public:
    explicit readable_name(std::string_view function) noexcept;

    [[nodiscard]] const char* c_str() const noexcept { return text_.data(); }

private:
    void add(std::string_view piece) noexcept;

    std::array<char, 256> text_{};  // what does not fit is cut off
    std::size_t size_ = 0;
};

/// `coflux::noop_executor` of what executor_key::name holds: `… [E = coflux::noop_executor]`, or `… [with E = …]`.
[[nodiscard]] std::string_view type_in(std::string_view name) noexcept;

}  // namespace coflux::detail
