// Five coroutines, each of another shape. tools/compile_time.py compiles it.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <optional>
#include <string>

using pool = coflux::thread_pool_executor;
using namespace std::chrono_literals;

coflux::call<std::string> name_of(int n) {
    co_await 1ms;
    co_return "item " + std::to_string(n);
}

coflux::fork<void, pool> makes(coflux::environment&, coflux::channel_sender<coflux::channel<std::string[4]>> out) {
    for (int i = 0; i < 10; ++i) {
        const bool sent = co_await out.send(co_await name_of(i));
        if (!sent) co_return;
    }
}

coflux::fork<std::size_t, pool> counts(coflux::environment&,
                                       coflux::channel_receiver<coflux::channel<std::string[4]>> in) {
    std::size_t sum = 0;
    while (std::optional<std::string> next = co_await in.receive()) sum += next->size();
    co_return sum;
}

coflux::call<std::size_t> both(coflux::environment&, coflux::channel<std::string[4]>& items) {
    auto&& here = co_await coflux::context();
    auto maker = makes(here, items.sender());
    auto counter = counts(here, items.receiver());
    co_await std::move(maker);
    co_return co_await std::move(counter);
}

coflux::task<int, pool> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    coflux::channel<std::string[4]> items;
    const auto sum = co_await coflux::timeout(both(here, items), 5s);
    if (sum.timed_out()) co_return 1;
    std::printf("%zu\n", *sum);
    co_return 0;
}

int main() {
    return coflux::run(program);
}
