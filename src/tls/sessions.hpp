// The sessions of a client's context. See docs/design/tls.md.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include <coflux/base/thread.hpp>

#include "openssl.hpp"

namespace coflux::detail {

/// By server; all members from any thread. No other lock is taken while its lock is held.
class tls_sessions {
public:
    explicit tls_sessions(std::size_t most) noexcept : most_(most) {}

    /// The sessions that servers give to `ctx` are kept here. Once: false if it is another context's.
    [[nodiscard]] bool belong_to(SSL_CTX* ctx) noexcept;
    /// Pre: `handshake`, of that context, has not begun. `server`, with whom it is, outlives it.
    void resume_in(SSL* handshake, const std::string& server) noexcept;

    [[nodiscard]] std::size_t size() noexcept;
    void clear() noexcept;

private:
    struct entry {
        std::string server;
        owned_session session;
    };

    /// OpenSSL's callback: 1 if the session is taken over.
    static int keep(SSL* of, SSL_SESSION* session) noexcept;
    [[nodiscard]] bool add(const std::string& server, SSL_SESSION* session) noexcept;
    [[nodiscard]] owned_session take(const std::string& server) noexcept;

    const std::size_t most_;
    mutex lock_;  // guards what follows
    bool is_taken_ = false;
    std::vector<entry> entries_;  // the newest last
};

}  // namespace coflux::detail
