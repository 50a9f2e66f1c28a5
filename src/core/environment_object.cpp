#include <coflux/core/environment_object.hpp>

#include <cstdio>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/end.hpp>

#include "core/detail/readable_name.hpp"
#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"
#include "core/detail/scope/scope_failures.hpp"
#include "core/detail/scope/scope_stops.hpp"
#include "core/detail/wait/wait_records.hpp"

namespace coflux {

void environment_object::arm_deadline([[maybe_unused]] const char& by) {
    const detail::deadline_hook* const hook = detail::act_on_deadlines.load(detail::memory_order_relaxed);
    if (hook == nullptr || (parent_.get() != nullptr && storage_.deadline >= detail::data_of(*parent_).deadline))
        return;
    armed_deadline_ = hook->arm(*this, storage_.deadline);
}

namespace detail {
namespace {

/// An object dies with the locals of a stopped coroutine, whose end has been decided: its error becomes that
/// coroutine's. False if the object dies otherwise.
bool leave_to_stopped(environment* owner, failure& f) noexcept {
    if (owner == nullptr || !scope_children::is_joined(*owner)) return false;
    scope_failures::record(*owner, f);  // it looks again when its locals are dead
    return true;
}

}  // namespace
}  // namespace detail

void environment_object::close() noexcept {
    detail::promise_base::free_left_over(left_over_before_);
    if (armed_deadline_ != nullptr)
        detail::act_on_deadlines.load(detail::memory_order_relaxed)->disarm(armed_deadline_);
    {
        const detail::adaptive_guard guard(children_lock_);
        if (!children_list_.empty()) {
            for (detail::root_links* l = children_list_.front(); l != nullptr; l = l->next) {
                const detail::frame_control& c = l->control();
                const std::source_location where = c.location();
                if (c.word.glance_at(detail::frame_flags::has_error)) {
                    std::fprintf(stderr, "coflux: still alive: a coroutine that failed and waits for its children\n");
                } else if (where.line() == 0) {
                    std::fprintf(stderr, "coflux: still alive: a coroutine before its first await\n");
                } else {
                    std::fprintf(stderr, "coflux: still alive: %s at %s:%u\n",
                                 detail::readable_name(where.function_name()).c_str(), where.file_name(),
                                 static_cast<unsigned>(where.line()));
                }
            }
            COFLUX_VERIFY(children_list_.empty(),
                          "an environment ends while coroutines made in it are alive (listed above); join them first");
        }
    }
    // The last child took itself off the list and is a few instructions away from its last access: wait for it.
    // [join.environment.waits]
    while (own_.children.has_any()) detail::cpu_pause();
    detail::wait_records::end(*this);
    detail::scope_stops::leave_to_owner(*this);
    if (stopped_by_ != nullptr) stopped_by_->release();
    if (detail::failure* const f = detail::scope_failures::collect(*this, nullptr)) {
        if (!detail::leave_to_stopped(detail::environment_tree::owner(*this), *f))
            detail::report_unobserved(storage_.on_error, *f);
        f->release();
    }
}

std::coroutine_handle<> environment_object::join_awaiter::await_suspend(std::coroutine_handle<>) noexcept {
    detail::promise_base& p = *p_;
    environment_object& of = of_;
    COFLUX_VERIFY(p.parent() != &of || p.control().word.counted() == detail::counting::none,
                  "%s joins the environment that it was made in: it would wait for itself",
                  detail::readable_name(p.control().location().function_name()).c_str());
    const bool stop_requested = p.begin_suspend() == detail::suspension::stop;  // not a stop point
    static constexpr detail::stop_calls calls{&request_stop, &go_on};
    if (!detail::reaches(p, of)) [[unlikely]]
        relay_.begin(p, stop_requested, this, calls, 1);
    p.clear_current();
    of.joiner_ = this;
    // The last child sees joiner_.
    if (of.own_.children.close() == detail::children_left::some) return detail::no_coroutine();
    if (!relay_.over()) return detail::no_coroutine();
    end();
    return detail::transfer(p.handle());
}

/// No child is left, and the waiting coroutine, which nothing else touches, goes on next: it is stopped where a stop
/// cut children off. An error wins.
void environment_object::join_awaiter::end() noexcept {
    if (!detail::scope_stops::take(of_) || detail::scope_failures::has_unobserved(of_)) return;
    const bool stops = detail::scope_stops::concerns(of_, *p_);
    if (takes_stop_) {
        is_cut_off_ = true;
        return;
    }
    if (!stops) return;
    of_.joiner_ = nullptr;
    of_.own_.children.reopen();
    p_->begin_unwind();
}

/// A stop of the waiting coroutine was requested: what it joins is stopped, too.
void environment_object::join_awaiter::request_stop(void* self, std::size_t) noexcept {
    static_cast<join_awaiter*>(self)->of_.request_stop_as(stop_asked);  // no request of the code that owns it
}

void environment_object::join_awaiter::go_on(void* self) noexcept {
    auto& join = *static_cast<join_awaiter*>(self);
    join.end();
    join.relay_.wake();
}

void environment_object::join_awaiter::await_resume() {
    detail::this_thread.current = p_;
    of_.joiner_ = nullptr;
    of_.own_.children.reopen();
    if (detail::failure* const f = detail::scope_failures::collect(of_, nullptr)) f->rethrow();
    relay_.throw_if_failed();
}

outcome<void> environment_object::join_outcome_awaiter::await_resume() noexcept {
    outcome<void> of_errors = detail::caught_outcome<void>([this] { join_awaiter::await_resume(); });
    if (is_cut_off() && of_errors.has_value()) return stopped;
    return of_errors;
}

}  // namespace coflux
