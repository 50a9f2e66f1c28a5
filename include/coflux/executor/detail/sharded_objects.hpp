// The objects of a sharded<T>, which may outlive it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <optional>
#include <vector>

#include <coflux/base/assert.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/base/config.hpp>
#include <coflux/executor/shard_group.hpp>

namespace coflux::detail {

/// One for each shard, made and destroyed by that one's thread.
template <typename T>
class sharded_objects {
public:
    explicit sharded_objects(std::size_t shards) : slots_(shards), left_(shards) {
        for (slot& s : slots_) s.all = this;
    }
    sharded_objects(const sharded_objects&) = delete;
    sharded_objects& operator=(const sharded_objects&) = delete;

    [[nodiscard]] std::size_t size() const noexcept { return slots_.size(); }
    [[nodiscard]] std::optional<T>& operator[](std::size_t i) noexcept { return slots_[i].value; }

    /// Has each shard destroy its object; the last frees this. Allocates nothing, and waits for nothing.
    void leave_to(shard_group& shards) noexcept {
        const std::size_t n = slots_.size();  // after the last post this may be gone
        for (std::size_t i = 0; i < n; ++i)
            shards[i].execute(std::coroutine_handle<>::from_address(&slots_[i].destroys));
    }

private:
    struct slot;
    /// A shard resumes it: begins like a coroutine frame of either compiler.
    struct frame {
        void (*resume)(void*);
        void (*destroy)(void*);
        slot* of;
    };
    /// Each on lines of its own.
    struct alignas(cache_line) slot {
        std::optional<T> value;
        sharded_objects* all = nullptr;
        frame destroys{&destroy_object, &never, this};
    };

    static void destroy_object(void* at) noexcept {
        slot& s = *static_cast<frame*>(at)->of;
        s.value.reset();
        sharded_objects* const all = s.all;
        // acq_rel: the last sees that the others are done with their slots.
        if (all->left_.fetch_sub(1, memory_order_acq_rel) == 1) delete all;
    }
    static void never(void*) noexcept { COFLUX_VERIFY(false, "a shard destroys what was posted to it"); }

    std::vector<slot> slots_;
    atomic<std::size_t> left_;  // shards that have not destroyed theirs, once they have been left to them; only falls
};

}  // namespace coflux::detail
