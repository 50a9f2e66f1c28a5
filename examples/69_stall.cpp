// A worker that keeps a coroutine for too long is reported, with that coroutine and those that await it.
#include <coflux/coflux.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

std::atomic<bool> reported{false};

coflux::call<long> sorts_all_at_once(coflux::environment&) {
    auto&& here = co_await coflux::context();  // so that it is named
    (void)here;
    volatile long steps = 0;
    while (!reported) steps = steps + 1;  // for want of a co_await coflux::yield() no other coroutine has its turn
    co_return steps;
}

coflux::task<void, pool> answers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)co_await sorts_all_at_once(here);
}

int main() {
    const coflux::inspect::stall_detector detector({
        .threshold = 50ms,
        .report =
            [](const coflux::inspect::stall& s) {
                // s.text() has all of it, with places and the thread's stack; it would go to a log.
                std::printf("worker %s-%zu %s:\n", s.executor.c_str(), s.worker,
                            s.blocked_in.empty() ? "computes" : s.blocked_in.c_str());
                for (const std::string& c : s.coroutines) std::printf("  %s\n", c.substr(0, c.find(" at ")).c_str());
                reported = true;
            },
    });
    pool workers(coflux::thread_pool_options{.threads = 1, .name = "server"});
    auto env = coflux::make_environment(workers);
    answers(env).join();
}
