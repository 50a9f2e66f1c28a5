// Prints the metrics of a program that uses everything that has some.
#include <coflux/coflux.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

namespace {

coflux::task<void, coflux::worker_executor> sends_to_itself(coflux::environment&) {
    coflux::udp_socket socket(coflux::endpoint::loopback(0));
    std::array<std::byte, 4> buffer{};
    co_await socket.send_to(buffer, socket.local_endpoint());
    (void)co_await socket.receive_from(buffer);
}

template <typename Executor>
coflux::task<void, Executor> sleeps(coflux::environment&) {
    co_await coflux::sleep_for(1ms);
}

}  // namespace

int main() {
    coflux::thread_pool_executor pool(
        coflux::thread_pool_options{.threads = 2, .name = "a \"pool\" \\ of\ntwo", .histograms = true});
    coflux::worker_executor worker;
    coflux::run_loop loop;
    coflux::noop_executor inline_executor;
    auto env = coflux::make_environment(pool, worker, loop, inline_executor);
    sleeps<coflux::thread_pool_executor>(env).get();
    sleeps<coflux::worker_executor>(env).get();
    sleeps<coflux::noop_executor>(env).get();
    sends_to_itself(env).get();
    auto on_loop = sleeps<coflux::run_loop>(env);
    while (!on_loop.done()) loop.run_one();
    on_loop.get();
    coflux::inspect::write_openmetrics([](std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); });
}
