// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <array>
#include <cstddef>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include <fcntl.h>
#include <unistd.h>

#include <coflux/coflux.hpp>
#include <coflux/io/file.hpp>

namespace {

using worker = coflux::worker_executor;

constexpr std::size_t pages = 256;

/// A file of 1 MiB that the page cache has.
class cached_file {
public:
    cached_file() {
        const int opened = ::mkstemp(name_.data());
        const std::vector<char> bytes(pages * 4096, 'x');
        (void)!::write(opened, bytes.data(), bytes.size());
        ::close(opened);
    }
    cached_file(const cached_file&) = delete;
    cached_file& operator=(const cached_file&) = delete;
    ~cached_file() { ::unlink(name_.c_str()); }
    [[nodiscard]] const std::string& name() const { return name_; }

private:
    std::string name_ = "/tmp/coflux_bench_XXXXXX";
};

/// An item is one read; the argument is its size.
void pread_of_cached_bytes(benchmark::State& state) {
    const cached_file f;
    const int opened = ::open(f.name().c_str(), O_RDONLY);
    std::vector<std::byte> into(static_cast<std::size_t>(state.range(0)));
    // In a process with threads, as the one with a worker is: there the C library's calls cost more.
    std::thread reader([&] {
        std::size_t page = 0;
        for (auto _ : state) {
            benchmark::DoNotOptimize(::pread(opened, into.data(), into.size(), static_cast<off_t>(page * 4096)));
            page = (page + 1) % (pages / 2);
        }
    });
    reader.join();
    ::close(opened);
    state.SetItemsProcessed(state.iterations());
}

coflux::task<void, worker> reads(coflux::environment&, benchmark::State* state, std::string name) {
    coflux::file f = co_await coflux::file::open(name);
    std::vector<std::byte> into(static_cast<std::size_t>(state->range(0)));
    std::size_t page = 0;
    for (auto _ : *state) {
        benchmark::DoNotOptimize(co_await f.read_at(page * 4096, into));
        page = (page + 1) % (pages / 2);
    }
    state->SetItemsProcessed(state->iterations());
}
/// The same by a coroutine. Floor: pread_of_cached_bytes.
void file_read_of_cached_bytes(benchmark::State& state) {
    const cached_file f;
    worker w;
    auto env = coflux::make_environment(w);
    reads(env, &state, f.name()).get();
}

coflux::task<void, worker> asks(coflux::environment&, benchmark::State* state, std::string name) {
    coflux::file f = co_await coflux::file::open(name);
    for (auto _ : *state) benchmark::DoNotOptimize(co_await f.size());
    state->SetItemsProcessed(state->iterations());
}
/// An item is a call on a thread of the pool, there and back. Floor: blocking_bench.
void file_call_of_the_pool(benchmark::State& state) {
    const cached_file f;
    worker w;
    auto env = coflux::make_environment(w);
    asks(env, &state, f.name()).get();
}

}  // namespace

BENCHMARK(pread_of_cached_bytes)->Arg(64)->Arg(4096)->Arg(65536)->UseRealTime();
BENCHMARK(file_read_of_cached_bytes)->Arg(64)->Arg(4096)->Arg(65536)->UseRealTime();
BENCHMARK(file_call_of_the_pool)->UseRealTime();
