// expect: coflux: run takes a function that returns coflux::task<int, coflux::thread_pool_executor>
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::task<int, coflux::thread_pool_executor> program(coflux::environment&) {
    co_return 0;
}
#else
coflux::fork<int, coflux::thread_pool_executor> program(coflux::environment&) {
    co_return 0;
}
#endif

int main() {
    return coflux::run(program);
}
