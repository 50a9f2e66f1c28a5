// A stream job under test: a thousand schedules, in which it is cut off at some moment and run again. Each order must
// count once.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>
#include <coflux/testing/explore.hpp>
#include <coflux/testing/sim_executor.hpp>

#include <chrono>
#include <cstddef>
#include <cstdio>
#include <functional>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::testing::sim_executor;
using coflux::testing::simulation;

struct order {
    std::string customer;
    int number;
};

// The things that a crash leaves: the sink's outputs, and the checkpoints.
struct kept {
    stream::memory_sink<order> sink;
    stream::memory_store store;
};

// A step that takes its time, as a look-up does.
coflux::call<order> look_up(coflux::environment&, const order& o) {
    co_await coflux::sleep_for(1ms);
    co_return o;
}

coflux::task<void, sim_executor> run_twice(coflux::environment&, borrowed<kept> all, std::chrono::milliseconds crash) {
    auto& here = co_await coflux::context();
    for (int run = 0; run != 2; ++run) {
        stream::memory_source orders(
            std::vector<order>{{"ann", 0}, {"bob", 0}, {"ann", 0}, {"ann", 0}, {"bob", 0}, {"ann", 0}});
        const auto count = [](int& n, const order& o, const auto& emit) { emit(order{o.customer, ++n}); };
        auto flow = stream::from(orders) | stream::call_each(look_up) | stream::by_key(&order::customer) |
                    stream::fold<int, order>(count) | stream::to(all->sink);
        const stream::job options{.workers = 2,
                                  .max_batch = 2,
                                  .commit_every = 2ms,
                                  .delivery = stream::exactly_once,
                                  .state = std::ref(all->store)};
        (void)co_await coflux::timeout(stream::run(here, std::move(flow), options), run == 0 ? crash : 1h);
    }
}

void body(simulation& world) {
    kept all;
    sim_executor on;
    auto env = coflux::make_environment(on);
    run_twice(env, borrowed(all), world.choose(10) * 1ms).get();
    std::map<std::string, int> last;
    for (const order& o : all.sink.values()) {
        if (o.number != ++last[o.customer]) throw std::runtime_error("an order of " + o.customer + " is out of order");
    }
    if (last["ann"] != 4 || last["bob"] != 2) throw std::runtime_error("an order is missing, or counted twice");
}

int main() {
    const auto found = coflux::testing::explore({.runs = 1000}, body);
    std::printf("%s\n", found.ok() ? "each order counted once" : found.report().c_str());
    return found.ok() ? 0 : 1;
}
