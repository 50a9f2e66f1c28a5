// Threads with a stack so small that a recursion a completion shows itself.
#pragma once

#include <cstddef>
#include <type_traits>

#include <pthread.h>

#include <gtest/gtest.h>

#include "support/iterations.hpp"

namespace coflux_test {

// ThreadSanitizer of g++ puts what it keeps per thread there, too, and has no thread with less. Under AddressSanitizer
// of g++ a coroutine's resumption takes more than 3 KiB, and 64 of them may lie on each other before a loop has
// control.
inline constexpr std::size_t small_stack_bytes = (COFLUX_TEST_TSAN != 0 ? 4096 : COFLUX_ASAN != 0 ? 512 : 256) * 1024;

/// Runs `f` on a thread with a small stack.
template <typename F>
void run_on_small_stack(F f) {
    pthread_attr_t attributes;
    ASSERT_EQ(pthread_attr_init(&attributes), 0);
    ASSERT_EQ(pthread_attr_setstacksize(&attributes, small_stack_bytes), 0);
    pthread_t thread;
    ASSERT_EQ(pthread_create(
                  &thread, &attributes,
                  [](void* call) -> void* {
                      (*static_cast<F*>(call))();
                      return nullptr;
                  },
                  &f),
              0);
    ASSERT_EQ(pthread_join(thread, nullptr), 0);
    ASSERT_EQ(pthread_attr_destroy(&attributes), 0);
}

/// While it lives, threads that name no stack size get a small one: those of a pool.
class small_stacks_for_new_threads {
public:
    small_stacks_for_new_threads() {
        pthread_getattr_default_np(&before_);
        pthread_attr_t small;
        pthread_attr_init(&small);
        pthread_attr_setstacksize(&small, small_stack_bytes);
        EXPECT_EQ(pthread_setattr_default_np(&small), 0);
        pthread_attr_destroy(&small);
    }
    ~small_stacks_for_new_threads() {
        EXPECT_EQ(pthread_setattr_default_np(&before_), 0);
        pthread_attr_destroy(&before_);
    }
    small_stacks_for_new_threads(const small_stacks_for_new_threads&) = delete;
    small_stacks_for_new_threads& operator=(const small_stacks_for_new_threads&) = delete;

private:
    pthread_attr_t before_;
};

}  // namespace coflux_test
