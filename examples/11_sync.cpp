// Coroutines that share things: one loads, a few may work at a time, all meet at the end of a day, one is stopped.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <utility>
#include <vector>

using pool = coflux::thread_pool_executor;
using coflux::borrowed;

struct prints_day {
    const int* total;
    int day = 0;
    void operator()() noexcept { std::printf("day %d: %d\n", ++day, *total); }
};

struct workshop {
    coflux::once prices_loaded;
    std::vector<int> prices;
    coflux::semaphore benches{2};  // two may work at a time
    coflux::mutex book;            // guards total
    coflux::condition_variable booked;
    int total = 0;
    coflux::barrier<prints_day> day_ends{4, prints_day{&total}};
};

coflux::call<std::vector<int>> load_prices() {
    std::printf("prices are loaded\n");  // once, by the first that comes
    co_await coflux::yield();
    co_return {1, 2, 3, 4};
}

coflux::fork<void, pool> works(coflux::environment&, borrowed<workshop> shop, std::size_t who) {
    co_await shop->prices_loaded.call(
        [&](coflux::environment& here) -> coflux::call<void> { shop->prices = co_await load_prices(); });
    for (int day = 0; day < 2; ++day) {
        {
            const auto bench = co_await shop->benches.acquire_guard();
            co_await coflux::yield();
            const auto guard = co_await shop->book.lock();
            shop->total += shop->prices[who];
            shop->booked.notify_all();
        }
        co_await shop->day_ends.arrive_and_wait();  // without a bench: there are fewer of them than workers
    }
}

// Waits for a total that never comes. Stopped, it does not hold the lock, and needs no wake-up.
coflux::fork<void, pool> celebrates(coflux::environment&, borrowed<workshop> shop) {
    auto guard = co_await shop->book.lock();
    co_await shop->booked.wait(guard, [&] { return shop->total >= 1'000'000; });
    std::printf("a million\n");
}

coflux::task<void, pool> runs(coflux::environment&) {
    auto&& here = co_await coflux::context();
    workshop shop;
    co_await coflux::with_scope(here, [&](coflux::task_scope& guests) -> coflux::call<void> {
        auto party = celebrates(guests, borrowed(shop));
        // If one of them fails, the rest is stopped: it would wait at the barrier for ever.
        co_await coflux::with_scope(guests, [&](coflux::task_scope& workers) -> coflux::call<void> {
            for (std::size_t i = 0; i < 4; ++i) workers.spawn(works, borrowed(shop), i);
            co_return;
        });
        party.request_stop();
        const auto outcome = co_await coflux::as_outcome(std::move(party));
        std::printf("total %d, %s\n", shop.total, outcome.is_stopped() ? "no party" : "a party");
    });
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    runs(env).get();
}
