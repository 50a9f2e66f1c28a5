// expect: coflux: a fork is a child, to be awaited by a coroutine: what main() makes and waits for is a task
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::task<int, coflux::noop_executor> one(coflux::environment&) {
#else
coflux::fork<int, coflux::noop_executor> one(coflux::environment&) {
#endif
    co_return 1;
}

int main() {
    auto env = coflux::make_environment();
    auto f = one(env);
    f.join();
}
