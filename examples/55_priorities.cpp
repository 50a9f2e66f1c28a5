// Priorities of a pool: queries are answered while a report is built beside them. The report has the threads that are
// left; a query goes first.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <string>

using pool = coflux::thread_pool_executor;
using urgent = coflux::prioritised<coflux::priority::high>;
using background = coflux::prioritised<coflux::priority::low>;

/// Long, and in no hurry: each `yield` lets all that is more urgent go first.
coflux::fork<long, background> report(coflux::environment&, int lines) {
    long sum = 0;
    for (int line = 1; line <= lines; ++line) {
        sum += line;
        co_await coflux::yield();
    }
    co_return sum;
}

/// Short, and somebody waits for it.
coflux::fork<int, urgent> query(coflux::environment&, int key) {
    co_return key* key;
}

coflux::task<void, pool> serve(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto whole = report(here, 300);
    int answered = 0;
    for (int key = 1; key <= 100; ++key) {
        if (co_await query(here, key) == key * key) ++answered;
    }
    std::printf("%d queries answered\n", answered);
    std::printf("the report says %ld\n", co_await std::move(whole));
}

int main() {
    pool threads{2};
    auto env =
        coflux::make_environment(threads, threads.at<coflux::priority::high>(), threads.at<coflux::priority::low>());
    serve(env).get();
}
