// expect: coflux: clang before 18 is not tested (README, Compilers): apt-get install clang-19
// The compiler is said to be clang 17.
#ifndef COFLUX_GOOD
#    undef __clang__
#    undef __clang_major__
#    define __clang__ 1
#    define __clang_major__ 17
#endif
#include <coflux/base/config.hpp>
