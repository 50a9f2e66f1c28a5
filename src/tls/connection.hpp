// One TLS session over one socket. The page docs/design/tls.md says which coroutine may touch what.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <system_error>

#include <coflux/base/atomic.hpp>
#include <coflux/base/thread.hpp>
#include <coflux/io/tcp.hpp>
#include <coflux/sync/manual_reset_event.hpp>
#include <coflux/sync/mutex.hpp>
#include <coflux/tls/error.hpp>

#include "settings.hpp"

namespace coflux::detail {

/// The most that one record takes on the way, with what TLS adds to it.
constexpr std::size_t most_of_a_record = 16'384;
constexpr std::size_t record_room = most_of_a_record + 512;
/// The room that stays free beside whole records, for alerts and for what a reader answers.
constexpr std::size_t reserve = 1024;

/// Ciphertext between the session and the socket.
template <std::size_t Size>
class byte_line {
public:
    [[nodiscard]] std::span<std::byte> filled() noexcept { return std::span(bytes_).subspan(begin_, end_ - begin_); }
    /// Behind what is filled.
    [[nodiscard]] std::span<std::byte> room() noexcept { return std::span(bytes_).subspan(end_); }
    void fill(std::size_t count) noexcept { end_ += count; }
    void take(std::size_t count) noexcept {
        begin_ += count;
        if (begin_ == end_) begin_ = end_ = 0;
    }

private:
    std::size_t begin_ = 0;
    std::size_t end_ = 0;
    std::array<std::byte, Size> bytes_;
};

class tls_connection {
public:
    tls_connection(std::shared_ptr<const tls_settings> settings, tcp_stream connection, std::string_view host);
    tls_connection(const tls_connection&) = delete;
    tls_connection& operator=(const tls_connection&) = delete;
    /// An operation that uses it is a checked error.
    ~tls_connection();

    /// How far a step of the session came.
    enum class step {
        done,
        wants_bytes,  ///< of the socket
        wants_room,   ///< for ciphertext to be sent
        ended,        ///< the peer has said that its stream ends
        failed,       ///< see throw_failure()
    };
    /// Threads: these exclude each other; none waits for more than one record's computation.
    step handshake() noexcept;
    step read(std::span<std::byte> into, std::size_t& count) noexcept;
    /// As read(); the bytes stay.
    step peek(std::span<std::byte> into, std::size_t& count) noexcept;
    /// The session or the socket has something that a read would look at.
    [[nodiscard]] bool is_readable() noexcept;
    /// Encrypts what there is room for; `from` is what is left.
    step write(std::span<const std::byte>& from) noexcept;
    step say_end() noexcept;

    /// How often the socket was read. An operation that wants bytes, and finds another count than before its step,
    /// tries the step again in place of reading.
    [[nodiscard]] std::uint64_t receipts() const noexcept {
        return receipts_.load(memory_order_acquire);  // pairs with received()
    }
    // By the owner of `receiving` alone.
    /// Where the socket's bytes go. Pre: the session has wanted bytes since the last receipt.
    [[nodiscard]] std::span<std::byte> room_for_received() noexcept { return received_.room(); }
    /// 0: the socket's stream has ended.
    void received(std::size_t count) noexcept;
    [[nodiscard]] bool has_socket_ended() const noexcept { return socket_ended_; }

    /// The bytes to be sent next, and that they were. Called by the owner of `sending` alone.
    [[nodiscard]] std::span<const std::byte> to_be_sent() noexcept;
    void sent(std::size_t count) noexcept;
    /// Sends what the socket takes without a wait, unless another coroutine is sending, which then sends it all.
    /// Returns: false if some is left, because the socket has no room or has failed, and no other is sending.
    bool send_what_fits() noexcept;

    [[nodiscard]] bool is_ready() const noexcept { return ready_.load(memory_order_acquire); }     // pairs with run()
    [[nodiscard]] bool has_failed() const noexcept { return failed_.load(memory_order_acquire); }  // pairs with fail()
    [[nodiscard]] bool has_said_end() const noexcept { return said_end_.load(memory_order_acquire); }  // with say_end()
    /// Pre: has_failed().
    [[noreturn]] void throw_failure(const char* what);
    /// The socket has ended without close_notify.
    [[noreturn]] void throw_truncated(const char* what);
    void check_ready(const char* what);

    [[nodiscard]] std::string alpn();
    [[nodiscard]] std::string peer_subject();
    [[nodiscard]] std::string server_name();
    [[nodiscard]] std::string protocol();
    [[nodiscard]] bool resumed() noexcept;

    tcp_stream socket;
    /// Held while the ciphertext goes to the socket: it goes out in the order in which it was made.
    coflux::mutex sending;
    /// Held while the socket is read.
    coflux::mutex receiving;
    /// Set after each receipt(). The one operation that waits for `receiving` waits for it: there are two at most.
    manual_reset_event has_received;
    atomic<bool> is_read{false};     // true: an operation reads. Changed by its beginning and its end
    atomic<bool> is_written{false};  // true: an operation writes. The same

private:
    step run(int result) noexcept;
    step fail(std::error_code code) noexcept;
    step run_to_write(int result) noexcept;
    void check_host(std::string_view host);

    // OpenSSL reads from it, and writes to it.
    static BIO_METHOD* bio_method();
    static int bio_read(BIO* b, char* into, std::size_t size, std::size_t* count) noexcept;
    static int bio_write(BIO* b, const char* from, std::size_t size, std::size_t* count) noexcept;
    static long bio_control(BIO* b, int what, long, void*) noexcept;

    const std::shared_ptr<const tls_settings> settings_;
    const std::string host_;
    const std::string server_;  // a client's peer, of whose sessions one may be resumed
    mutex lock_;                // guards the session, and what is filled of both lines
    byte_line<most_of_a_record> received_;
    byte_line<2 * record_room + reserve> to_send_;
    owned_ssl session_;
    bool socket_ended_ = false;          // guarded by `receiving`
    atomic<std::uint64_t> receipts_{0};  // counted up under `receiving` and `lock_`
    atomic<bool> ready_{false};          // true, for good: the handshake has ended
    atomic<bool> said_end_{false};       // true, for good: close_notify was made
    atomic<bool> failed_{false};         // true, for good: `failure_` is set
    std::error_code failure_;            // written once, before `failed_`
};

}  // namespace coflux::detail
