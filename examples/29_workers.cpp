// Workers: threads with a coroutine each at a time. One owns a database that wants to be used from one thread; a group
// of three is a pipeline whose stages run beside one another.
#include <coflux/coflux.hpp>

#include <cstdio>
#include <thread>
#include <utility>

using worker = coflux::worker_executor;
using stages = coflux::worker_group<3>;
template <std::size_t I>
using stage = stages::worker<I>;  // each is a type of its own: the type of a coroutine says on which it runs
using numbers = coflux::channel<long[8]>;

/// As a library that looks at thread-local data would have it.
struct database {
    std::thread::id owner = std::this_thread::get_id();
    long rows = 0;
    bool used_elsewhere = false;
    void insert(long row) {
        used_elsewhere = used_elsewhere || owner != std::this_thread::get_id();
        rows += row;
    }
};

coflux::task<long, worker> fills_database(coflux::environment&) {
    database db;  // made, used and destroyed on the worker's thread
    for (long row = 1; row <= 10; ++row) {
        db.insert(row);
        co_await coflux::yield();  // comes back to the same thread
    }
    co_return db.used_elsewhere ? -1 : db.rows;
}

coflux::fork<void, stage<0>> reads(coflux::environment&, coflux::channel_sender<numbers> out) {
    for (long n = 1; n <= 100; ++n) {
        const bool sent = co_await out.send(n);
        if (!sent) co_return;
    }
}
coflux::fork<void, stage<1>> squares(coflux::environment&, coflux::channel_receiver<numbers> in,
                                     coflux::channel_sender<numbers> out) {
    while (const auto n = co_await in.receive()) {
        const bool sent = co_await out.send(*n * *n);
        if (!sent) co_return;
    }
}
coflux::task<long, stage<2>> adds(coflux::environment&) {
    auto&& here = co_await coflux::context();
    numbers read;
    numbers squared;
    co_return co_await coflux::with_scope(here, [&](coflux::task_scope& scope) -> coflux::call<long> {
        scope.spawn(reads, read.sender());
        scope.spawn(squares, read.receiver(), squared.sender());
        const auto in = squared.receiver();
        long sum = 0;
        while (const auto n = co_await in.receive()) sum += *n;
        co_return sum;
    });
}

int main() {
    worker on({.name = "database"});
    auto env = coflux::make_environment(on);
    std::printf("rows %ld\n", fills_database(env).get());

    stages three({.name = "stage"});
    auto pipeline = coflux::make_environment(three.get<0>(), three.get<1>(), three.get<2>());
    std::printf("sum %ld\n", adds(pipeline).get());
}
