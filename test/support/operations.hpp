// Operations whose type is erased, so that a test can nest them as it runs: each combinator is compiled once for each
// kind of operand and not once for each nest.
#pragma once

#include <chrono>
#include <coroutine>
#include <cstddef>
#include <memory>
#include <source_location>
#include <tuple>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>

namespace coflux_test {

/// Something that a coroutine awaits, once; its result is dropped.
class operation {
    using promise_base = coflux::detail::promise_base;

    struct bound_base {
        virtual ~bound_base() = default;
        virtual bool ready() = 0;
        virtual std::coroutine_handle<> suspend(promise_base& p) = 0;
        virtual void resume() = 0;
    };
    template <typename Awaiter>
    struct bound final : bound_base {
        Awaiter awaiter;  // perhaps a reference

        template <typename F>
        explicit bound(F bind) : awaiter(bind()) {}
        bool ready() override { return awaiter.await_ready(); }
        std::coroutine_handle<> suspend(promise_base& p) override {
            return awaiter.await_suspend(std::coroutine_handle<promise_base>::from_address(p.handle().address()));
        }
        void resume() override { (void)awaiter.await_resume(); }
    };

    template <typename F>
    static std::unique_ptr<bound_base> bound_by(F bind) {
        return std::make_unique<bound<decltype(bind())>>(bind);
    }

    template <typename A>
    static constexpr bool gives_outcome =
        !coflux::detail::await_access::may_stop_its_awaiter<A>() || coflux::detail::await_access::has_outcome<A>();

    struct model_base {
        virtual ~model_base() = default;
        virtual std::unique_ptr<bound_base> bind(promise_base& p, std::source_location where) = 0;
        virtual std::unique_ptr<bound_base> bind_outcome(promise_base& p, std::source_location where) = 0;
    };
    /// `awaited` refers to the operands.
    template <typename Awaited, typename... Operands>
    struct model final : model_base {
        std::tuple<Operands...> operands;
        Awaited awaited;

        template <typename F>
        explicit model(F make, Operands&&... o)
            : operands(std::move(o)...),
              awaited(std::apply([&make](Operands&... of) -> decltype(auto) { return make(std::move(of)...); },
                                 operands)) {}

        std::unique_ptr<bound_base> bind(promise_base& p, std::source_location where) override {
            return bound_by(
                [&]() -> decltype(auto) { return coflux::detail::bind_await(p, std::move(awaited), where); });
        }
        std::unique_ptr<bound_base> bind_outcome(promise_base& p, std::source_location where) override {
            if constexpr (gives_outcome<Awaited>) {
                return bound_by([&]() -> decltype(auto) {
                    return coflux::detail::bind_await(p, coflux::as_outcome(std::move(awaited)), where);
                });
            } else {
                COFLUX_VERIFY(false, "this does not compile as an outcome: see is_allowed()");
            }
        }
    };

    class [[nodiscard]] awaiter {
    public:
        awaiter(promise_base& p, std::unique_ptr<bound_base> to) noexcept : p_(p), to_(std::move(to)) {}
        bool await_ready() { return to_->ready(); }
        std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return to_->suspend(p_); }
        void await_resume() { to_->resume(); }

    private:
        promise_base& p_;
        std::unique_ptr<bound_base> to_;
    };
    class [[nodiscard]] outcome_awaiter : public awaiter {
    public:
        using awaiter::awaiter;
        coflux::outcome<void> await_resume() {
            awaiter::await_resume();
            return coflux::outcome<void>(std::in_place);
        }
    };

public:
    /// `make(std::move(operands)...)` gives what is awaited.
    template <typename F, typename... Operands>
    static operation of(F make, Operands... operands) {
        using awaited = decltype(make(std::move(operands)...));
        operation o;
        o.of_ = std::make_unique<model<awaited, Operands...>>(make, std::move(operands)...);
        return o;
    }

    awaiter await_in(promise_base& p, std::source_location where) && { return {p, of_->bind(p, where)}; }
    outcome_awaiter await_outcome_in(promise_base& p, std::source_location where) && {
        return {p, of_->bind_outcome(p, where)};
    }

private:
    operation() = default;

    std::unique_ptr<model_base> of_;
};

/// The combinators, each of something that is the only one that matters.
enum class combinator : unsigned char {
    timeout,
    deadline,
    as_outcome,
    when_all,
    when_all_outcomes,
    when_any,
    race,
    first_success,
    when_n,
    select,
    for_each_concurrent,
};
inline constexpr std::size_t combinators = 11;

constexpr const char* name_of(combinator c) noexcept {
    constexpr const char* names[] = {
        "timeout", "deadline",      "as_outcome", "when_all", "when_all_outcomes",  "when_any",
        "race",    "first_success", "when_n",     "select",   "for_each_concurrent"};
    return names[static_cast<std::size_t>(c)];
}

/// True if `outer` of `inner` compiles: what stops its awaiter and gives no outcome cannot be awaited as one.
constexpr bool is_allowed(combinator outer, combinator inner) noexcept {
    return outer != combinator::as_outcome || inner != combinator::select;
}

/// `c` of `x`, which is an operation, a fork or a task that gives nothing. `beside`: with another that never ends by
/// itself.
template <typename X>
operation combined(combinator c, X x, bool beside) {
    using namespace std::chrono_literals;
    switch (c) {
    case combinator::timeout:
        return operation::of([](X&& a) { return coflux::timeout(std::move(a), 1h); }, std::move(x));
    case combinator::deadline:
        return operation::of([](X&& a) { return coflux::deadline(std::move(a), coflux::clock::now() + 1h); },
                             std::move(x));
    case combinator::as_outcome:
        return operation::of([](X&& a) { return coflux::as_outcome(std::move(a)); }, std::move(x));
    default: break;
    }
    const auto of_two = [&](auto make) {
        return operation::of(make, std::move(x), coflux::sleep_for(beside ? 1h : 0h));
    };
    using nap = coflux::detail::sleep_request;
    switch (c) {
    case combinator::when_all:
        return of_two([](X&& a, nap&& b) { return coflux::when_all(std::move(a), std::move(b)); });
    case combinator::when_all_outcomes:
        return of_two([](X&& a, nap&& b) { return coflux::when_all_outcomes(std::move(a), std::move(b)); });
    case combinator::select: return operation::of([](X&& a) { return coflux::select(std::move(a)); }, std::move(x));
    case combinator::when_any:
        return beside ? of_two([](X&& a, nap&& b) { return coflux::when_any(std::move(b), std::move(a)); })
                      : operation::of([](X&& a) { return coflux::when_any(std::move(a)); }, std::move(x));
    case combinator::race: return operation::of([](X&& a) { return coflux::race(std::move(a)); }, std::move(x));
    case combinator::first_success:
        return operation::of([](X&& a) { return coflux::first_success(std::move(a)); }, std::move(x));
    case combinator::when_n: {
        std::vector<X> range;
        range.push_back(std::move(x));
        return operation::of([](std::vector<X>&& r) { return coflux::when_n(std::move(r), 1); }, std::move(range));
    }
    default: {
        std::vector<X> range;
        range.push_back(std::move(x));
        static constexpr auto itself = [](X&& a) { return std::move(a); };
        return operation::of([](std::vector<X>&& r) { return coflux::for_each_concurrent(std::move(r), 1, itself); },
                             std::move(range));
    }
    }
}

}  // namespace coflux_test
