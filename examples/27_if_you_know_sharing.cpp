// Other runtimes' idioms in Coflux: channels, select, a lock, and work that blocks. docs/tour/00-if-you-know.md
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

using namespace std::chrono_literals;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;
using numbers = coflux::channel<int[8]>;

coflux::fork<void, pool> counts(coflux::environment&, coflux::channel_sender<numbers> out) {
    for (int i = 1; i <= 100; ++i) {
        const bool sent = co_await out.send(i);
        if (!sent) co_return;  // the channel is closed
    }
}  // the last sender dies, and closes the channel

coflux::call<void> uses_a_channel(coflux::environment& here) {
    numbers channel;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        scope.spawn(counts, channel.sender());
        int sum = 0;
        while (auto next = co_await channel.receive()) sum += *next;
        std::printf("received %d\n", sum);
    });
}

coflux::call<void> selects(coflux::environment&) {
    coflux::channel<int[1]> values;
    coflux::channel<std::string[1]> words;
    (void)co_await words.send("hello");
    auto got = co_await coflux::select(values.receive(), words.receive(), coflux::sleep_for(1h));
    if (got.index() == 1) std::printf("a word: %s\n", get<1>(got)->c_str());
}

struct account {
    coflux::mutex lock;
    int balance = 0;
};

coflux::fork<void, pool> deposits(coflux::environment&, borrowed<account> to, int amount) {
    const auto guard = co_await to->lock.lock();
    to->balance += amount;
}  // the guard unlocks

coflux::call<void> locks(coflux::environment& here) {
    account shared;
    co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<void> {
        for (int i = 1; i <= 10; ++i) scope.spawn(deposits, borrowed(shared), i);
        co_return;
    });
    std::printf("balance %d\n", shared.balance);
}

std::string reads(const std::string& path) {
    std::ifstream file(path);  // blocks its thread
    std::string line;
    return std::getline(file, line) ? line : "nothing in " + path;
}

coflux::task<void, pool> root(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await uses_a_channel(here);
    co_await selects(here);
    co_await locks(here);
    const std::string path = "/dev/null";
    const std::string text = co_await coflux::blocking([&] { return reads(path); });
    std::printf("%s\n", text.c_str());  // here again on the pool
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    root(env).get();
}
