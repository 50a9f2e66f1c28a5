// Work that blocks its thread: files, a library that waits, a computation that is asked to end, and a wait that a stop
// leaves behind.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <fstream>
#include <string>
#include <thread>

using namespace std::chrono_literals;
using coflux::borrowed;
using pool = coflux::thread_pool_executor;

// Plain code, which knows no coroutines.
std::size_t lines_of(const std::string& path) {
    std::ifstream file(path);
    if (!file) throw std::ios_base::failure("cannot read " + path);
    std::size_t lines = 0;
    for (std::string line; std::getline(file, line);) ++lines;
    return lines;
}

coflux::call<void> reads(const std::string& path) {
    // The coroutine waits and its worker does not. The function may refer to locals and parameters of the coroutine.
    const std::size_t lines = co_await coflux::blocking([&] { return lines_of(path); });
    std::printf("%zu lines in %s\n", lines, path.c_str());  // on the worker again
}

// A function is not stopped, but it can ask. The coroutine stops when the function has ended.
coflux::call<long> searches() {
    const auto stop = co_await coflux::this_coroutine::stop_token();
    const auto search = [&] {
        long steps = 0;
        while (!stop.stop_requested()) ++steps;
        return steps;
    };
    co_return co_await coflux::blocking(search);
}

std::string answer(std::chrono::milliseconds after, const std::string& to) {
    std::this_thread::sleep_for(after);  // a library that waits for a network
    return "answer to " + to;
}
// Its arguments are copied, and a stop does not wait for it: it ends later, and its result is dropped.
coflux::call<std::string> asks(std::chrono::milliseconds after, std::string question) {
    co_return co_await coflux::blocking(coflux::abandon_on_stop, answer, after, std::move(question));
}

// Threads of its own for what must not wait behind other work, or must not have more than two at a time.
coflux::call<int> uses_a_database(coflux::blocking_pool& connections) {
    const auto query = [] { return 42; };
    co_return co_await coflux::blocking(connections, query);
}

coflux::task<void, pool> root(coflux::environment&, borrowed<coflux::blocking_pool> connections) {
    co_await reads("/dev/null");
    try {
        co_await reads("/no/such/file");
    } catch (const std::ios_base::failure&) {
        std::printf("what the function throws comes out of the await\n");
    }
    const auto found = co_await coflux::timeout(searches(), 50ms);
    std::printf("%s\n", found ? "found" : "too late");
    const auto soon = co_await coflux::timeout(asks(0ms, "one"), 1h);
    std::printf("%s\n", soon->c_str());
    const auto late = co_await coflux::timeout(asks(1min, "two"), 10ms);
    std::printf("%s\n", late ? "an answer" : "no answer in time");
    std::printf("%d from the database\n", co_await uses_a_database(*connections));
}

int main() {
    pool threads{2};
    coflux::blocking_pool connections{{.max_threads = 2, .name = "database"}};  // outlives what calls on it
    auto env = coflux::make_environment(threads);
    root(env, borrowed(connections)).get();
}
