// expect: nothing can be resumed on an executor that does not schedule
#include <coflux/coflux.hpp>

struct schedules {
    void execute(std::coroutine_handle<>) noexcept {}
};

#ifdef COFLUX_GOOD
using target = schedules;
#else
using target = coflux::noop_executor;
#endif

coflux::task<void, coflux::noop_executor> root(coflux::environment&, coflux::borrowed<target> to) {
    co_await coflux::resume_on(*to);
}
