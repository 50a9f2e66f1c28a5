// The awaits of process, and of the pipes to it.
#pragma once

#include <coroutine>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
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
    child_handle(child_handle&& other) noexcept : owned_(other.owned_) { other.owned_ = nullptr; }
    child_handle& operator=(child_handle&& other) noexcept;
    ~child_handle() { drop(); }

    /// Errors: a checked error if there is none.
    [[nodiscard]] child_state& get() const noexcept;
    [[nodiscard]] child_state* state() const noexcept { return owned_; }
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
        return of_.has_ended.load(memory_order_acquire) || try_now();  // pairs with take_end()
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
    int own_ends_[3] = {-1, -1, -1};
    const char* failed_ = "";
};

/// Moves bytes between a pipe and a span.
class child_pipe_awaiter : public io_operation {
public:
    [[nodiscard]] bool await_ready() noexcept { return size_ == 0 || try_now(); }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }

protected:
    child_pipe_awaiter(promise_base& p, descriptor_handle& on, const io_kind& kind, const void* data,
                       std::size_t size) noexcept
        : io_operation(p, on.get(), kind),
          data_(static_cast<std::byte*>(const_cast<void*>(data))),
          size_(size) {}

    std::size_t count_or_throw(const char* what);
    io_result<std::size_t> count_or_error() noexcept;

    static bool read_some(io_operation& op) noexcept;
    static bool read_all(io_operation& op) noexcept;
    static bool write_some(io_operation& op) noexcept;
    static bool write_all(io_operation& op) noexcept;

    std::byte* data_;
    std::size_t size_;
    std::size_t count_ = 0;
    std::ptrdiff_t error_ = 0;  // negative: that of the system
    bool ended_ = false;        // no writer is left
};

class child_read_awaiter : public child_pipe_awaiter {
public:
    child_read_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into) noexcept
        : child_pipe_awaiter(p, on, kind, into.data(), into.size()) {}
    std::size_t await_resume() { return count_or_throw("read from"); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }

private:
    static const io_kind kind;
};
class child_read_exactly_awaiter : public child_pipe_awaiter {
public:
    child_read_exactly_awaiter(promise_base& p, descriptor_handle& on, std::span<std::byte> into) noexcept
        : child_pipe_awaiter(p, on, kind, into.data(), into.size()) {}
    void await_resume();
    io_result<std::size_t> resume_with_result() noexcept;

private:
    static const io_kind kind;
};
class child_write_awaiter : public child_pipe_awaiter {
public:
    child_write_awaiter(promise_base& p, descriptor_handle& on, std::span<const std::byte> from) noexcept
        : child_pipe_awaiter(p, on, kind, from.data(), from.size()) {}
    std::size_t await_resume() { return count_or_throw("write to"); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }

private:
    static const io_kind kind;
};
class child_write_all_awaiter : public child_pipe_awaiter {
public:
    child_write_all_awaiter(promise_base& p, descriptor_handle& on, std::span<const std::byte> from) noexcept
        : child_pipe_awaiter(p, on, kind, from.data(), from.size()) {}
    void await_resume() { (void)count_or_throw("write to"); }
    io_result<std::size_t> resume_with_result() noexcept { return count_or_error(); }

private:
    static const io_kind kind;
};

using wait_process_request = io_request<wait_process_awaiter, child_handle&>;
using spawn_request = io_request<spawn_awaiter, command_line, process_options>;
using child_read_request = io_request<child_read_awaiter, descriptor_handle&, std::span<std::byte>>;
using child_read_exactly_request = io_request<child_read_exactly_awaiter, descriptor_handle&, std::span<std::byte>>;
using child_write_request = io_request<child_write_awaiter, descriptor_handle&, std::span<const std::byte>>;
using child_write_all_request = io_request<child_write_all_awaiter, descriptor_handle&, std::span<const std::byte>>;

}  // namespace detail
}  // namespace coflux
