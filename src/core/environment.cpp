#include <coflux/core/environment.hpp>

#include <cstddef>
#include <string_view>
#include <typeinfo>

#include <coflux/base/assert.hpp>
#include <coflux/core/detail/frame/frame.hpp>
#include <coflux/memory/arena.hpp>
#include <coflux/memory/frame_pool.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/thread/back_trace.hpp"
#include "core/detail/wait/stop_walk.hpp"
#include "core/detail/wait/wait_records.hpp"

namespace coflux {
namespace {

// Before main, in the one file that is linked wherever there is an environment.
[[maybe_unused]] const bool back_trace_enabled = (detail::enable_back_trace(), true);

}  // namespace

const trace_context* environment::trace() const noexcept {
    const detail::environment_data* data = &*data_;
    while (data != nullptr && data->trace_at == 0) data = data->around;
    if (data == nullptr) return nullptr;
    return reinterpret_cast<const trace_context*>(reinterpret_cast<const std::byte*>(data) + data->trace_at);
}

void environment::request_stop_as(std::uint32_t asked) noexcept {
    // release pairs with the acquire in look_up().
    // [stop.request.marks]
    marks_.fetch_or(asked, detail::memory_order_release);
    // [stop.request.walks]
    detail::stop_below(*this);
}

bool environment::look_up(std::uint32_t requests) noexcept {
    std::uint32_t steps = 0;
    // acquire pairs with the end of the last walk: its marks are there. Walks that are not over were counted before
    // the request.
    // [stop.look_up.standing]
    const bool records_speak = detail::standing_stops.load(detail::memory_order_acquire) == 0;
    for (environment* e = this; e != nullptr; e = e->parent_.get(), ++steps) {
        // An ancestor that found itself and all above it clean at this very count has done the rest of the walk.
        if (e != this && (e->own_.stops_seen & detail::stop_count_mask) == requests) break;
        // [stop.look_up.mark]
        const std::uint32_t marks = e->marks_.load(detail::memory_order_acquire);  // pairs with request_stop()
        if ((marks & stop_asked) != 0) {
            if (steps > detail::longest_look) pass_on_request(*e);
            return true;
        }
        // A request above an environment with a record has marked that environment, unless its walk is not over. A
        // request above a shielded environment does not concern it.
        if ((marks & is_shielded) != 0 || ((marks & has_waits) != 0 && records_speak)) break;
    }
    if (steps > detail::longest_look) detail::wait_records::make_above(*this);
    own_.stops_seen = requests | (own_.stops_seen & detail::stop_count_inline);
    return false;
}

void environment::pass_on_request(const environment& asked) noexcept {
    for (environment* e = this; e != &asked; e = e->parent_.get())
        e->marks_.fetch_or(stop_asked, detail::memory_order_release);  // pairs with the acquire in look_up()
}

}  // namespace coflux

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
