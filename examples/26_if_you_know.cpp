// Other runtimes' idioms in Coflux: start and join, a scope, a stop, a limit of time, errors.
// docs/tour/00-if-you-know.md
#include <coflux/coflux.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;

coflux::fork<std::string, pool> fetch(coflux::environment&, std::string name) {
    if (name == "slow") co_await coflux::sleep_for(1h);
    if (name == "broken") throw std::runtime_error("cannot fetch " + name);
    co_return "page " + name;
}

coflux::fork<void, pool> measure(coflux::environment&, std::string name, borrowed<std::atomic<std::size_t>> sum) {
    co_await coflux::yield();
    *sum += name.size();
}

coflux::call<void> starts_and_joins(coflux::environment& here) {
    auto a = fetch(here, "a");  // begins now, on the pool, beside this coroutine
    auto b = fetch(here, "b");
    const auto [first, second] = co_await coflux::when_all(std::move(a), std::move(b));
    std::printf("%s, %s\n", first.c_str(), second.c_str());
}

coflux::call<void> has_a_scope(coflux::environment& here) {
    std::atomic<std::size_t> sum{0};
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (const char* name : {"a", "bb", "ccc"}) scope.spawn(measure, name, borrowed(sum));
        co_return;
    });  // all children have ended here, also if one of them, or the block, has thrown
    std::printf("%zu letters\n", sum.load());
}

coflux::call<void> stops_a_child(coflux::environment& here) {
    auto slow = fetch(here, "slow");
    slow.request_stop();  // ends its sleep; its locals die, and nothing is thrown
    const coflux::outcome<std::string> ended = co_await coflux::as_outcome(std::move(slow));
    std::printf("%s\n", ended.is_stopped() ? "stopped" : "a page");
}

coflux::call<void> limits_the_time(coflux::environment& here) {
    const auto page = co_await coflux::timeout(fetch(here, "slow"), 5ms);  // reads as an optional
    std::printf("%s\n", page ? page->c_str() : "too late");
    const std::string first = co_await coflux::race(fetch(here, "near"), fetch(here, "slow"));
    std::printf("%s came first\n", first.c_str());  // the other is stopped, and has ended
}

coflux::call<void> catches_an_error(coflux::environment& here) {
    try {
        auto [a, b] = co_await coflux::when_all(fetch(here, "a"), fetch(here, "broken"));
        std::printf("never: %s, %s\n", a.c_str(), b.c_str());
    } catch (const std::runtime_error& e) {
        std::printf("%s\n", e.what());
    }
}

coflux::task<void, pool> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await starts_and_joins(here);
    co_await has_a_scope(here);
    co_await stops_a_child(here);
    co_await limits_the_time(here);
    co_await catches_an_error(here);
}

int main() {
    pool threads;  // as many workers as processors
    auto env = coflux::make_environment(threads);
    root(env).get();  // throws what was not caught
}
