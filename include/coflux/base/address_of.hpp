// std::addressof without <memory>, which is one of the dearest headers to parse.
#pragma once

namespace coflux::detail {

/// The address of `object`, whatever its operator& does.
template <typename T>
[[nodiscard]] constexpr T* address_of(T& object) noexcept {
    return __builtin_addressof(object);
}
template <typename T>
const T* address_of(const T&&) = delete;

}  // namespace coflux::detail
