#include "inspect/snapshot.hpp"

#include <algorithm>
#include <cstring>

#include <coflux/base/atomic.hpp>

#include "inspect/memory/memory_words.hpp"
#include "inspect/memory/snapshot_tables.hpp"

namespace coflux::detail::inspection {
namespace {

/// As much of a string as can be read, up to its end: memory may end behind it.
void read_text(std::uint64_t from, char* text, std::size_t most) noexcept {
    const os::memory_piece piece{from, most - 1};
    std::size_t size = os::read_own_memory(&piece, 1, text);
    if (size == 0) {
        for (; size + 1 < most && read(from + size, text + size, 1) && text[size] != '\0';) ++size;
    }
    text[size] = '\0';
}

bool is_printable(const char* text) noexcept {
    if (*text == '\0') return false;
    return std::all_of(text, text + std::strlen(text), [](char c) { return c >= ' ' && c != '\x7f'; });
}

std::uint32_t mixed(std::uint64_t a, std::uint64_t b, std::uint64_t c, std::uint64_t d) noexcept {
    std::uint64_t h = a;
    for (const std::uint64_t next : {b, c, d}) h = (h ^ (h >> 29)) * 0x9e3779b97f4a7c15U + next;
    h = (h ^ (h >> 32)) * 0x9e3779b97f4a7c15U;
    return static_cast<std::uint32_t>(h >> 32);
}

/// In place of where the control is in a block: it holds no frame.
constexpr std::size_t no_control = ~std::size_t{0};
std::size_t control_in_block(const char* block) noexcept {
    // [dump.mark]
    const std::uint64_t mark = load(block, at.mark) & at.mark_bits;
    if ((mark & at.word_counted) != 0) return 0;
    return mark == at.control_follows ? at.control_size : no_control;
}

/// Children of a scope: `closed`, where the owner waits for them.
std::uint32_t children_of(const char* environment, bool& closed) noexcept {
    const auto atomically = load<std::int32_t>(environment, at.children_atomic);
    closed = atomically < at.children_open / 2;
    const std::int32_t by_owner = load<std::int32_t>(environment, at.children_by_owner) - at.no_children_by_owner;
    const std::int32_t n = closed ? atomically : by_owner + atomically - at.children_open;
    return n > 0 ? static_cast<std::uint32_t>(n) : 0;
}

std::size_t block_size(std::uint32_t size_class) noexcept {
    return (std::size_t{size_class} + 1) * at.granule;
}

}  // namespace

std::uint32_t print_of(const char* control) noexcept {
    return mixed(load(control, at.join), load(control, at.place), load<std::uint32_t>(control, at.word),
                 load(control, at.control_size));
}

// --- the steps -------------------------------------------------------------------------------------------------------

snapshot::snapshot() noexcept {
    if (!os::can_read_own_memory()) return;
    tables_bytes_ = sizeof(tables);
    tables_ = static_cast<tables*>(os::map_pages(tables_bytes_));
    if (tables_ == nullptr) return;
    tables_->part_count = os::own_mapped_parts(tables_->parts, most_parts);
    list_slabs();
    if (slabs_ == nullptr || all_ == nullptr) return;
    for_each_slab(0, slab_count_, [this](slab_copy& s, const char* copy) { find_in(s, copy); });
    begin_others();
    for_each_slab(slab_count_, slab_count_ + record_slabs_,
                  [this](const slab_copy& s, const char* copy) { look_at_records(s, copy); });
    follow_all();
    resolve_waits();
    resolve_calls();
    resolve_parents();
    resolve_holders();
    find_running();
    for_each_slab(0, slab_count_, [this](const slab_copy& s, const char* copy) { look_again(s, copy); });
    look_again_at_others();
    for (std::uint32_t i = 0; i < count_; ++i) {
        valid_ += all_[i].valid ? 1 : 0;
        moving_ += all_[i].valid && all_[i].moving ? 1 : 0;
    }
    complete_ = true;
}

snapshot::~snapshot() {
    if (tables_ != nullptr) os::unmap_pages(tables_, tables_bytes_);
    if (slabs_ != nullptr) os::unmap_pages(slabs_, slabs_bytes_);
    if (all_ != nullptr) os::unmap_pages(all_, all_bytes_);
    if (others_ != nullptr) os::unmap_pages(others_, other_room_ * sizeof(other_frame));
}

void snapshot::list_slabs() noexcept {
    using entry = atomic<std::uint64_t>;
    // acquire pairs with enter_slab(): chunks and headers are written.
    const std::uint64_t used = static_cast<const entry*>(at.used_entries)->load(memory_order_acquire);
    slabs_bytes_ = (used + 1) * sizeof(slab_copy);
    slabs_ = static_cast<slab_copy*>(os::map_pages(slabs_bytes_));
    if (slabs_ == nullptr) return;
    std::uint64_t index = 0;
    std::uint64_t blocks = 0;
    for (std::size_t c = 0; c < at.chunk_count && index < used; ++c) {
        const entry* const chunk = static_cast<const atomic<entry*>*>(at.chunks)[c].load(memory_order_acquire);
        for (std::size_t i = 0; i < std::size_t{at.first_entries} << c && index < used; ++i, ++index) {
            const std::uint64_t e = chunk[i].load(memory_order_acquire);
            const auto size_class = static_cast<std::uint32_t>(e & at.class_bits);
            if ((e & at.large_tag) == at.large_tag) {
                list_large(e & ~at.large_tag, static_cast<std::uint32_t>(index));
                ++blocks;
                continue;
            }
            if (e == 0 || size_class == at.free_class) continue;
            const auto block = static_cast<std::uint32_t>(block_size(size_class));
            slabs_[slab_count_++] = {
                e & ~std::uint64_t{at.class_bits}, at.slab_bytes, block, 0, static_cast<std::uint32_t>(index), 0, 0};
            if (block != at.record_size) blocks += at.slab_bytes / block;
        }
    }
    slab_copy* const end = slabs_ + slab_count_;
    slab_copy* const records =
        std::partition(slabs_, end, [](const slab_copy& s) { return s.block != at.record_size; });
    slab_count_ = static_cast<std::size_t>(records - slabs_);
    record_slabs_ = static_cast<std::size_t>(end - records);
    std::sort(slabs_, records, [](const slab_copy& a, const slab_copy& b) { return a.address < b.address; });
    all_bytes_ = (blocks + 1) * sizeof(found_coroutine);
    all_ = static_cast<found_coroutine*>(os::map_pages(all_bytes_));
}

/// The block behind this header, if there still is one that a frame or a record fits into.
void snapshot::list_large(std::uint64_t header, std::uint32_t index) noexcept {
    char copy[64];
    if (!read(header, copy, at.large_header) || load<std::uint32_t>(copy, at.large_entry) != index) return;
    const std::uint64_t bytes = std::min<std::uint64_t>(load(copy, at.large_bytes), most_bytes);
    const auto offset = load<std::uint32_t>(copy, at.large_offset);
    const bool fits = bytes == at.record_size || bytes >= at.control_size + at.promise + at.environment_size;
    if (!fits || offset + bytes > bytes_at_once) return;
    const auto size = static_cast<std::uint32_t>(bytes / found_coroutine::unit * found_coroutine::unit);
    slabs_[slab_count_++] = {header + offset, size, size, offset, index, 0, 0};
}

/// Those that can be read, and still are what they were.
template <typename F>
void snapshot::for_each_slab(std::size_t begin, std::size_t last, F f) noexcept {
    while (begin < last) {
        os::memory_piece pieces[slabs_at_once];
        std::size_t n = 0;
        std::size_t bytes = 0;
        for (; n < slabs_at_once && begin + n < last; ++n) {
            const slab_copy& s = slabs_[begin + n];
            pieces[n] = {s.address - s.header, std::size_t{s.header} + s.bytes};
            if (bytes + pieces[n].size > bytes_at_once) break;
            bytes += pieces[n].size;
        }
        const char* copy = tables_->copies;
        const char* const end = copy + os::read_own_memory(pieces, n, tables_->copies);
        std::size_t done = 0;
        for (; done < n && static_cast<std::size_t>(end - copy) >= pieces[done].size; ++done) {
            slab_copy& s = slabs_[begin + done];
            if (load<std::uint32_t>(copy, s.header == 0 ? at.slab_entry : at.large_entry) == s.entry)
                f(s, copy + s.header);
            copy += pieces[done].size;
        }
        begin += done == n ? n : done + 1;  // one is gone
    }
}

void snapshot::find_in(slab_copy& s, const char* copy) noexcept {
    s.first = count_;
    const std::size_t size = s.block;
    const auto untouched = s.header == 0 ? load<std::uint32_t>(copy, at.slab_untouched) : 0;
    for (std::size_t offset = s.bytes % size; offset + size <= s.bytes; offset += size) {
        if (offset < untouched) continue;
        const char* const block = copy + offset;
        const std::size_t control_at = control_in_block(block);
        if (control_at == no_control) continue;
        const char* const control = block + control_at;
        const auto word = load<std::uint32_t>(control, at.word);
        if (control_at + at.control_size + at.promise + at.environment_size > size) continue;
        // A chunk of an arena, whose first frame may have gone.
        // [dump.chunk]
        if ((word & at.word_freed_at_once) != 0) continue;
        const char* const frame = control + at.control_size;
        if (!is_frame(frame)) continue;
        found_coroutine& c = all_[count_++];
        fill(c, s.address + offset + control_at, control);
        c.size = static_cast<std::uint16_t>(size / found_coroutine::unit);
        if (c.state == coroutine_state::ready) find_wait(c, frame, block + size);
    }
    s.count = count_ - s.first;
}

/// Its two functions are code: that which destroys it, and that which resumes it, which is null once it has ended.
bool snapshot::is_frame(const char* frame) const noexcept {
    const std::uint64_t resume = load(frame);
    return is_code(load(frame, sizeof(void*))) && (resume == 0 || is_code(resume));
}

/// All that the control and the environment behind it say.
void snapshot::fill(found_coroutine& c, std::uint64_t address, const char* control) noexcept {
    const auto word = load<std::uint32_t>(control, at.word);
    const char* const frame = control + at.control_size;
    const char* const environment = frame + at.promise;
    const std::uint32_t marks = load<std::uint32_t>(environment, at.marks);
    bool closed = false;
    c.control = address;
    c.place = (word & at.word_has_error) != 0 ? 0 : load(control, at.place);
    if (!is_data(c.place)) c.place = 0;  // a result, while parameters die
    c.kind = c.of = 0;
    c.join = (word & at.word_starts_inline) != 0 ? 0 : load(control, at.join);
    c.parent = load(environment, at.parent) & ~std::uint64_t{at.parent_tags};
    c.children = (word & at.word_scope_open) != 0 ? children_of(environment, closed) : 0;
    c.print = print_of(control);
    c.holder = no_coroutine;
    c.size = 0;
    c.is_call = (word & at.word_counted) == at.word_counted;
    c.moving = true;  // until the second look
    c.valid = false;
    c.at_end = load(frame) == 0;
    c.is_stale = c.is_call && (marks & at.mark_generator) == 0;
    c.from_resource = (word & at.word_from_resource) != 0;
    if (c.at_end) {
        c.state = closed && c.children != 0 ? coroutine_state::joins : coroutine_state::ended;
    } else if (c.is_call && c.join == at.join_detached) {
        c.state = coroutine_state::unawaited;
        c.place = 0;  // it has no value yet
    } else if ((marks & at.mark_generator) != 0 && c.join == 0) {
        c.state = coroutine_state::generator;
    } else {
        c.state = coroutine_state::ready;
    }
}

/// A wait is in the frame of its coroutine, whose promise it names.
void snapshot::find_wait(found_coroutine& c, const char* frame, const char* end) noexcept {
    const std::uint64_t promise = c.control + at.control_size + at.promise;
    const std::size_t step = sizeof(std::uint64_t);
    const std::size_t behind = at.wait_record - at.wait_promise;
    for (const char* p = frame + at.promise + at.environment_size; p + behind + step <= end; p += step) {
        if (load(p) != promise) continue;
        if (take_wait(c, p - at.wait_promise, end)) return;
        // Others resume it by a proxy: two equal functions in front of the promise.
        const std::uint64_t function = load(p - step);
        if (function == load(p - 2 * step) && is_code(function)) c.state = coroutine_state::foreign;
    }
}

/// True if `c` waits in this operation.
bool snapshot::take_wait(found_coroutine& c, const char* operation, const char* end) noexcept {
    const std::uint64_t of_kind = load(operation, at.wait_kind);
    if (!is_data(of_kind) || load(operation, at.wait_record) == 0) return false;
    const known_kind& k = kind(of_kind);
    // [dump.woken]
    const bool is_woken = k.queued_at != 0 && load(operation, k.queued_at) == 0;
    if (!k.valid || !k.waits || is_woken) return false;
    c.state = coroutine_state::waits;
    c.kind = of_kind;
    // [dump.thing]
    const char* const thing = operation + k.of_at;
    c.of = k.of_at != 0 && thing + sizeof(std::uint64_t) <= end ? load(thing) : 0;
    return true;
}

void snapshot::look_again(const slab_copy& s, const char* copy) noexcept {
    for (std::uint32_t i = s.first; i < s.first + s.count; ++i) {
        found_coroutine& c = all_[i];
        const char* const control = copy + (c.control - s.address);
        // [dump.second_look]
        c.moving = print_of(control) != c.print;
    }
}

/// True if that is new of `awaiter`.
bool snapshot::note_await(std::uint32_t awaiter, std::uint32_t child) noexcept {
    if (awaiter == no_coroutine || awaiter == child) return false;
    found_coroutine& a = all_[awaiter];
    if (a.state == coroutine_state::ended || a.state == coroutine_state::joins) return false;
    const bool is_new = a.state != coroutine_state::awaits;
    if (is_new) {
        a.state = coroutine_state::awaits;
        a.kind = 0;
        a.of = child;
    }
    ++a.kind;
    return is_new;
}

/// A call that awaits has begun, so its join word has its caller.
void snapshot::note_call_chain(std::uint32_t awaiter) noexcept {
    while (awaiter != no_coroutine && all_[awaiter].is_stale) {
        all_[awaiter].is_stale = false;
        const std::uint32_t caller = caller_of(awaiter);
        if (!note_await(caller, awaiter)) return;
        awaiter = caller;
    }
}

std::uint32_t snapshot::caller_of(std::uint32_t call) const noexcept {
    const std::uint64_t join = all_[call].join;
    return (join & at.join_direct) != 0 ? of_environment(join & ~std::uint64_t{at.join_tags}) : no_coroutine;
}

void snapshot::resolve_waits() noexcept {
    const auto awaits = [this](std::uint32_t awaiter, std::uint32_t child) {
        if (note_await(awaiter, child)) note_call_chain(awaiter);
    };
    for (std::uint32_t i = 0; i < count_; ++i) {
        found_coroutine& c = all_[i];
        if (c.state == coroutine_state::ended) continue;  // it has woken what awaited it
        if (c.is_stale) {
            if (c.state == coroutine_state::waits || c.state == coroutine_state::joins) note_call_chain(i);
            continue;
        }
        std::uint64_t pointer = c.join & ~std::uint64_t{at.join_tags};
        if (pointer == 0) continue;
        if ((c.join & at.join_direct) != 0) {
            awaits(of_environment(pointer), i);
        } else if ((c.join & at.join_list) == 0) {
            awaits(awaiting(pointer, c), i);
        } else {
            for (int left = 1000; pointer != 0 && left != 0; --left) {
                awaits(awaiting(pointer, c), i);
                if (!read_word(pointer + at.waiter_next, pointer)) break;
            }
        }
    }
}

/// Calls that are suspended in nothing that is known. One that has not begun has whatever was in its join word before:
/// it has begun if that has a caller which may be waiting for it.
void snapshot::resolve_calls() noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) {
        found_coroutine& c = all_[i];
        if (!c.is_stale || (c.state != coroutine_state::ready && c.state != coroutine_state::foreign)) continue;
        const std::uint32_t caller = caller_of(i);
        const bool may_wait =
            caller != no_coroutine && caller != i &&
            (all_[caller].state == coroutine_state::ready || all_[caller].state == coroutine_state::foreign);
        // [dump.not_begun]
        if (!may_wait) {
            c.state = coroutine_state::unawaited;
            c.place = 0;  // as the join word
        } else {
            note_call_chain(i);
        }
    }
}

void snapshot::resolve_holders() noexcept {
    for (std::uint32_t i = 0; i < count_; ++i) {
        found_coroutine& c = all_[i];
        if (c.state != coroutine_state::waits || c.of == 0) continue;
        const std::uint64_t holder_at = kind(c.kind).holder_at;
        if (holder_at == at.no_holder) continue;
        const std::uint64_t from = c.of + holder_at;
        known_holder& known = tables_->holders[cache_place(from, cached)];
        if (known.word != from) {
            std::uint64_t word = 0;
            known = {from, no_coroutine};
            // [dump.holder]
            if (read_word(from, word)) known.coroutine = of_environment(word & ~std::uint64_t{at.holder_tags});
        }
        c.holder = known.coroutine;
    }
}

void snapshot::resolve_parents() noexcept {
    std::uint64_t last = 0;
    known_object of_last{};
    for (std::uint32_t i = 0; i < count_; ++i) {
        found_coroutine& c = all_[i];
        if (c.parent == 0) {  // a call that was given no environment, and has not begun
            c.valid = c.state == coroutine_state::unawaited;
            c.above = c.joined_by = no_coroutine;
            continue;
        }
        if (c.parent != last) {
            last = c.parent;
            const std::uint32_t above = of_environment(last);
            of_last = above == no_coroutine ? object(last) : known_object{last, above, no_coroutine, true};
            if (above != no_coroutine && all_[above].at_end && all_[above].state == coroutine_state::joins)
                of_last.joiner = above;
        }
        c.valid = of_last.valid;
        c.above = of_last.above;
        // A call is a part of its caller.
        c.joined_by = c.is_call || c.state == coroutine_state::ended ? no_coroutine : of_last.joiner;
    }
}

/// The environment object at `address`, if there is one, and the coroutine above it.
const snapshot::known_object& snapshot::object(std::uint64_t address) noexcept {
    known_object& known = tables_->objects[cache_place(address, cached)];
    if (known.address == address) return known;
    known = {address, no_coroutine, no_coroutine, false};
    std::uint64_t next = address;
    for (int left = 1000; left != 0; --left) {
        char copy[256];
        if (next % alignof(void*) != 0 || !read(next, copy, at.environment_size)) return known;
        if ((load<std::uint32_t>(copy, at.marks) & at.mark_object) == 0) return known;
        std::uint64_t joiner = 0;
        std::uint64_t promise = 0;
        if (next == address && read_word(next + at.object_joiner, joiner) && joiner != 0 &&
            read_word(joiner + at.joiner_promise, promise)) {
            bool closed = false;
            const std::uint32_t children = children_of(copy, closed);
            const std::uint32_t i = of_environment(promise);
            if (i != no_coroutine && closed && children != 0 && all_[i].state != coroutine_state::ended) {
                // [dump.joiner]
                all_[i].state = coroutine_state::joins;
                all_[i].children = children;
                known.joiner = i;
            }
        }
        next = load(copy, at.parent) & ~std::uint64_t{at.parent_tags};
        const std::uint32_t i = next == 0 ? no_coroutine : of_environment(next);
        if (next != 0 && i == no_coroutine) continue;  // another object
        known.above = i;
        known.valid = true;
        return known;
    }
    return known;
}

std::uint32_t snapshot::awaiting(std::uint64_t waiter, const found_coroutine& child) noexcept {
    if (const std::uint32_t around = find_around(waiter); around != no_coroutine) return around;
    known_waiter& known = tables_->waiters[cache_place(waiter, cached)];
    if (known.address == waiter) return known.coroutine;
    const std::uint64_t promise = promise_of_waiter(waiter, child.control);
    known = {waiter, promise == 0 ? no_coroutine : of_environment(promise)};
    return known.coroutine;
}

/// 0: not known.
std::uint64_t snapshot::promise_of_waiter(std::uint64_t waiter, std::uint64_t child) noexcept {
    char copy[128];
    if (!read(waiter, copy, at.waiter_size)) return 0;
    std::uint64_t promise = load(copy, at.waiter_promise);
    if (promise != 0 || !read(waiter, copy, at.some_of + sizeof(void*))) return promise;
    // [dump.some]
    const bool is_one_of_some = load(copy, at.some_child) == child;
    return is_one_of_some && read_word(load(copy, at.some_of), promise) ? promise : 0;
}

const snapshot::known_kind& snapshot::kind(std::uint64_t address) noexcept {
    known_kind& known = tables_->kinds[cache_place(address, cached)];
    if (known.address == address) return known;
    known = {address, 0, 0, at.no_holder, false, false};
    char copy[128];
    if (!read(address, copy, at.kind_size)) return known;
    const std::uint64_t stop = load(copy, at.kind_stop);
    if (!is_code(load(copy, at.kind_claim)) || (stop != 0 && !is_code(stop))) return known;
    const std::uint64_t what = load(copy, at.kind_what);
    known.of_at = load(copy, at.kind_of_at);
    known.queued_at = load(copy, at.kind_queued_at);
    known.holder_at = load(copy, at.kind_holder_at);
    known.valid = what == 0 || is_data(what);
    known.waits = what != 0;
    return known;
}

void snapshot::find_running() noexcept {
    const auto* const threads = static_cast<const atomic<const char*>*>(at.threads);
    for (std::uint32_t t = 0; t < at.thread_count; ++t) {
        const char* const thread = threads[t].load(memory_order_relaxed);  // pairs with nothing: it may be gone
        std::uint64_t current = 0;
        if (thread == nullptr || !read_word(reinterpret_cast<std::uint64_t>(thread) + at.thread_current, current))
            continue;
        const std::uint32_t i = current == 0 ? no_coroutine : of_environment(current);
        if (i == no_coroutine || all_[i].state != coroutine_state::ready) continue;
        // [dump.runs]
        all_[i].state = coroutine_state::running;
        all_[i].of = t;
    }
}

// --- deadlocks -------------------------------------------------------------------------------------------------------

bool snapshot::awaits_alone(std::uint32_t i) noexcept {
    const found_coroutine& c = all_[i];
    if (c.state != coroutine_state::awaits || c.kind != 1) return false;
    const found_coroutine& child = all_[c.of];
    const std::uint64_t join = child.join;
    if ((join & at.join_direct) != 0) return true;
    std::uint64_t pointer = join & ~std::uint64_t{at.join_tags};
    for (int left = 1000; pointer != 0 && left != 0; --left) {
        if (awaiting(pointer, child) == i) {
            bool alone = false;
            // [deadlock.alone]
            return read(pointer + at.waiter_alone, &alone, sizeof alone) && alone;
        }
        if ((join & at.join_list) == 0 || !read_word(pointer + at.waiter_next, pointer)) break;
    }
    return false;
}

bool snapshot::still_wait(const std::uint32_t* members, std::size_t count) noexcept {
    os::memory_piece pieces[3 * most_at_once];
    std::size_t n = 0;
    std::size_t bytes = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const found_coroutine& c = all_[members[i]];
        const bool is_other = members[i] >= first_other_;
        pieces[n++] = {c.control,
                       is_other ? at.control_size + sizeof(void*) : end_of_block(*slab_of(c.control), c) - c.control};
    }
    for (std::size_t i = 0; i < count; ++i) {
        const found_coroutine& c = all_[members[i]];
        if (c.state != coroutine_state::waits) continue;
        pieces[n++] = {c.of + kind(c.kind).holder_at, sizeof(std::uint64_t)};
        if (members[i] >= first_other_) pieces[n++] = {operation_of(members[i]), size_of_wait(c)};
    }
    for (std::size_t i = 0; i < n; ++i) bytes += pieces[i].size;
    char* const copy = tables_->copies;
    if (bytes > bytes_at_once || os::read_own_memory(pieces, n, copy) != bytes) return false;
    const char* block = copy;
    const char* word = copy;
    for (std::size_t i = 0; i < count; ++i) word += pieces[i].size;
    for (std::size_t i = 0; i < count; ++i) {
        const found_coroutine& c = all_[members[i]];
        const char* const control = block;
        block += pieces[i].size;
        if (print_of(control) != c.print) return false;
        if (c.state != coroutine_state::waits) continue;
        if (of_environment(load(word) & ~std::uint64_t{at.holder_tags}) != c.holder) return false;
        word += sizeof(std::uint64_t);
        found_coroutine again = c;
        again.state = coroutine_state::ready;
        if (members[i] >= first_other_) {
            (void)take_wait(again, word, word + size_of_wait(c));
            word += size_of_wait(c);
        } else {
            find_wait(again, control + at.control_size, block);
        }
        if (again.state != coroutine_state::waits || again.kind != c.kind || again.of != c.of) return false;
    }
    return true;
}

// --- what an address is ----------------------------------------------------------------------------------------------

const snapshot::slab_copy* snapshot::slab_of(std::uint64_t address) const noexcept {
    if (last_slab_ != nullptr && address - last_slab_->address < last_slab_->bytes) return last_slab_;
    const slab_copy* const first = slabs_;
    const slab_copy* const next =
        std::upper_bound(first, first + slab_count_, address,
                         [](std::uint64_t wanted, const slab_copy& a) { return wanted < a.address; });
    if (next == first || address - next[-1].address >= next[-1].bytes) return nullptr;
    last_slab_ = next - 1;
    return last_slab_;
}

std::uint32_t snapshot::find(std::uint64_t control) const noexcept {
    const slab_copy* const s = slab_of(control);
    if (s == nullptr) return find_other(control);
    const found_coroutine* const end = all_ + s->first + s->count;
    const found_coroutine* const c =
        std::lower_bound(static_cast<const found_coroutine*>(all_ + s->first), end, control,
                         [](const found_coroutine& a, std::uint64_t wanted) { return a.control < wanted; });
    return c != end && c->control == control ? static_cast<std::uint32_t>(c - all_) : find_other(control);
}

std::uint32_t snapshot::find_around(std::uint64_t address) const noexcept {
    const slab_copy* const s = slab_of(address);
    if (s == nullptr) return no_coroutine;
    const found_coroutine* const first = all_ + s->first;
    const found_coroutine* const next =
        std::upper_bound(first, first + s->count, address,
                         [](std::uint64_t wanted, const found_coroutine& a) { return wanted < a.control; });
    if (next == first) return no_coroutine;
    return address < end_of_block(*s, next[-1]) ? static_cast<std::uint32_t>(next - 1 - all_) : no_coroutine;
}

std::uint64_t snapshot::end_of_block(const slab_copy& s, const found_coroutine& c) const noexcept {
    const std::uint64_t end = s.address + s.bytes;
    return end - (end - c.control - 1) / c.bytes() * c.bytes();
}

std::uint32_t snapshot::of_environment(std::uint64_t address) const noexcept {
    return find(address - at.promise - at.control_size);
}

bool snapshot::is_in(std::uint64_t address, bool executable) const noexcept {
    tables& t = *tables_;
    std::size_t& last = t.last_part[executable ? 1 : 0];
    const auto holds = [&](const os::mapped_part& p) { return p.begin <= address && address < p.end; };
    if (last < t.part_count && holds(t.parts[last])) return t.parts[last].executable == executable;
    const os::mapped_part* const next =
        std::upper_bound(t.parts, t.parts + t.part_count, address,
                         [](std::uint64_t wanted, const os::mapped_part& p) { return wanted < p.begin; });
    if (next == t.parts || !holds(next[-1])) return false;
    if (next[-1].executable == executable) last = static_cast<std::size_t>(next - 1 - t.parts);
    return next[-1].executable == executable;
}

// --- text ------------------------------------------------------------------------------------------------------------

void snapshot::text_of_kind(std::uint64_t kind, char* text, std::size_t most) const noexcept {
    text[0] = '\0';
    std::uint64_t what = 0;
    if (!read_word(kind + at.kind_what, what) || what == 0) return;
    read_text(what, text, most);
    if (!is_printable(text)) text[0] = '\0';
}

snapshot::place snapshot::place_at(std::uint64_t address) const noexcept {
    place found;
    struct {
        std::uint64_t file;
        std::uint64_t function;
        std::uint32_t line;
        std::uint32_t column;
    } words;
    if (address == 0 || !read(address, &words, sizeof words)) return found;
    if (!is_data(words.file) || !is_data(words.function)) return found;
    read_text(words.file, found.file, sizeof found.file);
    read_text(words.function, found.function, sizeof found.function);
    if (is_printable(found.file) && is_printable(found.function)) found.line = words.line;
    return found;
}

}  // namespace coflux::detail::inspection
