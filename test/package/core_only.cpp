// A program that includes all of Coflux, links coflux::core alone, and uses no executor and no timer.
#include <coflux/coflux.hpp>

coflux::task<int, coflux::noop_executor> three(coflux::environment&) {
    co_return 3;
}

int main() {
    auto env = coflux::make_environment();
    return three(env).get() - 3;
}
