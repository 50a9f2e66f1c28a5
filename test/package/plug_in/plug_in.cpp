// A library that hides its symbols, and makes coroutines on executors of the program that loads it.
#include <new>

#include <coflux/coflux.hpp>

namespace {

using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> leaf(coflux::environment&) {
    co_await coflux::yield();
    co_return 1;
}
coflux::fork<int, pool> tree(coflux::environment&, int depth) {
    if (depth == 0) {
        auto&& here = co_await coflux::context();
        co_return co_await leaf(here);
    }
    auto&& here = co_await coflux::context();
    auto a = tree(here, depth - 1);
    auto b = tree(here, depth - 1);
    const int x = co_await std::move(a);
    const int y = co_await std::move(b);
    co_return x + y;
}
coflux::fork<int, pool> spins(coflux::environment&) {
    for (;;) co_await coflux::yield();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) void start(coflux::environment& in, void* made, bool ends) {
    ::new (made) coflux::fork<int, pool>(ends ? tree(in, 6) : spins(in));
}
