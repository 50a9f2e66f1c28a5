// The awaits of file. The page docs/design/file.md has their states.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include <coflux/base/atomic.hpp>
#include <coflux/core/detail/promise/promise_base.hpp>
#include <coflux/io/detail/pool_operation.hpp>
#include <coflux/io/result.hpp>

namespace coflux {

class file;
struct file_options;

namespace detail {

class file_calls;

/// An open file. Operations refer to it, so it does not move.
struct file_state {
    int number = -1;  // of the system; -1: it is closed
    std::string path;
    file_calls* calls = nullptr;  // the system's, or a simulated disk's
    blocking_threads* threads = nullptr;
    bool appends_only = false;
    // True: its file system answers no reads, or no writes, at once. relaxed: another thread's answer saves a call.
    atomic<bool> reads_wait{false};
    atomic<bool> writes_wait{false};
    atomic<std::uint32_t> waiting{0};  // operations that wait for the pool: pool_operation counts them
};

/// Owns an open file.
class file_handle {
public:
    file_handle() noexcept = default;
    explicit file_handle(file_state* owned) noexcept : owned_(owned) {}
    file_handle(file_handle&& other) noexcept : owned_(other.owned_) { other.owned_ = nullptr; }
    file_handle& operator=(file_handle&& other) noexcept;
    ~file_handle() { drop("dies"); }

    /// Errors: a checked error if it is closed, or was moved from.
    [[nodiscard]] file_state& get() const noexcept;
    [[nodiscard]] file_state* state() const noexcept { return owned_; }
    /// Errors: a checked error if an operation waits for it.
    void drop(const char* how) noexcept;

private:
    file_state* owned_ = nullptr;
};

/// An operation on an open file.
class file_operation : public pool_operation {
protected:
    file_operation(promise_base& p, file_state& of, const steps& does) noexcept;

    /// Errors: std::system_error, if it failed.
    void check() const {
        if (result_ < 0) fail(of_.path, has_offset_ ? &offset_ : nullptr);
    }
    [[nodiscard]] file_state& of() const noexcept { return of_; }
    [[nodiscard]] file_calls& calls() const noexcept { return *of_.calls; }

    std::uint64_t offset_ = 0;  // of what is read or written, or a size
    bool has_offset_ = false;   // for messages

private:
    file_state& of_;
};

class transfer_file_awaiter : public file_operation {
protected:
    transfer_file_awaiter(promise_base& p, file_handle& on, std::uint64_t offset, void* data, std::size_t size,
                          const steps& does) noexcept;

    std::size_t count_or_throw() {
        done();
        check();
        return count_;
    }

    static bool read_at_once(pool_operation& op) noexcept;
    static void read_wholly(pool_operation& op) noexcept;
    static bool write_at_once(pool_operation& op) noexcept;
    static void write_wholly(pool_operation& op) noexcept;
    static bool append_at_once(pool_operation& op) noexcept;
    static void append_wholly(pool_operation& op) noexcept;

    std::byte* data_;
    std::size_t size_;

private:
    template <typename Call>
    void move_all(Call call) noexcept;
    template <typename Call>
    bool move_at_once(atomic<bool>& waits, Call call) noexcept;
};

class read_at_awaiter : public transfer_file_awaiter {
public:
    read_at_awaiter(promise_base& p, file_handle& on, std::uint64_t offset, std::span<std::byte> into) noexcept
        : transfer_file_awaiter(p, on, offset, into.data(), into.size(), does) {}
    std::size_t await_resume() { return count_or_throw(); }
    io_result<std::size_t> resume_with_result() {
        done_with_result();
        if (result_ < 0) return error();
        return count_;
    }

private:
    static const steps does;
};

class write_file_awaiter : public transfer_file_awaiter {
public:
    void await_resume() { (void)count_or_throw(); }
    io_result<void> resume_with_result() {
        done_with_result();
        return error();
    }

protected:
    using transfer_file_awaiter::transfer_file_awaiter;
};
class write_at_awaiter : public write_file_awaiter {
public:
    write_at_awaiter(promise_base& p, file_handle& on, std::uint64_t offset, std::span<const std::byte> from) noexcept;

private:
    static const steps does;
};
class append_awaiter : public write_file_awaiter {
public:
    append_awaiter(promise_base& p, file_handle& on, std::span<const std::byte> from) noexcept;

private:
    static const steps does;
};

/// Copies the next part of one file to another, or none: then bytes are to be read and written, which tells errors.
class copy_part_awaiter : public file_operation {
public:
    copy_part_awaiter(promise_base& p, file_handle& from, std::uint64_t from_at, file_handle& to,
                      std::uint64_t to_at) noexcept;
    ~copy_part_awaiter();
    std::uint64_t await_resume() {
        done();
        return moved_;
    }

private:
    static bool is_not_possible(pool_operation& op) noexcept;
    static void copy(pool_operation& op) noexcept;
    static const steps does;

    file_state& from_;
    std::uint64_t from_at_;
    std::uint64_t moved_ = 0;
};

/// An operation that has no result but success.
class file_change_awaiter : public file_operation {
public:
    void await_resume() {
        done();
        check();
    }
    io_result<void> resume_with_result() {
        done_with_result();
        return error();
    }

protected:
    file_change_awaiter(promise_base& p, file_handle& on, const steps& does) noexcept
        : file_operation(p, on.get(), does) {}
};
class sync_file_awaiter : public file_change_awaiter {
public:
    sync_file_awaiter(promise_base& p, file_handle& on, bool data_only) noexcept
        : file_change_awaiter(p, on, data_only ? does_data : does) {}

private:
    static void sync(pool_operation& op, bool data_only) noexcept;
    static const steps does;
    static const steps does_data;
};
class truncate_file_awaiter : public file_change_awaiter {
public:
    truncate_file_awaiter(promise_base& p, file_handle& on, std::uint64_t size) noexcept
        : file_change_awaiter(p, on, does) {
        offset_ = size;
    }

private:
    static void truncate(pool_operation& op) noexcept;
    static const steps does;
};
class file_size_awaiter : public file_operation {
public:
    file_size_awaiter(promise_base& p, file_handle& on) noexcept : file_operation(p, on.get(), does) {}
    std::uint64_t await_resume() {
        done();
        check();
        return offset_;
    }
    io_result<std::uint64_t> resume_with_result() {
        done_with_result();
        if (result_ < 0) return error();
        return offset_;
    }

private:
    static void ask(pool_operation& op) noexcept;
    static const steps does;
};
class close_file_awaiter : public file_change_awaiter {
public:
    close_file_awaiter(promise_base& p, file_handle& on) noexcept;
    ~close_file_awaiter();

private:
    static const steps does;
    static void close(pool_operation& op) noexcept;

    int number_;  // of the system; -1: it is closed
};

class open_file_awaiter : public pool_operation {
public:
    /// Errors: std::invalid_argument, std::bad_alloc.
    open_file_awaiter(promise_base& p, std::string& path, const file_options& options);
    file await_resume();
    io_result<file> resume_with_result();

private:
    open_file_awaiter(promise_base& p, std::string& path, const file_options& options, file_calls& by);
    static void open(pool_operation& op) noexcept;
    static const steps does;
    file_handle made_;
    const file_options& options_;
};

using open_file_request = io_request<open_file_awaiter, std::string, file_options>;
using read_at_request = io_request<read_at_awaiter, file_handle&, std::uint64_t, std::span<std::byte>>;
using write_at_request = io_request<write_at_awaiter, file_handle&, std::uint64_t, std::span<const std::byte>>;
using copy_part_request = request<copy_part_awaiter, file_handle&, std::uint64_t, file_handle&, std::uint64_t>;
using append_request = io_request<append_awaiter, file_handle&, std::span<const std::byte>>;
using sync_file_request = io_request<sync_file_awaiter, file_handle&, bool>;
using truncate_file_request = io_request<truncate_file_awaiter, file_handle&, std::uint64_t>;
using file_size_request = io_request<file_size_awaiter, file_handle&>;
using close_file_request = io_request<close_file_awaiter, file_handle&>;

}  // namespace detail
}  // namespace coflux
