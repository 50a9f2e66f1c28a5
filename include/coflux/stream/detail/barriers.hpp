// barriers: what belongs to each barrier that is on its way: positions and states.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <utility>
#include <vector>

#include <coflux/stream/checkpoint.hpp>

namespace coflux::stream::detail {

/// The reader opens a barrier, workers add the state of their slots, the writer takes it when it has come through.
///
/// Threads: any. The lock is held for an insertion.
class barriers {
public:
    std::uint64_t open(positions at) {
        const std::lock_guard lock(mutex_);
        of_[++last_].at = std::move(at);
        return last_;
    }
    void add(std::uint64_t number, slot_state state) {
        const std::lock_guard lock(mutex_);
        of_[number].states.push_back(std::move(state));
    }
    [[nodiscard]] checkpoint take(std::uint64_t number) {
        const std::lock_guard lock(mutex_);
        return std::move(of_.extract(number).mapped());
    }

private:
    std::mutex mutex_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, checkpoint> of_;
};

}  // namespace coflux::stream::detail
