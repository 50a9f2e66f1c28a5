// held_values: values that wait for partners, in the order of time.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>
#include <vector>

#include <coflux/stream/record.hpp>

namespace coflux::stream::detail {

template <typename T>
struct held {
    event_time time = no_time;
    T value{};

    template <typename A>
    void fields(A& all) {
        all(time, value);
    }
};

/// Values of one side of a key. The first ones go by a number that counts them, and are destroyed when they are half of
/// all: so a key of many values does not move them for each one that goes.
template <typename T>
class held_values {
public:
    [[nodiscard]] bool is_empty() const noexcept { return gone_ == all_.size(); }
    [[nodiscard]] std::size_t size() const noexcept { return all_.size() - gone_; }
    [[nodiscard]] auto begin() const noexcept { return all_.begin() + static_cast<std::ptrdiff_t>(gone_); }
    [[nodiscard]] auto end() const noexcept { return all_.end(); }

    /// The next value takes memory.
    [[nodiscard]] bool has_no_room() const noexcept { return all_.size() == all_.capacity(); }

    /// Behind the values of the same time.
    /// Errors: where there is no memory, the value and the others are as they were.
    void insert(event_time time, T&& value) {
        if (has_no_room()) all_.reserve(2 * all_.size() + 1);
        if (is_empty() || all_.back().time <= time) {
            all_.push_back({time, std::move(value)});
        } else {
            all_.insert(std::ranges::upper_bound(begin(), end(), time, {}, &held<T>::time),
                        held<T>{time, std::move(value)});
        }
    }
    void drop_front(std::size_t count) {
        gone_ += count;
        if (2 * gone_ >= all_.size()) destroy_gone();
    }

    template <typename A>
    void fields(A& all) {
        destroy_gone();
        all(all_);
    }

private:
    void destroy_gone() {
        all_.erase(all_.begin(), begin());
        gone_ = 0;
    }

    std::vector<held<T>> all_;
    std::size_t gone_ = 0;
};

}  // namespace coflux::stream::detail
