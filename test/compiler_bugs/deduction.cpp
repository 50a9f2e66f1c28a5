// Options as `stream::job` has them: an aggregate whose types are deduced, with designators. Where none of the
// initialisers depends on a parameter, clang deduces in the template and anew in its instance. Then it takes the members'
// types of what it has deduced first for those of the template, falls back on the defaults, and drops all initialisers.
//
// known: options_with_an_object | clang 19 | the policy is the default, in a template | options_with_braces
// known: options_with_parentheses | clang 19 | the policy is the default, in a template | options_with_braces
#include "shapes.hpp"

#include <type_traits>

namespace {

using shapes::shape;

struct at_least_type {};
struct exact_type {};
constexpr exact_type exact{};

template <typename Delivery = at_least_type>
struct options {
    unsigned long workers = 0;
    Delivery delivery{};
    int batch = 1;
};

exact_type exactly() {
    return {};
}

template <typename T, typename Options>
bool is_right(T, const Options& o) {
    return std::is_same_v<decltype(o.delivery), exact_type> && o.workers == 4 && o.batch == 1;
}

template <typename T>
bool with_an_object(T any) {
    return is_right(any, options{.workers = 4, .delivery = exact});
}
template <typename T>
bool with_a_call(T any) {
    return is_right(any, options{.workers = 4, .delivery = exactly()});
}
template <typename T>
bool with_parentheses(T any) {
    return is_right(any, options{.workers = 4, .delivery = exact_type()});
}
template <typename T>
bool with_braces(T any) {
    return is_right(any, options{.workers = 4, .delivery = exact_type{}});
}
template <typename T>
bool with_arguments(T any) {
    return is_right(any, options<exact_type>{.workers = 4, .delivery = exact});
}
template <typename T, typename Policy>
bool with_a_dependent_policy(T any, Policy policy) {
    return is_right(any, options{.workers = 4, .delivery = policy});
}

bool options_with_an_object() {
    return with_an_object(1);
}
bool options_with_a_call() {
    return with_a_call(1);
}
bool options_with_parentheses() {
    return with_parentheses(1);
}
bool options_with_braces() {
    return with_braces(1);
}
bool options_with_arguments() {
    return with_arguments(1);
}
bool options_with_a_dependent_policy() {
    return with_a_dependent_policy(1, exact);
}
bool options_outside_of_a_template() {
    return is_right(1, options{.workers = 4, .delivery = exact});
}

}  // namespace

int main() {
    constexpr shape all[] = {
        {"options_with_an_object", options_with_an_object},
        {"options_with_a_call", options_with_a_call},
        {"options_with_parentheses", options_with_parentheses},
        {"options_with_braces", options_with_braces},
        {"options_with_arguments", options_with_arguments},
        {"options_with_a_dependent_policy", options_with_a_dependent_policy},
        {"options_outside_of_a_template", options_outside_of_a_template},
    };
    return shapes::run_shapes(all);
}
