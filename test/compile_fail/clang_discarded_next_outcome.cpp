// expect-warning: an error of the child is lost: look at its outcome
#include <coflux/coflux.hpp>

coflux::task<void> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::completions<void> done(here);
#ifdef COFLUX_GOOD
    while (auto child = co_await done.next_outcome()) {
        if (child->value().has_error()) co_return;
    }
#else
    co_await done.next_outcome();
#endif
}
