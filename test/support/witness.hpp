// Objects that record what happened to them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace coflux_test {

/// The events, in order; from any thread.
class journal {
public:
    void write(std::string line) {
        const std::lock_guard<std::mutex> guard(lock_);
        lines_.push_back(std::move(line));
    }
    void clear() {
        const std::lock_guard<std::mutex> guard(lock_);
        lines_.clear();
    }
    [[nodiscard]] std::vector<std::string> lines() const {
        const std::lock_guard<std::mutex> guard(lock_);
        return lines_;
    }

private:
    mutable std::mutex lock_;
    std::vector<std::string> lines_;
};

/// Writes "<name> dies" into a journal when it dies; moved-from ones are silent.
class mortal {
public:
    mortal(journal& in, std::string name) : in_(&in), name_(std::move(name)) {}
    mortal(mortal&& other) noexcept : in_(std::exchange(other.in_, nullptr)), name_(std::move(other.name_)) {}
    mortal& operator=(mortal&&) = delete;
    ~mortal() {
        if (in_ != nullptr) in_->write(name_ + " dies");
    }

private:
    journal* in_;
    std::string name_;
};

/// A switch that one thread throws and other threads wait for.
class flag {
public:
    void set() noexcept {
        set_.store(true, std::memory_order_release);
        set_.notify_all();
    }
    [[nodiscard]] bool is_set() const noexcept { return set_.load(std::memory_order_acquire); }
    void wait() const noexcept { set_.wait(false, std::memory_order_acquire); }

private:
    std::atomic<bool> set_{false};
};

/// Neither copyable nor default-constructible.
struct move_only {
    explicit move_only(int v) : value(std::make_unique<int>(v)) {}
    std::unique_ptr<int> value;
};

/// Wants a cache line of its own, and can say whether it has one.
struct alignas(64) over_aligned {
    explicit over_aligned(int v) noexcept : value(v) {}
    [[nodiscard]] bool is_aligned() const noexcept {
        auto address = reinterpret_cast<std::uintptr_t>(this);
        asm volatile("" : "+r"(address));  // else an optimiser takes the type's word for it
        return address % 64 == 0;
    }
    int value;
};

}  // namespace coflux_test
