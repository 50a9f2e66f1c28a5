// expect: coflux: next() stops its awaiter with a child that was stopped: write co_await done.next_outcome()
#include <coflux/coflux.hpp>

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::completions<int> done(here);
#ifdef COFLUX_GOOD
    (void)co_await done.next_outcome();
#else
    (void)co_await coflux::as_outcome(done.next());
#endif
}
