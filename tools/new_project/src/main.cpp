#include <charconv>
#include <cstdint>
#include <cstdio>
#include <string_view>

#include <coflux/coflux.hpp>

#include "echo.hpp"

using pool = coflux::thread_pool_executor;

coflux::task<int, pool> program(coflux::environment&, int argc, char** argv) {
    auto&& here = co_await coflux::context();
    std::uint16_t port = 7000;
    if (argc > 1) {
        const std::string_view text = argv[1];
        const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
        if (error != std::errc() || end != text.data() + text.size()) {
            std::fprintf(stderr, "@NAME@: '%s' is no port\n", argv[1]);
            co_return 2;
        }
    }
    coflux::tcp_listener listener(coflux::endpoint::loopback(port));
    std::printf("@NAME@: echoes on port %d, until Ctrl-C\n", listener.local_endpoint().port());
    std::fflush(stdout);
    co_await serve<pool>(here, coflux::borrowed(listener));
    co_return 0;
}

int main(int argc, char** argv) {
    return coflux::run(program, argc, argv);
}
