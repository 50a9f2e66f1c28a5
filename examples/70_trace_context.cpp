// A request keeps its trace: through forks and calls here, and to the service that it asks next.
#include <coflux/coflux.hpp>
#include <coflux/inspect/trace_context.hpp>

#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

using pool = coflux::thread_pool_executor;
using coflux::trace_context;

/// A log has no environment: it asks which coroutine runs.
void log(std::string_view text) {
    const trace_context* now = trace_context::current();
    std::printf("[%s] %s\n", now == nullptr ? "-" : now->trace_id_text().c_str(), std::string(text).c_str());
}

/// The headers of a request to another service.
coflux::call<std::string> headers() {
    auto&& here = co_await coflux::context();
    co_return here.trace() == nullptr ? "" : "traceparent: " + here.trace()->traceparent();
}

coflux::fork<void, pool> look_up(coflux::environment&) {
    (void)co_await coflux::context();
    log("looks up");
    const std::string sent = co_await headers();
    log(sent.substr(0, sent.find('-')));
}

coflux::fork<void, pool> handle(coflux::environment&) {
    auto&& here = co_await coflux::context();
    log("handles a request");
    co_await look_up(here);
}

coflux::task<void, pool> serve(coflux::environment&) {
    auto&& here = co_await coflux::context();
    for (const char* traceparent : {"00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "not a trace"}) {
        const auto incoming = trace_context::parse(traceparent);
        log(incoming ? "the caller has a trace" : "the caller has none");
        // This service's part of it, or a new trace.
        auto request = coflux::make_environment(here, incoming ? incoming->child() : trace_context::make());
        // The scope has ended before the environment does, whatever happens.
        co_await coflux::with_scope(request, [&incoming](coflux::task_scope& scope) -> coflux::call<void> {
            if (incoming) scope.spawn(handle);
            co_return;
        });
    }
}

int main() {
    pool executor{2};
    auto env = coflux::make_environment(executor);
    serve(env).get();
}
