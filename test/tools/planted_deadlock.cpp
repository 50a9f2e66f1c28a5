// Writes inspect::dump() as JSON into the file that it is given, and stops in front of the debugger: two transfers that
// wait for each other, each in a call, a sleep, children that are joined and whose frames are on the heap, a result
// that nobody took, a generator, a call that has not begun, and as many coroutines in one event as it is asked for.
#include <coflux/coflux.hpp>
#include <coflux/inspect/dump.hpp>

#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <memory_resource>
#include <string>
#include <thread>
#include <utility>

namespace {

using pool = coflux::thread_pool_executor;

struct account {
    coflux::mutex lock;
    long cents = 1000;
};

coflux::call<void> take(coflux::environment&, account* to, long amount) {
    const long twice = 2 * amount;
    auto second = co_await to->lock.lock();
    to->cents += twice / 2;
}

coflux::fork<void, pool> transfer(coflux::environment&, account* from, account* to, coflux::latch* both, long amount) {
    auto&& here = co_await coflux::context();
    auto first = co_await from->lock.lock();
    co_await both->arrive_and_wait();
    co_await take(here, to, amount);
    from->cents -= amount;
}

coflux::fork<void, pool> sleeps(coflux::environment&) {
    co_await coflux::sleep_for(std::chrono::hours(1));
}

coflux::fork<void, pool> waits(coflux::environment&, coflux::manual_reset_event* never) {
    co_await never->wait();
}

coflux::fork<void, pool> joins(coflux::environment&, coflux::manual_reset_event* never) {
    auto&& here = co_await coflux::context();
    waits(here, never).attach();
    waits(here, never).attach();
}

coflux::fork<int, pool> has_ended(coflux::environment&) {
    co_return 7;
}

coflux::async_generator<int> numbers(coflux::environment&) {
    co_yield 1;
}

coflux::task<void, pool> day(coflux::environment&, account* a, account* b, bool sleep, long many) {
    auto&& here = co_await coflux::context();
    coflux::latch both(2);
    coflux::manual_reset_event never;
    auto there = transfer(here, a, b, &both, 5);
    auto back = transfer(here, b, a, &both, 7);
    if (sleep) sleeps(here).attach();
    auto heap = coflux::make_environment(here, std::pmr::new_delete_resource());
    auto scope = joins(heap, &never);
    auto result = has_ended(here);
    auto elements = numbers(here);
    (void)co_await elements.next();
    auto stored = take(here, a, 1);
    for (long i = 0; i < many; ++i) waits(here, &never).attach();
    co_await coflux::when_all(std::move(there), std::move(back), std::move(scope));
}

/// All have come to where they stay.
bool is_still(const std::string& dump, long waits) {
    for (const char* runs : {"\"state\":\"ready\"", "\"state\":\"running\"", "\"moving\":true"}) {
        if (dump.find(runs) != std::string::npos) return false;
    }
    const std::string waiting = "\"state\":\"waits\"";
    for (auto at = dump.find(waiting); at != std::string::npos; at = dump.find(waiting, at + 1)) --waits;
    return waits == 0;
}

}  // namespace

/// FILE, `sleep` or `still`, how many wait in the event.
int main(int count, char** arguments) {
    if (count != 4) return 2;
    const bool sleep = std::string(arguments[2]) == "sleep";
    const long many = std::atol(arguments[3]);
    pool executor{2};
    auto env = coflux::make_environment(executor);
    account a;
    account b;
    auto root = day(env, &a, &b, sleep, many);

    std::string text;
    do {
        std::this_thread::sleep_for(std::chrono::milliseconds(20));
        text = coflux::inspect::dump({.format = coflux::inspect::format::json, .limit = std::size_t{1} << 30});
    } while (!is_still(text, 4 + many + (sleep ? 1 : 0)));
    std::ofstream(arguments[1]) << text;
    std::raise(SIGTRAP);
    env.request_stop();
    (void)root.join();
}
