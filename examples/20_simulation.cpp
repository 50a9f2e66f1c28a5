// A fault that only some schedules show: found by a seed, made small, and replayed.
#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <utility>

#include <coflux/coflux.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_executor.hpp>

using coflux::borrowed;
using coflux::testing::sim_executor;

namespace {

struct account {
    coflux::mutex lock;
    int balance = 100;
};

// Looks first and takes the lock afterwards: what it saw may be old by then.
coflux::fork<void, sim_executor> withdraw(coflux::environment&, borrowed<account> from, int amount) {
    if (from->balance < amount) co_return;
    co_await coflux::sleep_for(std::chrono::seconds(1));  // asks the customer: virtual time, it takes none
    auto held = co_await from->lock.lock();
    from->balance -= amount;
}

coflux::task<int, sim_executor> two_at_the_counter(coflux::environment&) {
    auto&& here = co_await coflux::context();
    account shared;
    auto first = withdraw(here, borrowed(shared), 60);
    co_await coflux::sleep_for(std::chrono::seconds(1));  // the second customer comes a little later
    co_await coflux::yield();
    auto second = withdraw(here, borrowed(shared), 60);
    co_await coflux::when_all(std::move(first), std::move(second));
    co_return shared.balance;
}

void body(coflux::testing::simulation&) {
    sim_executor on;
    auto env = coflux::make_environment(on);
    const int balance = two_at_the_counter(env).get();
    if (balance < 0) throw std::runtime_error("overdrawn");
}

}  // namespace

int main() {
    const auto once = coflux::testing::explore({.runs = 1}, body);
    std::printf("in the usual order: %s\n", once.ok() ? "right" : "wrong");

    const auto found = coflux::testing::explore({.runs = 1000}, body);
    if (found.ok()) return 1;
    const auto& f = *found.failure;
    std::printf("under other schedules: %s\n", f.what.c_str());
    std::printf("smallest schedule: %s\n", f.replay().c_str());
    std::printf("virtual time: %lld s\n", static_cast<long long>(f.elapsed.count() / 1'000'000'000));

    // found.report() says all of it, and which coroutines were alive.
    const auto all = coflux::testing::explore(
        {.runs = 100'000, .search = coflux::testing::search_kind::exhaustive, .deviations = 1}, body);
    std::printf("with one decision that differs: %s\n", all.ok() ? "right" : "wrong");
    return 0;
}
