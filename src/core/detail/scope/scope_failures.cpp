#include "core/detail/scope/scope_failures.hpp"

#include <utility>

#include <coflux/core/environment_object.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/wait/wait_records.hpp"

namespace coflux::detail {

environment_object& scope_failures::object(environment& e) noexcept {
    return static_cast<environment_object&>(e);
}

environment& scope_failures::scope_of(environment& e) noexcept {
    return environment_tree::is_object(e) && e.is_of_generator() ? *environment_tree::parent(e) : e;
}

failure* scope_failures::youngest(const environment& e) noexcept {
    const wait_record* const r = wait_records::find(e);
    return r != nullptr ? r->failures : own_youngest(e);
}

void scope_failures::set_youngest(environment& e, failure* f) noexcept {
    if (wait_record* const r = wait_records::find(e)) {
        r->failures = f;
    } else {
        set_own_youngest(e, f);
    }
}

bool scope_failures::has_any(const environment& e) noexcept {
    return youngest(e) != nullptr;
}

bool scope_failures::has_unobserved(const environment& e) noexcept {
    const failure* f = youngest(e);
    while (f != nullptr && f->observed()) f = f->next;
    return f != nullptr;
}

failure* scope_failures::take_cause(environment& e) noexcept {
    return std::exchange(object(e).stopped_by_, nullptr);
}

bool scope_failures::stops_for(environment& e) noexcept {
    // relaxed: a second request would do no harm, and only a block fails alone: its children are its own.
    return environment_tree::is_object(e) && object(e).stops_on_error_ &&
           (e.marks_.load(memory_order_relaxed) & environment::stop_asked) == 0 && e.own_.children.has_any();
}

void scope_failures::record(environment& of, failure& f, bool is_told) noexcept {
    environment& e = scope_of(of);
    f.retain();
    failure* seen = nullptr;
    bool stops = false;
    {
        const guard held(e);
        // A loop that awaits failing children one by one leaves one observed failure at a time: drop it here.
        failure* first = youngest(e);
        while (first != nullptr && first->observed()) {
            failure* const head = first;
            first = head->next;
            head->next = seen;
            seen = head;
        }
        f.next = first;
        set_youngest(e, &f);
        stops = !is_told && stops_for(e);
        if (stops && object(e).stopped_by_ == nullptr) {
            f.retain();
            object(e).stopped_by_ = &f;
        }
    }
    while (seen != nullptr) {
        failure* const next = seen->next;
        seen->release();
        seen = next;
    }
    // The child that failed has not been released, and the block of a with_scope its scope: the object is there.
    if (stops) e.request_stop();
}

failure* scope_failures::collect(environment& e, failure* first) noexcept {
    failure* ordered = nullptr;
    failure* last = youngest(e);
    set_youngest(e, nullptr);
    while (last != nullptr) {
        failure* const f = last;
        last = f->next;
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

}  // namespace coflux::detail
