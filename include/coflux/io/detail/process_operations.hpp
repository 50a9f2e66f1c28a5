// The awaits of process.
#pragma once

#include <coroutine>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include <coflux/base/adaptive_lock.hpp>
#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/core/errors.hpp>
#include <coflux/io/detail/io_operation.hpp>
#include <coflux/io/detail/pool_operation.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

class command_line;
class exit_status;
class process;
struct process_options;

namespace detail {

/// A child that was started. Its waits refer to it, so it does not move.
struct child_state {
    descriptor_handle pidfd;
    int pid = 0;
    bool leaves_running = false;
    bool leads_group = false;
    error_handler on_error = nullptr;  // of the environment that it was started in
    // Guards the end: while the lock is held and it was not taken, the number is the child's, and its group's.
    adaptive_lock end_lock;
    bool ends_group = false;  // when it has ended, the rest of its group is killed; under end_lock
    // The thread that takes the end writes the three once: release, after the others; acquire where it is asked.
    atomic<bool> has_ended{false};
    bool is_signal = false;
    int code = 0;
    child_state* next_left = nullptr;  // of those that were left, and that no thread waits for
};

/// Owns a child.
class child_handle {
public:
    child_handle() noexcept = default;
    explicit child_handle(child_state* owned) noexcept : owned_(owned) {}
    child_handle(child_handle&& other) noexcept : owned_(other.release()) {}
    child_handle& operator=(child_handle&& other) noexcept;
    ~child_handle() { drop(); }

    /// Errors: a checked error if there is none.
    [[nodiscard]] child_state& get() const noexcept;
    [[nodiscard]] child_state* state() const noexcept { return owned_; }
    [[nodiscard]] child_state* release() noexcept { return std::exchange(owned_, nullptr); }
    void drop() noexcept;

private:
    child_state* owned_ = nullptr;
};

class wait_process_awaiter : public io_operation {
public:
    wait_process_awaiter(promise_base& p, child_handle& of) noexcept
        : io_operation(p, of.get().pidfd.get(), kind),
          of_(of.get()) {}
    [[nodiscard]] bool await_ready() noexcept {
        return of_.has_ended.load(memory_order_acquire) ? is_done_at_once() : try_now();  // pairs with take_end()
    }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    exit_status await_resume();
    io_result<exit_status> resume_with_result() noexcept;

private:
    static bool take_end(io_operation& op) noexcept;
    static const io_kind kind;

    child_state& of_;
    std::ptrdiff_t error_ = 0;
};

class spawn_awaiter : public pool_operation {
public:
    /// Errors: std::invalid_argument, std::bad_alloc.
    spawn_awaiter(promise_base& p, const command_line& command, process_options& options);
    process await_resume();
    io_result<process> resume_with_result();

private:
    static void spawn(pool_operation& op) noexcept;
    int spawn_now() noexcept;
    [[nodiscard]] std::string text() const;
    process take();
    static const steps does;

    const std::vector<std::string>& command_;
    process_options& options_;
    std::vector<const char*> arguments_;
    std::vector<const char*> environment_;
    child_handle made_;
    descriptor_handle streams_[3];
    const char* failed_ = "";
};

using wait_process_request = io_request<wait_process_awaiter, child_handle&>;
using spawn_request = io_request<spawn_awaiter, command_line, process_options>;

}  // namespace detail
}  // namespace coflux
