// For regression of our own mechanism, not for comparison: the lab compares runtimes. The hand-written generator is the
// least that a coroutine can do for an element.
#include <benchmark/benchmark.h>

#include <coroutine>
#include <cstdint>
#include <exception>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace {

using coflux::generator;

/// One value in the promise, one resumption an element; no errors, no nesting, the global heap.
class hand_written {
public:
    struct promise_type {
        hand_written get_return_object() noexcept {
            return hand_written(std::coroutine_handle<promise_type>::from_promise(*this));
        }
        std::suspend_always initial_suspend() const noexcept { return {}; }
        std::suspend_always final_suspend() const noexcept { return {}; }
        std::suspend_always yield_value(std::uint64_t v) noexcept {
            value = v;
            return {};
        }
        void return_void() const noexcept {}
        void unhandled_exception() noexcept { std::terminate(); }
        std::uint64_t value = 0;
    };
    explicit hand_written(std::coroutine_handle<promise_type> h) noexcept : handle_(h) {}
    hand_written(hand_written&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}
    ~hand_written() {
        if (handle_) handle_.destroy();
    }
    bool next() const {
        handle_.resume();
        return !handle_.done();
    }
    [[nodiscard]] std::uint64_t value() const noexcept { return handle_.promise().value; }

private:
    std::coroutine_handle<promise_type> handle_;
};

constexpr std::uint64_t many = 10'000;

// Not inlined: a compiler that sees body and loop at once may leave the coroutine out.
[[gnu::noinline]] hand_written count_by_hand(std::uint64_t last) {
    for (std::uint64_t i = 0; i < last; ++i) co_yield i;
}
[[gnu::noinline]] generator<std::uint64_t> count_to(std::uint64_t last) {
    for (std::uint64_t i = 0; i < last; ++i) co_yield i;
}
[[gnu::noinline]] generator<const std::uint64_t&> lend_to(std::uint64_t last) {
    for (std::uint64_t i = 0; i < last; ++i) co_yield i;
}

void element_by_hand(benchmark::State& state) {
    for (auto _ : state) {
        std::uint64_t sum = 0;
        const hand_written elements = count_by_hand(many);
        while (elements.next()) sum += elements.value();
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(many));
}
BENCHMARK(element_by_hand);

template <typename Make>
void consume(benchmark::State& state, Make make) {
    std::int64_t items = 0;
    for (auto _ : state) {
        std::uint64_t sum = 0;
        for (const std::uint64_t n : make()) {
            sum += n;
            ++items;
        }
        benchmark::DoNotOptimize(sum);
    }
    state.SetItemsProcessed(items);
}

/// An item is one element.
void element(benchmark::State& state) {
    consume(state, [] { return count_to(many); });
}
BENCHMARK(element);

void element_by_reference(benchmark::State& state) {
    consume(state, [] { return lend_to(many); });
}
BENCHMARK(element_by_reference);

generator<std::uint64_t> below(std::int64_t levels) {
    if (levels > 1) {
        co_yield below(levels - 1);
    } else {
        co_yield count_to(many);
    }
}

/// An item is one element of a generator that is `levels` deep in others; making them is part of it.
void element_of_nested(benchmark::State& state) {
    consume(state, [&] { return below(state.range(0)); });
}
BENCHMARK(element_of_nested)->ArgName("levels")->Arg(1)->Arg(10)->Arg(1000);

void element_of_range(benchmark::State& state) {
    const std::vector<std::uint64_t> numbers(many, 1);
    consume(state, [&] {
        return [](const std::vector<std::uint64_t>& of) -> generator<const std::uint64_t&> {
            co_yield coflux::elements_of(of);
        }(numbers);
    });
}
BENCHMARK(element_of_range);

generator<std::uint64_t> tree(std::uint64_t levels) {
    if (levels > 1) co_yield tree(levels - 1);
    co_yield levels;
    if (levels > 1) co_yield tree(levels - 1);
}

/// An item is one element and one generator: a tree of 2^12 nodes in order.
void node_of_tree(benchmark::State& state) {
    consume(state, [] { return tree(12); });
}
BENCHMARK(node_of_tree);

/// An item is one generator, made, begun and destroyed.
void made_and_destroyed(benchmark::State& state) {
    for (auto _ : state) {
        auto elements = count_to(2);
        benchmark::DoNotOptimize(*elements.begin());
    }
    state.SetItemsProcessed(state.iterations());
}
BENCHMARK(made_and_destroyed);

}  // namespace
