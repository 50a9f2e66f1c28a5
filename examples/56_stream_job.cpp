// A stream job: which customers have ordered how much in each minute. Orders come late and out of order.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

struct order {
    std::string customer;
    int amount;
    std::chrono::sys_seconds at;
};

const std::chrono::sys_seconds noon = std::chrono::sys_days(std::chrono::year(2026) / 11 / 29) + 12h;

coflux::task<void, pool> each_minute(coflux::environment&) {
    auto& here = co_await coflux::context();
    stream::memory_source orders(std::vector<order>{{"ann", 120, noon + 5s},
                                                    {"ann", 300, noon + 70s},
                                                    {"ann", 150, noon + 50s},  // late, and in time
                                                    {"ann", 20, noon + 80s},
                                                    {"ann", 200, noon + 100s}});
    const auto is_large = [](const order& o) { return o.amount >= 100; };
    const auto print = [](const auto& minute) {
        std::printf("minute %lld: %s %lld\n", static_cast<long long>((minute.begin - noon) / 1min), minute.key.c_str(),
                    static_cast<long long>(minute.value));
    };
    co_await stream::run(here,
                         stream::from(orders) | stream::event_times(&order::at) | stream::filter(is_large) |
                             stream::by_key(&order::customer) |
                             stream::window(stream::tumbling(1min), stream::sum(&order::amount)) |
                             stream::to(stream::for_each(print)),
                         stream::job{.lateness = 30s});
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    each_minute(env).get();
}
