// The rules of a timing wheel, for tests and fuzz programs that compare it with one.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include <coflux/time/detail/timing_wheel.hpp>

namespace coflux_test {

struct numbered_timer : coflux::detail::timer_node {
    std::size_t number = 0;
};

/// A wheel, the slow way: equal keys of a multimap keep the order of their insertion.
class timing_wheel_model {
public:
    timing_wheel_model(std::size_t timers, std::uint64_t now) : now_(now), places_(timers) {}

    void insert(std::size_t number, std::uint64_t deadline) {
        places_[number] = {pending_.emplace(std::max(deadline, now_), number), true};
    }
    bool cancel(std::size_t number) {
        if (std::exchange(places_[number].second, false)) {
            pending_.erase(places_[number].first);
            return true;
        }
        const auto due = std::find(expired_.begin(), expired_.end(), number);
        if (due == expired_.end()) return false;
        expired_.erase(due);
        return true;
    }
    void expire(std::uint64_t now) {
        now_ = std::max(now_, now);
        const auto end = pending_.upper_bound(now_);
        for (auto it = pending_.begin(); it != end; ++it) {
            places_[it->second].second = false;
            expired_.push_back(it->second);
        }
        pending_.erase(pending_.begin(), end);
    }
    /// The number of the next to be handed out, or that of no timer.
    std::size_t take() {
        if (expired_.empty()) return places_.size();
        const std::size_t number = expired_.front();
        expired_.pop_front();
        return number;
    }
    bool armed(std::size_t number) const {
        return places_[number].second || std::find(expired_.begin(), expired_.end(), number) != expired_.end();
    }
    bool empty() const { return pending_.empty() && expired_.empty(); }
    std::uint64_t now() const { return now_; }
    std::uint64_t next_deadline() const {
        if (!expired_.empty()) return now_;
        return pending_.empty() ? coflux::detail::timing_wheel::never : pending_.begin()->first;
    }

private:
    std::uint64_t now_;
    std::multimap<std::uint64_t, std::size_t> pending_;
    std::vector<std::pair<std::multimap<std::uint64_t, std::size_t>::iterator, bool>> places_;
    std::deque<std::size_t> expired_;
};

}  // namespace coflux_test
