// A thousand jobs, at most sixteen at a time. A job that fails is tried again after a pause, which doubles, until a
// deadline.
#include <coflux/coflux.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <ranges>
#include <stdexcept>

using namespace std::chrono_literals;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;

struct try_again : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct tally {
    std::atomic<int> done{0};
    std::atomic<int> given_up{0};
    std::atomic<int> attempts{0};
};

// The n-th attempt at a job. Some need three, and every hundredth never succeeds.
coflux::call<int> attempt(int job, int n) {
    co_await coflux::yield();  // the network
    if (n <= job % 3 || job % 100 == 99) throw try_again("busy");
    co_return 2 * job;
}

// Awaits `f(n)` for n = 1, 2, … until one succeeds, at most `most` times.
template <typename F>
coflux::call<int> retries(int most, coflux::clock::duration pause, F f) {
    for (int n = 1;; ++n) {
        try {
            co_return co_await f(n);
        } catch (const try_again&) {
            if (n == most) throw;  // any other error goes through at once
        }
        co_await coflux::sleep_for(
            pause);  // no worker waits; a stop or a deadline ends the pause, and with it the retries
        pause = std::min<coflux::clock::duration>(2 * pause, 1s);
    }
}

coflux::call<void> runs(int job, tally& t) {
    const auto once = [job, &t](int n) {
        ++t.attempts;
        return attempt(job, n);
    };
    try {
        const int result = co_await retries(4, 1ms, once);
        t.done += result == 2 * job ? 1 : 0;
    } catch (const try_again&) {
        ++t.given_up;
    }
}

coflux::task<bool, pool> runs_all(coflux::environment&, borrowed<tally> t, coflux::clock::duration limit) {
    const auto job = [&t](int number) { return runs(number, *t); };
    // The window bounds what is begun and not yet done, so it bounds the memory, too.
    co_return co_await coflux::deadline(coflux::for_each_concurrent(std::views::iota(0, 1000), 16, job),
                                        coflux::clock::now() + limit);
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    tally all;
    bool in_time = runs_all(env, borrowed(all), 1h).get();
    std::printf("%s: %d done, %d given up, %d attempts\n", in_time ? "in time" : "too late", all.done.load(),
                all.given_up.load(), all.attempts.load());
    tally some;
    in_time = runs_all(env, borrowed(some), 10ms).get();  // those that run are stopped, also in a pause
    std::printf("%s: %s\n", in_time ? "in time" : "too late", some.done < 1000 ? "not all done" : "all done");
}
