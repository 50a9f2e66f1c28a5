// A stream job whose states are in a database, because they do not fit into memory. Its second run goes on where the
// first has ended, and reads the state of a customer when an order of it comes.
#include <coflux/coflux.hpp>
#include <coflux/rocksdb/database.hpp>
#include <coflux/stream/stream.hpp>

#include <cstdio>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
namespace rocksdb = coflux::rocksdb;
namespace stream = coflux::stream;
using pool = coflux::thread_pool_executor;

struct order {
    std::string customer;
    int amount;
};
struct total {
    std::string customer;
    int sum = 0;
    template <typename A>
    void fields(A& all) {  // what the database stores
        all(customer, sum);
    }
};

std::vector<order> orders(int n) {
    std::vector<order> all;
    for (int i = 0; i != n; ++i) all.push_back({"customer " + std::to_string(i % 1000), 1});
    return all;
}

coflux::task<void, pool> add_up(coflux::environment&, std::string folder, std::vector<order> all) {
    auto& here = co_await coflux::context();
    stream::memory_source source(std::move(all));  // begins at the position that the database has
    stream::memory_sink<total> sums;
    // At most 100 states stay in memory, and those that a commit has not written yet.
    const rocksdb::database state(std::move(folder), "orders", {.cached_keys = 100});
    const auto add = [](total& t, const order& o, const auto& emit) {
        t.customer = o.customer;
        t.sum += o.amount;
        emit(t);
    };
    const auto report =
        co_await stream::run(here,
                             stream::from(source) | stream::by_key(&order::customer) |
                                 stream::fold<total, total>(add, state.table("totals")) | stream::to(sums),
                             stream::job{.workers = 2, .state = state});
    std::map<std::string, int> last;
    for (const total& t : sums.values()) last[t.customer] = t.sum;
    std::printf("%llu orders, customer 7: %d\n", static_cast<unsigned long long>(report.records), last["customer 7"]);
}

int main() {
    const fs::path folder = fs::temp_directory_path() / "coflux_example_rocksdb";
    fs::remove_all(folder);
    fs::create_directory(folder);  // the library makes none: a mistyped path would look like a first run
    pool threads{2};
    auto env = coflux::make_environment(threads);
    add_up(env, folder.string(), orders(20'000)).get();
    add_up(env, folder.string(), orders(23'000)).get();
    fs::remove_all(folder);
}
