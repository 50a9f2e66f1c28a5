// barriers: what belongs to each barrier that is on its way: positions, states, loads, and new owners of slots.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/checkpoint.hpp>
#include <coflux/stream/detail/slot_owners.hpp>
#include <coflux/sync/auto_reset_event.hpp>

namespace coflux::stream::detail {

/// The reader opens a barrier, workers add to it as they pass it, the writer takes it when it has come through.
///
/// Threads: any. The lock is held for an insertion.
class barriers {
public:
    struct passed {
        checkpoint reached;
        std::vector<slot_loads> loads;  // by region
    };

    /// Regions are numbered from 1, as in a checkpoint.
    explicit barriers(std::size_t regions) : planned_(regions + 1) {}

    std::uint64_t open(positions at);
    /// The owners of a region's slots behind the barrier; nullptr where they stay.
    /// Pre: the caller has not passed the barrier on, or it may be taken.
    [[nodiscard]] std::shared_ptr<const slot_owners> owners(std::uint64_t number, std::uint32_t region);
    void add(std::uint64_t number, slot_state state);
    void add(std::uint64_t number, std::uint32_t region, const slot_loads& loads);
    [[nodiscard]] passed take(std::uint64_t number);
    /// The writer has committed it.
    void committed(std::uint64_t number) noexcept;
    [[nodiscard]] bool is_committed(std::uint64_t number) const noexcept {
        return committed_.load(std::memory_order_acquire) >= number;
    }
    /// Waits until a barrier is committed. One coroutine at a time.
    [[nodiscard]] call<void> wait_for_commit(environment&, std::uint64_t number);
    /// The next barrier brings new owners of a region's slots.
    void plan(std::uint32_t region, slot_owners owners);

private:
    struct entry {
        barriers::passed passed;
        std::vector<std::shared_ptr<const slot_owners>> owners;
    };
    std::atomic<std::uint64_t> committed_{0};
    auto_reset_event news_;
    std::mutex mutex_;
    std::uint64_t last_ = 0;
    std::map<std::uint64_t, entry> of_;
    std::vector<std::shared_ptr<const slot_owners>> planned_;
};

}  // namespace coflux::stream::detail
