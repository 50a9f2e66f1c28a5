// expect: temporary bound to local reference 'now' will be destroyed
#include <cstddef>
#include <string>

#include <coflux/coflux.hpp>

#pragma GCC diagnostic error "-Wdangling"

// A look keeps its value alive; the next send may end it.
std::size_t looks(const coflux::watch_receiver<std::string>& rx) {
#ifdef COFLUX_GOOD
    const auto look = rx.borrow();
    const std::string& now = *look;
#else
    const std::string& now = *rx.borrow();
#endif
    return now.size();
}
