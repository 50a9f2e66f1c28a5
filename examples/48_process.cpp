// Children: one that is run to its end, a filter with two pipes, one that is asked to end, and one that is not there.
#include <chrono>
#include <cstdio>
#include <string>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
using coflux::process;
using coflux::standard_stream;
using worker = coflux::worker_executor;

// A filter by hand: what it is fed with need not be there at once.
coflux::call<std::string> counted() {
    auto&& here = co_await coflux::context();
    process count =
        co_await process::spawn({"wc", "-l"}, {.input = standard_stream::pipe(), .output = standard_stream::pipe()});
    for (int line = 0; line != 3; ++line) {
        co_await count.standard_input().write_all("a line\n");
        co_await 1ms;
    }
    count.standard_input().close();  // the end of its input

    std::string result;
    (void)co_await coflux::read_to_end(here, count.standard_output(), result, 100);
    (void)co_await count.wait();
    co_return result;
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    // The input is fed, and both texts are collected, at the same time.
    const auto sorted = co_await coflux::output_of(here, {"sort", "-r"}, {.input = "one\ntwo\nthree\n"});
    std::printf("%s", sorted.output.c_str());
    const auto failed = co_await coflux::output_of(here, {"sh", "-c", "echo no such thing >&2; exit 3"});
    std::printf("%s: %s", failed.status.to_string().c_str(), failed.error.c_str());
    std::printf("lines: %s", (co_await counted()).c_str());

    // It is asked to end, and must when 10 s are over. One that is not waited for is killed as it goes out of scope.
    process sleeper = co_await process::spawn({"sleep", "1000"});
    const coflux::exit_status end = co_await sleeper.terminate(here, 10s);
    std::printf("sleep %s\n", end.to_string().c_str());

    const auto none = co_await coflux::as_result(process::spawn("no-such-program"));
    std::printf("no-such-program: %s\n", none.error().message().c_str());
}

int main() {
    worker on;
    auto env = coflux::make_environment(on);
    program(env).get();
}
