// expect: the operand of co_await is neither of Coflux nor an awaitable
#include <coflux/coflux.hpp>

struct answer {};
#ifdef COFLUX_GOOD
struct ready {
    bool await_ready() const noexcept { return true; }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    void await_resume() const noexcept {}
};
ready operator co_await(answer) {
    return {};
}
#endif

coflux::task<void, coflux::noop_executor> root(coflux::environment&) {
    co_await answer{};
}
