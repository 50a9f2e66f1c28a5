// The seam's locks: those of base/thread.hpp, on Relacy's. A model's threads are Relacy's own, so there is none here.
#pragma once

#include <source_location>

#include "../../../support/relacy.hpp"

namespace coflux::detail {

class mutex {
    using place = std::source_location;

public:
    void lock(const place& p = place::current()) { lock_.lock(model::at(p)); }
    bool try_lock(const place& p = place::current()) { return lock_.try_lock(model::at(p)); }
    void unlock(const place& p = place::current()) { lock_.unlock(model::at(p)); }

private:
    rl::mutex lock_;
};

template <typename Mutex>
class lock_guard {
public:
    explicit lock_guard(Mutex& m, const std::source_location& p = std::source_location::current())
        : mutex_(m),
          place_(p) {
        mutex_.lock(place_);
    }
    ~lock_guard() { mutex_.unlock(place_); }
    lock_guard(const lock_guard&) = delete;
    lock_guard& operator=(const lock_guard&) = delete;

private:
    Mutex& mutex_;
    std::source_location place_;
};

template <typename Mutex>
class unique_lock {
    using place = std::source_location;

public:
    explicit unique_lock(Mutex& m, const place& p = place::current()) : mutex_(m) { lock(p); }
    ~unique_lock() {
        if (owns_) unlock();
    }
    unique_lock(const unique_lock&) = delete;
    unique_lock& operator=(const unique_lock&) = delete;
    void lock(const place& p = place::current()) {
        mutex_.lock(p);
        owns_ = true;
    }
    void unlock(const place& p = place::current()) {
        owns_ = false;
        mutex_.unlock(p);
    }
    [[nodiscard]] bool owns_lock() const noexcept { return owns_; }

private:
    Mutex& mutex_;
    bool owns_ = false;
};

class condition_variable {
    using place = std::source_location;

public:
    void notify_one(const place& p = place::current()) { changed_.notify_one(model::at(p)); }
    void notify_all(const place& p = place::current()) { changed_.notify_all(model::at(p)); }
    void wait(unique_lock<mutex>& guard, const place& p = place::current()) {
        relock by{guard};
        changed_.wait(by, model::at(p));
    }
    template <typename Predicate>
    void wait(unique_lock<mutex>& guard, Predicate holds, const place& p = place::current()) {
        while (!holds()) wait(guard, p);
    }

private:
    struct relock {  // Relacy's names its place with each call
        unique_lock<mutex>& of;
        void lock(rl::debug_info_param) { of.lock(); }
        void unlock(rl::debug_info_param) { of.unlock(); }
    };
    rl::condition_variable changed_;
};

}  // namespace coflux::detail
