// Where the frame of a generator comes from, and the words in front of it that say how it goes back.
#pragma once

#include <cstddef>
#include <memory>
#include <memory_resource>
#include <new>
#include <tuple>
#include <type_traits>
#include <utility>

#include <coflux/base/config.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/core/parameters.hpp>
#include <coflux/memory/detail/frame_layout.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux::detail {

/// In front of the frame of a generator.
struct frame_source {
    using releasing = void (*)(void* frame, frame_shape shape) noexcept;

    releasing release;                    ///< nullptr unless the frame came from an allocator
    std::pmr::memory_resource* resource;  ///< nullptr: the frame pool, or an allocator

    [[nodiscard]] static frame_source& of(void* frame) noexcept { return static_cast<frame_source*>(frame)[-1]; }
};

template <typename A>
inline constexpr bool is_resource_pointer = std::is_same_v<std::remove_cvref_t<A>, std::pmr::memory_resource*>;
template <typename A>
inline constexpr bool is_allocator_tag = std::is_same_v<std::remove_cvref_t<A>, std::allocator_arg_t>;

enum class frame_origin { pool, environment, resource, allocator };

/// The frame's origin, by the first of the parameters, or the second after an object.
struct frame_choice {
    frame_origin origin;
    std::size_t position;  ///< of the environment, the resource or the allocator
};
template <typename First, typename Second>
consteval frame_origin origin_in() {
    if (is_environment<First>) return frame_origin::environment;
    if (is_resource_pointer<First>) return frame_origin::resource;
    if (is_allocator_tag<First> && !std::is_void_v<Second>) return frame_origin::allocator;
    return frame_origin::pool;
}
template <typename First = void, typename Second = void, typename Third = void, typename... Rest>
consteval frame_choice choose_frame() {
    frame_origin origin = origin_in<First, Second>();
    std::size_t position = 0;
    if (origin == frame_origin::pool && std::is_class_v<std::remove_cvref_t<First>>) {
        origin = origin_in<Second, Third>();
        position = 1;
    }
    return {origin, position + (origin == frame_origin::allocator ? 1 : 0)};
}

COFLUX_INLINE void* frame_behind(void* base, const frame_layout& layout, frame_source source) noexcept {
    return ::new (static_cast<char*>(base) + layout.offset - sizeof(frame_source)) frame_source(source) + 1;
}

/// From a resource, or from the pool where it is nullptr. Throws what they throw, before any effect.
COFLUX_INLINE void* allocate_generator_frame(frame_shape shape, std::pmr::memory_resource* from) {
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_source));
    void* const base = from == nullptr ? allocate_pooled(layout.bytes, layout.alignment)
                                       : from->allocate(layout.bytes, layout.alignment);
    return frame_behind(base, layout, {nullptr, from});
}

/// An allocator is asked for these: units that are aligned as the frame is.
template <std::size_t Alignment>
struct alignas(Alignment) frame_unit {
    std::byte bytes[Alignment];
};

/// Allocates with a copy of the user's allocator, which is kept at the beginning of the block.
template <typename Allocator, std::size_t Alignment>
class frame_allocator {
    using unit = frame_unit<Alignment>;
    using traits = typename std::allocator_traits<Allocator>::template rebind_traits<unit>;
    using rebound = typename traits::allocator_type;
    static_assert(std::is_pointer_v<typename traits::pointer>,
                  "coflux: a generator's allocator must give plain pointers, and this one gives fancy ones");
    static_assert(alignof(rebound) <= Alignment, "coflux: a generator's allocator is aligned too strictly");

    static frame_layout layout_of(frame_shape shape) noexcept {
        constexpr std::size_t kept = (sizeof(rebound) + sizeof(frame_source) - 1) & ~(sizeof(frame_source) - 1);
        return layout_of_frame({shape.size, Alignment}, kept + sizeof(frame_source));
    }
    static std::size_t units(const frame_layout& layout) noexcept { return (layout.bytes + Alignment - 1) / Alignment; }

    static void release(void* frame, frame_shape shape) noexcept {
        const frame_layout layout = layout_of(shape);
        void* const base = static_cast<char*>(frame) - layout.offset;
        auto* const kept = static_cast<rebound*>(base);
        rebound allocator(std::move(*kept));
        std::destroy_at(kept);
        traits::deallocate(allocator, static_cast<unit*>(base), units(layout));
    }

public:
    static void* allocate(frame_shape shape, const Allocator& from) {
        const frame_layout layout = layout_of(shape);
        rebound allocator(from);
        void* const base = traits::allocate(allocator, units(layout));
        ::new (base) rebound(std::move(allocator));
        return frame_behind(base, layout, {&release, nullptr});
    }
};

template <typename Allocator>
void* allocate_generator_frame_with(frame_shape shape, const Allocator& from) {
    if constexpr (requires {
                      { from.resource() } -> std::same_as<std::pmr::memory_resource*>;
                  }) {
        return allocate_generator_frame(shape, from.resource());
    } else if (shape.alignment <= default_frame_alignment) {
        return frame_allocator<Allocator, default_frame_alignment>::allocate(shape, from);
    } else {
        return frame_allocator<Allocator, largest_frame_alignment>::allocate(shape, from);
    }
}

/// Memory for a frame from where the coroutine's arguments say.
template <typename... Args>
COFLUX_INLINE void* allocate_generator_frame_for(frame_shape shape, Args&... args) {
    constexpr frame_choice choice = choose_frame<Args...>();
    if constexpr (choice.origin == frame_origin::pool) {
        return allocate_generator_frame(shape, nullptr);
    } else {
        auto& from = std::get<choice.position>(std::tuple<Args&...>(args...));
        if constexpr (choice.origin == frame_origin::environment) {
            return allocate_generator_frame(shape, data_of(from).frames);
        } else if constexpr (choice.origin == frame_origin::resource) {
            return allocate_generator_frame(shape, from);
        } else {
            return allocate_generator_frame_with(shape, from);
        }
    }
}

COFLUX_INLINE void deallocate_generator_frame(void* frame, frame_shape shape) noexcept {
    const frame_source source = frame_source::of(frame);
    if (source.release != nullptr) [[unlikely]]
        return source.release(frame, shape);
    const frame_layout layout = layout_of_frame(shape, sizeof(frame_source));
    void* const base = static_cast<char*>(frame) - layout.offset;
    if (source.resource == nullptr) [[likely]]
        return deallocate_pooled(base, layout.bytes, layout.alignment);
    source.resource->deallocate(base, layout.bytes, layout.alignment);
}

}  // namespace coflux::detail
