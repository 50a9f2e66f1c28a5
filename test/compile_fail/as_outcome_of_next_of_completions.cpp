// expect: coflux: this cannot be awaited as an outcome: await it in a call, and the call as one, as_outcome(f(here)); next() of completions has next_outcome()
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
