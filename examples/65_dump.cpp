// Two coroutines wait for each other, and a dump says which ones, where, for what, and who made them; deadlocks() says
// that they do.
#include <coflux/coflux.hpp>
#include <coflux/inspect/deadlocks.hpp>
#include <coflux/inspect/dump.hpp>

#include <cstdio>
#include <regex>
#include <string>
#include <thread>

using pool = coflux::thread_pool_executor;

struct account {
    coflux::mutex lock;
    long cents = 1000;
};

coflux::fork<void, pool> transfer(coflux::environment&, account* from, account* to, coflux::latch* both) {
    auto first = co_await from->lock.lock();
    co_await both->arrive_and_wait();
    auto second = co_await to->lock.lock();  // the other transfer has it
    --from->cents;
    ++to->cents;
}

coflux::task<void, pool> day(coflux::environment&, account* a, account* b) {
    auto&& here = co_await coflux::context();
    coflux::latch both(2);
    auto there = transfer(here, a, b, &both);
    auto back = transfer(here, b, a, &both);
    co_await coflux::when_all(std::move(there), std::move(back));
}

/// Without folders, and with the same addresses each time.
std::string plain(const std::string& text) {
    const std::string files = std::regex_replace(text, std::regex("[^ ]*/"), "");
    return std::regex_replace(files, std::regex("0x[0-9a-f]+"), "0x…");
}

int main() {
    pool executor{2};
    auto env = coflux::make_environment(executor);
    account a, b;
    auto root = day(env, &a, &b);

    std::string text;
    do {
        std::this_thread::yield();
        text = coflux::inspect::dump();
    } while (text.find("2 coroutines: waits for a mutex") == std::string::npos ||
             text.find("1 coroutine: awaits") == std::string::npos);
    std::printf("%s\n", plain(text).c_str());
    for (const std::string& cycle : coflux::inspect::deadlocks()) std::printf("%s", plain(cycle).c_str());

    env.request_stop();
    root.join();
}
