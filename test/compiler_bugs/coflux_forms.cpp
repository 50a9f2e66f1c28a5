// Forms of programs, with Coflux's own coroutines. clang also builds this at -O0 with AddressSanitizer, as a Debug build
// of a user does: there it takes the locals of functions that are inlined by force for used after their scope
// (COFLUX_INLINE).
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

/// Runs what is queued when it is asked to.
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
    coflux::counting_resource frames;
    int got = 0;
    {
        hand ex;
        auto env = coflux::make_environment(ex, &frames);
        task t = F(env);
        ex.run_all();
        got = t.get();
    }
    return got == Value && frames.live() == 0;
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

task send_in_if(environment&) {
    strings ch;
    if (co_await ch.send(std::string(long_text))) co_return static_cast<int>(ch.size());
    co_return 0;
}
task receive_declared_in_while(environment&) {
    strings ch;
    for (int i = 0; i < 3; ++i) {
        if (!co_await ch.send(std::string(long_text))) co_return -1;
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
task aggregate_in_operand(environment&) {
    auto&& here = co_await coflux::context();
    co_return co_await adds(here, two{probe(1), probe(2)});
}
task block_in_operand(environment&) {
    auto&& here = co_await coflux::context();
    const probe outside(3);
    co_return co_await coflux::with_scope(here, [&](auto& scope) -> coflux::call<int> {
        const int n = co_await calls(scope, [&] { return outside.value(); });
        co_return n;
    });
}
task block_that_owns(environment&) {
    auto&& here = co_await coflux::context();
    const probe p = co_await coflux::with_scope(here, [p = probe(4)](auto& scope) -> coflux::call<probe> {
        co_await depth(scope, 1);
        co_return probe(p.value());
    });
    co_return p.value();
}
task block_that_fails(environment&) {
    auto&& here = co_await coflux::context();
    const probe outside(5);
    try {
        co_await coflux::with_scope(here, [&](auto& scope) -> coflux::call<void> {
            const probe inside(outside.value());
            const int n = co_await depth(scope, 1);
            if (n == 1) throw inside.value();
        });
    } catch (int n) {
        co_return n;
    }
    co_return 0;
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
coflux::fork<int, hand> fails_later(environment&) {
    co_await coflux::yield();
    throw 4;
}
/// Counts how many begin.
coflux::fork<int, hand> counted(environment&, int* made) {
    ++*made;
    co_await coflux::yield();
    co_return 1;
}
/// On one compiler the second await begins before the first result is taken.
task two_awaits(environment&) {
    auto&& here = co_await coflux::context();
    auto first = fails_later(here);
    auto second = twice(here, 2);
    int got = 0;
    try {
        got = co_await std::move(first) + co_await std::move(second);
    } catch (int n) {
        got = n;
    }
    co_return got;
}
task conditional_operand(environment&) {
    auto&& here = co_await coflux::context();
    int made = 0;
    const int sum = co_await (here.stop_requested() ? counted(here, &made) : counted(here, &made));
    co_return made * 10 + sum;
}
task conditional_call(environment&) {
    auto&& here = co_await coflux::context();
    const int sum = co_await (here.stop_requested() ? depth(here, 10) : depth(here, 11));
    co_return sum;
}
coflux::fork<std::string, hand> text(environment&, const char* s) {
    co_await coflux::yield();
    co_return s;
}
task choice_of_awaited_strings(environment&) {
    auto&& here = co_await coflux::context();
    const std::string s = here.stop_requested() ? co_await text(here, "no") : co_await text(here, long_text);
    co_return static_cast<int>(s.size());
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
        SHAPE(send_in_if, 1),         SHAPE(receive_declared_in_while, 3),
        SHAPE(closure_in_operand, 1), SHAPE(aggregate_in_operand, 3),
        SHAPE(block_in_operand, 3),   SHAPE(block_that_owns, 4),
        SHAPE(block_that_fails, 5),   SHAPE(results_bound, 6),
        SHAPE(chain, 100'000),        SHAPE(completions, 200'000),
        SHAPE(frames_of_64, 0),       SHAPE(caught, 4),
        SHAPE(two_awaits, 4),         SHAPE(conditional_operand, 11),
        SHAPE(conditional_call, 11),  SHAPE(choice_of_awaited_strings, 35),
    };
    return shapes::run_shapes(all);
}
