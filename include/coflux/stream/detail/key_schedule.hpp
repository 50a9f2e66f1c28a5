// key_schedule: when something is to be done for a key.
#pragma once

#include <algorithm>
#include <utility>
#include <vector>

#include <coflux/stream/record.hpp>

namespace coflux::stream::detail {

/// A heap of times. A state keeps the time for which its key is here, its `scheduled`: an entry of another time is
/// out of date. So a key whose time moves on is looked at once in the while by which it moves, not with each value.
template <typename Key>
class key_schedule {
public:
    /// Lets `key` be looked at when `time` is reached, or before.
    void add(event_time& scheduled, event_time time, const Key& key) {
        if (time >= scheduled) return;
        scheduled = time;
        heap_.push_back({time, key});
        std::ranges::push_heap(heap_, std::ranges::greater(), &entry::time);
    }
    [[nodiscard]] event_time next() const noexcept { return heap_.empty() ? end_of_time : heap_.front().time; }

    /// Calls `look(key, time)` with each entry that is due.
    template <typename Look>
    void each_due(event_time watermark, Look look) {
        while (!heap_.empty() && heap_.front().time <= watermark) {
            std::ranges::pop_heap(heap_, std::ranges::greater(), &entry::time);
            const entry due = std::move(heap_.back());
            heap_.pop_back();
            look(due.key, due.time);
        }
    }
    void clear() noexcept { heap_.clear(); }

private:
    struct entry {
        event_time time;
        Key key;
    };
    std::vector<entry> heap_;
};

}  // namespace coflux::stream::detail
