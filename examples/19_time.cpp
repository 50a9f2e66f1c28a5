// Sleeping, ticking, and giving up: an answer in time, one that is too late, a peer that has gone silent, and a
// deadline for a whole subtree.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

// A call that makes no children needs no environment of its own: it runs in that of whatever awaits it.
coflux::call<std::string> ask(std::string who, std::chrono::milliseconds needs) {
    co_await coflux::sleep_for(needs);  // stopped here when time is up: nothing below is run
    co_return "answer of " + who;
}

coflux::fork<int, pool> counts(coflux::environment&) {
    coflux::interval tick(5ms);
    for (int n = 1;; ++n) {
        co_await tick.next();
        if (n == 3) co_return n;
    }
}

coflux::fork<void, pool> talks(coflux::environment&, coflux::borrowed<coflux::timer> idle) {
    for (int message = 0; message != 3; ++message) {
        co_await 1ms;
        idle->reset(1h);  // the coroutine that waits for it waits on
    }
    idle->reset(2ms);
}

coflux::fork<void, pool> works_until_it_is_stopped(coflux::environment&) {
    co_await 10h;
}

coflux::task<void, pool> tries(coflux::environment&) {
    auto&& here = co_await coflux::context();

    const auto fast = co_await coflux::timeout(ask("the fast one", 1ms), 10s);
    std::printf("%s\n", fast ? fast->c_str() : "too late");

    const auto slow = co_await coflux::timeout(ask("the slow one", 60'000ms), 2ms);
    std::printf("%s\n", slow ? slow->c_str() : "too late");

    const auto begin = coflux::clock::now();
    const int ticks = co_await counts(here);
    const bool early = coflux::clock::now() - begin < 15ms;
    std::printf("%d ticks, %s\n", ticks, early ? "early" : "not early");

    coflux::timer idle(1h);
    const auto wait = [&idle](coflux::task_scope& scope) -> coflux::call<bool> {
        talks(scope, coflux::borrowed(idle)).attach();
        co_return co_await idle.wait();  // false where `idle.stop()` has called it off
    };
    const bool fired = co_await coflux::with_scope(here, wait);
    std::printf("%s\n", fired ? "silent" : "called off");

    // Everything made in `sub` is stopped when its time has come.
    auto sub = coflux::make_environment(here, coflux::clock::now() + 3ms);
    const auto work = [](coflux::task_scope& scope) -> coflux::call<void> {
        co_await coflux::when_all(works_until_it_is_stopped(scope), works_until_it_is_stopped(scope));
    };
    const auto both = co_await coflux::as_outcome(coflux::with_scope(sub, work));
    std::printf("%s\n", both.is_stopped() ? "both stopped" : "done");
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    tries(env).get();
}
