// expect: coflux: run(program, args...) calls program(environment&, args...) with copies of args, moved
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
coflux::task<void, coflux::thread_pool_executor> program(coflux::environment&) {
    co_return;
}
#else
int program() {
    return 0;
}
#endif

int main() {
    return coflux::run(program);
}
