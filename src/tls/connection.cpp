#include "connection.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <utility>

#include <openssl/err.h>
#include <openssl/x509v3.h>

#include <coflux/base/assert.hpp>

namespace coflux::detail {

namespace {

/// Without the dot at the end, which certificates and SNI never have. A dot in front would be OpenSSL's mark for any
/// name below.
std::string_view name_of_host(std::string_view given) {
    const std::string_view name = given.ends_with('.') ? given.substr(0, given.size() - 1) : given;
    const bool has_empty_part =
        name.starts_with('.') || name.ends_with('.') || name.find("..") != std::string_view::npos;
    if (has_empty_part || (name.empty() && !given.empty()))
        throw std::invalid_argument("coflux: a name of a TLS server with an empty part: '" + std::string(given) + "'");
    return name;
}

/// As a tls_errc, where there is one for it.
std::error_code named(std::error_code code) noexcept {
    const auto packed = static_cast<unsigned>(code.value());
    if (code.category() != tls_category() || ERR_GET_LIB(packed) != ERR_LIB_SSL) return code;
    switch (ERR_GET_REASON(packed)) {
    case SSL_R_CERTIFICATE_VERIFY_FAILED: return tls_errc::certificate_refused;
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION: return tls_errc::no_common_version;
    default: return code;
    }
}

/// With whom a session can be resumed: the name that was verified. Without one a client resumes with an address.
std::string server_of(const std::string& host, const endpoint& peer) {
    return host.empty() ? peer.to_string() : host + ':' + std::to_string(peer.port());
}

}  // namespace

// --- the session -----------------------------------------------------------------------------------------------------

tls_connection::tls_connection(std::shared_ptr<const tls_settings> settings, tcp_stream connection,
                               std::string_view host)
    : socket(std::move(connection)),
      settings_(std::move(settings)),
      host_(name_of_host(host)),
      server_(settings_->sessions == nullptr ? std::string() : server_of(host_, socket.peer_endpoint())) {
    if (!socket.is_open()) throw std::invalid_argument("coflux: a TLS stream needs a connection that is open");
    if (settings_->is_server && !host_.empty())
        throw std::invalid_argument("coflux: a TLS server has no host to verify; it was given '" + host_ + "'");
    if (!settings_->is_server && settings_->verifies_peer && host_.empty())
        throw std::invalid_argument("coflux: a TLS client needs the name that the server's certificate is for");
    if (host_.find('\0') != std::string::npos)
        throw std::invalid_argument("coflux: the name of a TLS server has a zero byte");
    ERR_clear_error();
    session_.reset(SSL_new(settings_->openssl.get()));
    BIO* const bio = session_ == nullptr ? nullptr : BIO_new(bio_method());
    if (bio == nullptr) throw_tls_error(take_tls_error(), "coflux: make a TLS session");
    BIO_set_data(bio, this);
    BIO_set_init(bio, 1);
    SSL_set_bio(session_.get(), bio, bio);  // which owns it
    if (settings_->is_server) {
        SSL_set_accept_state(session_.get());
    } else {
        SSL_set_connect_state(session_.get());
        if (!host_.empty()) check_host(host_);
        if (settings_->sessions != nullptr) settings_->sessions->resume_in(session_.get(), server_);
    }
}

tls_connection::~tls_connection() {
    COFLUX_VERIFY(!is_read.load() && !is_written.load(),
                  "a TLS stream dies, or is closed, while an operation of it waits (its peer: %s)",
                  socket.peer_endpoint().to_string().c_str());
    // Else OpenSSL would not resume what ends without close_notify, a rule that TLS 1.1 has dropped.
    if (is_ready() && !has_failed()) SSL_set_shutdown(session_.get(), SSL_SENT_SHUTDOWN);
}

void tls_connection::check_host(std::string_view host) {
    const std::string name(host);
    // An address is no name: it is not told, and is looked for among the addresses of the certificate.
    if (X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_.get()), name.c_str()) == 1) return;
    ERR_clear_error();
    // The alternative names count, and never the common name of the subject.
    SSL_set_hostflags(session_.get(), X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS | X509_CHECK_FLAG_NEVER_CHECK_SUBJECT);
    if (SSL_set1_host(session_.get(), name.c_str()) != 1 || SSL_set_tlsext_host_name(session_.get(), name.c_str()) != 1)
        throw_tls_error(take_tls_error(), "coflux: use '" + name + "' as the name of a TLS server");
}

tls_connection::step tls_connection::run(int result) noexcept {
    if (result > 0) {
        ERR_clear_error();
        return step::done;
    }
    switch (SSL_get_error(session_.get(), result)) {
    case SSL_ERROR_WANT_READ: return step::wants_bytes;
    case SSL_ERROR_WANT_WRITE: return step::wants_room;
    case SSL_ERROR_ZERO_RETURN: return step::ended;
    default: break;
    }
    std::error_code code = named(take_tls_error());
    if (code.value() == 0) code = std::make_error_code(std::errc::protocol_error);
    return fail(code);
}
/// A step that writes wants bytes where the peer has sent a part of a message after the handshake. There is no
/// way on where the peer ends its stream then.
tls_connection::step tls_connection::run_to_write(int result) noexcept {
    const step s = run(result);
    return s == step::ended ? fail(std::make_error_code(std::errc::protocol_error)) : s;
}

tls_connection::step tls_connection::fail(std::error_code code) noexcept {
    failure_ = code;
    failed_.store(true, memory_order_release);  // pairs with has_failed()
    return step::failed;
}

tls_connection::step tls_connection::handshake() noexcept {
    const lock_guard<mutex> guard(lock_);
    if (failed_.load(memory_order_relaxed)) return step::failed;
    ERR_clear_error();
    const step s = run(SSL_do_handshake(session_.get()));
    if (s == step::done) ready_.store(true, memory_order_release);  // pairs with is_ready()
    return s;
}

tls_connection::step tls_connection::read(std::span<std::byte> into, std::size_t& count) noexcept {
    const lock_guard<mutex> guard(lock_);
    if (failed_.load(memory_order_relaxed)) return step::failed;
    ERR_clear_error();
    return run(SSL_read_ex(session_.get(), into.data(), into.size(), &count));
}

tls_connection::step tls_connection::peek(std::span<std::byte> into, std::size_t& count) noexcept {
    const lock_guard<mutex> guard(lock_);
    if (failed_.load(memory_order_relaxed)) return step::failed;
    ERR_clear_error();
    return run(SSL_peek_ex(session_.get(), into.data(), into.size(), &count));
}

bool tls_connection::is_readable() noexcept {
    COFLUX_VERIFY(is_ready(), "look at a TLS stream whose handshake() has not ended");
    std::byte first{};
    std::size_t count = 0;
    if (peek(std::span(&first, 1), count) != step::wants_bytes) return true;
    {
        const lock_guard<mutex> guard(lock_);
        if (SSL_has_pending(session_.get()) == 1) return true;  // a part of a record
    }
    return socket.is_readable();
}

tls_connection::step tls_connection::write(std::span<const std::byte>& from) noexcept {
    const lock_guard<mutex> guard(lock_);
    if (failed_.load(memory_order_relaxed)) return step::failed;
    while (!from.empty()) {
        // Room for a whole record: OpenSSL never keeps a part of one, which a reader could not write beside.
        if (to_send_.room().size() < record_room + reserve) return step::wants_room;
        ERR_clear_error();
        std::size_t count = 0;
        const std::size_t size = std::min(from.size(), most_of_a_record);
        if (const step s = run_to_write(SSL_write_ex(session_.get(), from.data(), size, &count)); s != step::done)
            return s;
        from = from.subspan(count);
    }
    return step::done;
}

tls_connection::step tls_connection::say_end() noexcept {
    const lock_guard<mutex> guard(lock_);
    if (failed_.load(memory_order_relaxed)) return step::failed;
    if (said_end_.load(memory_order_relaxed)) return step::done;
    ERR_clear_error();
    if (SSL_in_init(session_.get()) != 0) {  // in the middle of a message of the peer
        if (const step s = run_to_write(SSL_do_handshake(session_.get())); s != step::done) return s;
    }
    // 0: it is said, and the peer has not said it.
    const int result = SSL_shutdown(session_.get());
    if (result < 0) return run_to_write(result);
    said_end_.store(true, memory_order_release);  // pairs with has_said_end()
    return step::done;
}

// --- ciphertext ------------------------------------------------------------------------------------------------------

void tls_connection::received(std::size_t count) noexcept {
    const lock_guard<mutex> guard(lock_);
    received_.fill(count);
    socket_ended_ = count == 0;
    receipts_.fetch_add(1, memory_order_release);  // pairs with receipts()
}
std::span<const std::byte> tls_connection::to_be_sent() noexcept {
    const lock_guard<mutex> guard(lock_);
    return to_send_.filled();
}
void tls_connection::sent(std::size_t count) noexcept {
    const lock_guard<mutex> guard(lock_);
    to_send_.take(count);
}

bool tls_connection::send_what_fits() noexcept {
    while (!to_be_sent().empty()) {
        const auto guard = sending.try_lock();
        if (!guard.owns_lock()) return true;  // its owner looks again when it has given it back
        for (;;) {
            const std::span<const std::byte> bytes = to_be_sent();
            if (bytes.empty()) break;
            const io_result<std::size_t> count = socket.try_write_some(bytes);
            if (!count || *count == 0) return false;  // an error comes again, to an operation that can throw it
            sent(*count);
        }
    }
    return true;
}

int tls_connection::bio_read(BIO* b, char* into, std::size_t size, std::size_t* count) noexcept {
    auto& self = *static_cast<tls_connection*>(BIO_get_data(b));
    BIO_clear_retry_flags(b);
    const std::span<const std::byte> bytes = self.received_.filled();
    *count = std::min(size, bytes.size());
    if (*count == 0) {
        BIO_set_retry_read(b);
        return 0;
    }
    std::memcpy(into, bytes.data(), *count);
    self.received_.take(*count);
    return 1;
}
int tls_connection::bio_write(BIO* b, const char* from, std::size_t size, std::size_t* count) noexcept {
    auto& self = *static_cast<tls_connection*>(BIO_get_data(b));
    BIO_clear_retry_flags(b);
    const std::span<std::byte> room = self.to_send_.room();
    *count = std::min(size, room.size());
    if (*count == 0) {
        BIO_set_retry_write(b);
        return 0;
    }
    std::memcpy(room.data(), from, *count);
    self.to_send_.fill(*count);
    return 1;
}
long tls_connection::bio_control(BIO*, int what, long, void*) noexcept {
    return what == BIO_CTRL_FLUSH ? 1 : 0;
}
BIO_METHOD* tls_connection::bio_method() {
    // Never freed: sessions may outlive static objects.
    static BIO_METHOD* const method = [] {
        BIO_METHOD* const m = BIO_meth_new(BIO_get_new_index() | BIO_TYPE_SOURCE_SINK, "coflux");
        if (m == nullptr) throw_tls_error(take_tls_error(), "coflux: make a kind of BIO");
        BIO_meth_set_read_ex(m, &bio_read);
        BIO_meth_set_write_ex(m, &bio_write);
        BIO_meth_set_ctrl(m, &bio_control);
        return m;
    }();
    return method;
}

// --- what is told ----------------------------------------------------------------------------------------------------

void tls_connection::throw_failure(const char* what) {
    std::string text = std::string("coflux: TLS: ") + what + ' ' + socket.peer_endpoint().to_string();
    if (!host_.empty()) text += " (" + host_ + ')';
    if (failure_ == tls_errc::certificate_refused)
        text += std::string(": ") + X509_verify_cert_error_string(SSL_get_verify_result(session_.get()));
    throw_tls_error(failure_, text);
}
void tls_connection::throw_truncated(const char* what) {
    std::string text = std::string("coflux: TLS: ") + what + ' ' + socket.peer_endpoint().to_string();
    throw tls_error(make_error_code(tls_errc::truncated), text);
}
void tls_connection::check_ready(const char* what) {
    if (has_failed()) throw_failure(what);
    COFLUX_VERIFY(is_ready(), "%s a TLS stream whose handshake() has not ended", what);
}

std::string tls_connection::alpn() {
    const lock_guard<mutex> guard(lock_);
    const unsigned char* chosen = nullptr;
    unsigned size = 0;
    SSL_get0_alpn_selected(session_.get(), &chosen, &size);
    return {reinterpret_cast<const char*>(chosen), size};
}
std::string tls_connection::peer_subject() {
    const lock_guard<mutex> guard(lock_);
    X509* const certificate = SSL_get0_peer_certificate(session_.get());
    if (certificate == nullptr) return {};
    const owned_bio text(BIO_new(BIO_s_mem()));
    if (text == nullptr) throw std::bad_alloc();
    (void)X509_NAME_print_ex(text.get(), X509_get_subject_name(certificate), 0, XN_FLAG_RFC2253);
    char* data = nullptr;
    const long size = BIO_get_mem_data(text.get(), &data);
    return {data, static_cast<std::size_t>(size)};
}
std::string tls_connection::server_name() {
    const lock_guard<mutex> guard(lock_);
    if (!settings_->is_server) return host_;
    const char* const name = SSL_get_servername(session_.get(), TLSEXT_NAMETYPE_host_name);
    return name == nullptr ? std::string() : std::string(name);
}
std::string tls_connection::protocol() {
    const lock_guard<mutex> guard(lock_);
    return SSL_get_version(session_.get());
}
bool tls_connection::resumed() noexcept {
    const lock_guard<mutex> guard(lock_);
    return SSL_session_reused(session_.get()) == 1;
}

}  // namespace coflux::detail
