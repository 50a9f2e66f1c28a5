// expect: coflux: an executor that is a constant runs nothing
#include <coflux/coflux.hpp>

void makes() {
#ifdef COFLUX_GOOD
    coflux::worker_executor w;
#else
    struct queue {
        void execute(std::coroutine_handle<>) noexcept {}
    };
    const queue w{};
#endif
    auto env = coflux::make_environment(w);
    env.request_stop();
}
