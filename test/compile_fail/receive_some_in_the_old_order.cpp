// expect: coflux: the place comes first, then the number: write receive_some(out, max)
#include <cstddef>
#include <iterator>
#include <vector>

#include <coflux/coflux.hpp>

coflux::call<void> receives(coflux::environment&, coflux::mpsc_receiver<int>& in, std::vector<int>& values) {
#ifdef COFLUX_GOOD
    const std::size_t count = co_await in.receive_some(std::back_inserter(values), 100);
    (void)count;
#else
    in.receive_some(100, std::back_inserter(values));
#endif
}
