// A stream job that fails in the middle, and is run again: each order counts once. The checkpoint has the sums, the
// sink's commit has the positions that they belong to.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

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
using pool = coflux::thread_pool_executor;

struct order {
    std::string customer;
    int amount;
};
struct total {
    std::string customer;
    int sum = 0;
    template <typename A>
    void fields(A& all) {  // what a checkpoint stores
        all(customer, sum);
    }
};

std::vector<order> orders() {
    std::vector<order> all;
    for (int i = 0; i != 300; ++i) all.push_back({i % 3 == 0 ? "ann" : "bob", 1});
    return all;
}

coflux::task<void, pool> counts(coflux::environment&) {
    auto& here = co_await coflux::context();
    stream::memory_store checkpoints;  // with files or a broker they outlive the process, too
    stream::memory_sink<total> sums;
    int crashes = 1;
    for (bool done = false; !done;) {
        stream::memory_source source(orders());
        auto add = [&](total& t, const order& o, const auto& emit) {
            if (t.sum == 150 && crashes-- == 1) throw std::runtime_error("the machine is gone");
            t.customer = o.customer;
            ++t.sum;
            emit(t);
        };
        try {
            (void)co_await stream::run(here,
                                       stream::from(source) | stream::by_key(&order::customer) |
                                           stream::fold<total, total>(add) | stream::to(sums),
                                       stream::job{.workers = 1,
                                                   .max_batch = 20,
                                                   .commit_every = 1ms,
                                                   .delivery = stream::exactly_once,
                                                   .state = std::ref(checkpoints)});
            done = true;
        } catch (const std::runtime_error& e) {
            std::printf("%s\n", e.what());
        }
    }
    std::map<std::string, int> last;
    for (const total& t : sums.values()) last[t.customer] = t.sum;
    for (const auto& [customer, sum] : last) std::printf("%s: %d\n", customer.c_str(), sum);
    std::printf("%zu outputs\n", sums.values().size());
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    counts(env).get();
}
