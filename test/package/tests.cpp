// A consumer's test program: coflux::testing, against an installed or embedded Coflux.
#include <coflux/coflux.hpp>
#include <coflux/testing/replace_new.hpp>
#include <coflux/testing/testing.hpp>

namespace kit = coflux::testing;

coflux::task<int, kit::sim_executor> locks(auto&&) {
    coflux::mutex m;
    coflux::mutex::guard guard = co_await m.lock();
    co_await coflux::yield();
    co_return 1;
}

int main() {
    const kit::exploration result = kit::explore([](kit::simulation& in) {
        kit::sim_executor on(in);
        auto env = coflux::make_environment(on);
        (void)locks(env).get();
    });
    const std::size_t points = kit::inject(kit::allocations, [](kit::injection& run) {
        kit::fifo_chooser fifo;
        kit::simulation sim(fifo);
        kit::sim_executor on(sim);
        auto env = coflux::make_environment(run.memory(), on);
        (void)locks(env).get();
    });
    const kit::alloc_guard none;
    return result.ok() && points == 1 && kit::counts_new() ? 0 : 1;
}
