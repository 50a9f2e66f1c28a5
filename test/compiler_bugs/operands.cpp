// Forms in the operand of co_await, or around it in one expression or condition.
//
// known: results_in_turn | g++ | all awaits are completed before the first result is taken | Coflux: COFLUX_LATE_RESULTS
#include "shapes.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>
#include <vector>

namespace {

using namespace shapes;

struct two {
    probe first;
    probe second;
};

template <typename F>
task<int> calls(F f) {
    const int more = co_await later(1);
    co_return f() + more;
}
task<int> adds(two t) {
    const int more = co_await later(1);
    co_return t.first.value() + t.second.value() + more;
}
task<int> adds_all(std::vector<probe> all) {
    int sum = co_await later(1);
    for (const probe& p : all) sum += p.value();
    co_return sum;
}
task<bool> is_below(probe p, int end) {
    const int i = co_await later(p.value());
    co_return i < end;
}
task<int> value_of(probe p) {
    const int none = co_await later(0);
    co_return p.value() + none;
}
task<bool> notes(int& count, bool answer) {
    ++count;
    co_return co_await later(answer);
}

task<int> closure_in_operand() {
    co_return co_await calls([p = probe(1)] { return p.value(); });
}
task<int> closure_with_references_in_operand() {
    int one = 1;
    co_return co_await calls([&] { return one; });
}
task<int> aggregate_in_operand() {
    co_return co_await adds(two{probe(1), probe(2)});
}
#if defined(__clang__) || __GNUC__ > 13  // g++ 13 ends with an internal error
task<int> list_in_operand() {
    co_return co_await adds_all({probe(1), probe(2), probe(3)});
}
#endif
task<int> temporary_in_operand() {
    co_return co_await value_of(probe(4));
}
task<int> temporary_in_while() {
    int i = 0;
    while (co_await is_below(probe(i), 5)) ++i;
    co_return i;
}
task<int> declared_in_while() {
    int i = 0;
    while (const bool more = co_await is_below(probe(i), 5)) i += more;
    co_return i;
}
task<int> temporary_in_if() {
    if (co_await is_below(probe(1), 5)) co_return co_await later(5);
    co_return 0;
}
task<int> temporary_in_for() {
    int sum = 0;
    for (int i = 0; co_await is_below(probe(i), 5); ++i) ++sum;
    co_return sum;
}
task<int> plain_in_while() {
    int i = 0;
    while (co_await later(i < 5)) ++i;
    co_return i;
}
task<int> and_then() {
    int count = 0;
    const bool off = co_await later(false);
    const bool both = off && co_await notes(count, true);
    co_return count * 10 + both;
}
task<int> or_else() {
    int count = 0;
    const bool on = co_await later(true);
    const bool any = on || co_await notes(count, true);
    co_return count * 10 + any;
}
task<int> choice() {
    const bool on = co_await later(true);
    const int a = on ? co_await later(3) : 4;
    const int b = on ? 1 : co_await later(2);
    co_return a + b;
}
task<int> choice_of_temporaries() {
    const bool on = co_await later(true);
    const int a = on ? co_await value_of(probe(3)) : co_await value_of(probe(4));
    co_return a;
}
task<int> aggregate_in_parentheses() {
    co_return co_await adds(two(probe(1), probe(2)));
}
task<int> conditional_operand() {
    const bool on = co_await later(true);
    co_return co_await (on ? value_of(probe(3)) : value_of(probe(4)));
}
task<int> conditional_argument() {
    const bool on = co_await later(true);
    co_return co_await value_of(on ? probe(3) : probe(4));
}
task<int> conditional_argument_with_a_name() {
    const bool on = co_await later(true);
    const probe named(3);
    co_return co_await value_of(on ? named : probe(4));
}
int sum_of(const probe& p, int n) {
    return p.value() + n;
}
task<int> conditional_beside_an_await() {
    const bool on = co_await later(true);
    co_return sum_of(on ? probe(1) : probe(2), co_await later(4));
}
task<int> immediate_lambda_coroutine() {
    co_return co_await [p = probe(6)]() -> task<int> { co_return co_await later(p.value()); }();
}
task<std::string> text(std::string s) {
    const int n = co_await later(static_cast<int>(s.size()));
    co_return s + std::to_string(n);
}
const char* const long_text = "one, which is longer than a small string";
task<std::string> choice_of_a_string_and_an_await() {
    const bool on = co_await later(true);
    std::string s = on ? co_await text(long_text) : std::string("none");
    co_return s;
}
task<std::string> choice_of_awaited_strings() {
    const bool on = co_await later(true);
    std::string s = on ? co_await text(long_text) : co_await text("none");
    co_return s;
}
task<std::string> strings_in_operands() {
    co_return co_await text("one, which is longer than a small string ") + co_await text(std::string("two"));
}
task<int> arguments() {
    const auto add = [](int a, int b, int c) { return a * 100 + b * 10 + c; };
    co_return add(co_await later(1), 2, co_await value_of(probe(3)));
}
/// How many awaits are begun and not resumed from.
struct counts_begun {
    int& begun;
    int& most;
    bool await_ready() const noexcept {
        most = std::max(most, ++begun);
        return true;
    }
    void await_suspend(std::coroutine_handle<>) const noexcept {}
    int await_resume() const noexcept { return --begun; }
};
task<int> results_in_turn() {
    int begun = 0;
    int most = 0;
    const auto add = [](int a, int b) { return a + b; };
    (void)add(co_await counts_begun{begun, most}, co_await counts_begun{begun, most});
    co_return most;
}
/// The right operand of an assignment comes first.
task<int> compound_assignment() {
    int x = 1;
    const auto changes = [](int* at) -> task<int> {
        *at = co_await later(10);
        co_return 5;
    };
    x += co_await changes(&x);
    co_return x;
}

/// As the operations of a channel: keeps a reference to what it was given.
struct [[nodiscard]] refers {
    explicit refers(int&& v) noexcept : value(v) {}
    refers(const refers&) = delete;
    refers& operator=(const refers&) = delete;
    bool await_ready() const noexcept { return false; }
    void await_suspend(std::coroutine_handle<> h) const noexcept { waiting = h; }
    bool await_resume() const noexcept { return value < 5; }
    int& value;
};
task<int> reference_in_while() {
    int i = 0;
    while (co_await refers(i + 0)) ++i;
    co_return i;
}
task<int> reference_in_for() {
    int sum = 0;
    for (int i = 0; co_await refers(i + 0); ++i) ++sum;
    co_return sum;
}
task<int> reference_in_if() {
    int i = 0;
    if (co_await refers(1)) i = 5;
    co_return i;
}
task<int> reference_in_if_with_await() {
    int i = 0;
    if (co_await refers(1)) i = co_await later(5);
    co_return i;
}
/// As Coflux makes them: the operand gives an awaiter, a second temporary.
struct [[nodiscard]] request {
    explicit request(int&& v) noexcept : value(v) {}
    request(const request&) = delete;
    request& operator=(const request&) = delete;
    refers operator co_await() && noexcept { return refers(std::move(value)); }
    int& value;
};
task<int> request_in_while() {
    int i = 0;
    while (co_await request(i + 0)) ++i;
    co_return i;
}
task<int> request_in_while_with_await() {
    int i = 0;
    while (co_await request(i + 0)) i += co_await later(1);
    co_return i;
}
task<int> request_in_for() {
    int sum = 0;
    for (int i = 0; co_await request(i + 0); ++i) ++sum;
    co_return sum;
}
task<int> request_in_if() {
    if (co_await request(1)) co_return co_await later(5);
    co_return 0;
}
task<int> request_and_then() {
    const bool off = co_await later(false);
    if (off && co_await request(1)) co_return 1;
    co_return 0;
}
task<int> switch_of_an_await() {
    switch (co_await later(2)) {
    case 1: co_return 1;
    case 2: co_return co_await later(7);
    default: co_return 0;
    }
}
task<int> return_in_if_of_an_await() {
    if (co_await later(true)) co_return 7;
    co_return 0;
}
task<int> break_in_while_of_an_await() {
    int i = 0;
    while (co_await later(true)) {
        ++i;
        if (i == 5) break;
    }
    co_return i;
}
task<int> continue_in_while_of_an_await() {
    int i = 0;
    int odd = 0;
    while (co_await later(i < 6)) {
        ++i;
        if (i % 2 == 0) continue;
        odd += co_await later(1);
    }
    co_return odd;
}
task<int> negation_in_while() {
    int i = 0;
    while (!co_await refers(9 - i)) ++i;
    co_return i;
}
task<int> and_then_in_if() {
    int count = 0;
    const bool off = co_await later(false);
    if (off && co_await notes(count, true)) count += 10;
    co_return count;
}
task<int> and_then_in_while() {
    int count = 0;
    while (count < 3 && co_await notes(count, true)) {}
    co_return count;
}
task<int> and_then_of_temporaries() {
    const bool off = co_await later(false);
    const bool both = off && co_await is_below(probe(1), 5);
    co_return both;
}
task<int> and_then_of_a_reference() {
    const bool off = co_await later(false);
    const bool both = off && co_await refers(1);
    co_return both;
}
task<int> choice_of_references() {
    const bool on = co_await later(false);
    const bool a = on ? co_await refers(7) : co_await refers(1);
    co_return a;
}
task<int> two_temporaries_in_if() {
    int i = 0;
    if (co_await is_below(probe(1), 5)) i = 5;
    co_return i;
}

template <auto F, int Value>
bool gives() {
    return run(F()) == Value;
}

template <auto F>
bool gives_long_text() {
    return run(F()) == std::string(long_text) + "40";
}

}  // namespace

#define SHAPE(name, value) {#name, gives<name, value>}

int main() {
    static constexpr shape all[] = {
        SHAPE(closure_in_operand, 2),
        SHAPE(closure_with_references_in_operand, 2),
        SHAPE(aggregate_in_operand, 4),
#if defined(__clang__) || __GNUC__ > 13
        SHAPE(list_in_operand, 7),
#endif
        SHAPE(temporary_in_operand, 4),
        SHAPE(temporary_in_while, 5),
        SHAPE(declared_in_while, 5),
        SHAPE(temporary_in_if, 5),
        SHAPE(temporary_in_for, 5),
        SHAPE(plain_in_while, 5),
        SHAPE(and_then, 0),
        SHAPE(or_else, 1),
        SHAPE(choice, 4),
        SHAPE(choice_of_temporaries, 3),
        SHAPE(aggregate_in_parentheses, 4),
        SHAPE(conditional_operand, 3),
        SHAPE(conditional_argument, 3),
        SHAPE(conditional_argument_with_a_name, 3),
        SHAPE(conditional_beside_an_await, 5),
        {"choice_of_a_string_and_an_await", gives_long_text<choice_of_a_string_and_an_await>},
        {"choice_of_awaited_strings", gives_long_text<choice_of_awaited_strings>},
        SHAPE(immediate_lambda_coroutine, 6),
        {"strings_in_operands",
         [] { return run(strings_in_operands()) == "one, which is longer than a small string 41two3"; }},
        SHAPE(reference_in_while, 5),
        SHAPE(reference_in_for, 5),
        SHAPE(reference_in_if, 5),
        SHAPE(reference_in_if_with_await, 5),
        SHAPE(request_in_while, 5),
        SHAPE(request_in_while_with_await, 5),
        SHAPE(request_in_for, 5),
        SHAPE(request_in_if, 5),
        SHAPE(request_and_then, 0),
        SHAPE(switch_of_an_await, 7),
        SHAPE(return_in_if_of_an_await, 7),
        SHAPE(break_in_while_of_an_await, 5),
        SHAPE(continue_in_while_of_an_await, 3),
        SHAPE(negation_in_while, 5),
        SHAPE(and_then_in_if, 0),
        SHAPE(and_then_in_while, 3),
        SHAPE(and_then_of_temporaries, 0),
        SHAPE(and_then_of_a_reference, 0),
        SHAPE(choice_of_references, 1),
        SHAPE(two_temporaries_in_if, 5),
        SHAPE(arguments, 123),
        SHAPE(results_in_turn, 1),
        SHAPE(compound_assignment, 15),
    };
    return run_shapes(all);
}
