// The place of an await in a function: bindings, loops, initialisers, conditions that declare, and the fate of
// parameters and exceptions.
//
// known: exception_of_a_parameter | clang 19 at -O0 | the exception is kept in the frame, and read after the frame went back | exception_of_a_parameter_without_a_handler
#include "shapes.hpp"

#include <array>
#include <cstddef>
#include <stdexcept>
#include <string>
#include <tuple>
#include <vector>

namespace {

using namespace shapes;

struct two {
    probe first;
    probe second;
};

task<two> makes_two() {
    two t{probe(1), probe(2)};
    const int none = co_await later(0);
    (void)none;
    co_return std::move(t);
}
task<std::vector<std::string>> makes_strings() {
    std::vector<std::string> all;
    all.emplace_back("one, which is longer than a small string");
    all.emplace_back("two");
    const int none = co_await later(0);
    (void)none;
    co_return std::move(all);
}
std::vector<std::string> plain_strings() {
    return {"one, which is longer than a small string", "two"};
}

task<int> loop_over_a_list() {
    int sum = 0;
    for (const probe& p : {probe(1), probe(2), probe(3)}) sum += co_await later(p.value());
    co_return sum;
}
task<int> binding_across_suspension() {
    auto [a, b] = co_await makes_two();
    const int c = co_await later(4);
    co_return a.value() + b.value() + c;
}
task<int> binding_of_a_tuple() {
    auto [a, b] = co_await later(std::make_tuple(1, 2));
    const int c = co_await later(4);
    co_return a + b + c;
}
task<int> binding_by_reference() {
    two t{probe(1), probe(2)};
    auto& [a, b] = t;
    const int c = co_await later(4);
    co_return a.value() + b.value() + c;
}
task<int> await_of_a_binding() {
    auto [a, b] = std::make_tuple(later(3), later(4));
    const int x = co_await a;
    const int y = co_await std::move(b);
    co_return x + y;
}
task<int> range_for_over_a_temporary() {
    int sum = 0;
    for (const std::string& s : plain_strings()) sum += co_await later(static_cast<int>(s.size()));
    co_return sum;
}
task<int> range_for_over_an_await() {
    int sum = 0;
    for (const std::string& s : co_await makes_strings()) sum += co_await later(static_cast<int>(s.size()));
    co_return sum;
}
task<int> braced_list() {
    const std::array<int, 3> all{co_await later(1), co_await at_once(2), co_await later(3)};
    co_return all[0] * 100 + all[1] * 10 + all[2];
}
task<int> list_of_a_vector() {
    const int a = co_await later(1);
    const int b = co_await later(2);
    const std::vector<int> all{a, b, a + b};
    co_return all[0] * 100 + all[1] * 10 + all[2];
}
task<int> initialiser_of_an_if() {
    if (const int n = co_await later(3); n > 2) co_return co_await later(n);
    co_return 0;
}
task<int> init_capture() {
    const auto f = [n = co_await later(5)] { return n; };
    const int none = co_await later(0);
    co_return f() + none;
}
task<int> conditional_try() {
    int result = 0;
    bool failed = false;
    try {
        const probe local(1);
        result = co_await later(local.value());
        throw std::runtime_error("thrown between two awaits");
    } catch (const std::runtime_error&) {
        failed = true;
    }
    if (failed) result += co_await later(10);
    co_return result;
}
task<int> throws_after_an_await() {
    const probe local(1);
    const int n = co_await later(3);
    if (n == 3) throw n;
    co_return n;
}
task<int> catches_what_an_await_throws() {
    int got = 0;
    try {
        got = co_await throws_after_an_await();
    } catch (int n) {
        got = n * 2;
    }
    got += co_await later(1);
    co_return got;
}
task<int> thrown_await() {
    try {
        throw co_await later(4);
    } catch (int n) {
        co_return n;
    }
}

task<int> by_value(probe p) {
    co_return co_await later(p.value());
}
/// A parameter is moved into the frame once, and no copy is made.
task<int> parameter_is_moved_once() {
    probe p(1);
    const int moves = probe::moves;
    auto t = by_value(std::move(p));
    const int n = co_await std::move(t);
    co_return n * 100 + (probe::moves - moves - 1) * 10 + probe::copies;  // one move makes the argument
}
struct orders {
    std::string& in;
    char name;
    orders(std::string& s, char n) : in(s), name(n) {}
    orders(orders&& other) noexcept : in(other.in), name(std::exchange(other.name, '-')) {}
    ~orders() {
        if (name != '-') in.push_back(name);
    }
};
task<int> keeps(orders, orders) {
    co_return co_await later(0);
}
task<int> keeps_locals(orders p) {
    std::string& in = p.in;
    const orders local(in, 'l');
    co_return co_await later(0);
}
/// Locals die first, then the parameters in the frame.
bool parameters_die_after_locals() {
    std::string died;
    (void)run(keeps_locals(orders(died, 'p')));
    return died == "lp";
}
/// In the reverse of their order, or in it: what is checked is that each dies once.
bool each_parameter_dies_once() {
    std::string died;
    (void)run(keeps(orders(died, 'a'), orders(died, 'b')));
    return died == "ba" || died == "ab";
}

struct with_this {
    int base;
    task<int> member(int n) {
        const int more = co_await later(n);
        co_return base + more;
    }
    task<int> captures_this() {
        const auto f = [this](int n) -> task<int> {
            const int more = co_await later(n);
            co_return base + more;
        };
        co_return co_await f(2);
    }
};
task<int> member_functions() {
    with_this w{10};
    const int a = co_await w.member(1);
    const int b = co_await w.captures_this();
    co_return a + b;
}
template <typename... Ts>
task<int> variadic(Ts... values) {
    const int none = co_await later(0);
    co_return (0 + ... + values.value()) + none;
}
task<int> variadic_parameters() {
    co_return co_await variadic(probe(1), probe(2), probe(3));
}

/// An exception of a promise in return_value() goes to unhandled_exception().
struct throws_on_copy {
    throws_on_copy() = default;
    throws_on_copy(const throws_on_copy&) { throw 7; }
};
task<throws_on_copy> gives_what_throws() {
    const throws_on_copy t;
    const int none = co_await later(0);
    (void)none;
    co_return t;
}
bool exception_of_return_value() {
    try {
        (void)run(gives_what_throws());
    } catch (int n) {
        return n == 7;
    }
    return false;
}
/// A parameter whose copy into the frame throws: the exception comes out of the call, and the frame is gone by then.
/// The code that gives its memory back writes over it, as a resource may.
struct overwritten {
    struct promise_type {
        overwritten get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() const noexcept { return {}; }
        std::suspend_never final_suspend() const noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() const noexcept { std::terminate(); }
        static void* operator new(std::size_t size) { return size <= sizeof(memory) ? memory : std::malloc(size); }
        static void operator delete(void* at, std::size_t size) noexcept {
            for (std::size_t i = 0; i < size; ++i) static_cast<volatile unsigned char*>(at)[i] = 0x5a;
        }
        alignas(64) static inline unsigned char memory[4096];
    };
};
void may_throw(int n) {
    if (n == 3) throw n;
}
/// Exceptions before and after a suspension: what keeps them is then a part of the frame.
overwritten copies(throws_on_copy, int n) {
    try {
        may_throw(n);
    } catch (int) {}
    const probe p(1);
    co_await std::suspend_always();
    may_throw(n);
}
bool exception_of_a_parameter() {
    try {
        (void)copies(throws_on_copy(), 1);
    } catch (int n) {
        return n == 7;
    }
    return false;
}
/// Without a handler before the suspension.
overwritten copies_without_a_handler(throws_on_copy, int n) {
    const probe p(1);
    co_await std::suspend_always();
    may_throw(n);
}
bool exception_of_a_parameter_without_a_handler() {
    try {
        (void)copies_without_a_handler(throws_on_copy(), 1);
    } catch (int n) {
        return n == 7;
    }
    return false;
}
/// An exception of initial_suspend() comes out of the call, and the frame and its parameters are gone.
struct throws_at_once {
    struct promise_type {
        throws_at_once get_return_object() noexcept { return {}; }
        std::suspend_never initial_suspend() { throw 3; }
        std::suspend_never final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() { throw; }
    };
};
throws_at_once never_begins(probe) {
    co_return;
}
bool exception_of_initial_suspend() {
    try {
        (void)never_begins(probe(1));
    } catch (int n) {
        return n == 3 && probe::born == probe::died;
    }
    return false;
}
/// An exception of unhandled_exception() comes out of resume(), and the coroutine is at its final suspension.
struct rethrows {
    struct promise_type {
        rethrows get_return_object() noexcept { return {std::coroutine_handle<promise_type>::from_promise(*this)}; }
        std::suspend_always initial_suspend() noexcept { return {}; }
        std::suspend_always final_suspend() noexcept { return {}; }
        void return_void() noexcept {}
        void unhandled_exception() { throw; }
    };
    std::coroutine_handle<promise_type> frame;
};
rethrows fails(probe p) {
    const probe local(2);
    if (p.value() + local.value() == 3) throw 5;
    co_return;
}
bool exception_of_unhandled_exception() {
    const rethrows r = fails(probe(1));
    int got = 0;
    try {
        r.frame.resume();
    } catch (int n) {
        got = n;
    }
    const bool done = r.frame.done();
    r.frame.destroy();
    return got == 5 && done;
}

template <auto F, int Value>
bool gives() {
    return run(F()) == Value;
}

}  // namespace

#define SHAPE(name, value) {#name, gives<name, value>}

int main() {
    static constexpr shape all[] = {
        SHAPE(loop_over_a_list, 6),
        SHAPE(binding_across_suspension, 7),
        SHAPE(binding_of_a_tuple, 7),
        SHAPE(binding_by_reference, 7),
        SHAPE(await_of_a_binding, 7),
        SHAPE(range_for_over_a_temporary, 43),
        SHAPE(range_for_over_an_await, 43),
        SHAPE(braced_list, 123),
        SHAPE(list_of_a_vector, 123),
        SHAPE(initialiser_of_an_if, 3),
        SHAPE(init_capture, 5),
        SHAPE(conditional_try, 11),
        SHAPE(catches_what_an_await_throws, 7),
        SHAPE(thrown_await, 4),
        SHAPE(parameter_is_moved_once, 110),
        {"parameters_die_after_locals", parameters_die_after_locals},
        {"each_parameter_dies_once", each_parameter_dies_once},
        SHAPE(member_functions, 23),
        SHAPE(variadic_parameters, 6),
        {"exception_of_return_value", exception_of_return_value},
        {"exception_of_a_parameter", exception_of_a_parameter},
        {"exception_of_a_parameter_without_a_handler", exception_of_a_parameter_without_a_handler},
        {"exception_of_initial_suspend", exception_of_initial_suspend},
        {"exception_of_unhandled_exception", exception_of_unhandled_exception},
    };
    return run_shapes(all);
}
