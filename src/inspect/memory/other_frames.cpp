// Coroutines whose frames are of other resources than the frame pool: found from what refers to them. The page
// docs/design/inspect.md has the steps.
#include <algorithm>
#include <cstring>

#include "inspect/memory/memory_words.hpp"
#include "inspect/memory/snapshot_tables.hpp"
#include "inspect/snapshot.hpp"

namespace coflux::detail::inspection {
namespace {

constexpr std::size_t first_room = 4096;
constexpr int most_links = 1 << 20;  // that are followed of a list, which may change meanwhile

}  // namespace

void snapshot::begin_others() noexcept {
    first_other_ = count_;
    other_room_ = first_room;
    others_ = static_cast<other_frame*>(os::map_pages(other_room_ * sizeof(other_frame)));
    if (others_ == nullptr) other_room_ = 0;
}

void snapshot::follow_all() noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) follow(i);
    for (std::uint32_t i = first_other_; i < count_; ++i) {
        if (all_[i].state == coroutine_state::ready) all_[i].state = coroutine_state::foreign;  // or that
    }
}

void snapshot::look_at_records(const slab_copy& s, const char* copy) noexcept {
    for (std::size_t offset = s.bytes % s.block; offset + s.block <= s.bytes; offset += s.block)
        look_at_record(s.address + offset, copy + offset);
}

/// The block may be a wait_record: it is one if its environment says so, which forgets it before it is freed.
void snapshot::look_at_record(std::uint64_t address, const char* record) noexcept {
    const std::uint64_t of = load(record, at.record_of);
    const std::uint64_t waiting = load(record, at.record_waiting);
    if (of == 0 || of % alignof(void*) != 0) return;
    const std::uint32_t known = of_environment(of);
    if (known != no_coroutine && !all_[known].from_resource) return;  // and its calls have frames of the pool, too
    if (known == no_coroutine && waiting == 0 && find_around(of) != no_coroutine) return;  // an environment object
    char environment[256];
    if (!read(of, environment, at.environment_size)) return;
    const std::uint32_t marks = load<std::uint32_t>(environment, at.marks);
    // [dump.record]
    if ((marks & at.mark_has_waits) == 0 || load(environment, at.environment_record) != address) return;
    if ((marks & at.mark_object) == 0) (void)know(of);
    take_waits(address, waiting);
}

/// The waits of a coroutine, or of an environment object, and of calls made in it.
void snapshot::take_waits(std::uint64_t record, std::uint64_t first) noexcept {
    std::uint64_t operation = first;
    for (int left = most_links; operation != 0 && left != 0; --left) {
        char copy[256];
        if (!read(operation, copy, at.wait_next + sizeof(void*)) || load(copy, at.wait_record) != record) return;
        const std::uint32_t i = know(load(copy, at.wait_promise));
        if (i != no_coroutine && i >= first_other_ && all_[i].state == coroutine_state::ready)
            (void)take_other_wait(i, operation);
        operation = load(copy, at.wait_next);
    }
}

std::size_t snapshot::size_of_wait(const found_coroutine& c) noexcept {
    const std::uint64_t of_at = kind(c.kind).of_at;
    return std::max<std::size_t>(at.wait_record, of_at) + sizeof(std::uint64_t);
}

/// True if the coroutine waits in the operation, as far as the second look may ask.
bool snapshot::take_other_wait(std::uint32_t i, std::uint64_t operation) noexcept {
    found_coroutine& c = all_[i];
    char copy[512];
    if (!read(operation, copy, at.wait_record + sizeof(std::uint64_t))) return false;
    found_coroutine wanted = c;
    wanted.kind = load(copy, at.wait_kind);
    const std::size_t size = size_of_wait(wanted);
    if (size > sizeof copy || !read(operation, copy, size) || !take_wait(c, copy, copy + size)) return false;
    operation_of(i) = operation;
    return true;
}

/// Whom the coroutine names: those that await it, and the environment that it was made in.
void snapshot::follow(std::uint32_t i) noexcept {
    const auto has_begun = [this](std::uint32_t j) {
        const found_coroutine& c = all_[j];
        return !c.is_stale || c.state == coroutine_state::waits || c.state == coroutine_state::joins;
    };
    if (all_[i].parent != 0) follow_parent(all_[i].parent);
    if (all_[i].state == coroutine_state::ended || !has_begun(i)) return;
    all_[i].is_stale = false;
    const std::uint64_t join = all_[i].join;
    std::uint64_t pointer = join & ~std::uint64_t{at.join_tags};
    if (pointer == 0) return;
    if ((join & at.join_direct) == 0) {
        for (int left = most_links; pointer != 0 && left != 0; --left) {
            know_awaiter(pointer, i);
            if ((join & at.join_list) == 0 || !read_word(pointer + at.waiter_next, pointer)) return;
        }
        return;
    }
    // A caller that awaits has begun, too, and so has its own.
    std::uint32_t j = know(pointer);
    while (j != no_coroutine && all_[j].is_stale) {
        all_[j].is_stale = false;
        const std::uint64_t caller = all_[j].join;
        j = (caller & at.join_direct) != 0 ? know(caller & ~std::uint64_t{at.join_tags}) : no_coroutine;
    }
}

/// The coroutines above, and those that join the environment objects between.
void snapshot::follow_parent(std::uint64_t parent) noexcept {
    std::uint64_t& seen = tables_->seen_parents[cache_place(parent, cached)];
    if (seen == parent) return;
    seen = parent;
    for (int left = most_links; parent != 0 && left != 0; --left) {
        if (of_environment(parent) != no_coroutine) return;
        char environment[256];
        if (parent % alignof(void*) != 0 || !read(parent, environment, at.environment_size)) return;
        if ((load<std::uint32_t>(environment, at.marks) & at.mark_object) == 0) {
            (void)know(parent);
            return;
        }
        std::uint64_t joiner = 0;
        std::uint64_t promise = 0;
        if (read_word(parent + at.object_joiner, joiner) && joiner != 0 &&
            read_word(joiner + at.joiner_promise, promise))
            (void)know(promise);
        parent = load(environment, at.parent) & ~std::uint64_t{at.parent_tags};
    }
}

void snapshot::know_awaiter(std::uint64_t waiter, std::uint32_t child) noexcept {
    if (awaiting(waiter, all_[child]) != no_coroutine) return;
    tables_->waiters[cache_place(waiter, cached)] = {waiter, know(promise_of_waiter(waiter, all_[child].control))};
}

/// The coroutine with this promise, which is entered if it is not known yet; no_coroutine: there is none.
std::uint32_t snapshot::know(std::uint64_t promise) noexcept {
    if (promise == 0 || promise % alignof(void*) != 0) return no_coroutine;
    const std::uint32_t known = of_environment(promise);
    if (known != no_coroutine) return known;
    char control[256];
    const std::uint64_t address = promise - at.promise - at.control_size;
    if (!read(address, control, at.control_size + at.promise + at.environment_size)) return no_coroutine;
    const char* const frame = control + at.control_size;
    const bool is_object = (load<std::uint32_t>(frame, at.promise + at.marks) & at.mark_object) != 0;
    if (is_object || (load<std::uint32_t>(control, at.word) & at.word_counted) == 0 || !is_frame(frame))
        return no_coroutine;
    if (other_room_ == 0 || !has_room()) return no_coroutine;
    const std::uint32_t i = count_++;
    fill(all_[i], address, control);
    enter_other(i);
    return i;
}

// --- a table of them by address --------------------------------------------------------------------------------------

namespace {

/// Copies to pages of twice the size; false for want of memory.
template <typename T>
bool grow(T*& all, std::size_t& bytes) noexcept {
    void* const larger = os::map_pages(2 * bytes);
    if (larger == nullptr) return false;
    std::memcpy(larger, all, bytes);
    os::unmap_pages(all, bytes);
    all = static_cast<T*>(larger);
    bytes *= 2;
    return true;
}

}  // namespace

bool snapshot::has_room() noexcept {
    if ((count_ + std::size_t{1}) * sizeof(found_coroutine) > all_bytes_ && !grow(all_, all_bytes_)) return false;
    if (2 * std::size_t{count_ - first_other_} < other_room_) return true;
    other_frame* const before = others_;
    const std::size_t room = other_room_;
    auto* const larger = static_cast<other_frame*>(os::map_pages(2 * room * sizeof(other_frame)));
    if (larger == nullptr) return false;
    others_ = larger;
    other_room_ = 2 * room;
    for (std::size_t slot = 0; slot < room; ++slot) {
        if (before[slot].number == 0) continue;
        const std::uint32_t i = before[slot].number - 1;
        enter_other(i);
        operation_of(i) = before[slot].operation;
    }
    os::unmap_pages(before, room * sizeof(other_frame));
    return true;
}

void snapshot::enter_other(std::uint32_t i) noexcept {
    std::size_t slot = cache_place(all_[i].control, other_room_);
    while (others_[slot].number != 0) slot = (slot + 1) % other_room_;
    others_[slot] = {0, i + 1, 0};
}

std::uint32_t snapshot::find_other(std::uint64_t control) const noexcept {
    if (count_ == first_other_ || other_room_ == 0) return no_coroutine;
    for (std::size_t slot = cache_place(control, other_room_); others_[slot].number != 0;
         slot = (slot + 1) % other_room_) {
        if (all_[others_[slot].number - 1].control == control) return others_[slot].number - 1;
    }
    return no_coroutine;
}

/// Pre: the coroutine is of another resource.
std::uint64_t& snapshot::operation_of(std::uint32_t other) noexcept {
    std::size_t slot = cache_place(all_[other].control, other_room_);
    while (others_[slot].number != other + 1) slot = (slot + 1) % other_room_;
    return others_[slot].operation;
}

void snapshot::look_again_at_others() noexcept {
    for (std::uint32_t i = first_other_; i < count_; ++i) {
        found_coroutine& c = all_[i];
        char control[256];
        if (!read(c.control, control, at.control_size + sizeof(void*)) || print_of(control) != c.print) continue;
        if (c.state != coroutine_state::waits) {
            c.moving = false;
            continue;
        }
        found_coroutine again = c;
        char copy[512];
        const std::size_t size = size_of_wait(c);
        c.moving = !read(operation_of(i), copy, size) ||
                   load(copy, at.wait_promise) != c.control + at.control_size + at.promise ||
                   !take_wait(again, copy, copy + size) || again.kind != c.kind || again.of != c.of;
    }
}

}  // namespace coflux::detail::inspection
