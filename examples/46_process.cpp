// Children: a filter with two pipes, one that is asked to end and then must, and one that is not there.
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdio>
#include <string>

#include <coflux/coflux.hpp>

using namespace std::chrono_literals;
using coflux::process;
using coflux::standard_stream;
using worker = coflux::worker_executor;

coflux::call<std::string> sorted(coflux::environment&, std::string lines) {
    process sort =
        co_await process::spawn({"sort", "-r"}, {.input = standard_stream::pipe(), .output = standard_stream::pipe()});
    co_await sort.standard_input().write_all(lines);
    sort.standard_input().close();  // the end of its input

    std::string result;
    std::array<std::byte, 256> part{};
    while (const std::size_t n = co_await sort.standard_output().read_some(part))
        result.append(reinterpret_cast<const char*>(part.data()), n);
    (void)co_await sort.wait();
    co_return result;
}

coflux::task<void, worker> program(coflux::environment&) {
    auto&& here = co_await coflux::context();
    std::printf("%s", (co_await sorted(here, "one\ntwo\nthree\n")).c_str());

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
