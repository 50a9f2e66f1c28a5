// Which lane does what in the soak: what the watchdog looks at, and prints when a lane has stopped going on.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <string_view>
#include <thread>

#include <coflux/coflux.hpp>

namespace coflux_test::soak {

/// A root coroutine that plays one round after the other.
struct lane {
    coflux::environment* root = nullptr;  ///< in which it was made
    std::atomic<const char*> job{"nothing yet"};
    std::atomic<std::uint64_t> seed{0};
    std::atomic<std::uint64_t> rounds{0};
    std::atomic<bool> ended{false};
};

/// Ends the process when one of the lanes has not ended a round for a long time, and prints where all that it waits for
/// is.
class watchdog {
public:
    watchdog(const std::deque<lane>& lanes, std::chrono::seconds patience);
    watchdog(const watchdog&) = delete;
    watchdog& operator=(const watchdog&) = delete;
    ~watchdog();

private:
    void watch();

    const std::deque<lane>& lanes_;
    std::chrono::seconds patience_;
    std::atomic<bool> over_{false};
    std::thread thread_;
};

/// Prints the coroutines below `root` that wait, each below the one in whose scope it is, with the location of its last
/// await. Reads without locks what its owners write: for a tree that stands still.
void print_waiting(coflux::environment& root) noexcept;

}  // namespace coflux_test::soak
