// Loads a plug-in, runs its coroutines on a pool of the program's, and stops one: argument 1 is the plug-in.
#include <dlfcn.h>

#include <cstdio>
#include <utility>

#include <coflux/coflux.hpp>

namespace {

using pool = coflux::thread_pool_executor;
using start_function = void (*)(coflux::environment&, void*, bool);

coflux::task<int, pool> root(coflux::environment&, start_function start) {
    auto&& here = co_await coflux::context();
    alignas(coflux::fork<int, pool>) unsigned char room[sizeof(coflux::fork<int, pool>)];
    auto* const made = reinterpret_cast<coflux::fork<int, pool>*>(room);
    start(here, room, true);
    auto ends = std::move(*made);
    made->~fork();
    const int leaves = co_await std::move(ends);
    start(here, room, false);
    auto spins = std::move(*made);
    made->~fork();
    co_await coflux::yield();
    spins.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(spins));
    co_return end.is_stopped() ? leaves : -1;
}

}  // namespace

int main(int, char** arguments) {
    void* const library = dlopen(arguments[1], RTLD_LAZY);
    if (library == nullptr) {
        std::fprintf(stderr, "%s\n", dlerror());
        return 2;
    }
    const auto start = reinterpret_cast<start_function>(dlsym(library, "start"));
    pool threads{2};
    auto env = coflux::make_environment(threads);
    return root(env, start).get() == 64 ? 0 : 1;
}
