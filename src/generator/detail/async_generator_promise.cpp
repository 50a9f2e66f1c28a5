// How a stack of asynchronous generators is entered, left and taken down. The page docs/design/async_generator.md has
// the protocol.
#include <memory>
#include <new>
#include <utility>

#include <coflux/base/assert.hpp>
#include <coflux/generator/async_generator.hpp>

#include "core/detail/scope/environment_tree.hpp"
#include "core/detail/scope/scope_children.hpp"
#include "core/detail/scope/scope_failures.hpp"

namespace coflux::detail {

async_generator_base::~async_generator_base() {
    // Releases what it took and never yielded, or what stopped it: the awaiter owns nothing, see unwind_stack().
    if (inner_ != nullptr) discard(*inner_);
    if (has_scope_) std::destroy_at(&scope_);
}

environment& async_generator_base::inner_environment() noexcept {
    (void)open_scope();
    if (!has_scope_) {
        ::new (&scope_) generator_scope(*this);
        has_scope_ = true;
    }
    scope_.set_executor(runs_on());
    return scope_;
}

/// The consumer's executor is its own again, and that of its children.
void async_generator_base::restore_executor() noexcept {
    control().word.clear(frame_flags::moved);
    if (has_scope_) scope_.set_executor(runs_on());
}

std::coroutine_handle<> async_generator_base::return_to(promise_base& consumer) noexcept {
    const void* const here = identity_of(runs_on());
    clear_current();
    return transfer(resume_from(consumer, here));  // it may be gone from here on
}

/// Continues where `other` was: on the same executor, and as far from the consumer's.
void async_generator_base::continue_from(async_generator_base& other) noexcept {
    use_executor_of(other);
    restore_executor();
    if (other.control().word.has(frame_flags::moved)) control().word.set(frame_flags::moved);
}

std::coroutine_handle<> async_generator_base::yield_inner() noexcept {
    frame_control& c = *inner_;
    COFLUX_VERIFY(!is_running(c), "an async_generator was yielded while its next() was awaited");
    if (is_ready(c)) return let_others_run(*this);
    if (begin_suspend() == detail::suspension::stop || c.frame().done())
        return stop_here();  // a stop was requested, or what it yields was stopped
    async_generator_base& inner = of(c);
    async_generator_base& leaf = *inner.leaf_;
    inner.outer_ = this;
    leaf.root_ = root_;
    root_->leaf_ = &leaf;
    c.join.resume_for(*this);
    leaf.continue_from(*this);
    if (leaf.begin_suspend() == detail::suspension::stop) leaf.begin_unwind();
    return transfer(leaf.handle());
}

void async_generator_base::leave_stack() noexcept {
    outer_->root_ = root_;
    root_->leaf_ = outer_;
    outer_->continue_from(*this);
}

void async_generator_base::inner_ended() {
    this_thread.current = this;
    frame_control& c = *std::exchange(inner_, nullptr);
    failure* const error = c.word.end() == ending::error ? c.error : nullptr;
    if (error != nullptr) error->retain();
    destroy(c);
    if (error != nullptr) error->rethrow();
}

/// Before it is destroyed without having ended: unobserved errors of its children go to the scope that it belongs to.
void async_generator_base::leave_failures() noexcept {
    finish_scope();
    frame_control& c = control();
    if (c.word.end() != ending::error) return;
    environment& scope = scope_failures::scope_of(*parent());
    scope_failures::record(scope, *c.error);  // if that is being stopped, it looks again when its locals are dead
}

/// True if one of the scopes that wait for its children has done so: that scope is being unwound on this very stack.
bool async_generator_base::is_below_joined() noexcept {
    for (environment* e = parent(); e != nullptr; e = scope_children::counted_with(*e)) {
        if (!environment_tree::is_object(*e) && scope_children::is_joined(*e)) return true;
    }
    return false;
}

std::coroutine_handle<> async_generator_base::end_at_once(promise_base& consumer, frame_control& root) noexcept {
    return is_ready(root) ? let_others_run(consumer) : consumer.stop_here();
}

void async_generator_base::end_next(const promise_base& consumer, frame_control& root) noexcept {
    root.join.stand_if_awaited_by(consumer);
}

void async_generator_base::discard(frame_control& c) noexcept {
    COFLUX_VERIFY(!is_running(c), "an async_generator was destroyed while its next() was awaited");
    if (c.frame().done()) return destroy(c);
    async_generator_base& root = of(c);
    for (async_generator_base* g = root.leaf_; g != nullptr; g = g->outer_) {
        if (!g->has_children()) continue;
        if (!g->is_below_joined()) return unwind_stack(root);
        // The scope that is being unwound has waited for its children. The rest is the count of a child that it
        // awaited, and that ended on another thread, a few instructions from its release.
        while (g->has_children()) cpu_pause();
    }
    // From the leaf to the root, in a loop: the frames own each other to any depth.
    for (async_generator_base* g = root.leaf_; g != nullptr;) {
        async_generator_base* const outer = g->outer_;
        if (outer != nullptr) outer->inner_ = nullptr;
        g->leave_failures();
        destroy(g->control());
        g = outer;
    }
}

/// Stops a stack that is at an element and has live children. From now on each of its generators is a child like
/// any other, which the scope that it was made in waits for.
void async_generator_base::unwind_stack(async_generator_base& root) noexcept {
    async_generator_base& leaf = *root.leaf_;
    for (async_generator_base* g = &leaf; g != nullptr; g = g->outer_) {
        COFLUX_VERIFY(
            !g->is_below_joined(),
            "an async_generator yields one with live children, which a stopped coroutine did not make, and dies with it");
        (void)scope_children::add_atomically(*g->parent());
        g->control().word.count_atomically();
        g->request_stop();
    }
    root.control().join.run_detached();  // published by the queue
    leaf.begin_unwind();
    if (const executor_entry* const own = leaf.runs_on(); own != nullptr) return own->post(leaf.handle());
    run_next(leaf.handle());
}

}  // namespace coflux::detail
