#include "thread.hpp"

#include <algorithm>
#include <cstdio>
#include <memory>
#include <utility>

#if defined(__linux__)
#    include <pthread.h>
#    include <sched.h>
#    include <sys/prctl.h>
#endif

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>

#include "cpu_quota.hpp"

namespace coflux::detail::os {

#if defined(__linux__)

namespace {

struct free_set {
    void operator()(cpu_set_t* set) const noexcept { CPU_FREE(set); }
};
/// A machine may have more processors than a cpu_set_t counts.
using large_set = std::unique_ptr<cpu_set_t, free_set>;
constexpr std::size_t most_processors = 1U << 16;

}  // namespace

void name_this_thread(const char* name) noexcept {
    char cut[16];
    std::snprintf(cut, sizeof cut, "%s", name);
    pthread_setname_np(pthread_self(), cut);
}

bool pin_this_thread(std::size_t n) noexcept {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return false;
    std::size_t skip = n % static_cast<std::size_t>(CPU_COUNT(&allowed));
    for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
        if (!CPU_ISSET(cpu, &allowed) || skip-- != 0) continue;
        cpu_set_t one;
        CPU_ZERO(&one);
        CPU_SET(cpu, &one);
        return pthread_setaffinity_np(pthread_self(), sizeof one, &one) == 0;
    }
    return false;
}

bool bind_this_thread(unsigned processor) noexcept {
    const std::size_t processors = std::size_t{processor} + 1;
    const large_set one(CPU_ALLOC(processors));
    if (one == nullptr) return false;
    const std::size_t size = CPU_ALLOC_SIZE(processors);
    CPU_ZERO_S(size, one.get());
    CPU_SET_S(processor, size, one.get());
    return pthread_setaffinity_np(pthread_self(), size, one.get()) == 0;
}

std::vector<unsigned> allowed_processors() {
    for (std::size_t most = CPU_SETSIZE; most <= most_processors; most *= 2) {
        const large_set allowed(CPU_ALLOC(most));
        if (allowed == nullptr) break;
        const std::size_t size = CPU_ALLOC_SIZE(most);
        if (sched_getaffinity(0, size, allowed.get()) != 0) continue;  // the machine has more
        std::vector<unsigned> all;
        for (unsigned cpu = 0; cpu < most; ++cpu) {
            if (CPU_ISSET_S(cpu, size, allowed.get())) all.push_back(cpu);
        }
        return all;
    }
    return {};
}

std::size_t usable_processors() noexcept {
    cpu_set_t allowed;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0)  // more processors than a cpu_set_t counts
        return std::max<std::size_t>(1, thread::hardware_concurrency());
    const auto processors = static_cast<std::size_t>(CPU_COUNT(&allowed));
    return whole_processors(cpu_share(), processors);
}

void expect_precise_wake_ups() noexcept {
    prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);  // nanoseconds; refused at worst
}

#else

void name_this_thread(const char*) noexcept {}
bool pin_this_thread(std::size_t) noexcept {
    return false;
}
bool bind_this_thread(unsigned) noexcept {
    return false;
}
std::vector<unsigned> allowed_processors() {
    return {};
}
void expect_precise_wake_ups() noexcept {}
std::size_t usable_processors() noexcept {
    const unsigned n = thread::hardware_concurrency();
    return n == 0 ? 1 : n;
}

#endif

namespace {

struct kept_thread {
    thread kept;
    kept_thread* next = nullptr;
};
constinit atomic<kept_thread*> kept_threads{nullptr};

}  // namespace

void keep_thread_of_parent(thread&& of_parent) noexcept {
    if (!of_parent.joinable()) return;
    auto* const keeps = new kept_thread{std::move(of_parent)};
    keeps->next = kept_threads.exchange(keeps, memory_order_acq_rel);  // pairs with itself
}

}  // namespace coflux::detail::os
