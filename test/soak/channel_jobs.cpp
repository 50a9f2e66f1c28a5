// Work that hands values from one to another, within a pool and across pools.
#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "soak/job.hpp"

namespace coflux_test::soak {
namespace {

using elsewhere = coflux::nth<pool, 1>;
constexpr long each = 30;
constexpr long sum_of_each = each * (each + 1) / 2;

template <typename Channel, typename Executor>
coflux::fork<long, Executor> sends(coflux::environment&, coflux::borrowed<Channel> to) {
    const present here;
    for (long i = 1; i <= each; ++i) {
        const bool sent = co_await to->send(long{i});
        if (!sent) co_return -1;
    }
    co_return sum_of_each;
}
template <typename Channel, typename Executor>
coflux::fork<long, Executor> receives(coflux::environment&, coflux::borrowed<Channel> from) {
    const present here;
    long sum = 0;
    while (const auto v = co_await from->receive()) sum += *v;
    co_return sum;
}
template <typename Channel, typename There>
coflux::fork<void, pool> passes(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    Channel ch;
    auto to_a = sends<Channel, pool>(env, coflux::borrowed(ch));
    auto to_b = sends<Channel, There>(env, coflux::borrowed(ch));
    auto from_a = receives<Channel, There>(env, coflux::borrowed(ch));
    auto from_b = receives<Channel, pool>(env, coflux::borrowed(ch));
    const auto [a, b] = co_await coflux::when_all(std::move(to_a), std::move(to_b));
    ch.close();
    const auto [x, y] = co_await coflux::when_all(std::move(from_a), std::move(from_b));
    expect(a == sum_of_each && b == sum_of_each && x + y == a + b, "all that was sent was received, once", r);
    r.done->add(2 * each);
}

using rendezvous = coflux::channel<long[]>;
coflux::fork<void, pool> selects(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    rendezvous a;
    coflux::channel<long[2]> b;
    auto to_a = sends<rendezvous, pool>(env, coflux::borrowed(a));
    auto to_b = sends<coflux::channel<long[2]>, pool>(env, coflux::borrowed(b));
    long sum = 0;
    for (long i = 0; i < 2 * each; ++i) {
        auto got = co_await coflux::select(a.receive(), b.receive());
        sum += got.index() == 0 ? *get<0>(got) : *get<1>(got);
    }
    co_await coflux::when_all(std::move(to_a), std::move(to_b));
    expect(sum == 2 * sum_of_each, "a select takes each value once", r);
    r.done->add(2 * each);
}

coflux::fork<void, pool> sends_to_queue(coflux::environment&, coflux::mpsc_sender<long> to) {
    const present here;
    for (long i = 1; i <= each; ++i) {
        const bool sent = co_await to.send(long{i});
        if (!sent) co_return;
    }
    to.close();
}
coflux::fork<void, pool> queues(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    auto [tx, rx] = coflux::make_mpsc<long>(4);
    auto a = sends_to_queue(env, tx);
    auto b = sends_to_queue(env, std::move(tx));
    long sum = 0;
    while (const auto v = co_await rx.receive()) sum += *v;
    co_await coflux::when_all(std::move(a), std::move(b));
    expect(sum == 2 * sum_of_each, "all that was queued was received, once", r);
    r.done->add(2 * each);
}

coflux::fork<long, pool> listens(coflux::environment&, coflux::broadcast_receiver<long> rx) {
    const present here;
    long heard = 0;
    while (const auto message = co_await rx.receive()) heard += static_cast<long>(message.missed()) + 1;
    co_return heard;
}
coflux::fork<void, pool> broadcasts(coflux::environment&, round r) {
    const present here;
    auto&& env = co_await coflux::context();
    auto [tx, rx] = coflux::make_broadcast<long>(8);
    auto a = listens(env, rx.subscribe());
    auto b = listens(env, std::move(rx));
    for (long i = 1; i <= each; ++i) {
        (void)tx.send(i);
        if (i % 6 == 0) co_await coflux::yield();
    }
    tx.close();
    const auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
    expect(x == each && y == each, "every receiver of a broadcast hears of every value", r);
    r.done->add(2 * each);
}

}  // namespace

std::span<const job> channel_jobs() noexcept {
    static constexpr std::array<job, 6> all{{{"channels", &passes<coflux::channel<long[3]>, pool>},
                                             {"rendezvous", &passes<rendezvous, pool>},
                                             {"across_pools", &passes<coflux::channel<long[3]>, elsewhere>},
                                             {"selects", &selects},
                                             {"queues", &queues},
                                             {"broadcasts", &broadcasts}}};
    return all;
}

}  // namespace coflux_test::soak
