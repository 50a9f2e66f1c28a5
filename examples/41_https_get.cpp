// A page by HTTPS: of the host, port and path that it is given, whose certificate the system trusts, or the file that
// is the fourth argument.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/tls/stream.hpp>

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

struct page {
    std::string host;
    std::uint16_t port;
    std::string path;
    std::string trusted;  // a file; empty: those of the system
};

coflux::call<std::string> get(coflux::resolver& names, page from) {
    auto&& here = co_await coflux::context();
    coflux::tls_client_options options;
    if (!from.trusted.empty()) options.trusted = coflux::tls_pem::file(from.trusted);
    const auto context = coflux::tls_context::client(options);
    coflux::tcp_stream connection = co_await coflux::connect_to(here, names, from.host, from.port);
    coflux::tls_stream stream(context, std::move(connection), from.host);
    co_await stream.handshake(here);  // an error, where the certificate is not that host's
    const std::string request = "GET " + from.path + " HTTP/1.0\r\nHost: " + from.host + "\r\n\r\n";
    co_await stream.write_all(here, request);
    std::string answer;
    std::array<std::byte, 4096> part{};
    // The end that the server tells. Where the connection is only cut, that is an error: the page may be cut, too.
    while (const std::size_t n = co_await stream.read_some(here, part))
        answer.append(reinterpret_cast<const char*>(part.data()), n);
    co_return answer;
}

coflux::task<int, pool> program(coflux::environment&, page from) {
    coflux::resolver names;
    const auto answer = co_await coflux::timeout(get(names, std::move(from)), 10s);
    std::printf("%s", answer ? answer->c_str() : "too late\n");
    co_return answer ? EXIT_SUCCESS : EXIT_FAILURE;
}

int main(int argc, char** argv) {
    if (argc < 4) {
        std::printf("usage: 41_https_get host port path [trusted.pem]\n");
        return EXIT_SUCCESS;
    }
    const auto port = static_cast<std::uint16_t>(std::atoi(argv[2]));
    return coflux::run(program, page{argv[1], port, argv[3], argc > 4 ? argv[4] : ""});
}
