// A profile says which coroutines use the processor, and which ones wait for what.
#include <coflux/coflux.hpp>
#include <coflux/inspect/profile.hpp>

#include <cstddef>
#include <cstdio>
#include <ctime>
#include <string>
#include <vector>

using pool = coflux::thread_pool_executor;

void use_processor(double seconds) {
    const std::clock_t begin = std::clock();
    while (std::clock() - begin < static_cast<std::clock_t>(seconds * CLOCKS_PER_SEC)) {}
}

coflux::call<void> checks(coflux::environment&) {
    auto&& here = co_await coflux::context();  // so that it is named
    (void)here;
    use_processor(0.1);
}

coflux::call<void> compresses(coflux::environment&) {
    auto&& here = co_await coflux::context();
    (void)here;
    use_processor(0.3);
}

coflux::task<void, pool> answers(coflux::environment&) {
    auto&& here = co_await coflux::context();
    co_await checks(here);
    co_await compresses(here);
}

coflux::task<void, pool> logs(coflux::environment&, coflux::mutex* file) {
    const auto lock = co_await file->lock();
}

/// Prints the functions of the frames, without their lines.
void print(const char* what, const coflux::inspect::profile_stack& s) {
    std::printf("%s:", what);
    for (const std::string& frame : s.frames) std::printf("  %s", frame.substr(0, frame.find(" at ")).c_str());
    std::printf("\n");
}

int main() {
    pool workers{1};
    auto env = coflux::make_environment(workers);
    coflux::mutex file;
    auto held = file.try_lock();
    auto first = logs(env, &file);
    auto second = logs(env, &file);

    coflux::inspect::profile_result r;
    do {
        coflux::inspect::profiler p;  // coflux::inspect::profile(10s) makes one of the next ten seconds
        answers(env).join();
        r = p.stop();
    } while (r.waits.empty() || r.waits[0].frames.back().find("a mutex") == std::string::npos);
    for (std::size_t i = 0; i < 2; ++i) print("on the processor", r.processor.at(i));
    print("waits", r.waits[0]);
    // folded(r.processor) is what flamegraph.pl and speedscope read.

    held.unlock();
    first.join();
    second.join();
}
