// One kind of work that the soak does, again and again: it checks its own result, and may be stopped at any moment.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <string_view>

#include <coflux/coflux.hpp>

#include "support/random_numbers.hpp"

namespace coflux_test::soak {

using pool = coflux::thread_pool_executor;

/// Coroutines of the soak whose locals live.
inline std::atomic<long> alive{0};

/// A local of every coroutine of the soak.
class present {
public:
    present() noexcept { alive.fetch_add(1, std::memory_order_relaxed); }
    present(const present&) = delete;
    present& operator=(const present&) = delete;
    ~present() { alive.fetch_sub(1, std::memory_order_relaxed); }
};

/// The work of one kind so far.
struct tally {
    std::atomic<std::uint64_t> operations{0};

    void add(std::uint64_t n) noexcept { operations.fetch_add(n, std::memory_order_relaxed); }
};

/// The argument of a round. Lifetime: outlives it.
struct round {
    std::uint64_t seed;
    tally* done;

    [[nodiscard]] random_numbers numbers() const noexcept { return random_numbers(seed); }
};

/// Ends the process with what was expected, unless `held`.
void expect(bool held, const char* what, const round& in) noexcept;

struct job {
    std::string_view name;
    coflux::fork<void, pool> (*play)(coflux::environment& env, round r);
};

std::span<const job> task_jobs() noexcept;
std::span<const job> sync_jobs() noexcept;
std::span<const job> channel_jobs() noexcept;
/// The test of the watchdog uses them: not in the mixture.
std::span<const job> faulty_jobs() noexcept;

}  // namespace coflux_test::soak
