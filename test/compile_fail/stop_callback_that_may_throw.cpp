// expect: coflux: what on_stop_request calls must be noexcept
#include <coflux/coflux.hpp>

struct foreign {
    bool await_ready() { return true; }
    void await_suspend(std::coroutine_handle<>) {}
    void await_resume() {}
};

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    foreign operation;
#ifdef COFLUX_GOOD
    co_await coflux::on_stop_request(operation, []() noexcept {});
#else
    co_await coflux::on_stop_request(operation, [] {});
#endif
}
