// Frames come from the environment's memory resource, and a subtree may have its own.
#include <coflux/coflux.hpp>

#include <cstddef>
#include <cstdio>
#include <new>

using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> leaf(coflux::environment&, int x) {
    co_return x* x;
}

coflux::fork<int, pool> branch(coflux::environment&, int from, int to) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int x = from; x < to; ++x) sum += co_await leaf(here, x);
    co_return sum;
}

// A subtree on an arena: its frames are bumped off one chunk, and all go when the subtree is done.
coflux::task<int, pool> on_an_arena(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::arena memory;
    auto below = coflux::make_environment(here, &memory);
    // Children of an environment end before it: the block joins its children, also when an error passes.
    const int sum = co_await coflux::with_scope(
        below, [](coflux::task_scope& scope) -> coflux::call<int> { co_return co_await branch(scope, 0, 100); });
    std::printf("  the arena held %s\n", memory.used() > 100 * sizeof(int) ? "100 leaves and more" : "nothing");
    co_return sum;
}

coflux::task<int, pool> on_the_roots_memory(coflux::environment&, int count) {
    auto&& here = co_await coflux::context();
    co_return co_await branch(here, 0, count);
}

int main() {
    // One worker: an arena serves one thread at a time.
    pool threads{1};

    std::printf("a subtree on an arena\n");
    {
        auto env = coflux::make_environment(threads);
        std::printf("  sum %d\n", on_an_arena(env).get());
    }

    std::printf("a tree that is counted\n");
    coflux::counting_resource counted;
    auto env = coflux::make_environment(threads, &counted);
    std::printf("  sum %d\n", on_the_roots_memory(env, 100).get());
    std::printf("  frames made %zu, alive now %zu\n", counted.allocations(), counted.live());
    // A hundred leaves at once would be eleven KiB and more.
    const bool one_path = counted.peak_bytes() < std::size_t{8} * 1024;
    std::printf("  most at once: %s\n", one_path ? "those of one path down the tree" : "too many");

    std::printf("a tree that runs out of memory\n");
    counted.fail_at(50);
    try {
        (void)on_the_roots_memory(env, 100).get();
    } catch (const std::bad_alloc&) {
        std::printf("  bad_alloc, frames alive %zu\n", counted.live());
    }
}
