#include <coflux/core/environment.hpp>

#include <coflux/core/environment_object.hpp>
#include <coflux/core/frame_allocation.hpp>
#include <coflux/memory/arena.hpp>

#include <cstdio>
#include <exception>
#include <typeinfo>
#include <utility>

#include "environment_access.hpp"

namespace coflux {
namespace {

// Before main, in the one file that is linked wherever there is an environment.
[[maybe_unused]] const bool back_trace_enabled = (detail::enable_back_trace(), true);

}  // namespace

bool environment::look_up(std::uint32_t requests) noexcept {
    for (const environment* e = this; e != nullptr; e = e->parent_.get()) {
        // An ancestor that found itself and all above it clean at this very count has done the rest of the walk.
        if (e != this && (e->own_.stops_seen & detail::stop_count_mask) == requests) break;
        if ((e->marks_.load(detail::memory_order_acquire) & stop_asked) != 0) return true;  // pairs with request_stop()
    }
    own_.stops_seen = requests | (own_.stops_seen & detail::stop_count_inline);
    return false;
}

namespace detail {

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

const executor_entry* environment_data::find_slow(const executor_key* key, std::size_t position) const noexcept {
    if (first.key == key && position-- == 0) return &first;
    for (const executor_entry& entry : others) {
        if (entry.key == key && position-- == 0) return &entry;
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

void environment_access::record(environment& of, failure& f) noexcept {
    environment& e = failing(of);
    f.retain();
    failure* seen = nullptr;
    {
        const failures_guard guard(e);
        // A loop that awaits failing children one by one leaves one observed failure at a time: drop it here.
        failure* first = failures(e);
        while (first != nullptr && first->observed()) {
            failure* const head = first;
            first = head->next;
            head->next = seen;
            seen = head;
        }
        f.next = first;
        set_failures(e, &f);
    }
    while (seen != nullptr) {
        failure* const next = seen->next;
        seen->release();
        seen = next;
    }
    // The child that failed still has its ticket: the scope is there. relaxed: a second request would do no harm.
    if (is_object(e) && object(e).stops_on_error_ &&
        (e.marks_.load(memory_order_relaxed) & environment::stop_asked) == 0) {
        e.request_stop();
    }
}

failure* environment_access::collect(environment& e, failure* first) noexcept {
    failure* ordered = nullptr;
    failure* youngest = failures(e);
    set_failures(e, nullptr);
    while (youngest != nullptr) {
        failure* const f = youngest;
        youngest = f->next;
        f->next = ordered;
        ordered = f;
    }
    failure* unobserved = nullptr;
    failure** end = &unobserved;
    while (ordered != nullptr) {
        failure* const f = ordered;
        ordered = std::exchange(f->next, nullptr);
        if (f->observed()) {
            f->release();
        } else {
            *end = f;
            end = &f->next;
        }
    }
    return join_failures(first, unobserved);
}

void environment_access::list(environment& e, frame_control& c) noexcept {
    environment_object& o = object(e);
    root_links& links = reinterpret_cast<root_links*>(&c)[-1];
    const spin_guard guard(o.children_lock_);
    links.previous = nullptr;
    links.next = o.children_list_;
    if (links.next != nullptr) links.next->previous = &links;
    o.children_list_ = &links;
}

void environment_access::unlist(environment& e, frame_control& c) noexcept {
    environment_object& o = object(e);
    root_links& links = reinterpret_cast<root_links*>(&c)[-1];
    const spin_guard guard(o.children_lock_);
    (links.previous != nullptr ? links.previous->next : o.children_list_) = links.next;
    if (links.next != nullptr) links.next->previous = links.previous;
}

namespace {

/// What the resource of the last frame that this thread could not have threw.
thread_local std::exception_ptr allocation_failure;

void* new_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) {
    const environment_data& data = environment_access::data(parent);
    if (!environment_access::is_object(parent)) return allocate_frame(shape, parent, ticket::shared, flags);
    const frame_layout layout = layout_of_frame(shape, sizeof(root_links) + sizeof(frame_control));
    void* const base = data.frames == nullptr ? allocate_pooled(layout.bytes, layout.alignment)
                                              : data.frames->allocate(layout.bytes, layout.alignment);
    auto* const control = ::new (control_in(base, layout))
        frame_control(data.frames, ticket::shared, flags | data.frames_flags | frame_flags::listed);
    control->where = std::source_location();  // the listing of the living may ask before its first await
    ::new (reinterpret_cast<root_links*>(control) - 1) root_links{};
    return control + 1;
}

}  // namespace

void* try_allocate_from_resource(const frame_layout& layout, const environment& parent) noexcept {
    try {
        return data_of(parent).frames->allocate(layout.bytes, layout.alignment);
    } catch (...) {
        allocation_failure = std::current_exception();
        return nullptr;
    }
}

void deallocate_to(std::pmr::memory_resource& frames, void* base, std::size_t bytes, std::size_t alignment) noexcept {
    const std::uint64_t result = thread_result;  // the frame's own, if it frees itself
    frames.deallocate(base, bytes, alignment);
    thread_result = result;
}

void* try_allocate_shared_frame(frame_shape shape, environment& parent, std::uint32_t flags) noexcept {
    try {
        return new_shared_frame(shape, parent, flags);
    } catch (...) {
        allocation_failure = std::current_exception();
        return nullptr;
    }
}

void rethrow_allocation_failure() {
    std::rethrow_exception(std::exchange(allocation_failure, nullptr));
}

namespace {

void free_memory(frame_control& c, frame_shape shape) noexcept {
    if (c.word.has(frame_flags::has_error)) c.error->release();
    const std::size_t prefix = sizeof(frame_control) + (c.word.has(frame_flags::listed) ? sizeof(root_links) : 0);
    const frame_layout layout = layout_of_frame(shape, prefix);
    std::pmr::memory_resource* const frames = c.word.has(frame_flags::from_resource) ? c.resource : nullptr;
    void* const base = static_cast<char*>(c.frame().address()) - layout.offset;
    if (frames == nullptr) {
        deallocate_pooled(base, layout.bytes, layout.alignment);
    } else {
        frames->deallocate(base, layout.bytes, layout.alignment);
    }
}

/// Behind what the holder of a handle may read or mark while the coroutine ends, who saw it running: the data and the parent
/// (end_of_task_handle()), the marks (request_stop()).
void* shape_of_destroyed(frame_control& c) noexcept {
    return reinterpret_cast<char*>(&c + 1) + 2 * sizeof(void*) + environment_access::unread_when_destroyed;
}

}  // namespace

void deallocate_special_frame(void* frame, frame_shape shape) noexcept {
    frame_control& c = frame_control::of(frame);
    if (c.word.has(frame_flags::retain)) {
        c.word.clear(frame_flags::retain);
        c.word.set(frame_flags::destroyed);
        // The frame's memory is free: its shape waits there for free_ended(), behind what says that it is done().
        *static_cast<void**>(frame) = nullptr;
        ::new (shape_of_destroyed(c)) frame_shape(shape);
        return;
    }
    free_memory(c, shape);
}

void promise_base::free_ended(frame_control& c) noexcept {
    free_memory(c, *std::launder(static_cast<frame_shape*>(shape_of_destroyed(c))));
}

}  // namespace detail

environment_object::join_awaiter environment_object::join() noexcept {
    return join_awaiter(*this);
}

void environment_object::arm_deadline() {
    const detail::deadline_hook* const hook = detail::act_on_deadlines.load(detail::memory_order_relaxed);
    if (hook == nullptr || (storage_.outer != nullptr && storage_.deadline >= storage_.outer->deadline)) return;
    armed_deadline_ = hook->arm(*this, storage_.deadline);
}

namespace detail {
namespace {

/// The error of an object that dies with the locals of a coroutine that is stopped becomes that coroutine's, whose end has been
/// decided. False if it dies otherwise.
bool leave_to_stopped(environment* owner, failure& f) noexcept {
    // relaxed, pairs with nothing: if it is 0, this thread was given the coroutine's end since, and its children are joined.
    if (owner == nullptr || environment_access::remaining(*owner).load(memory_order_relaxed) != 0) return false;
    environment_access::record(*owner, f);
    environment_access::coroutine(*owner).scope_joined();
    return true;
}

}  // namespace
}  // namespace detail

void environment_object::close() noexcept {
    if (armed_deadline_ != nullptr)
        detail::act_on_deadlines.load(detail::memory_order_relaxed)->disarm(armed_deadline_);
    {
        const detail::spin_guard guard(children_lock_);
        if (children_list_ != nullptr) {
            for (detail::root_links* l = children_list_; l != nullptr; l = l->next) {
                detail::frame_control& c = l->control();
                if (c.word.has(detail::frame_flags::has_error)) {
                    std::fprintf(stderr, "coflux: still alive: a coroutine that failed and waits for its children\n");
                    continue;
                }
                if (c.where.line() == 0) {
                    std::fprintf(stderr, "coflux: still alive: a coroutine before its first await\n");
                    continue;
                }
                std::fprintf(stderr, "coflux: still alive: %s at %s:%u\n", c.where.function_name(), c.where.file_name(),
                             static_cast<unsigned>(c.where.line()));
            }
            COFLUX_VERIFY(children_list_ == nullptr,
                          "an environment ends while coroutines made in it are alive (listed above); join them first");
        }
    }
    // The last child took itself off the list and is a few instructions away from its last access: wait for it.
    while (remaining_.load(detail::memory_order_acquire) != detail::scope_open)
        detail::cpu_pause();  // pairs with release of the ticket
    detail::environment_access::end_waits(*this);
    if (detail::failure* const f = detail::environment_access::collect(*this, nullptr)) {
        if (!detail::leave_to_stopped(detail::environment_access::owner(*this), *f))
            detail::report_unobserved(storage_.on_error, *f);
        f->release();
    }
}

std::coroutine_handle<> environment_object::join_awaiter::await_suspend(std::coroutine_handle<>) const noexcept {
    detail::promise_base& p = *p_;
    environment_object& of = of_;
    (void)p.suspends();  // not a stop point
    p.leaves();
    of.joiner_ = &p;
    // acq_rel: pairs with the children's decrements; whoever brings it to 0 sees joiner_.
    if (of.remaining_.fetch_add(-detail::scope_open, detail::memory_order_acq_rel) != detail::scope_open) {
        return std::noop_coroutine();
    }
    return detail::transfer(p.handle());
}

void environment_object::join_awaiter::await_resume() const {
    detail::this_thread.current = p_;
    of_.joiner_ = nullptr;
    of_.remaining_.store(detail::scope_open,
                         detail::memory_order_relaxed);  // pairs with nothing: all children are gone
    if (detail::failure* const f = detail::environment_access::collect(of_, nullptr)) f->rethrow();
}

}  // namespace coflux
