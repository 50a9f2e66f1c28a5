// A pipeline ends when a stage fails, stops or returns early, when it is stopped, when its time is up.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <string>
using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using numbers = coflux::channel<int[4]>;

// The fate of the fifth number in one of the stages.
enum class fault { none, error, stop, early_return, hang };
struct trouble {
    int stage = 0;
    fault what = fault::none;
};

/// True if the stage goes on.
coflux::call<bool> works(int stage, int number, trouble t) {
    co_await coflux::yield();
    if (number != 5 || stage != t.stage) co_return true;
    if (t.what == fault::error) throw std::runtime_error("stage " + std::to_string(stage) + " fails");
    if (t.what == fault::stop) co_await coflux::this_coroutine::stop();
    if (t.what == fault::hang) co_await 1h;
    co_return t.what != fault::early_return;
}

coflux::fork<void, pool> makes(coflux::environment&, coflux::channel_sender<numbers> out, trouble t) {
    for (int i = 1; i <= 100; ++i) {
        const bool goes_on = co_await works(1, i, t);
        if (!goes_on) co_return;  // the sender dies: the other stages see the end
        const bool sent = co_await out.send(i);
        if (!sent) co_return;
    }
}

coflux::fork<void, pool> adds(coflux::environment&, coflux::channel_receiver<numbers> in, coflux::borrowed<int> sum,
                              trouble t) {
    while (auto number = co_await in.receive()) {
        const bool goes_on = co_await works(2, *number, t);
        if (!goes_on) co_return;  // the receiver dies: the other stage's send() is refused
        *sum += *number;
    }
}

coflux::call<int> pipeline(trouble t) {
    auto&& here = co_await coflux::context();
    numbers between;
    int sum = 0;
    co_await coflux::with_scope(here, [&](coflux::task_scope& stages) -> coflux::call<void> {
        stages.spawn(makes, between.sender(), t);
        stages.spawn(adds, between.receiver(), coflux::borrowed(sum), t);
        co_return;
    });
    co_return sum;
}

coflux::task<void, pool> tries(coflux::environment&) {
    for (const trouble t :
         {trouble{}, {1, fault::error}, {2, fault::error}, {1, fault::stop}, {2, fault::early_return}}) {
        try {
            const int sum = co_await pipeline(t);
            std::printf("%s\n", sum == 5050 ? "all of it" : "a part of it");
        } catch (const std::runtime_error& e) {
            std::printf("%s\n", e.what());
        }
    }
    const auto sum = co_await coflux::timeout(pipeline({2, fault::hang}), 5ms);
    std::printf("%s\n", sum.value_or(0) == 5050 ? "in time" : "too late");
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    tries(env).get();
}
