// Rules for the system calls of this program's sockets, pipes and files: what the system does now and then, at the call
// where a test wants it. system_rules_test.cpp defines the calls in place of the C library's.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <mutex>
#include <vector>

namespace coflux_test {

/// Reads and writes are those of files; `enter` is io_uring_enter. Messages are datagrams, and what has several buffers
/// or descriptors; a batch moves so many of them. A `connect_result` is what a connect that went on has given. A
/// `watch` is a poll of a ring for many events; a rule lets it end after its first one.
enum class system_call {
    receive,
    send,
    accept,
    connect,
    read,
    write,
    enter,
    receive_message,
    send_message,
    receive_batch,
    send_batch,
    pipe_read,
    pipe_write,
    sync,
    connect_result,
    watch
};
inline constexpr std::size_t system_calls = static_cast<std::size_t>(system_call::watch) + 1;

/// "The third send moves 7 bytes": {.on = system_call::send, .from = 3, .moves = 7}.
struct system_rule {
    system_call on;
    std::size_t from = 1;   ///< the first call that it is for, of those on any descriptor since the rules began
    std::size_t times = 1;  ///< how many calls it is for
    int error = 0;          ///< what they fail with; an interrupted or cancelled connect goes on
    std::size_t moves = std::numeric_limits<std::size_t>::max();  ///< bytes at most; messages of a batch
    bool at_once = false;    ///< only for calls that shall not wait for the drive; they do move bytes then
    bool requested = false;  ///< only for requests of a ring
};
inline constexpr std::size_t always = std::numeric_limits<std::size_t>::max() / 2;

/// While it lives, the calls of this process follow the rules; the first that is for a call counts. One at a time.
/// A call that fails with EAGAIN by a rule is as if the descriptor had become ready just after it: epoll reports it. So
/// is a read that gave less than was there.
/// Requests of an io_uring count as calls, and follow the rules when they are submitted.
class system_rules {
public:
    system_rules(std::initializer_list<system_rule> rules);
    system_rules(const system_rules&) = delete;
    system_rules& operator=(const system_rules&) = delete;
    ~system_rules();

    /// True where the tests were asked to wait on a ring (COFLUX_IO=uring), and the system has what it takes.
    [[nodiscard]] static bool are_on_a_ring();

    [[nodiscard]] std::size_t calls(system_call on) const;
    /// Calls that followed a rule.
    [[nodiscard]] std::size_t followed() const;

    /// Gives a call its rule, or nullptr. Counts.
    static const system_rule* next(system_call on, bool at_once = false, bool requested = false);

private:
    mutable std::mutex lock_;
    std::vector<system_rule> rules_;
    std::array<std::size_t, system_calls> calls_{};
    std::size_t followed_ = 0;
};

/// From now on a set-up of an io_uring with one of these flags fails with EINVAL, as where the kernel is older than the
/// flag. It is not taken back: it is for a process that a test has for itself.
void refuse_set_ups(std::uint32_t flags);
/// The flags of the last io_uring that this process has set up; 0: of none.
[[nodiscard]] std::uint32_t last_set_up();

/// Messages that sendmmsg has given to the system so far, all of this process.
[[nodiscard]] std::size_t messages_of_batches();

}  // namespace coflux_test
