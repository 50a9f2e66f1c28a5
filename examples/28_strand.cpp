// A strand: what must not run at the same time, without a mutex. Here an account and its log, used by many.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using pool = coflux::thread_pool_executor;
using serial = coflux::strand<pool>;
using coflux::borrowed;

/// Only coroutines of the strand touch it, so it needs no lock.
struct account {
    int balance = 0;
    std::vector<std::string> log;
};

// A fork on the strand is a visit: it is alone with the account until it suspends.
coflux::fork<bool, serial> withdraw(coflux::environment&, account* from, int amount) {
    if (from->balance < amount) {
        from->log.push_back("refused");
        co_return false;
    }
    from->balance -= amount;
    from->log.push_back("paid");
    co_return true;
}

// Customers run on all threads of the pool.
coflux::fork<int, pool> customer(coflux::environment&, borrowed<account> from) {
    auto&& here = co_await coflux::context();
    int got = 0;
    for (int i = 0; i < 10; ++i) {
        const bool paid = co_await withdraw(here, &*from, 7);
        if (paid) got += 7;
    }
    co_return got;
}

// A coroutine may also come to the strand, and go back.
coflux::call<std::size_t> lines_of_the_log(const account& of, serial& on, pool& back) {
    co_await coflux::resume_on(on);
    const std::size_t lines = of.log.size();
    co_await coflux::resume_on(back);
    co_return lines;
}

coflux::task<void, pool> bank(coflux::environment&, borrowed<serial> on, borrowed<pool> threads) {
    auto&& here = co_await coflux::context();
    account shared{300, {}};
    int paid = 0;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        std::vector<coflux::fork<int, pool>> customers;
        for (int i = 0; i < 8; ++i) customers.push_back(customer(scope, borrowed(shared)));
        for (const int got : co_await coflux::when_all(std::move(customers))) paid += got;
    });
    std::printf("paid %d, left %d\n", paid, shared.balance);
    std::printf("%zu lines in the log\n", co_await lines_of_the_log(shared, *on, *threads));
}

int main() {
    pool threads{2};
    serial on{threads};  // costs nothing while it is idle: one for each account would do
    auto env = coflux::make_environment(threads, on);
    bank(env, borrowed(on), borrowed(threads)).get();
}
