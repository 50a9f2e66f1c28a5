// expect-warning: it is the exit status of the program: return it from main
#include <coflux/coflux.hpp>

coflux::task<int, coflux::thread_pool_executor> program(coflux::environment&) {
    co_return 0;
}

int main() {
#ifdef COFLUX_GOOD
    return coflux::run(program);
#else
    coflux::run(program);
#endif
}
