// for_each: a sink that calls a function.
#pragma once

#include <functional>
#include <span>
#include <type_traits>
#include <utility>

#include <coflux/core/call.hpp>
#include <coflux/core/environment.hpp>
#include <coflux/stream/record.hpp>

namespace coflux::stream {

/// `to(for_each([](const total& t) { … }))` calls a function with each output, one after the other.
///
/// Shapes: `f` takes a value, by const reference for one.
/// Errors: what `f` throws, for the whole batch: the job tries it again, or finds the value that is refused. So `f` may
/// see a value twice.
/// Threads: one at a time, those of the job.
template <typename F>
class for_each {
public:
    explicit for_each(F f) : f_(std::move(f)) {}

    template <typename T>
        requires std::is_invocable_v<F&, const T&>
    [[nodiscard]] call<void> write(environment&, std::span<record<T>> records) {
        for (const record<T>& each : records) std::invoke(f_, std::as_const(each.value));
        co_return;
    }
    [[nodiscard]] call<void> flush(environment&) { co_return; }

private:
    F f_;
};

}  // namespace coflux::stream
