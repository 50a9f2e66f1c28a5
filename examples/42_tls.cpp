// A server and a client that speak TLS, on one worker.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/tls/stream.hpp>

using worker = coflux::worker_executor;
using coflux::tls_pem;

// For "localhost", signed by itself, and known to all the world: programs read theirs by tls_pem::file("key.pem").
const std::string certificate = R"(-----BEGIN CERTIFICATE-----
MIIBMDCB16ADAgECAgEBMAoGCCqGSM49BAMCMBQxEjAQBgNVBAMMCWxvY2FsaG9z
dDAgFw0yMDAxMDEwMDAwMDBaGA8yMTIwMDEwMTAwMDAwMFowFDESMBAGA1UEAwwJ
bG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE5KgLlX2WIm9dkS91
UxwoE5au01jzEqukqKTuSmDtv1d5tKtTfj/YR60y4FQkmCmYnjxboWI/CJRFEc4R
LC6mb6MYMBYwFAYDVR0RBA0wC4IJbG9jYWxob3N0MAoGCCqGSM49BAMCA0gAMEUC
IQDXU+jOhGAxNJeexqq5cS92fv9I5oZjpRMAvQr+EdP3rwIgVH7fuqjH11Zwwwch
Wm3Jj3EAZLXEBb0vuylrsYM6Ec8=
-----END CERTIFICATE-----
)";
const std::string key = R"(-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgJgwFm9SPUROVtwtC
qfgLQZsIs42nmZSd1JmIDwYhPiihRANCAATkqAuVfZYib12RL3VTHCgTlq7TWPMS
q6SopO5KYO2/V3m0q1N+P9hHrTLgVCSYKZiePFuhYj8IlEURzhEsLqZv
-----END PRIVATE KEY-----
)";

auto in_ten_seconds() {
    return std::chrono::steady_clock::now() + std::chrono::seconds(10);
}

coflux::fork<void, worker> serve_one(coflux::environment&, coflux::tcp_listener* at, coflux::tls_context context) {
    auto&& here = co_await coflux::context();
    coflux::tls_stream peer(context, co_await at->accept());
    co_await peer.handshake(here);
    std::array<std::byte, 1024> buffer{};
    // 0 is the end that the peer has told; a connection that is cut is an error.
    while (const std::size_t n = co_await peer.read_some(here, buffer))
        co_await peer.write_all(here, std::span(buffer).first(n));
    co_await peer.shutdown(here, in_ten_seconds());
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    const auto of_server = coflux::tls_context::server({.identity = {tls_pem::text(certificate), tls_pem::text(key)}});
    const auto of_client =
        coflux::tls_context::client({.trusted = tls_pem::text(certificate), .sessions = coflux::tls_session_cache()});
    coflux::tcp_listener listener(coflux::endpoint::loopback(0));

    for (const char* question : {"hello", "again"}) {
        auto server = serve_one(here, &listener, of_server);
        auto connection = co_await coflux::tcp_stream::connect(listener.local_endpoint());
        coflux::tls_stream stream(of_client, std::move(connection), "localhost");
        co_await stream.handshake(here);
        std::printf("%s, %s%s\n", stream.peer_subject().c_str(), stream.protocol().c_str(),
                    stream.resumed() ? ", resumed" : "");
        co_await stream.write_all(here, question);
        std::string answer(5, ' ');
        co_await stream.read_exactly(here, std::as_writable_bytes(std::span(answer)));
        const bool ended = co_await stream.shutdown(here, in_ten_seconds());
        std::printf("%s, ended on both sides: %s\n", answer.c_str(), ended ? "yes" : "no");
        co_await std::move(server);
    }
}

int main() {
    worker on;
    auto env = coflux::make_environment(on);
    program(env).get();
}
