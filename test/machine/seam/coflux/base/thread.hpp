// The machine's seam for threads: the machine's.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <utility>

#include "../../../machine.hpp"

namespace coflux::detail {

class thread {
public:
    thread() noexcept = default;
    template <typename F>
    explicit thread(F f) : number_(machine::make_thread([body = std::make_shared<F>(std::move(f))] { (*body)(); })) {}
    thread(thread&& other) noexcept : number_(std::exchange(other.number_, none)) {}
    thread& operator=(thread&& other) noexcept {
        number_ = std::exchange(other.number_, none);
        return *this;
    }
    ~thread() = default;

    [[nodiscard]] bool joinable() const noexcept { return number_ != none; }
    void join() noexcept { machine::join_thread(std::exchange(number_, none)); }
    void detach() noexcept { number_ = none; }
    [[nodiscard]] static unsigned hardware_concurrency() noexcept { return machine::of_now().processors; }

private:
    static constexpr std::size_t none = ~std::size_t{0};

    std::size_t number_ = none;
};

class mutex {
public:
    void lock() noexcept {
        machine::touch(this, machine::access::locked);
        while (held_) machine::wait_at(this);
        held_ = true;
    }
    bool try_lock() noexcept {
        machine::touch(this, machine::access::locked);
        return !std::exchange(held_, true);
    }
    void unlock() noexcept {
        machine::touch(this, machine::access::locked);
        give_up();
    }
    /// unlock() without a switch of threads.
    void give_up() noexcept {
        held_ = false;
        machine::go_on_at(this, false);
    }

private:
    bool held_ = false;
};

template <typename Mutex>
class lock_guard {
public:
    explicit lock_guard(Mutex& m) : of_(m) { of_.lock(); }
    ~lock_guard() { of_.unlock(); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

private:
    Mutex& of_;
};

template <typename Mutex>
class unique_lock {
public:
    explicit unique_lock(Mutex& m) : of_(&m) { lock(); }
    ~unique_lock() {
        if (owns_) unlock();
    }
    unique_lock(const unique_lock&) = delete;
    unique_lock& operator=(const unique_lock&) = delete;
    void lock() {
        of_->lock();
        owns_ = true;
    }
    void unlock() {
        owns_ = false;
        of_->unlock();
    }
    void give_up() noexcept {
        owns_ = false;
        of_->give_up();
    }
    [[nodiscard]] bool owns_lock() const noexcept { return owns_; }

private:
    Mutex* of_;
    bool owns_ = false;
};

class condition_variable {
public:
    void notify_one() noexcept { machine::go_on_at(this, false); }
    void notify_all() noexcept { machine::go_on_at(this, true); }
    void wait(unique_lock<mutex>& held) {
        held.give_up();  // no other thread runs between the two
        machine::wait_at(this);
        held.lock();
    }
    template <typename Predicate>
    void wait(unique_lock<mutex>& held, Predicate holds) {
        while (!holds()) wait(held);
    }
};

}  // namespace coflux::detail
