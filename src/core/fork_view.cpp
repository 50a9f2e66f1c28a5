// Waiting in the list of a shared frame for its end, by a view.
#include <coflux/core/fork_view.hpp>

#include <cstdint>
#include <new>

#include <coflux/base/no_coroutine.hpp>
#include <coflux/core/detail/promise/await.hpp>
#include <coflux/memory/frame_pool.hpp>

namespace coflux::detail {

/// The node of a shared_wait in the list of a shared frame. Its lock decides whether the coroutine is the stopper's
/// or the ender's:
///
///     fresh --wait_for--> queued --stopper--> claimed   the stopper's; the ender frees the node
///                            +-----end------> ended     the ender's; the awaiter frees the node
///
/// wait_for() holds the lock until it has touched everything for the last time.
struct shared_node : waiter {
    enum class state : std::uint8_t { fresh, queued, claimed, ended };

    explicit shared_node(shared_wait& w) noexcept : wait(&w) {
        coroutine = &w.coroutine();
        ended = &shared_node::frame_ended;
        alone = true;
    }

    /// queued becomes `to`; false if another thread was first.
    bool take(state to) noexcept {
        const adaptive_guard guard(lock);
        if (now != state::queued) return false;
        now = to;
        return true;
    }

    static std::coroutine_handle<> frame_ended(waiter& self, frame_control& c, const void* here) noexcept {
        auto& node = static_cast<shared_node&>(self);
        if (!node.take(state::ended)) {
            shared_wait::free_node(node);
            return no_coroutine();
        }
        promise_base& p = *node.coroutine;
        node.wait->withdraw();  // here, because one that is woken to stop resumes nowhere
        return promise_base::wake(p, c.word.end(), here);
    }

    shared_wait* wait;
    adaptive_lock lock;
    state now = state::fresh;
};

void shared_wait::free_node(shared_node& node) noexcept {
    node.~shared_node();
    deallocate_pooled(&node, sizeof(shared_node), alignof(shared_node));
}

bool shared_wait::claim(wait_operation& waiting) noexcept {
    auto& self = static_cast<shared_wait&>(waiting);
    if (!self.node_->take(shared_node::state::claimed)) return false;
    self.node_ = nullptr;  // it is the list's now
    return true;
}

std::coroutine_handle<> shared_wait::wait_for(frame_control& c) {
    promise_base& p = coroutine();
    if (p.begin_suspend() == suspension::stop) return p.stop_here();
    p.check_not_self(c);
    shared_node& node = *::new (allocate_pooled(sizeof(shared_node), alignof(shared_node))) shared_node(*this);
    node_ = &node;  // its destructor frees it where the attempt throws
    switch (attempt_wait(*this, [this, &node, &c]() noexcept {
        const adaptive_guard guard(node.lock);
        if (must_stop()) return wait_attempt::stop;
        if (c.join.await(node) != join_result::registered) return wait_attempt::ready;
        node.now = shared_node::state::queued;
        return wait_attempt::waits;
    })) {
    case wait_attempt::ready: return transfer(promise_base::wake(p, c.word.end(), identity_of(p.runs_on())));
    case wait_attempt::stop: return p.stop_here();
    case wait_attempt::waits: break;
    }
    return suspended();
}

}  // namespace coflux::detail
