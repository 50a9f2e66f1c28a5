#include "../../../src/core/detail/readable_name.hpp"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

namespace {

using coflux::detail::readable_name;
using coflux::detail::type_in;

std::string name(std::string_view function) {
    return readable_name(function).c_str();
}

TEST(readable_name, is_the_function_without_its_result_and_parameters_as_clang_writes_them) {
    EXPECT_EQ(name("fork<int> one(auto &&) [x:auto = int]"), "one");
    EXPECT_EQ(name("coflux::fork<std::pair<int, int>> bank::two(int, std::string)"), "bank::two");
    EXPECT_EQ(name("fork<int> bank::(anonymous namespace)::two(int, std::string)"), "bank::two");
    EXPECT_EQ(name("fork<int> bank::S::mem(auto &&) [e:auto = int]"), "bank::S::mem");
    EXPECT_EQ(name("auto main()::(anonymous class)::operator()(auto &&, int) const [auto:1 = int]"), "main()::lambda");
    EXPECT_EQ(name("int main()"), "main");
}

TEST(readable_name, is_the_same_of_the_frame_that_gcc_names_in_the_body_of_a_coroutine) {
    EXPECT_EQ(name("fork<int> one(auto:11&&) [with auto:11 = int]"), "one");
    EXPECT_EQ(name("void one(one<int>(int&&)::_Z3oneIiE4forkIiEOT_.Frame*)"), "one");
    EXPECT_EQ(name("void bank::{anonymous}::two(two(int, std::string)::_ZN4bank12_GLOBAL__N_13twoEi.Frame*)"),
              "bank::two");
    EXPECT_EQ(name("void bank::S::mem(bank::S::mem<int>(int&&)::_ZN4bank1S3memIiEE4forkIiEOT_.Frame*)"),
              "bank::S::mem");
    EXPECT_EQ(
        name(
            "void main()::<lambda(auto:13&&, int)>::operator()(main()::<lambda(auto:13&&, int)>::_ZZ4mainENKUlOT_iE_clIiEE."
            "Frame*)"),
        "main()::lambda");
    EXPECT_EQ(name("main()::<lambda(auto:13&&, int)> [with auto:13 = int]"), "main()::lambda");
}

TEST(readable_name, keeps_the_operator_of_a_functor) {
    EXPECT_EQ(name("coflux::fork<int> counts::operator()(coflux::environment &)"), "counts::operator()");
}

TEST(readable_name, cuts_off_what_is_too_long_and_takes_anything) {
    EXPECT_EQ(name(""), "");
    EXPECT_EQ(name("(((("), "");
    EXPECT_EQ(name(">>"), ">>");
    EXPECT_EQ(name("f"), "f");
    EXPECT_EQ(name("<lambda"), "lambda");
    EXPECT_EQ(name("void " + std::string(1000, 'x') + "(int)"), std::string(255, 'x'));
}

TEST(readable_name, of_a_type_is_what_the_compilers_say_that_E_is) {
    EXPECT_EQ(type_in("const char *coflux::detail::name_of() [E = coflux::noop_executor]"), "coflux::noop_executor");
    EXPECT_EQ(type_in("consteval const char* coflux::detail::name_of() [with E = coflux::strand<int [3]>]"),
              "coflux::strand<int [3]>");
    EXPECT_EQ(type_in("something else"), "something else");
}

}  // namespace
