// A run_loop runs coroutines on a thread that has a loop already: here one that sleeps in poll(2), as those of user
// interfaces and network libraries do. Where the thread has nothing else to do, run(task) is all that it needs.
#include <coflux/coflux.hpp>

#include <array>
#include <chrono>
#include <cstdio>
#include <thread>

#include <poll.h>
#include <unistd.h>

using namespace std::chrono_literals;
using loop = coflux::run_loop;
using pool = coflux::thread_pool_executor;

coflux::fork<int, pool> compute(coflux::environment&, int x) {
    co_return x* x;  // on the pool
}

coflux::task<int, loop> program(coflux::environment&, std::thread::id main_thread) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int x = 1; x <= 3; ++x) {
        sum += co_await compute(here, x);
        co_await coflux::sleep_for(1ms);  // a timer of the loop
        if (std::this_thread::get_id() != main_thread) std::printf("never: it comes back to the loop\n");
    }
    co_return sum;
}

int main() {
    loop on;
    pool threads{2};
    auto env = coflux::make_environment(on, threads);

    // The thread belongs to the program until it has ended.
    std::printf("run: %d\n", on.run(program(env, std::this_thread::get_id())));

    // The thread has another source of events, a pipe: both descriptors in one poll(2).
    std::array<int, 2> pipe_ends{};
    if (::pipe(pipe_ends.data()) != 0) return 1;
    auto task = program(env, std::this_thread::get_id());
    task.on_value([&](int) noexcept { (void)!::write(pipe_ends[1], "x", 1); });  // what other code would send
    std::array<pollfd, 2> sources{{{on.descriptor(), POLLIN, 0}, {pipe_ends[0], POLLIN, 0}}};
    for (bool heard = false; !heard;) {
        if (::poll(sources.data(), sources.size(), -1) < 0) return 1;
        if ((sources[0].revents & POLLIN) != 0) on.poll();  // a millisecond at most
        if ((sources[1].revents & POLLIN) != 0) heard = true;
    }
    std::printf("poll: %d\n", task.get());
    ::close(pipe_ends[0]);
    ::close(pipe_ends[1]);
}
