// expect: coflux: g++ before 13.3 miscompiles co_await (README, Compilers): apt-get install clang-19, or a newer g++
// The compiler is said to be g++ 12.
#ifndef COFLUX_GOOD
#    undef __clang__
#    undef __GNUC__
#    define __GNUC__ 12
#endif
#include <coflux/base/config.hpp>
