// Callbacks where root and child run on each kind of executor, and the child has ended before they are attached or ends
// after.
#include <coflux/core/detail/join/callbacks.hpp>

#include <exception>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "stage.hpp"
#include "support/witness.hpp"

namespace {

using coflux_test::journal;
using coflux_test::yields_before_the_end;
using lines = std::vector<std::string>;

template <typename On>
class callbacks_matrix : public coflux_test::matrix<On> {};
TYPED_TEST_SUITE(callbacks_matrix, coflux_test::combinations, coflux_test::combination_names);

std::string text_of(const std::exception_ptr& error) {
    try {
        std::rethrow_exception(error);
    } catch (const std::exception& e) {
        return e.what();
    }
}

enum class way { value, error, stopped };
constexpr way ways[] = {way::value, way::error, way::stopped};
constexpr const char* name_of(way w) {
    return w == way::value ? "value" : w == way::error ? "error" : "stopped";
}

template <typename E>
coflux::fork<int, E> ends_so(auto&&, int yields, journal* j, way end) {
    for (int i = 0; i < yields; ++i) co_await coflux::yield();
    j->write("ends");
    if (end == way::error) throw std::runtime_error("error");
    if (end == way::stopped) co_await coflux::this_coroutine::stop();
    co_return 5;
}

template <typename T>
void tell_all(T& handle, journal* j) {
    handle.on_value([j](int) { j->write("value"); })
        .on_error([j](const std::exception_ptr& error) { j->write(text_of(error)); })
        .on_stopped([j] { j->write("stopped"); });
}

TYPED_TEST(callbacks_matrix, calls_the_callback_of_its_end_and_no_other_before_its_awaiter_goes_on) {
    const auto root = [](coflux::environment&, int yields, journal* j,
                         way end) -> coflux::task<void, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = ends_so<typename TestFixture::child_on>(here, yields, j, end);
        tell_all(f, j);
        (void)co_await coflux::as_outcome(std::move(f));
        j->write("awaited");
    };
    for (const int yields : yields_before_the_end) {
        for (const way end : ways) {
            journal j;
            this->run(root, yields, &j, end);
            EXPECT_EQ(j.lines(), (lines{"ends", name_of(end), "awaited"})) << yields << " yields";
        }
    }
}

TYPED_TEST(callbacks_matrix, calls_the_callback_of_its_end_when_its_handle_is_dropped) {
    const auto root = [](coflux::environment&, int yields, journal* j,
                         way end) -> coflux::task<void, typename TestFixture::root_on> {
        auto&& here = co_await coflux::context();
        auto f = ends_so<typename TestFixture::child_on>(here, yields, j, end);
        tell_all(f, j);
        std::move(f).attach();
    };
    for (const int yields : yields_before_the_end) {
        for (const way end : ways) {
            journal j;
            this->run(root, yields, &j, end);
            EXPECT_EQ(j.lines(), (lines{"ends", name_of(end)})) << yields << " yields";
        }
    }
}

}  // namespace
