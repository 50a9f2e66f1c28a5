// The errors of a scope's children, until the scope ends.
#include <utility>

#include <coflux/core/detail/scope/failure.hpp>

#include "core/detail/scope/environment_access.hpp"

namespace coflux::detail {

bool environment_access::stops_for(environment& e) noexcept {
    // relaxed: a second request would do no harm, and only a block fails alone: its children are its own.
    return is_object(e) && object(e).stops_on_error_ &&
           (e.marks_.load(memory_order_relaxed) & environment::stop_asked) == 0 && e.own_.children.has_any();
}

void environment_access::record(environment& of, failure& f) noexcept {
    environment& e = failing(of);
    f.retain();
    failure* seen = nullptr;
    bool stops = false;
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
        stops = stops_for(e);
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

}  // namespace coflux::detail
