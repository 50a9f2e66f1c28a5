#include <coflux/inspect/trace.hpp>

#include <algorithm>
#include <cstdio>

#include "inspect/trace/trace_timeline.hpp"

namespace coflux::detail {

void write_trace(void* to, void (*write)(void* to, std::string_view text), const inspect::trace_options& options) {
    const tracing::timeline all(options.last);
    switch (options.format) {
    case inspect::trace_format::perfetto: return tracing::write_perfetto(all, to, write);
    case inspect::trace_format::chrome: return tracing::write_chrome(all, to, write);
    }
}

namespace tracing {

void print_last_events() noexcept try {
    constexpr std::size_t most = 64;
    const timeline all(std::chrono::seconds(10));
    const std::vector<item>& items = all.items();
    std::fprintf(stderr, "  the last that the traced workers did:\n");
    for (std::size_t i = items.size() - std::min(most, items.size()); i < items.size(); ++i) {
        const item& it = items[i];
        const auto ago = static_cast<double>(all.now() - std::min(all.now(), it.begin)) / 1e6;
        std::fprintf(stderr, "    %.3f ms ago, %s: %s%s%s", ago, all.threads()[it.thread].name.c_str(), it.name.c_str(),
                     it.at.empty() ? "" : " at ", it.at.c_str());
        if (it.kind != item::shape::moment)
            std::fprintf(stderr, ", for %.3f ms", static_cast<double>(it.end - it.begin) / 1e6);
        std::fputc('\n', stderr);
    }
} catch (...) {
    std::fprintf(stderr, "    (no memory for more)\n");
}

}  // namespace tracing
}  // namespace coflux::detail

namespace coflux::inspect {

std::string trace(const trace_options& options) {
    std::string text;
    write_trace([&text](std::string_view piece) { text += piece; }, options);
    return text;
}

}  // namespace coflux::inspect
