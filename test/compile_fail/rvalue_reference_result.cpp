// expect: a coroutine cannot return an rvalue reference
#include <coflux/coflux.hpp>

#ifdef COFLUX_GOOD
using result = int&;
#else
using result = int&&;
#endif
int of_the_program = 0;

coflux::fork<result, coflux::noop_executor> one(coflux::environment&) {
    co_return static_cast<result>(of_the_program);
}
