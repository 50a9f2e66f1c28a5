#include "sessions.hpp"

#include <algorithm>
#include <cstddef>
#include <new>
#include <stdexcept>
#include <utility>

#include <openssl/err.h>

#include <coflux/tls/session_cache.hpp>

namespace coflux {
namespace detail {
namespace {

/// So that no server drives those of others out.
constexpr std::ptrdiff_t most_of_a_server = 8;

bool may_be_resumed(const SSL_SESSION* session) noexcept {
    const X509* const shown = SSL_SESSION_get0_peer(const_cast<SSL_SESSION*>(session));
    return SSL_SESSION_is_resumable(session) == 1 && shown != nullptr &&
           X509_cmp_current_time(X509_get0_notAfter(shown)) > 0;
}

}  // namespace

bool tls_sessions::belong_to(SSL_CTX* ctx) noexcept {
    const lock_guard<mutex> guard(lock_);
    if (std::exchange(is_taken_, true)) return false;
    SSL_CTX_set_app_data(ctx, this);
    SSL_CTX_set_session_cache_mode(ctx, SSL_SESS_CACHE_CLIENT | SSL_SESS_CACHE_NO_INTERNAL);
    SSL_CTX_sess_set_new_cb(ctx, &keep);
    return true;
}

void tls_sessions::resume_in(SSL* handshake, const std::string& server) noexcept {
    SSL_set_app_data(handshake, const_cast<std::string*>(&server));
    const owned_session known = take(server);
    if (known == nullptr) return;
    ERR_set_mark();
    (void)SSL_set_session(handshake, known.get());  // else a full handshake
    ERR_pop_to_mark();
}

int tls_sessions::keep(SSL* of, SSL_SESSION* session) noexcept {
    auto& self = *static_cast<tls_sessions*>(SSL_CTX_get_app_data(SSL_get_SSL_CTX(of)));
    const auto& server = *static_cast<const std::string*>(SSL_get_app_data(of));
    return self.add(server, session) ? 1 : 0;
}

bool tls_sessions::add(const std::string& server, SSL_SESSION* session) noexcept {
    const lock_guard<mutex> guard(lock_);
    const auto of_server = [&](const entry& e) { return e.server == server; };
    if (std::ranges::count_if(entries_, of_server) == most_of_a_server)
        entries_.erase(std::ranges::find_if(entries_, of_server));
    if (entries_.size() == most_) entries_.erase(entries_.begin());
    try {
        entries_.push_back({server, nullptr});
    } catch (const std::bad_alloc&) {
        return false;
    }
    entries_.back().session.reset(session);
    return true;
}

owned_session tls_sessions::take(const std::string& server) noexcept {
    const lock_guard<mutex> guard(lock_);
    for (auto at = entries_.end(); at != entries_.begin();) {
        --at;
        if (at->server != server) continue;
        if (!may_be_resumed(at->session.get())) {
            at = entries_.erase(at);
            continue;
        }
        if (SSL_SESSION_get_protocol_version(at->session.get()) != TLS1_3_VERSION) {
            SSL_SESSION_up_ref(at->session.get());
            return owned_session(at->session.get());
        }
        // A ticket is for one connection: an eavesdropper that saw it twice would know the client again.
        owned_session found = std::move(at->session);
        entries_.erase(at);
        return found;
    }
    return nullptr;
}

std::size_t tls_sessions::size() noexcept {
    const lock_guard<mutex> guard(lock_);
    return static_cast<std::size_t>(
        std::ranges::count_if(entries_, [](const entry& e) { return may_be_resumed(e.session.get()); }));
}
void tls_sessions::clear() noexcept {
    const lock_guard<mutex> guard(lock_);
    entries_.clear();
}

}  // namespace detail

tls_session_cache::tls_session_cache(std::size_t most) : sessions_(std::make_shared<detail::tls_sessions>(most)) {
    if (most == 0) throw std::invalid_argument("coflux: a tls_session_cache with room for no session");
}
std::size_t tls_session_cache::size() const noexcept {
    return sessions_->size();
}
void tls_session_cache::clear() noexcept {
    sessions_->clear();
}

}  // namespace coflux
