// Stop is the third outcome: it goes down the tree, unwinds without a throw, and is no error.
#include <coflux/coflux.hpp>

#include <atomic>
#include <cstdio>
#include <utility>

using pool = coflux::thread_pool_executor;
using coflux::borrowed;

struct announces_its_end {
    const char* name;
    ~announces_its_end() { std::printf("  locals of %s die\n", name); }
};

// Runs until it is stopped: each yield is a stop point.
coflux::fork<int, pool> searches(coflux::environment&, borrowed<std::atomic<bool>> begun) {
    const announces_its_end local{"the search"};
    for (;;) {
        *begun = true;
        begun->notify_one();
        co_await coflux::yield();
    }
    co_return 0;
}

coflux::task<int, pool> waits_for_the_search(coflux::environment&, borrowed<std::atomic<bool>> begun) {
    auto&& here = co_await coflux::context();
    const announces_its_end local{"the task"};
    auto search = searches(here, begun);
    co_return co_await std::move(search);  // a stopped child stops its awaiter in turn
}

// One that wants to know asks for the outcome.
coflux::task<void, pool> stops_its_search(coflux::environment&, borrowed<std::atomic<bool>> begun) {
    auto&& here = co_await coflux::context();
    auto search = searches(here, begun);
    while (!*begun) co_await coflux::yield();
    search.request_stop();
    const coflux::outcome<int> found = co_await coflux::as_outcome(std::move(search));
    std::printf("  found: %s\n", found.is_stopped() ? "nothing, the search was stopped" : "something");
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);

    std::printf("a stop from outside\n");
    std::atomic<bool> begun{false};
    auto task = waits_for_the_search(env, borrowed(begun));
    begun.wait(false);
    task.request_stop();
    try {
        (void)task.get();
    } catch (const coflux::task_stopped&) {
        std::printf("  get(): there is no value\n");
    }

    std::printf("a stop by the parent\n");
    std::atomic<bool> begun_again{false};
    stops_its_search(env, borrowed(begun_again)).join();
}
