// The common part of the property programs: a world of one seed, what they leave behind, and what must hold.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory_resource>
#include <stdexcept>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/testing/sim_executor.hpp>
#include <coflux/testing/simulation.hpp>

namespace coflux_simulations {

/// As coflux::borrowed, of what outlives all coroutines of a trial: their handles die early on purpose, which that
/// would refuse.
template <typename T>
class borrowed {
public:
    explicit borrowed(T& referent) noexcept : referent_(&referent) {}
    [[nodiscard]] T& get() const noexcept { return *referent_; }
    T& operator*() const noexcept { return *referent_; }
    T* operator->() const noexcept { return referent_; }

private:
    T* referent_;
};
template <typename T>
borrowed(T&) -> borrowed<T>;
using coflux::testing::sim_executor;
using coflux::testing::simulation;
#if COFLUX_PROGRAMS_ON_POOL
/// The programs run on threads, in the time of the machine: nothing is said of moments.
inline constexpr bool on_pool = true;
using program_executor = coflux::thread_pool_executor;
#else
inline constexpr bool on_pool = false;
using program_executor = sim_executor;
#endif
using job = coflux::fork<void, program_executor>;
using root = coflux::task<void, program_executor>;

/// A program's random choices: SplitMix64, another sequence than the chooser's.
class random_numbers {
public:
    explicit random_numbers(std::uint64_t seed) noexcept : state_(seed ^ 0x5851f42d4c957f2dU) {}
    /// 0 … n - 1.
    std::size_t below(std::size_t n) noexcept {
        state_ += 0x9e3779b97f4a7c15U;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
        z ^= z >> 31;
        return static_cast<std::size_t>(((z >> 32) * n) >> 32);
    }
    bool one_in(std::size_t n) noexcept { return below(n) == 0; }

private:
    std::uint64_t state_;
};

/// Counts the blocks that are out.
class counted_frames final : public std::pmr::memory_resource {
public:
    std::atomic<std::size_t> live{0};

private:
    void* do_allocate(std::size_t bytes, std::size_t alignment) override {
        void* const block = coflux::frame_pool::shared().allocate(bytes, alignment);
        ++live;
        return block;
    }
    void do_deallocate(void* block, std::size_t bytes, std::size_t alignment) override {
        --live;
        coflux::frame_pool::shared().deallocate(block, bytes, alignment);
    }
    bool do_is_equal(const std::pmr::memory_resource& other) const noexcept override { return this == &other; }
};

/// An error that a program throws on purpose; each other one is a fault.
struct planned_error : std::runtime_error {
    planned_error() : std::runtime_error("planned") {}
};

/// One run of one program.
class trial {
public:
    explicit trial(std::uint64_t seed) : random(seed) {}
    trial(const trial&) = delete;
    trial& operator=(const trial&) = delete;

    random_numbers random;
    /// A number below its argument, for a program that is made of bytes where it is fuzzed.
    std::function<std::size_t(std::size_t)> choose = [this](std::size_t n) { return random.below(n); };
#if COFLUX_PROGRAMS_ON_POOL
    coflux::thread_pool_executor first{2};
#else
    sim_executor first, second;  ///< in one simulation, the youngest
#endif
    std::atomic<int> live{0};    ///< tokens
    bool says_programs = false;  ///< one that is generated is printed first
    int stopped = 0;             ///< jobs that joined() found stopped

    void expect(bool holds, const char* what) noexcept {
        const char* none = nullptr;
        if (!holds) broken_.compare_exchange_strong(none, what);
    }
    /// As expect(), of moments: in a simulation alone.
    void expect_in_time(bool holds, const char* what) noexcept { expect(on_pool || holds, what); }
    /// The first that did not hold, or nullptr.
    [[nodiscard]] const char* broken() const noexcept { return broken_; }

private:
    std::atomic<const char*> broken_{nullptr};
};

/// A value that is never copied, and that the trial counts while it lives.
class token {
public:
    token(trial& of, std::size_t id) noexcept : of_(&of), id_(id) { ++of.live; }
    token(token&& from) noexcept : of_(std::exchange(from.of_, nullptr)), id_(from.id_) {}
    token& operator=(token&& from) noexcept {
        token taken(std::move(from));
        std::swap(of_, taken.of_);
        std::swap(id_, taken.id_);
        return *this;
    }
    ~token() {
        if (of_ != nullptr) --of_->live;
    }
    [[nodiscard]] bool valid() const noexcept { return of_ != nullptr; }
    [[nodiscard]] std::size_t id() const noexcept { return id_; }

private:
    trial* of_;
    std::size_t id_;
};

/// Adds one to a count while it lives.
class presence {
public:
    explicit presence(int& of, int by = 1) noexcept : of_(of), by_(by) { of_ += by; }
    presence(const presence&) = delete;
    presence& operator=(const presence&) = delete;
    ~presence() { of_ -= by_; }

private:
    int& of_;
    int by_;
};

/// Stops some of the jobs, each at a moment that chooser and seed make up, and joins all.
inline coflux::call<void> joined(coflux::environment&, trial& t, std::vector<job>& jobs, std::size_t may_stop) {
    if (may_stop != 0) {
        for (std::size_t stops = t.random.below(may_stop + 1); stops != 0; --stops) {
            for (std::size_t pause = t.random.below(4); pause != 0; --pause) co_await coflux::yield();
            jobs[t.random.below(may_stop)].request_stop();
        }
    }
    for (job& j : jobs) {
        const coflux::outcome<void> end = co_await coflux::as_outcome(std::move(j));
        if (end.is_stopped()) ++t.stopped;
        if (!end.has_error()) continue;
        try {
            std::rethrow_exception(end.error());
        } catch (const planned_error&) {
        } catch (...) {
            t.expect(false, "a job ends with an error that was not planned");
        }
    }
}

/// A program: what it is about, and its root.
struct program {
    const char* name;
    root (*begin)(coflux::environment&, borrowed<trial>);
};

using programs = std::vector<program>;
programs& all_programs();

/// A family lists its programs where it defines them.
struct listed {
    listed(std::initializer_list<program> list) { all_programs().insert(all_programs().end(), list); }
};

}  // namespace coflux_simulations

/// A condition that must hold in a program whose trial is `t`.
#define COFLUX_HOLDS(t, ...) (t)->expect(static_cast<bool>(__VA_ARGS__), #__VA_ARGS__)
