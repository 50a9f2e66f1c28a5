// Work without locks and channels: trees, views, combinators, generators, errors, memory, timers.
#include <array>
#include <chrono>
#include <cstddef>
#include <ranges>
#include <stdexcept>
#include <utility>

#include "soak/job.hpp"

namespace coflux_test::soak {
namespace {

using namespace std::chrono_literals;

coflux::fork<long, pool> leaves(coflux::environment&, unsigned depth) {
    const present here;
    if (depth == 0) co_return 1;
    auto&& env = co_await coflux::context();
    auto left = leaves(env, depth - 1);
    auto right = leaves(env, depth - 1);
    const auto [a, b] = co_await coflux::when_all(std::move(left), std::move(right));
    co_return a + b;
}
coflux::fork<void, pool> fork_join(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    const unsigned depth = r.numbers().below(8) + 1;
    const long all = co_await leaves(env, depth);
    expect(all == 1L << depth, "a tree has all its leaves", r);
    r.done->add(static_cast<std::uint64_t>(all) * 2);
}

coflux::fork<long, pool> sees(coflux::environment&, coflux::fork_view<long> view) {
    const present here;
    const long& seen = co_await view;
    co_return seen;
}
coflux::fork<void, pool> views(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    auto source = leaves(env, r.numbers().below(3));
    auto a = sees(env, source.view());
    auto b = sees(env, source.view());
    auto c = sees(env, source.view());
    const auto [x, y, z] = co_await coflux::when_all(std::move(a), std::move(b), std::move(c));
    const long whole = co_await std::move(source);
    expect(x == whole && y == whole && z == whole, "all that look at a result see it", r);
    r.done->add(4);
}

coflux::fork<long, pool> takes_steps(coflux::environment&, long steps, long result) {
    const present here;
    for (long i = 0; i < steps; ++i) co_await coflux::yield();
    co_return result;
}
coflux::call<void> adds_up(coflux::environment&, std::atomic<long>& total, long i) {
    const present here;
    co_await coflux::yield();
    total.fetch_add(i, std::memory_order_relaxed);
}
coflux::fork<void, pool> combinators(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    constexpr long for_ever = 1'000'000'000;
    auto slow = takes_steps(env, for_ever, 1);
    auto quick = takes_steps(env, 3, 2);
    const long won = co_await coflux::race(std::move(slow), std::move(quick));
    expect(won == 2, "the one that ends wins a race", r);
    std::atomic<long> total{0};
    auto add = [&total](coflux::environment& e, long i) -> coflux::call<void> { return adds_up(e, total, i); };
    co_await coflux::for_each_concurrent(std::views::iota(1L, 33L), 4, add);
    expect(total.load() == 32 * 33 / 2, "a window has passed over all elements", r);
    r.done->add(34);
}

coflux::generator<long> squares(coflux::environment&, long n) {
    const present here;
    for (long i = 1; i <= n; ++i) co_yield i* i;
}
coflux::async_generator<long> forked_squares(coflux::environment&, long n) {
    const present here;
    auto&& env = co_await coflux::context();
    for (long i = 1; i <= n; ++i) {
        const long square = co_await takes_steps(env, i % 2, i * i);
        co_yield square;
    }
}
coflux::fork<void, pool> generators(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    const long n = r.numbers().below(32) + 1;
    long sum = 0;
    for (const long s : squares(env, n)) sum += s;
    {
        auto more = forked_squares(env, n);
        while (const long* const s = co_await more.next()) sum -= *s;
    }
    expect(sum == 0, "two generators yield the same", r);
    r.done->add(2 * static_cast<std::uint64_t>(n));
}

coflux::fork<void, pool> fails(coflux::environment&, unsigned after) {
    const present here;
    for (; after != 0; --after) co_await coflux::yield();
    throw std::runtime_error("planned");
}
coflux::fork<void, pool> waits_to_be_stopped(coflux::environment&, coflux::borrowed<coflux::manual_reset_event> never) {
    const present here;
    co_await never->wait();
}
coflux::fork<void, pool> errors(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    coflux::manual_reset_event never;
    const unsigned after = r.numbers().below(4);
    bool thrown = false;
    {
        coflux::task_scope scope(env);
        for (int i = 0; i < 3; ++i) waits_to_be_stopped(scope, coflux::borrowed(never)).attach();
        fails(scope, after).attach();
        try {
            co_await scope.join();
        } catch (const std::runtime_error&) {
            thrown = true;
        }
    }
    co_await coflux::yield();  // a stop point: where this was stopped, so were the children, perhaps before the error
    expect(thrown, "a scope throws the error of its child", r);
    r.done->add(4);
}

coflux::fork<void, pool> memory(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    coflux::counting_resource counted;
    {
        auto sub = coflux::make_environment(env, &counted);
        auto tree = leaves(sub, r.numbers().below(4));
        const auto end = co_await coflux::as_outcome(std::move(tree));
        expect(end.is_stopped() || end.has_value(), "a tree ends", r);
        co_await sub.join();
    }
    expect(counted.live() == 0, "no frame is alive after the join", r);
    expect(counted.allocations() != 0, "the frames came from the resource", r);
    r.done->add(counted.allocations());
}

coflux::fork<void, pool> timers(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    random_numbers random = r.numbers();
    const auto asleep = std::chrono::microseconds(random.below(3000));
    const auto before = std::chrono::steady_clock::now();
    co_await coflux::sleep_for(asleep);
    expect(std::chrono::steady_clock::now() - before >= asleep, "a sleep does not end early", r);
    coflux::manual_reset_event never;
    auto waits = waits_to_be_stopped(env, coflux::borrowed(never));
    const bool ended = co_await coflux::timeout(std::move(waits), std::chrono::microseconds(random.below(2000)));
    expect(!ended, "a timeout ends what waits for ever", r);
    r.done->add(2);
}

coflux::fork<void, pool> hangs(coflux::environment&, round) {
    const present here;
    auto&& env = co_await coflux::context();
    coflux::manual_reset_event never;
    auto waits = waits_to_be_stopped(env, coflux::borrowed(never));
    co_await std::move(waits);
}

}  // namespace

std::span<const job> faulty_jobs() noexcept {
    static constexpr std::array<job, 1> all{{{"hangs", &hangs}}};
    return all;
}

std::span<const job> task_jobs() noexcept {
    static constexpr std::array<job, 7> all{{{"fork_join", &fork_join},
                                             {"views", &views},
                                             {"combinators", &combinators},
                                             {"generators", &generators},
                                             {"errors", &errors},
                                             {"memory", &memory},
                                             {"timers", &timers}}};
    return all;
}

}  // namespace coflux_test::soak
