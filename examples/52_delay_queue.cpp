// Jobs that are done later: in the order of their moments, whoever brings them when. One is called off, one is moved.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <string>

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;
using jobs = coflux::delay_queue<std::string>;

coflux::call<int> works(jobs& due) {
    int done = 0;
    while (auto job = co_await due.pop()) {
        std::printf("%s\n", job->c_str());
        ++done;
    }
    co_return done;  // it is closed, and nothing is left in it
}

coflux::task<void, pool> plans(coflux::environment&) {
    jobs due;
    const auto start = coflux::clock::now() + 2ms;
    const auto retry = due.push("retry", start + 2ms);
    const auto backup = due.push("backup", start + 1h);
    const auto report = due.push("report", start + 10h);
    if (!retry || !backup || !report) co_return;  // only where the queue is closed

    if (due.reset(backup, start)) std::printf("the backup comes first\n");
    if (const auto job = due.remove(report)) std::printf("no %s\n", job->c_str());

    due.close();  // what is in it still comes at its moment
    const int done = co_await works(due);
    std::printf("%d jobs\n", done);
}

int main() {
    pool threads{2};
    auto env = coflux::make_environment(threads);
    plans(env).get();
}
