// tls_session_cache: sessions of earlier connections, which later ones of a client resume.
#pragma once

#include <cstddef>
#include <memory>

namespace coflux {

namespace detail {
class tls_sessions;
}  // namespace detail

/// A client's memory of servers, so that its next handshakes with them are short: `coflux::tls_client_options
/// options; options.sessions = coflux::tls_session_cache();`
///
/// A session is resumed with the host and port that it was made with, and by the context that has verified it. Then no
/// certificate is sent or verified again, and tls_stream::resumed() is true. A server that does not know the session
/// any more makes a full handshake: nothing fails. A session whose certificate is out of date by now is not resumed.
///
/// Shapes: a copyable handle; copies share one cache. It is that of one context, for good: what one context has
/// verified, another one, which trusts others, must not take unseen.
/// Errors: std::invalid_argument for room for none; std::bad_alloc.
/// Threads: any.
/// Costs: some KiB a session. It keeps 8 of one server, and `most` in all: the oldest goes.
/// Example: examples/42_tls.cpp
class tls_session_cache {
public:
    explicit tls_session_cache(std::size_t most = 256);

    /// How many sessions could be resumed now.
    [[nodiscard]] std::size_t size() const noexcept;
    /// No connection that is made from now on resumes one of an earlier one: for a client that is to be another one.
    void clear() noexcept;

private:
    friend class tls_context;

    std::shared_ptr<detail::tls_sessions> sessions_;
};

}  // namespace coflux
