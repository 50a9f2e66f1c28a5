// OpenTelemetry's current span in coroutines, which go on on another thread after a wait. Headers of OpenTelemetry's
// API alone; users bring them.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include <opentelemetry/context/context.h>
#include <opentelemetry/context/runtime_context.h>
#include <opentelemetry/nostd/shared_ptr.h>
#include <opentelemetry/nostd/span.h>
#include <opentelemetry/nostd/unique_ptr.h>
#include <opentelemetry/trace/context.h>
#include <opentelemetry/trace/default_span.h>
#include <opentelemetry/trace/span_context.h>
#include <opentelemetry/trace/trace_state.h>

#include <coflux/inspect/trace_context.hpp>

namespace coflux {

/// The context of a span, for an environment or a header: `make_environment(here, trace_of(span->GetContext()))`.
/// Errors: std::bad_alloc.
[[nodiscard]] inline trace_context trace_of(const opentelemetry::trace::SpanContext& span) {
    trace_context made;
    std::ranges::copy(span.trace_id().Id(), made.trace_id.begin());
    std::ranges::copy(span.span_id().Id(), made.span_id.begin());
    made.flags = span.trace_flags().flags();
    made.state = span.trace_state()->ToHeader();
    return made;
}

/// The context of a span that another service, or another environment, has begun.
[[nodiscard]] inline opentelemetry::trace::SpanContext span_context_of(const trace_context& trace) {
    namespace otel = opentelemetry::trace;
    return {otel::TraceId(trace.trace_id), otel::SpanId(trace.span_id), otel::TraceFlags(trace.flags), true,
            otel::TraceState::FromHeader(trace.state)};
}

/// Where OpenTelemetry keeps the current context, so that it follows coroutines. Set it before the first span:
/// `coroutine_context_storage::install();`
///
/// A `Scope` holds for the coroutine that made it and for the calls that it awaits, across waits and threads, and for
/// no other coroutine on the same thread. Where a coroutine has none, the current span is that of its environment's
/// trace(). Outside of coroutines contexts belong to the thread, as in OpenTelemetry's own storage. A coroutine is
/// known once it has awaited context(); until then it is taken for the one that made or awaits it.
///
/// Threads: any.
/// Costs: a lock of a 64th of the coroutines with scopes, and a look-up, at each use of the current context.
class coroutine_context_storage final : public opentelemetry::context::RuntimeContextStorage {
    using context = opentelemetry::context::Context;
    using token = opentelemetry::context::Token;

public:
    /// Puts one in the place of the storage of OpenTelemetry.
    static void install() {
        using base = opentelemetry::context::RuntimeContextStorage;
        opentelemetry::context::RuntimeContext::SetRuntimeContextStorage(
            opentelemetry::nostd::shared_ptr<base>(new coroutine_context_storage));
    }

    context GetCurrent() noexcept override {
        const void* const owner = this_owner();
        {
            part& of = part_of(owner);
            const std::lock_guard guard(of.lock);
            if (const auto found = of.attached.find(owner); found != of.attached.end()) return found->second.back();
        }
        context none;
        const trace_context* const trace = trace_context::current();
        if (trace == nullptr) return none;
        const opentelemetry::nostd::shared_ptr<opentelemetry::trace::Span> span(
            new opentelemetry::trace::DefaultSpan(span_context_of(*trace)));
        return opentelemetry::trace::SetSpan(none, span);
    }

    opentelemetry::nostd::unique_ptr<token> Attach(const context& attached) noexcept override {
        const void* const owner = this_owner();
        part& of = part_of(owner);
        const std::lock_guard guard(of.lock);
        of.attached[owner].push_back(attached);
        return CreateToken(attached);
    }

    /// Takes the context away with all that its owner attached after it. A coroutine that a stop destroys is no longer
    /// known, so that all owners are asked.
    bool Detach(token& attached) noexcept override {
        const void* const owner = this_owner();
        {
            part& own = part_of(owner);
            const std::lock_guard guard(own.lock);
            const auto found = own.attached.find(owner);
            if (found != own.attached.end() && own.take_away(found, attached)) return true;
        }
        return std::ranges::any_of(parts_, [&](part& any) {
            const std::lock_guard guard(any.lock);
            for (auto at = any.attached.begin(); at != any.attached.end(); ++at)
                if (any.take_away(at, attached)) return true;
            return false;
        });
    }

private:
    struct part {
        using owners = std::unordered_map<const void*, std::vector<context>>;

        bool take_away(owners::iterator of, token& taken) {
            auto& stack = of->second;
            const auto found = std::find_if(stack.rbegin(), stack.rend(), [&](const context& c) { return taken == c; });
            if (found == stack.rend()) return false;
            stack.erase(std::prev(found.base()), stack.end());
            if (stack.empty()) attached.erase(of);
            return true;
        }

        std::mutex lock;
        owners attached;
    };

    static const void* this_owner() noexcept {
        static thread_local const char thread = 0;
        const void* const coroutine = detail::running_part();
        return coroutine != nullptr ? coroutine : &thread;
    }
    part& part_of(const void* owner) noexcept { return parts_[std::hash<const void*>()(owner) / 64 % parts_.size()]; }

    std::array<part, 64> parts_;
};

}  // namespace coflux
