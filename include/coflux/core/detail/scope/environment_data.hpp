// An environment object's additions to the environment above it, for all coroutines made in it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <span>

#include <coflux/base/config.hpp>
#include <coflux/core/errors.hpp>
#include <coflux/core/executor.hpp>

namespace coflux::detail {

/// The time of an environment without a deadline.
inline constexpr std::int64_t no_deadline = INT64_MAX;

struct environment_data {
    std::pmr::memory_resource* frames = nullptr;  ///< nullptr: the frame pool, which is then called directly
    std::uint32_t frames_flags = 0;               ///< what the word of a frame from `frames` has set
    executor_entry first = no_executor;           ///< of its executors: here, so that a fork finds it by one load
    std::span<const executor_entry> others;       ///< the rest
    const environment_data* outer = nullptr;      ///< the nearest environment object around this one that has executors
    const environment_data* around = nullptr;     ///< what is above this one
    std::int64_t deadline = no_deadline;          ///< in ticks of std::chrono::steady_clock (core/deadline.hpp)
    error_handler on_error = nullptr;

    void use(std::pmr::memory_resource& memory) noexcept;

    [[nodiscard]] COFLUX_INLINE const executor_entry* find(const executor_key* key,
                                                           std::size_t position) const noexcept {
        if (position == 0 && first.key == key) [[likely]]
            return &first;
        return find_slow(key, position);
    }
    [[nodiscard]] COFLUX_ASIDE const executor_entry* find_slow(const executor_key* key,
                                                               std::size_t position) const noexcept;
    [[nodiscard]] const executor_entry* find_object(const void* identity) const noexcept;
};

/// Names an environment_data, and says what every frame that is made asks: whether it comes from the frame pool, and
/// whether it is made in an environment object.
class data_ref {
public:
    /// No value yet: a call is given its environment by its awaiter.
    data_ref() noexcept = default;
    /// The reference in a coroutine. `data` may not have begun to live.
    COFLUX_INLINE explicit data_ref(const environment_data& data, bool pooled) noexcept
        : bits_(reinterpret_cast<std::uintptr_t>(&data) | (pooled ? 0 : from_resource)) {}
    /// The reference in an environment object; set again when its resource is known.
    [[nodiscard]] static data_ref of_object(const environment_data& data, bool pooled) noexcept {
        data_ref r(data, pooled);
        r.bits_ |= object;
        return r;
    }
    /// The reference in a coroutine that is made in this environment.
    [[nodiscard]] COFLUX_INLINE data_ref of_child() const noexcept {
        data_ref r = *this;
        r.bits_ &= ~object;
        return r;
    }

    [[nodiscard]] COFLUX_INLINE bool pooled() const noexcept { return (bits_ & from_resource) == 0; }
    [[nodiscard]] COFLUX_INLINE bool is_of_object() const noexcept { return (bits_ & object) != 0; }
    /// Pooled, and of a coroutine.
    [[nodiscard]] COFLUX_INLINE bool is_usual() const noexcept { return (bits_ & (from_resource | object)) == 0; }
    [[nodiscard]] COFLUX_INLINE const environment_data& operator*() const noexcept {
        return *reinterpret_cast<const environment_data*>(bits_ & ~(from_resource | object));
    }
    [[nodiscard]] COFLUX_INLINE const environment_data* operator->() const noexcept { return &**this; }

private:
    static constexpr std::uintptr_t from_resource = 1;
    static constexpr std::uintptr_t object = 2;

    std::uintptr_t bits_;
};

static_assert(alignof(environment_data) >= 4, "two tags of a data_ref");

}  // namespace coflux::detail
