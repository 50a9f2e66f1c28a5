// Measures facts that a virtual machine does not tell of its CPUs, in ns.
// `lab_probe CPU CPU`: how long one cache line takes from one to the other and back. The host moves CPUs about, and this
// figure tells where they were when a repetition ran.
// `lab_probe CPU`: how long a multiplication takes that waits for the one before. The host slows CPUs down.
#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <pthread.h>
#include <sched.h>
#include <thread>

namespace {

// A batch that the scheduler interrupts is an outlier; the median of the batches leaves it out.
constexpr std::uint64_t round_trips = 500;
constexpr std::size_t batches = 15;

// Even: the asking side writes next. Odd: the answering side writes next. Release pairs with the other side's acquire.
alignas(128) std::atomic<std::uint64_t> line{0};

bool pin(int cpu) noexcept {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    return pthread_setaffinity_np(pthread_self(), sizeof(set), &set) == 0;
}

// Spins without `pause`, whose length would be part of the figure.
void await(std::uint64_t value) noexcept {
    while (line.load(std::memory_order_acquire) != value) {}
}

void answer(std::uint64_t total) noexcept {
    for (std::uint64_t i = 0; i < total; ++i) {
        await(2 * i + 1);
        line.store(2 * i + 2, std::memory_order_release);
    }
}

void ask(std::uint64_t first, std::uint64_t count) noexcept {
    for (std::uint64_t i = first; i < first + count; ++i) {
        line.store(2 * i + 1, std::memory_order_release);
        await(2 * i + 2);
    }
}

double median_round_trip_ns() {
    std::array<double, batches> ns{};
    ask(0, round_trips);
    for (std::size_t batch = 0; batch < batches; ++batch) {
        const auto began = std::chrono::steady_clock::now();
        ask((batch + 1) * round_trips, round_trips);
        const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - began;
        ns[batch] = taken.count() / round_trips;
    }
    std::nth_element(ns.begin(), ns.begin() + batches / 2, ns.end());
    return ns[batches / 2];
}

// Over some milliseconds, in which a host gives a CPU to others and back.
double multiplication_ns() {
    constexpr std::uint64_t steps = 2'000'000;
    std::uint64_t product = 3;
    const auto began = std::chrono::steady_clock::now();
    for (std::uint64_t i = 0; i < steps; ++i) {
        product *= 0x9e3779b97f4a7c15U;
        asm volatile("" : "+r"(product));
    }
    const std::chrono::duration<double, std::nano> taken = std::chrono::steady_clock::now() - began;
    return taken.count() / steps;
}

bool parse_cpu(const char* text, int& cpu) noexcept {
    const char* end = text + std::strlen(text);
    const auto parsed = std::from_chars(text, end, cpu);
    return parsed.ec == std::errc{} && parsed.ptr == end && cpu >= 0 && cpu < CPU_SETSIZE;
}

}  // namespace

int main(int argc, char** argv) {
    int asking_cpu = 0;
    int answering_cpu = 0;
    const bool is_alone = argc == 2;
    if ((argc != 3 && !is_alone) || !parse_cpu(argv[1], asking_cpu) ||
        (!is_alone && (!parse_cpu(argv[2], answering_cpu) || asking_cpu == answering_cpu))) {
        std::fputs("usage: lab_probe CPU [CPU] (two different ones)\n", stderr);
        return 2;
    }
    if (is_alone && pin(asking_cpu)) {
        std::printf("%.4f\n", multiplication_ns());
        return 0;
    }
    // Two threads that spin on one CPU would take a time slice for each turn, so a failed pin ends the probe first.
    if (is_alone || !pin(answering_cpu) || !pin(asking_cpu)) {
        std::fputs("lab_probe: cannot run on these CPUs\n", stderr);
        return 1;
    }
    std::thread answering{[&] {
        pin(answering_cpu);
        answer((batches + 1) * round_trips);
    }};
    const double ns = median_round_trip_ns();
    answering.join();
    std::printf("%.1f\n", ns);
    return 0;
}
