// A server that reads its configuration again at SIGHUP, and is stopped by SIGTERM as by any stop request.
#include <csignal>
#include <cstdio>

#include <coflux/coflux.hpp>

using pool = coflux::thread_pool_executor;

coflux::fork<void, pool> reads_configuration(coflux::environment&, int* version) {
    coflux::signal_set signals{SIGHUP};
    for (;;) {
        ++*version;
        std::printf("configuration %d\n", *version);
        const coflux::received_signal got = co_await signals.next();
        std::printf("signal %d\n", got.number);
    }
}

coflux::fork<void, pool> an_operator(coflux::environment&, const int* version) {
    while (*version < 1) co_await coflux::yield();  // the set lives
    std::raise(SIGHUP);
    while (*version < 2) co_await coflux::yield();
    std::raise(SIGTERM);
}

coflux::task<int, pool> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    int version = 0;
    auto reader = reads_configuration(here, &version);
    auto other = an_operator(here, &version);
    co_await std::move(other);
    co_await std::move(reader);  // until the stop that SIGTERM requests
    co_return 0;
}

int main() {
    const int status = coflux::run(coflux::run_options{.pool = {.threads = 1}}, program);
    std::printf("ended by signal %d\n", status - 128);
}
