// Frames and the ways between them: depth, tail calls, alignment, and an await_suspend whose own frame goes away.
//
// known: chain | g++ at -O0, -O1 and with a sanitizer | no tail call: the stack runs over | Coflux: law 6, by the executor's loop
// known: completions | g++ at -O0, -O1 and with a sanitizer | the same | Coflux: law 6
// known: local_of_32 | clang 19 without -fcoro-aligned-allocation | the frame has the alignment of operator new | Coflux: frames up to 64
// known: local_of_64 | both | the same | Coflux: frames up to 64
// known: parameter_of_64 | both | the same | Coflux: frames up to 64
#include "shapes.hpp"

#include <cstdint>
#include <memory>

namespace {

using namespace shapes;

task<int> depth(int n) {
    if (n == 0) co_return 0;
    co_return 1 + co_await depth(n - 1);
}
/// Awaits 100 000 deep, on a stack of one MiB.
bool chain() {
    return run(depth(100'000)) == 100'000;
}
task<int> one() {
    co_return 1;
}
task<int> many(int n) {
    int sum = 0;
    for (int i = 0; i < n; ++i) sum += co_await one();
    co_return sum;
}
/// A million awaits of what completes at once, on a stack of one MiB: ten million take too long at -O0.
bool completions() {
    return run(many(1'000'000)) == 1'000'000;
}

template <std::size_t Alignment>
struct alignas(Alignment) aligned {
    std::uintptr_t address() const noexcept {
        auto a = reinterpret_cast<std::uintptr_t>(this);
        asm volatile("" : "+r"(a));  // else an optimiser takes the type's word for it
        return a;
    }
    int value = 1;
};
template <std::size_t Alignment>
task<int> local() {
    const aligned<Alignment> it;
    const int none = co_await later(0);
    co_return static_cast<int>(it.address() % Alignment) + none;
}
template <std::size_t Alignment>
task<int> parameter(aligned<Alignment> it) {
    const int none = co_await later(0);
    co_return static_cast<int>(it.address() % Alignment) + none;
}
/// Several frames at different addresses: one may be aligned by chance.
template <std::size_t Alignment>
bool local_is_aligned() {
    std::unique_ptr<char[]> between[16];
    for (std::size_t i = 0; i < 16; ++i) {
        between[i] = std::make_unique<char[]>(16 * (i + 1));
        if (run(local<Alignment>()) != 0) return false;
    }
    return true;
}
template <std::size_t Alignment>
bool parameter_is_aligned() {
    std::unique_ptr<char[]> between[16];
    for (std::size_t i = 0; i < 16; ++i) {
        between[i] = std::make_unique<char[]>(16 * (i + 1));
        if (run(parameter<Alignment>({})) != 0) return false;
    }
    return true;
}

struct detached {
    struct promise_type {
        detached get_return_object() const noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() const noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
    };
};
/// Destroys the coroutine that awaits it, and then still uses its own locals.
struct destroys {
    int* seen;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept {
        int* const at = seen;
        int local[4] = {1, 2, 3, 4};
        asm volatile("" : : "r"(local) : "memory");
        h.destroy();
        *at = local[0] + local[3];
    }
    void await_resume() const noexcept {}
};
detached is_destroyed(int* seen, probe) {
    const probe p(1);
    co_await destroys{seen};
    *seen = -1;
}
bool destroyed_in_await_suspend() {
    int seen = 0;
    is_destroyed(&seen, probe(2));
    return seen == 5;
}
/// Resumes the coroutine that awaits it to its end, in which its frame is freed, and then still uses its own locals.
struct resumes {
    int* seen;
    bool await_ready() const noexcept { return false; }
    bool await_suspend(std::coroutine_handle<> h) const noexcept {
        int* const at = seen;
        int local[4] = {1, 2, 3, 4};
        asm volatile("" : : "r"(local) : "memory");
        h.resume();
        *at += local[0] + local[3];
        return true;
    }
    void await_resume() const noexcept {}
};
detached is_resumed(int* seen, probe) {
    const probe p(1);
    co_await resumes{seen};
    *seen = 10;
}
bool resumed_in_await_suspend() {
    int seen = 0;
    is_resumed(&seen, probe(2));
    return seen == 15;
}
/// A frame that the compiler may place in its caller's: nothing is lost or freed twice.
task<int> elided() {
    int sum = 0;
    for (int i = 0; i < 100; ++i) {
        auto inner = [](probe p) -> task<int> { co_return p.value(); };
        sum += co_await inner(probe(i));
    }
    co_return sum;
}
bool elision() {
    return run(elided()) == 4950;
}
/// One that is made and never awaited, and one that is destroyed at an await.
bool destroyed_before_and_between() {
    {
        auto f = [](probe p) -> task<int> { co_return co_await later(p.value()); };
        const task<int> never = f(probe(1));
        const task<int> begun = f(probe(2));
        begun.frame().resume();
        waiting = nullptr;
    }
    return probe::balanced();
}

}  // namespace

int main() {
    limit_stack();
    static constexpr shape all[] = {
        {"chain", chain},
        {"completions", completions},
        {"local_of_32", local_is_aligned<32>},
        {"local_of_64", local_is_aligned<64>},
        {"parameter_of_64", parameter_is_aligned<64>},
        {"destroyed_in_await_suspend", destroyed_in_await_suspend},
        {"resumed_in_await_suspend", resumed_in_await_suspend},
        {"elision", elision},
        {"destroyed_before_and_between", destroyed_before_and_between},
    };
    return run_shapes(all);
}
