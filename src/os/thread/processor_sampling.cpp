#include "processor_sampling.hpp"

#include <system_error>

#if defined(__linux__)
#    include <cerrno>
#    include <ctime>

#    include <coflux/base/atomic.hpp>
#    include <coflux/base/thread.hpp>

#    include "os/process/free_signal.hpp"
#    include "os/process/own_memory.hpp"
#    include "os/process/signal_handlers.hpp"
#    include "processor_clock.hpp"
#endif

namespace coflux::detail::os {

#if defined(__linux__)

namespace {

// Whose function the handlers call; nullptr: none. The end of one writes nullptr and then waits for `running`; a
// handler counts itself there, and then reads this word: all orders are seq_cst. So no handler uses one that is gone.
constinit atomic<processor_sampling*> sampled_by{nullptr};
constinit running_handlers running;
mutex one_at_a_time;
std::uint32_t last_generation = 0;  // guarded by one_at_a_time

}  // namespace

struct processor_sampling::handler {
    static void take(int, siginfo_t* from, void*) {
        if (from->si_code != SI_TIMER) return;
        // [profile.errno]
        const kept_errno kept;
        const auto value = reinterpret_cast<std::uintptr_t>(from->si_value.sival_ptr);
        running.enter();
        // A signal of a timer that is deleted may come late.
        if (processor_sampling* const of = sampled_by.load(); of != nullptr && of->generation_ == value >> 32) {
            const int missed = from->si_overrun;
            of->take_(of->context_, static_cast<std::uint32_t>(value), 1U + static_cast<std::uint32_t>(missed));
        }
        running.leave();
    }
};

processor_sampling::processor_sampling(std::uint64_t period, function take, void* context)
    : period_(period),
      take_(take),
      context_(context) {
    static const int signal = take_free_signal(&handler::take);
    if (signal == 0) {
        throw std::system_error(std::make_error_code(std::errc::resource_unavailable_try_again),
                                "coflux: a profile: the program has handlers for all signals");
    }
    signal_ = signal;
    const lock_guard<mutex> held(one_at_a_time);
    if (sampled_by.load() != nullptr) {
        throw std::system_error(std::make_error_code(std::errc::device_or_resource_busy),
                                "coflux: a profile: another one is being made");
    }
    generation_ = ++last_generation;
    sampled_by.store(this);
}

processor_sampling::~processor_sampling() {
    for (const timer_t t : timers_) (void)::timer_delete(t);
    const lock_guard<mutex> held(one_at_a_time);
    // [profile.end]
    sampled_by.store(nullptr);
    running.wait_until_none();
}

bool processor_sampling::add(std::uint64_t thread, std::uint32_t index) {
    timers_.push_back(nullptr);
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal_;
    event.sigev_value.sival_ptr = reinterpret_cast<void*>(std::uintptr_t{generation_} << 32 | index);
    event._sigev_un._tid = static_cast<int>(thread);
    if (::timer_create(processor_clock_of(thread), &event, &timers_.back()) != 0) {
        timers_.pop_back();
        return false;
    }
    const timespec period{static_cast<time_t>(period_ / 1'000'000'000), static_cast<long>(period_ % 1'000'000'000)};
    const itimerspec each{period, period};
    return ::timer_settime(timers_.back(), 0, &each, nullptr) == 0;
}

#else

processor_sampling::processor_sampling(std::uint64_t period, function take, void* context)
    : period_(period),
      take_(take),
      context_(context) {
    throw std::system_error(std::make_error_code(std::errc::function_not_supported), "coflux: a profile");
}
processor_sampling::~processor_sampling() = default;
bool processor_sampling::add(std::uint64_t, std::uint32_t) {
    return false;
}

#endif

}  // namespace coflux::detail::os
