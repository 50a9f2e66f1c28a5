// The forms that Coflux asks for (docs/promises.md), with its own coroutines, and two that g++ 12 gets wrong with them. clang also builds
// this at -O0 with AddressSanitizer, as a Debug build of a user does: there it takes the locals of functions that are inlined by force for
// used after their scope (COFLUX_INLINE).
//
// known: closure_in_operand | g++ 12 | captures are destroyed twice | closure_named
// known: aggregate_in_operand | g++ 12 | members are destroyed twice | aggregate_named
#include "shapes.hpp"

#include <coroutine>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>

#include <coflux/coflux.hpp>

namespace {

using shapes::probe;
using shapes::shape;

/// Runs what is queued when it is told to.
class hand {
public:
    void execute(std::coroutine_handle<> h) noexcept { queue_.push_back(h); }
    void run_all() {
        while (!queue_.empty()) {
            const std::coroutine_handle<> next = queue_.front();
            queue_.pop_front();
            next.resume();
        }
    }

private:
    std::deque<std::coroutine_handle<>> queue_;
};

using coflux::environment;
using task = coflux::task<int, hand>;
using strings = coflux::channel<std::string[4]>;

template <auto F, int Value>
bool gives() {
    hand ex;
    auto env = coflux::make_environment(ex);
    task t = F(env);
    ex.run_all();
    return t.get() == Value;
}

struct two {
    probe first;
    probe second;
};
template <typename F>
coflux::call<int> calls(environment&, F f) {
    co_await coflux::yield();
    co_return f();
}
coflux::call<int> adds(environment&, two t) {
    co_await coflux::yield();
    co_return t.first.value() + t.second.value();
}
coflux::call<int> depth(environment&, int n) {
    if (n == 0) co_return 0;
    auto&& here = co_await coflux::context();
    const int below = co_await depth(here, n - 1);
    co_return below + 1;
}
coflux::call<int> one(environment&) {
    co_return 1;
}
coflux::fork<int, hand> twice(environment&, int n) {
    co_await coflux::yield();
    co_return 2 * n;
}

const char* const long_text = "which is longer than a small string";

task send_named(environment&) {
    strings ch;
    const bool sent = co_await ch.send(std::string(long_text));
    if (sent) co_return static_cast<int>(ch.size());
    co_return 0;
}
task receive_declared_in_while(environment&) {
    strings ch;
    for (int i = 0; i < 3; ++i) {
        const bool sent = co_await ch.send(std::string(long_text));
        if (!sent) co_return -1;
    }
    ch.close();
    int sum = 0;
    while (std::optional<std::string> s = co_await ch.receive()) {
        co_await coflux::yield();
        sum += s->size() == 35 ? 1 : 100;
    }
    co_return sum;
}
task closure_in_operand(environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await calls(here, [p = probe(1)] { return p.value(); });
}
task closure_named(environment&) {
    auto&& here = co_await coflux::context();
    auto f = [p = probe(1)] { return p.value(); };
    co_return co_await calls(here, std::move(f));
}
task aggregate_in_operand(environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await adds(here, two{probe(1), probe(2)});
}
task aggregate_named(environment&) {
    auto&& here = co_await coflux::context();
    two t{probe(1), probe(2)};
    co_return co_await adds(here, std::move(t));
}
task results_bound(environment&) {
    auto&& here = co_await coflux::context();
    auto a = twice(here, 1);
    auto b = twice(here, 2);
    auto [x, y] = co_await coflux::when_all(std::move(a), std::move(b));
    co_await coflux::yield();
    co_return x + y;
}
/// 100 000 awaits deep: law 6.
task chain(environment&) {
    auto&& here = co_await coflux::context();
    const int n = co_await depth(here, 100'000);
    co_return n;
}
task completions(environment&) {
    auto&& here = co_await coflux::context();
    int sum = 0;
    for (int i = 0; i < 200'000; ++i) {
        const int n = co_await one(here);
        sum += n;
    }
    co_return sum;
}
struct alignas(64) line {
    int value = 0;
};
coflux::fork<int, hand> aligned(environment&, line parameter) {
    const line local;
    co_await coflux::yield();
    auto a = reinterpret_cast<std::uintptr_t>(&local);
    auto b = reinterpret_cast<std::uintptr_t>(&parameter);
    asm volatile("" : "+r"(a), "+r"(b));  // else an optimiser takes the type's word for it
    co_return static_cast<int>(a % 64 + b % 64);
}
task frames_of_64(environment&) {
    auto&& here = co_await coflux::context();
    int off = 0;
    for (int i = 0; i < 16; ++i) {
        auto f = aligned(here, {});
        off += co_await std::move(f);
    }
    co_return off;
}
coflux::call<int> fails(environment&) {
    co_await coflux::yield();
    throw 4;
}
task caught(environment&) {
    auto&& here = co_await coflux::context();
    int got = 0;
    try {
        got = co_await fails(here);
    } catch (int n) {
        got = n;
    }
    co_await coflux::yield();
    co_return got;
}

}  // namespace

#define SHAPE(name, value) {#name, gives<name, value>}

int main() {
    shapes::limit_stack();
    static constexpr shape all[] = {
        SHAPE(send_named, 1),
        SHAPE(receive_declared_in_while, 3),
        SHAPE(closure_in_operand, 1),
        SHAPE(closure_named, 1),
        SHAPE(aggregate_in_operand, 3),
        SHAPE(aggregate_named, 3),
        SHAPE(results_bound, 6),
        SHAPE(chain, 100'000),
        SHAPE(completions, 200'000),
        SHAPE(frames_of_64, 0),
        SHAPE(caught, 4),
    };
    return shapes::run_shapes(all);
}
