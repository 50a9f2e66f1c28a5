// A job that is watched: a line on the terminal while it runs, and its position, for each partition of its source.
#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>

#include <cstdio>
#include <stdexcept>
#include <utility>
#include <vector>

namespace stream = coflux::stream;
using pool = coflux::thread_pool_executor;

int checked(int amount) {
    if (amount < 0) throw std::runtime_error("a negative amount");
    return amount;
}

coflux::task<void, pool> watched(coflux::environment&) {
    auto& here = co_await coflux::context();
    std::vector<std::vector<int>> amounts(2, std::vector<int>(400, 5));
    amounts[1].resize(100);
    amounts[1][77] = -5;
    stream::memory_source source(std::move(amounts));
    long long sum = 0;

    stream::job_control control;
    // It writes to stderr: one line that changes on a terminal, one each ten seconds elsewhere.
    co_await coflux::when_all(coflux::stop_on_error,
                              stream::run(here,
                                          stream::from(source) | stream::map(checked) |
                                              stream::to(stream::for_each([&](int amount) { sum += amount; })),
                                          stream::job{.on_error = stream::skip_record(), .control = &control}),
                              stream::show_progress(here, control, {.name = "amounts"}));

    // From any thread, also while the job runs.
    const stream::job_snapshot now = control.snapshot();
    for (const auto& p : now.partitions) {
        std::printf("partition %s: %llu records, %llu skipped, %llu left\n", p.name.c_str(),
                    static_cast<unsigned long long>(p.records), static_cast<unsigned long long>(p.skipped),
                    static_cast<unsigned long long>(p.lag.value_or(0)));
    }
    std::printf("in all: %llu records, %llu outputs, sum %lld\n", static_cast<unsigned long long>(now.records),
                static_cast<unsigned long long>(now.outputs), sum);
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    watched(env).get();
}
