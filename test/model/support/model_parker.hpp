// The parker as it is, over a futex as a model sees it: the word is compared and the thread put to sleep in one step,
// it may wake for no reason, and time may pass at any moment. For one file of a program.
#pragma once

#include "../../../src/os/thread/parker.cpp"
#include "model.hpp"

namespace coflux::detail::os {

bool sleep_while_zero(atomic<std::uint32_t>& word, std::uint64_t deadline) noexcept {
    return word.park_if(0, deadline != parker::never);
}
void wake_sleeper(atomic<std::uint32_t>& word) noexcept {
    word.notify_one();
}

}  // namespace coflux::detail::os
