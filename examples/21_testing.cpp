// Testing code of one's own: under many schedules, in virtual time, and with everything going wrong once. With
// GoogleTest the same is CO_TEST and inject() in a TEST (docs/howto/test-your-code.md).
#include <coflux/coflux.hpp>
#include <coflux/testing/testing.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>

using namespace std::chrono_literals;
namespace kit = coflux::testing;

/// The subject of the test: an account whose owner looks, thinks, and writes.
struct account {
    coflux::mutex lock;
    int balance = 0;
};

template <bool Guarded>
coflux::fork<void, kit::sim_executor> deposit(coflux::environment&, coflux::borrowed<account> to, int amount) {
    coflux::mutex::guard guard;
    if constexpr (Guarded) guard = co_await to->lock.lock();
    kit::fault_point();  // here the real thing could fail
    const int seen = to->balance;
    co_await 1h;
    to->balance = seen + amount;
}

template <bool Guarded>
coflux::task<int, kit::sim_executor> two_deposits(coflux::environment&) {
    auto&& here = co_await coflux::context();
    account a;
    co_await coflux::with_scope(here, [&a](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(deposit<Guarded>, coflux::borrowed(a), 1);
        scope.spawn(deposit<Guarded>, coflux::borrowed(a), 2);
        co_return;
    });
    co_return a.balance;
}

/// Runs it under 200 schedules; none takes an hour.
template <bool Guarded>
void explore_deposits(const char* what) {
    int balance = 0;
    kit::explore_options options;
    options.runs = 200;
    options.verdict = [&] { return balance == 3 ? std::string() : "the balance is " + std::to_string(balance); };
    const kit::exploration result = kit::explore(options, [&](kit::simulation& in) {
        kit::sim_executor on(in);
        auto env = coflux::make_environment(on);
        balance = two_deposits<Guarded>(env).get();
    });
    if (result.ok()) {
        std::printf("%s: right in %zu runs\n", what, result.runs);
    } else {
        std::printf("%s: wrong in run %zu\n", what, result.runs);
    }
}

/// The same with each allocation failing, each fault point throwing, and a stop before each step.
void everything_goes_wrong(kit::injection& run) {
    kit::fifo_chooser fifo;
    kit::simulation sim(fifo);
    kit::sim_executor on(sim);
    auto env = coflux::make_environment(run.memory(), on);
    sim.on_step([&](std::size_t) { run.step(); });
    run.at_step([&] { env.request_stop(); });
    (void)two_deposits<true>(env).get();
}

int main() {
    explore_deposits<false>("without the lock");
    explore_deposits<true>("with the lock");
    for (const kit::injection_points* points : {&kit::allocations, &kit::fault_points, &kit::steps}) {
        const kit::injection_report report = kit::check_injection(*points, everything_goes_wrong);
        std::printf("%s: %s\n", points->name, report.failure.empty() ? "no leak, no hang" : report.failure.c_str());
    }
}
