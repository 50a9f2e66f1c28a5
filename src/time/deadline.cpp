// Deadlines act: what is made in an environment with a deadline is stopped when it passes.
#include <cstdint>

#include <coflux/core/deadline.hpp>
#include <coflux/core/detail/scope/deadline_hook.hpp>
#include <coflux/core/detail/thread/thread_state.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/time/clock.hpp>
#include <coflux/time/detail/time_limit.hpp>

namespace coflux::detail {
namespace {

/// The present, at most a microsecond or two old: where the processor counts cycles, a loop that asks again and again
/// reads the clock once in 4096 of them.
steady_time recent_now() noexcept {
#if defined(__x86_64__) || defined(__i386__)
    if (this_thread.driver != nullptr) return steady_now();
    struct last_look {
        std::uint64_t cycles;
        steady_time at;
    };
    static constinit thread_local last_look last{0, steady_time()};
    const std::uint64_t cycles = __builtin_ia32_rdtsc();
    if (cycles - last.cycles >= 4096) last = {cycles, steady_now()};
    return last.at;
#else
    return steady_now();
#endif
}

constinit const deadline_hook stops_the_late{
    [](environment& e, std::int64_t ticks) -> void* {
        const clock_tick at = tick_of(deadline_time::at(ticks));
        if (at > tick_now()) return time_limit::arm(e, at, executor_of(e));
        e.request_stop();  // nothing was made in it yet
        return nullptr;
    },
    [](void* armed) noexcept { static_cast<time_limit*>(armed)->cancel(); },
    [](std::int64_t deadline) noexcept { return deadline_time::ticks(recent_now()) >= deadline; },
};

/// Sets the core's hook, before any object of a program is made.
struct installer {
    installer() noexcept {
        act_on_deadlines.store(&stops_the_late, memory_order_release);  // pairs with the load where a deadline is set
    }
};
[[gnu::init_priority(101)]] const installer installed;

}  // namespace
}  // namespace coflux::detail

char coflux_deadlines_act = 1;
