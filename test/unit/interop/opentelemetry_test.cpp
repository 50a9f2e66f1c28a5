#include <coflux/interop/opentelemetry.hpp>

#include <chrono>
#include <cstdint>
#include <string>
#include <thread>
#include <utility>

#include <gtest/gtest.h>
#include <opentelemetry/trace/scope.h>
#include <opentelemetry/trace/tracer.h>

#include <coflux/coflux.hpp>

namespace {

namespace otel = opentelemetry::trace;
using span = opentelemetry::nostd::shared_ptr<otel::Span>;
using pool = coflux::thread_pool_executor;
using namespace std::chrono_literals;

class opentelemetry_storage : public ::testing::Test {
protected:
    static void SetUpTestSuite() { coflux::coroutine_context_storage::install(); }
};

coflux::trace_context numbered(std::uint8_t n) {
    coflux::trace_context made;
    made.trace_id = {7};
    made.span_id = {n};
    made.flags = coflux::trace_context::sampled;
    return made;
}
span span_of(std::uint8_t n) {
    return span(new otel::DefaultSpan(coflux::span_context_of(numbered(n))));
}
/// The number of the current span; 0: there is none.
int current() {
    const auto now = otel::Tracer::GetCurrentSpan()->GetContext();
    return now.IsValid() ? now.span_id().Id()[0] : 0;
}

TEST_F(opentelemetry_storage, turns_a_context_there_and_back) {
    auto there = numbered(5);
    there.state = "congo=t61rcWkgMzE,rojo=00f067aa0ba902b7";
    EXPECT_EQ(coflux::trace_of(coflux::span_context_of(there)), there);
    EXPECT_TRUE(coflux::span_context_of(there).IsRemote());
}

TEST_F(opentelemetry_storage, keeps_contexts_of_threads_outside_of_coroutines) {
    EXPECT_EQ(current(), 0);
    {
        const otel::Scope outer(span_of(1));
        EXPECT_EQ(current(), 1);
        {
            const otel::Scope inner(span_of(2));
            EXPECT_EQ(current(), 2);
            std::thread([] { EXPECT_EQ(current(), 0); }).join();
        }
        EXPECT_EQ(current(), 1);
    }
    EXPECT_EQ(current(), 0);
}

TEST_F(opentelemetry_storage, takes_those_away_that_were_attached_later) {
    auto outer = opentelemetry::context::RuntimeContext::Attach(
        opentelemetry::context::RuntimeContext::GetCurrent().SetValue(otel::kSpanKey, span_of(1)));
    auto inner = opentelemetry::context::RuntimeContext::Attach(
        opentelemetry::context::RuntimeContext::GetCurrent().SetValue(otel::kSpanKey, span_of(2)));
    EXPECT_TRUE(opentelemetry::context::RuntimeContext::Detach(*outer));
    EXPECT_EQ(current(), 0);
    EXPECT_FALSE(opentelemetry::context::RuntimeContext::Detach(*inner));
}

coflux::call<void> is_a_part(int wanted) {
    (void)co_await coflux::context();
    EXPECT_EQ(current(), wanted);
    const otel::Scope own(span_of(90));
    co_await coflux::yield();
    EXPECT_EQ(current(), 90);
}
coflux::fork<void, pool> child(coflux::environment&, int wanted) {
    (void)co_await coflux::context();
    EXPECT_EQ(current(), wanted);
    co_await coflux::yield();
    EXPECT_EQ(current(), wanted);
}
coflux::fork<void, pool> works(coflux::environment&, std::uint8_t n, int of_environment) {
    auto&& here = co_await coflux::context();
    for (int i = 0; i < 200; ++i) {
        EXPECT_EQ(current(), of_environment);
        const otel::Scope scope(span_of(n));
        co_await coflux::yield();
        EXPECT_EQ(current(), n);
        co_await is_a_part(n);
        EXPECT_EQ(current(), n);
        co_await child(here, of_environment);
        EXPECT_EQ(current(), n);
    }
    EXPECT_EQ(current(), of_environment);
}
coflux::task<void, pool> many(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto traced = coflux::make_environment(here, numbered(100));
    auto a = works(here, 1, 0), b = works(here, 2, 0), c = works(traced, 3, 100), d = works(traced, 4, 100);
    const otel::Scope own(span_of(5));
    co_await coflux::when_all(std::move(a), std::move(b), std::move(c), std::move(d));
    EXPECT_EQ(current(), 5);
    co_await traced.join();
}

TEST_F(opentelemetry_storage, follows_each_coroutine_and_its_calls_across_waits) {
    for (const unsigned workers : {1U, 2U, 4U}) {
        pool some(workers);
        auto env = coflux::make_environment(some);
        many(env).get();
    }
    EXPECT_EQ(current(), 0);
}

coflux::fork<void, pool> waits_for_ever(coflux::environment&) {
    (void)co_await coflux::context();
    const otel::Scope outer(span_of(8));
    const otel::Scope inner(span_of(9));
    co_await coflux::sleep_for(1h);
}
coflux::task<int, pool> stops_it(coflux::environment&) {
    auto&& here = co_await coflux::context();
    auto child = waits_for_ever(here);
    co_await coflux::sleep_for(1ms);
    child.request_stop();
    (void)co_await coflux::as_outcome(std::move(child));
    co_return current();
}

TEST_F(opentelemetry_storage, has_nothing_left_of_a_coroutine_that_a_stop_destroyed) {
    pool one(1);
    auto env = coflux::make_environment(one);
    for (int i = 0; i < 50; ++i) EXPECT_EQ(stops_it(env).get(), 0);
}

}  // namespace
