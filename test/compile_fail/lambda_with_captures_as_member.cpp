// expect: a lambda with captures cannot be a fork or task: the captures die before the coroutine does; pass them as parameters
#include <coflux/coflux.hpp>

template <typename F>
struct job {
    F run;
};

struct maker {
    int value = 3;
    auto make() {
#ifdef COFLUX_GOOD
        return job([](coflux::environment&, int x) -> coflux::fork<int, coflux::noop_executor> { co_return x; });
#else
        return job([this](coflux::environment&, int) -> coflux::fork<int, coflux::noop_executor> { co_return value; });
#endif
    }
};

void start(coflux::environment& env, maker m) {
    m.make().run(env, m.value).attach();
}
