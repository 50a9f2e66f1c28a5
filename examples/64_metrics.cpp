// Counters of the runtime: as text for a scrape of Prometheus, and one by one for another library of metrics.
#include <coflux/coflux.hpp>

#include <chrono>
#include <cstdio>
#include <string>
#include <string_view>

using namespace std::chrono_literals;

coflux::task<void, coflux::run_loop> works(coflux::environment&) {
    for (int i = 0; i < 3; ++i) co_await coflux::sleep_for(1ms);
    const auto answer = co_await coflux::timeout(coflux::sleep_for(1ms), 1h);  // the limit is taken back
    if (!answer) std::printf("an hour has passed\n");
}

/// The place where another library takes over: it knows names, labels and values.
void show(const coflux::inspect::metric& m) {
    if (!m.family.name.starts_with("coflux_timers_")) return;
    std::printf("%s", std::string(m.family.name).c_str());
    for (const auto& label : m.labels) std::printf(" %s=%s", std::string(label.name).c_str(), label.value.c_str());
    std::printf(": %.0f\n", m.value);
}

int main() {
    coflux::run_loop loop;
    auto env = coflux::make_environment(loop);
    auto root = works(env);
    while (!root.done()) loop.run_one();
    root.get();
    coflux::inspect::for_each_metric(show);

    // The answer of a server to GET /metrics.
    std::string text;
    coflux::inspect::write_openmetrics([&text](std::string_view piece) { text += piece; });
    std::printf("%s\n", text.substr(0, text.find('\n')).c_str());
    std::printf("%s", text.substr(text.size() - 6).c_str());
}
