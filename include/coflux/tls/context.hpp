// tls_context: what the TLS streams of a client, or of a server, have in common.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <coflux/tls/session_cache.hpp>

namespace coflux {

namespace detail {
class tls_settings;
}  // namespace detail

/// Certificates, or a private key, as PEM: in a file, or in memory.
class tls_pem {
public:
    /// None yet, to be assigned to.
    tls_pem() = default;
    [[nodiscard]] static tls_pem file(std::string path) { return {std::move(path), true}; }
    [[nodiscard]] static tls_pem text(std::string pem) { return {std::move(pem), false}; }

    /// The path, or the text.
    [[nodiscard]] const std::string& value() const noexcept { return value_; }
    [[nodiscard]] bool is_file() const noexcept { return is_file_; }

private:
    tls_pem(std::string value, bool is_file) : value_(std::move(value)), is_file_(is_file) {}

    std::string value_;
    bool is_file_ = true;
};

/// Its own certificate first, then those that lead to a root; and the key of the first.
struct tls_identity {
    tls_pem certificates;
    tls_pem key;  ///< without a pass phrase
};

/// The versions of TLS. Older ones are not spoken.
enum class tls_version { tls_1_2, tls_1_3 };

/// How a client's context is made.
struct tls_client_options {
    /// The roots that a server's certificate must lead to; none: those of the system.
    std::optional<tls_pem> trusted = std::nullopt;
    /// False: any certificate is taken, so any machine in between can be the server.
    bool verifies_peer = true;
    /// For servers that ask for it.
    std::optional<tls_identity> identity = std::nullopt;
    /// The protocols that the connection is to carry, the preferred one first: "h2", "http/1.1".
    std::vector<std::string> alpn = {};
    tls_version least = tls_version::tls_1_2;
    tls_version most = tls_version::tls_1_3;
    /// Where sessions are kept, to be resumed by later connections; none: each handshake is a full one.
    std::optional<tls_session_cache> sessions = std::nullopt;
};

/// How a server's context is made. A server gives its clients tickets, by which they resume its sessions. The keys of
/// the tickets live as long as the context: make a new one each day, as for new certificates.
struct tls_server_options {
    tls_identity identity;
    /// A server with several names has them. A client that asks for a name (SNI) is shown the first certificate that is
    /// for it, also by a wildcard, and never by its common name; that of `identity` comes before these. Where none is
    /// for it, or the client asks for no name: that of `identity`. A handshake looks at one after the other.
    std::vector<tls_identity> further_identities = {};
    /// The roots of the clients' certificates; without, clients need none.
    std::optional<tls_pem> trusted_clients = std::nullopt;
    /// The protocols that it can carry, the preferred one first. A client that asks for others only is refused.
    std::vector<std::string> alpn = {};
    tls_version least = tls_version::tls_1_2;
    tls_version most = tls_version::tls_1_3;
};

/// Certificates, trust and limits of TLS streams.
///
/// Shapes: a copyable handle; copies, and the streams made with it, share one set of settings, which never changes.
/// Errors: tls_error with the file and OpenSSL's reason, for what cannot be read or does not fit; std::system_error for
/// a file that cannot be opened; std::invalid_argument for a tls_pem that was given nothing, as that of
/// `tls_server_options o;`, for a name in `alpn` that is empty or longer than 255 bytes, for a `least` above `most`,
/// and for the tls_session_cache of another context.
/// Threads: any.
/// Costs: reads files, in the calling thread.
/// Example: examples/42_tls.cpp
class tls_context {
public:
    /// The context of clients. The server's certificate is verified, with its name, unless the options say otherwise.
    [[nodiscard]] static tls_context client(const tls_client_options& options = {});
    /// The context of servers.
    [[nodiscard]] static tls_context server(const tls_server_options& options);

private:
    friend class tls_stream;
    explicit tls_context(std::shared_ptr<const detail::tls_settings> settings) noexcept
        : settings_(std::move(settings)) {}

    std::shared_ptr<const detail::tls_settings> settings_;
};

}  // namespace coflux
