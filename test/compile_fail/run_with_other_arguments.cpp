// expect: coflux: run(program, args...) calls program(environment&, args...) with copies of args, moved
#include <coflux/coflux.hpp>

coflux::task<int, coflux::thread_pool_executor> program(coflux::environment&, int argc, char**) {
    co_return argc;
}

int main(int argc, char** argv) {
#ifdef COFLUX_GOOD
    return coflux::run(program, argc, argv);
#else
    return coflux::run(program, argv);
#endif
}
