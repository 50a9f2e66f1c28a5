// expect: a range among the cases of select has channels or receivers
#include <vector>

#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    coflux::channel<int[1]> ch;
#ifdef COFLUX_GOOD
    const std::vector<coflux::channel<int[1]>*> all{&ch};
#else
    const std::vector<int> all{1};
#endif
    (void)co_await coflux::select(all);
}
