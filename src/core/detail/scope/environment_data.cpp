#include <coflux/core/detail/scope/environment_data.hpp>

#include <typeinfo>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/memory/arena.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "core/detail/readable_name.hpp"

namespace coflux::detail {

void environment_data::use(std::pmr::memory_resource& memory) noexcept {
    frames = nullptr;
    frames_flags = 0;
    if (&memory == &frame_pool::shared()) return;
    frames = &memory;
    frames_flags = frame_flags::from_resource;
    const std::type_info& type = typeid(memory);
    if (type == typeid(std::pmr::monotonic_buffer_resource) || type == typeid(arena)) {
        frames_flags |= frame_flags::freed_at_once;
    }
}

namespace {

bool is_of(const executor_entry& entry, const executor_key& key) noexcept {
    if (entry.key == nullptr || *entry.key != key) return false;
    const std::string_view name = entry.key->library == key.library ? std::string_view() : type_in(key.name);
    COFLUX_VERIFY(
        entry.key->library == key.library,
        "%.*s is of another copy of Coflux than the coroutine that runs on it: let the program and its plug-ins share one "
        "(docs/howto/plug-ins.md)",
        static_cast<int>(name.size()), name.data());
    return true;
}

}  // namespace

const executor_entry* environment_data::find_slow(const executor_key* key, std::size_t position) const noexcept {
    if (is_of(first, *key) && position-- == 0) return &first;
    for (const executor_entry& entry : others) {
        if (is_of(entry, *key) && position-- == 0) return &entry;
    }
    return outer != nullptr ? outer->find(key, position) : nullptr;
}

const executor_entry* environment_data::find_object(const void* identity) const noexcept {
    if (first.key != nullptr && first.identity == identity) return &first;
    for (const executor_entry& entry : others) {
        if (entry.identity == identity) return &entry;
    }
    return outer != nullptr ? outer->find_object(identity) : nullptr;
}

}  // namespace coflux::detail
