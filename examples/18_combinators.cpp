// The first of several, the first that works, some of many, each as it finishes, and a thousand with eight at a time.
#include <coflux/coflux.hpp>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <ranges>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using pool = coflux::thread_pool_executor;

coflux::fork<std::string, pool> answers(coflux::environment&, std::string name, int after) {
    co_await coflux::sleep_for(std::chrono::milliseconds(after));
    if (name == "broken") throw std::runtime_error("no answer from " + name);
    co_return name;
}

coflux::call<int> waits_for_ever() {
    co_await coflux::manual_reset_event().wait();  // until it is stopped
    co_return 0;
}

coflux::task<void, pool> root(coflux::environment&) {
    auto&& here = co_await coflux::context();

    // The loser is stopped, and has ended before the result is there.
    const auto first = co_await coflux::when_any(waits_for_ever(), answers(here, "mirror", 2));
    std::printf("when_any: number %zu, %s\n", first.index(), std::get<1>(first).c_str());

    // race is when_any where all give the same type and it does not matter which was first.
    const std::string near = co_await coflux::race(answers(here, "near", 0), answers(here, "far", 1'000'000'000));
    std::printf("race: %s\n", near.c_str());

    // An error decides a race, but not this one.
    const std::string works = co_await coflux::first_success(answers(here, "broken", 0), answers(here, "spare", 3));
    std::printf("first_success: %s\n", works.c_str());

    // Two of three replicas are enough.
    std::vector<coflux::fork<std::string, pool>> replicas;
    for (const int after : {0, 1'000'000'000, 0}) replicas.push_back(answers(here, "replica", after));
    std::size_t sum = 0;
    for (const auto& [index, value] : co_await coflux::when_n(std::move(replicas), 2)) sum += index;
    std::printf("when_n: number 0 and number %zu\n", sum);

    // How each of them ended, without an exception.
    auto [good, bad] = co_await coflux::when_all_outcomes(answers(here, "good", 1), answers(here, "broken", 1));
    std::printf("when_all_outcomes: %s, %s\n", good ? "a value" : "none", bad.has_error() ? "an error" : "none");

    // Each as it finishes. Once the consumer has enough, what still runs is stopped.
    std::vector<coflux::fork<std::string, pool>> mirrors;
    for (const int after : {1'000'000'000, 9, 1}) mirrors.push_back(answers(here, "mirror", after));
    {
        auto done = coflux::completed(here, std::move(mirrors));
        for (int i = 0; i != 2; ++i) {
            const auto got = co_await done.next();
            std::printf("completed: number %zu, %s\n", got->index(), got->value().c_str());
        }
    }

    // A loop with a bound: at most eight of the thousand run at once.
    std::atomic<int> total{0};
    co_await coflux::for_each_concurrent(std::views::iota(1, 1001), 8, [&total](int i) -> coflux::call<void> {
        co_await coflux::yield();
        total += i;
    });
    std::printf("for_each_concurrent: %d\n", total.load());
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    root(env).join();
}
