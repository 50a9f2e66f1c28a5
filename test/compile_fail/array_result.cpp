// expect: a coroutine cannot return an array
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
using result = int*;
#else
using result = int[3];
#endif
int of_the_program[3] = {};

coflux::call<result> three(coflux::environment&) {
    co_return of_the_program;
}
