// Windows whose keys do not fit into memory, exactly once: clicks are counted for each page and hour in a table of a
// database. The job fails in a commit. Its second run goes on, and writes no result twice.
#include <coflux/coflux.hpp>
#include <coflux/rocksdb/database.hpp>
#include <coflux/stream/stream.hpp>

#include <chrono>
#include <cstdio>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace fs = std::filesystem;
namespace rocksdb = coflux::rocksdb;
namespace stream = coflux::stream;
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

struct click {
    int page;
    stream::event_time time;
};
using counted = stream::windowed<int, std::uint64_t>;

// Its first commit fails, behind the point from which it is one.
struct unlucky_sink : stream::memory_sink<counted> {
    bool fails = true;
    coflux::call<void> commit(coflux::environment&, const stream::positions& done) {
        auto& here = co_await coflux::context();
        co_await stream::memory_sink<counted>::commit(here, done);
        if (std::exchange(fails, false)) throw std::runtime_error("the line was cut");
    }
};

coflux::task<void, pool> count(coflux::environment&, rocksdb::database state, coflux::borrowed<unlucky_sink> sink) {
    auto& here = co_await coflux::context();
    std::vector<click> clicks;  // one a second, of 1 000 pages
    for (int i = 0; i != 20'000; ++i) clicks.push_back({i % 1000, stream::event_time(i * 1s)});
    stream::memory_source source(std::move(clicks));
    (void)co_await stream::run(here,
                               stream::from(source) | stream::event_times(&click::time) | stream::by_key(&click::page) |
                                   stream::window(stream::tumbling(1h), stream::count(), state.table("hours")) |
                                   stream::to(*sink),
                               stream::job{.workers = 2, .delivery = stream::exactly_once, .state = state});
}

int main() {
    const fs::path folder = fs::temp_directory_path() / "coflux_example_windows_rocksdb";
    fs::remove_all(folder);
    fs::create_directory(folder);
    pool threads{2};
    auto env = coflux::make_environment(threads);
    unlucky_sink sink;
    const rocksdb::database state(folder.string(), "clicks", {.cached_keys = 100});
    for (bool is_done = false; !is_done;) {
        try {
            count(env, state, coflux::borrowed(sink)).get();
            is_done = true;
        } catch (const std::runtime_error& e) {
            std::printf("%s\n", e.what());
        }
    }
    std::uint64_t clicks = 0;
    for (const counted& each : sink.values()) clicks += each.value;
    std::printf("%zu results, %llu clicks\n", sink.values().size(), static_cast<unsigned long long>(clicks));
    fs::remove_all(folder);
}
