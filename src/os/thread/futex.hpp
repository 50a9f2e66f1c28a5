// The parker's calls of the operating system. A model has its own (test/model/parker_model.cpp).
#pragma once

#include <cstdint>

#include <coflux/base/atomic.hpp>

namespace coflux::detail::os {

/// Sleeps if the word is 0 when the system looks, which no wake_sleeper() can come between, until a wake-up or the
/// deadline, in nanoseconds of the steady clock (~0: never); may return early. True if the deadline has passed.
bool sleep_while_zero(atomic<std::uint32_t>& word, std::uint64_t deadline) noexcept;

/// Wakes the thread that sleeps there, if one does. Uses the address only.
void wake_sleeper(atomic<std::uint32_t>& word) noexcept;

}  // namespace coflux::detail::os
