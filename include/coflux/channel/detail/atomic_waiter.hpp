// A wait of one coroutine for a change of one atomic word; docs/design/channel_queues.md.
#pragma once

#include <coroutine>
#include <cstdint>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/wait/turn.hpp>
#include <coflux/core/detail/wait/wait_list.hpp>
#include <coflux/core/detail/wait/wait_operation.hpp>

namespace coflux::detail {

/// Base of awaiters that wait in the very word whose change they wait for, so that neither side can miss what the other
/// one does. At most one coroutine waits in a word.
///
/// The word's values while the wait lasts:
///
/// | value         | meaning                                      | left by, to what                              |
/// | ------------- | -------------------------------------------- | --------------------------------------------- |
/// | idle          | nothing has changed                          | waiter → waiting; stopper → idle + marked     |
/// | idle + marked | a stop request came before the waiter waited | waiter → idle, and looks for the request      |
/// | waiting       | the coroutine is suspended                   | stopper → idle, and the wait is the stopper's |
/// | anything else | changed                                      | never back                                    |
///
/// Any of the first three may be left to "anything else" by the peer, which wakes the waiter if it left waiting.
/// It may leave "idle + marked" behind when no wait goes on, where it means idle.
class atomic_waiter : protected wait_operation {
public:
    static constexpr std::uintptr_t marked = 2;

protected:
    explicit atomic_waiter(promise_base& p) noexcept : wait_operation(p, kind) {}

    /// The result for await_ready, if it `is_there`.
    [[nodiscard]] COFLUX_INLINE bool ready_if(bool is_there) noexcept {
        if (!is_there) return false;
        if (goes_on()) [[likely]]
            return true;
        progress_ = wait_progress::let_others_run;
        return false;
    }
    /// The result for await_suspend: waits until `word` is neither `idle` nor `waiting`, unless it was there.
    std::coroutine_handle<> wait_in(atomic<std::uintptr_t>& word, std::uintptr_t idle, std::uintptr_t waiting);
    /// In a word that is 0 while idle, and holds the operation's address while it waits.
    std::coroutine_handle<> wait_in(atomic<std::uintptr_t>& word) {
        return wait_in(word, 0, reinterpret_cast<std::uintptr_t>(static_cast<wait_operation*>(this)));
    }
    /// First thing in await_resume.
    void resumed() noexcept {
        if (progress_ == wait_progress::none) [[likely]]
            return;
        if (progress_ == wait_progress::waited) return end();
        this_thread.current = &coroutine();
    }

    /// Where it waits. Before enter().
    void use_word(atomic<std::uintptr_t>& word, std::uintptr_t idle, std::uintptr_t waiting) noexcept {
        word_ = &word;
        idle_ = idle;
        waiting_ = waiting;
    }
    /// For attempt_wait().
    [[nodiscard]] wait_attempt enter() noexcept;

private:
    static bool claim(wait_operation& op) noexcept;
    static constexpr wait_kind kind{&claim, &stop_claimed, "the other end of a channel"};

    // Written before begin(), which publishes them to a stopper.
    atomic<std::uintptr_t>* word_ = nullptr;
    std::uintptr_t idle_ = 0;
    std::uintptr_t waiting_ = 0;
    wait_progress progress_ = wait_progress::none;
};

}  // namespace coflux::detail
