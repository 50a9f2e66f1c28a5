// The load on the servers of echo_many, echo_pool and accept_churn, the same for all runtimes.
// docs/bench/echo_many.md has its protocol.
#include "client.hpp"
#include "limits.hpp"
#include "pinning.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <charconv>
#include <csignal>
#include <cstring>
#include <iostream>
#include <map>
#include <memory>
#include <string_view>

namespace load {

namespace {

std::uint64_t number(std::string_view text) {
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc{} || end != text.data() + text.size()) {
        throw std::runtime_error{"not a number: " + std::string{text}};
    }
    return value;
}

void serve_passes(kind& load, std::uint64_t warmups) {
    std::cout << "ready" << std::endl;
    harness::latencies all;
    for (std::string line; std::getline(std::cin, line) && line == "go";) {
        harness::latencies waits;
        const std::uint64_t answer = load.pass(waits);
        if (warmups > 0) {
            --warmups;
        } else {
            all.add(waits);
        }
        harness::named_figures figures;
        all.tell(figures);
        std::string told;
        for (const auto& [name, value] : figures.all()) {
            told += (told.empty() ? "\"" : ", \"") + name + "\": " + std::to_string(static_cast<std::uint64_t>(value));
        }
        std::cout << "{\"answer\": \"" << answer << "\", \"figures\": {" << told << "}}" << std::endl;
    }
}

int run(int argc, char** argv) {
    const std::string_view what = argc > 1 ? argv[1] : "";
    if ((what != "echo" && what != "churn") || argc % 2 != 0) {
        std::cerr << "usage: lab_load echo --port P --connections C --requests R --bytes B --rate N --warmup K\n"
                     "       lab_load churn --port P --connections N --in-flight F --warmup K\n";
        return 2;
    }
    options o;
    std::uint64_t warmups = 0;
    std::uint64_t port = 0;
    const std::map<std::string_view, std::uint64_t*> known{
        {"--port", &port},   {"--connections", &o.connections}, {"--requests", &o.requests}, {"--bytes", &o.bytes},
        {"--rate", &o.rate}, {"--in-flight", &o.in_flight},     {"--warmup", &warmups}};
    for (int i = 2; i + 1 < argc; i += 2) {
        *known.at(argv[i]) = number(argv[i + 1]);
    }
    o.port = static_cast<std::uint16_t>(port);
    o.own_cpu = harness::move_beside(getppid());
    harness::raise_descriptors();
    const std::unique_ptr<kind> load = what == "echo" ? make_echo(o) : make_churn(o);
    serve_passes(*load, warmups);
    return 0;
}

}  // namespace
}  // namespace load

int main(int argc, char** argv) {
    // The process that started it is gone: none reads what it says.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    try {
        return load::run(argc, argv);
    } catch (const std::exception& e) {
        std::cerr << "lab_load: " << e.what() << '\n';
        return 1;
    }
}
