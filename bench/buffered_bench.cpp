// For regression of our own mechanism, not for comparison: the lab compares runtimes.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <coroutine>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>

#include <coflux/coflux.hpp>

namespace {

using noop = coflux::noop_executor;

/// Gives lines for ever, at most `piece` bytes a read; never waits.
class endless_lines {
public:
    endless_lines(std::size_t line, std::size_t piece) : text_(std::string(line - 1, 'x') + '\n'), piece_(piece) {}

    struct [[nodiscard]] ready {
        std::size_t count;
        [[nodiscard]] bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        [[nodiscard]] std::size_t await_resume() const noexcept { return count; }
    };
    ready read_some(std::span<std::byte> into) noexcept {
        const std::size_t n = std::min(into.size(), piece_);
        for (std::size_t done = 0; done != n;) {
            const std::size_t part = std::min(n - done, text_.size() - at_);
            std::memcpy(into.data() + done, text_.data() + at_, part);
            done += part;
            at_ = (at_ + part) % text_.size();
        }
        return {n};
    }

private:
    std::string text_;
    std::size_t piece_;
    std::size_t at_ = 0;
};

coflux::task<void, noop> reads(coflux::environment&, benchmark::State* state, endless_lines* from) {
    auto&& here = co_await coflux::context();
    coflux::buffered_reader in(*from, 1 << 20);
    for (auto _ : *state) {
        const auto line = co_await in.read_line(here, {.limit = in.size()});
        benchmark::DoNotOptimize(line);
    }
}
/// An item is a line of so many bytes, in a buffer of 1 MiB that is filled in pieces of so many. Long lines in small
/// pieces must cost in proportion to their length: no byte is looked at twice.
void lines(benchmark::State& state) {
    endless_lines from(static_cast<std::size_t>(state.range(0)), static_cast<std::size_t>(state.range(1)));
    noop on;
    auto env = coflux::make_environment(on);
    reads(env, &state, &from).get();
    state.SetItemsProcessed(state.iterations());
    state.SetBytesProcessed(state.iterations() * state.range(0));
}
BENCHMARK(lines)->Args({20, 8192})->Args({200, 8192})->Args({1000, 16})->Args({10'000, 16})->Args({100'000, 16});

/// Takes all that it is given.
struct black_hole {
    endless_lines::ready write_some(std::span<const std::byte> from) noexcept { return {from.size()}; }
};
coflux::task<void, noop> writes(coflux::environment&, benchmark::State* state) {
    auto&& here = co_await coflux::context();
    black_hole to;
    coflux::buffered_writer out(to);
    const std::string line(static_cast<std::size_t>(state->range(0)), 'x');
    for (auto _ : *state) co_await out.write_all(here, line);
    co_await out.flush(here);
}
/// An item is a write of so many bytes.
void written(benchmark::State& state) {
    noop on;
    auto env = coflux::make_environment(on);
    writes(env, &state).get();
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(written)->Arg(20)->Arg(200);

}  // namespace
