// A strand behind its handle. The page docs/design/serial_executors.md has the protocol.
#pragma once

#include <coroutine>

#include <coflux/core/executor.hpp>

#include "core/detail/scope/left_behind.hpp"
#include "serial_worker.hpp"

namespace coflux::detail {

class strand_state final : private serial_worker {
public:
    explicit strand_state(const executor_entry& over) noexcept : serial_worker(this), over_(over) {}

    void execute(std::coroutine_handle<> h) noexcept;
    /// The handle dies; the strand ends with it, or with the turn that is on its way.
    void end() noexcept;

    /// True if a handle that an executor is given is no coroutine, but the turn of a strand.
    [[nodiscard]] static bool is_turn(std::coroutine_handle<> h) noexcept;
    /// For messages: what `h` is, which an executor below was given: the turn of a strand, or a coroutine.
    [[nodiscard]] static location_text text_of(std::coroutine_handle<> h) noexcept;

private:
    ~strand_state() = default;

    /// The executor below resumes it: begins like a coroutine frame of either compiler.
    struct frame {
        void (*resume)(void*);
        void (*destroy)(void*);
        strand_state* strand;
    };

    static void run_turn(void* at) noexcept;
    static void destroy_turn(void* at) noexcept;
    void turn() noexcept;
    void post_turn() noexcept { over_.post(std::coroutine_handle<>::from_address(&turn_)); }
    bool must_give_way() noexcept override { return true; }

    const executor_entry over_;
    frame turn_{&run_turn, &destroy_turn, this};
    bool ends_ = false;  // the handle is dead; guarded as its rest is
};

}  // namespace coflux::detail
