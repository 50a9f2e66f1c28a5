// A bank of actors: each account is a coroutine that alone owns its balance, and answers a queue. Below, its test.
#include <coflux/coflux.hpp>
#include <coflux/testing/testing.hpp>

#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace kit = coflux::testing;

struct change {
    int amount;
    coflux::oneshot_sender<bool> granted;  // whether the balance allows it
};
using account = coflux::mpsc_sender<change>;

// On a pool in the program, in a simulation in the test.
template <typename Executor>
coflux::fork<int, Executor> keeps_account(coflux::environment&, int balance, coflux::mpsc_receiver<change> from) {
    auto changes = std::move(from);  // a local dies with the body, also if that fails: then an asker learns of it
    while (auto next = co_await changes.receive()) {
        const bool granted = balance + next->amount >= 0;
        if (granted) balance += next->amount;
        (void)next->granted.send(granted);
    }
    co_return balance;  // the last that could change it is gone
}

coflux::call<bool> asks(account& of, int amount) {
    auto [granted, answer] = coflux::make_oneshot<bool>();
    change c{amount, std::move(granted)};
    const bool sent = co_await of.send(std::move(c));
    if (!sent) co_return false;
    const auto reply = co_await answer.receive();
    co_return reply.value_or(false);
}

template <typename Executor>
coflux::fork<int, Executor> transfers(coflux::environment&, account giver, account taker, int amount, int times) {
    account from = std::move(giver);
    account to = std::move(taker);
    int done = 0;
    for (int i = 0; i < times; ++i) {
        const bool taken = co_await asks(from, -amount);
        if (!taken) continue;
        co_await asks(to, amount);  // in between the money is in no account, and no one's lock is held
        ++done;
    }
    co_return done;
}

template <typename Executor>
coflux::task<int, Executor> money_after_a_day(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto [mine, my_changes] = coflux::make_mpsc<change>(2);
    auto [yours, your_changes] = coflux::make_mpsc<change>(2);
    auto me = keeps_account<Executor>(here, 100, std::move(my_changes));
    auto you = keeps_account<Executor>(here, 50, std::move(your_changes));
    auto there = transfers<Executor>(here, mine, yours, 30, 10);
    auto back = transfers<Executor>(here, std::move(yours), std::move(mine), 20, 10);
    co_await coflux::when_all(std::move(there), std::move(back));  // with them the last ends of the queues die
    const auto [my_balance, your_balance] = co_await coflux::when_all(std::move(me), std::move(you));
    co_return my_balance >= 0 && your_balance >= 0 ? my_balance + your_balance : -1;
}

int main() {
    coflux::thread_pool_executor threads{2};
    auto env = coflux::make_environment(threads);
    std::printf("in the evening there is %d\n", money_after_a_day<coflux::thread_pool_executor>(env).get());

    // The test: the same under 100 schedules. A run that hangs or loses money is a failure, with its schedule.
    const auto tested = kit::explore({.runs = 100}, [](kit::simulation& in) {
        kit::sim_executor on(in);
        auto simulated = coflux::make_environment(on);
        if (money_after_a_day<kit::sim_executor>(simulated).get() != 150) throw std::runtime_error("money was lost");
    });
    std::printf("%s\n", tested.ok() ? "tested" : tested.report().c_str());
}
