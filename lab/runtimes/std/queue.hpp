// The standard library's means for a channel: a mutex and condition variables around a queue.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <mutex>
#include <optional>
#include <utility>

namespace lab {

template <typename T>
class blocking_queue {
public:
    static constexpr std::size_t unbounded = std::numeric_limits<std::size_t>::max();

    explicit blocking_queue(std::size_t capacity) : capacity_{capacity} {}

    void push(T value) {
        {
            std::unique_lock lock{mutex_};
            not_full_.wait(lock, [this] { return values_.size() < capacity_; });
            values_.push_back(std::move(value));
        }
        not_empty_.notify_one();
    }

    // Empty when the queue is closed and all was taken.
    std::optional<T> pop() {
        std::optional<T> value;
        {
            std::unique_lock lock{mutex_};
            not_empty_.wait(lock, [this] { return !values_.empty() || closed_; });
            if (values_.empty()) {
                return value;
            }
            value = std::move(values_.front());
            values_.pop_front();
        }
        not_full_.notify_one();
        return value;
    }

    // Empty when there is nothing just now.
    std::optional<T> try_pop() {
        const std::lock_guard lock{mutex_};
        std::optional<T> value;
        if (!values_.empty()) {
            value = std::move(values_.front());
            values_.pop_front();
            not_full_.notify_one();
        }
        return value;
    }

    void close() {
        {
            const std::lock_guard lock{mutex_};
            closed_ = true;
        }
        not_empty_.notify_all();
    }

private:
    const std::size_t capacity_;
    std::mutex mutex_;
    std::condition_variable not_full_;
    std::condition_variable not_empty_;
    std::deque<T> values_;
    bool closed_ = false;
};

// Hands numbers from one thread to another; give() ends when the number was taken.
class rendezvous {
public:
    void give(std::uint64_t value) {
        std::unique_lock lock{mutex_};
        offered_ = value;
        offers_.notify_one();
        takes_.wait(lock, [this] { return !offered_; });
    }

    std::uint64_t take() {
        std::uint64_t value = 0;
        {
            std::unique_lock lock{mutex_};
            offers_.wait(lock, [this] { return offered_.has_value(); });
            value = *offered_;
            offered_.reset();
        }
        takes_.notify_one();
        return value;
    }

private:
    std::mutex mutex_;
    std::condition_variable offers_;
    std::condition_variable takes_;
    std::optional<std::uint64_t> offered_;
};

}  // namespace lab
