#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace {

namespace stream = coflux::stream;
using coflux::thread_pool_executor;

struct order {
    std::uint64_t customer;
    std::int64_t amount;
};

std::vector<order> orders(std::size_t n) {
    std::vector<order> all(n);
    for (std::size_t i = 0; i != n; ++i) all[i] = {i % 100, static_cast<std::int64_t>(i % 300)};
    return all;
}

template <typename Block>
auto on_pool(std::size_t threads, Block block) {
    thread_pool_executor pool{threads};
    auto env = coflux::make_environment(pool);
    return [](coflux::environment&, coflux::borrowed<Block> b) -> coflux::task<void, thread_pool_executor> {
        auto& here = co_await coflux::context();
        co_await (*b)(here);
    }(env, coflux::borrowed(block))
                                                                      .get();
}

TEST(Run, FiltersAndMaps) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(10'000));
        stream::memory_sink<std::int64_t> sink;
        const auto report = co_await stream::run(
            here, stream::from(source) | stream::filter([](const order& o) { return o.amount > 100; }) |
                      stream::map([](const order& o) { return o.amount * 2; }) | stream::to(sink));
        EXPECT_EQ(report.records, 10'000U);
        std::vector<std::int64_t> expected;
        for (const order& o : orders(10'000)) {
            if (o.amount > 100) expected.push_back(o.amount * 2);
        }
        EXPECT_EQ(sink.values(), expected);
    });
}

struct total {
    std::int64_t sum = 0;
    template <typename A>
    void fields(A& all) {
        all(sum);
    }
};

TEST(Run, KeepsTheStateOfEachKeyWithOneWorker) {
    on_pool(2, [](coflux::environment& here) -> coflux::call<void> {
        stream::memory_source source(orders(10'000));
        stream::memory_sink<std::pair<std::uint64_t, std::int64_t>> sink;
        using out = std::pair<std::uint64_t, std::int64_t>;
        (void)co_await stream::run(here,
                                   stream::from(source) | stream::by_key(&order::customer) |
                                       stream::fold<total, out>([](total& t, const order& o, const auto& emit) {
                                           t.sum += o.amount;
                                           emit(out{o.customer, t.sum});
                                       }) |
                                       stream::to(sink),
                                   stream::job{.workers = 3, .max_batch = 64});
        std::map<std::uint64_t, std::int64_t> last, expected;
        EXPECT_EQ(sink.values().size(), 10'000U);
        for (const auto& [k, s] : sink.values()) last[k] = std::max(last[k], s);
        for (const order& o : orders(10'000)) expected[o.customer] += o.amount;
        EXPECT_EQ(last, expected);
    });
}

}  // namespace
