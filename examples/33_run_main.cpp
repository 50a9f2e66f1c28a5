// A main function that is a coroutine. `run` makes the pool and the environment, lets Ctrl-C stop the program, and
// turns its end into an exit status: what it returns, or 1 and a message after an error.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace std::chrono_literals;
using pool = coflux::thread_pool_executor;

coflux::fork<long, pool> square(coflux::environment&, std::string text) {
    co_await 1ms;
    const long x = std::stol(text);  // throws if that is no number: `error: stol`, and the exit status is 1
    co_return x* x;
}

coflux::task<int, pool> program(coflux::environment&, int argc, char** argv) {
    auto&& here = co_await coflux::context();
    std::vector<std::string> texts(argv + 1, argv + argc);
    if (texts.empty()) texts = {"1", "2", "3"};
    std::vector<coflux::fork<long, pool>> parts;
    for (std::string& text : texts) parts.push_back(square(here, std::move(text)));
    const auto squares = co_await coflux::when_all(std::move(parts));
    long sum = 0;
    for (const long x : squares) sum += x;
    std::printf("%ld\n", sum);
    co_return 0;
}

int main(int argc, char** argv) {
    return coflux::run(program, argc, argv);
}
