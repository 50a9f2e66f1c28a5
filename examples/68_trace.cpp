// A time line of what the workers of a pool did: a file that ui.perfetto.dev opens.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <fstream>
#include <string>
#include <string_view>

using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> parses(coflux::environment&, int page) {
    const coflux::inspect::span shown("parse a page");  // ends where this coroutine does, after the yield
    co_await coflux::yield();
    co_return page;
}

coflux::task<int, pool> reads_all(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto first = parses(here, 1);
    auto second = parses(here, 2);
    auto [a, b] = co_await coflux::when_all(std::move(first), std::move(second));
    co_return a + b;
}

int main() {
    {
        pool workers(coflux::thread_pool_options{.threads = 2, .name = "reader", .trace = coflux::trace_level::all});
        auto env = coflux::make_environment(workers);
        std::printf("%d pages\n", reads_all(env).get());
    }
    // At any time, from any thread; here at the end. A server would send the same as its answer.
    std::ofstream file("coflux.perfetto-trace", std::ios::binary);
    coflux::inspect::write_trace([&file](std::string_view piece) { file << piece; });

    const std::string json = coflux::inspect::trace({.format = coflux::inspect::trace_format::chrome});
    for (const char* const what : {"parse a page", "forks parses", "reader-0"})
        std::printf("%s: %s\n", what, json.find(what) != std::string::npos ? "is shown" : "is missing");
}
