// An operation passes a stop on to handles of other environments, and there is no memory for what it needs for that.
#include <cstddef>
#include <new>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/testing/alloc_guard.hpp>

namespace {

using noop = coflux::noop_executor;
using waiting = coflux::fork<int, noop>;
using coflux::detail::frame_cache;

/// While it lives, the frame pool has no block of the classes from `first` to `last`, and operator new fails.
class no_memory {
public:
    no_memory(std::size_t first, std::size_t last) {
        fails(true);
        for (std::size_t c = first; c <= last; ++c) take_all(c);
    }
    ~no_memory() {
        fails(false);
        while (taken_ != nullptr) {
            const block b = *std::exchange(taken_, taken_->next);
            coflux::detail::deallocate_pooled(b.self, b.bytes, alignment);
        }
    }
    no_memory(const no_memory&) = delete;
    no_memory& operator=(const no_memory&) = delete;

private:
    struct block {
        block* next;
        void* self;
        std::size_t bytes;
    };
    static constexpr std::size_t alignment = 16;

    static void fails(bool now) { coflux::testing::detail::new_fails.store(now, coflux::detail::memory_order_relaxed); }
    void take_all(std::size_t size_class) {
        const std::size_t bytes = (size_class + 1) * frame_cache::granule;
        try {
            for (;;) {
                void* const at = coflux::detail::allocate_pooled(bytes, alignment);
                taken_ = ::new (at) block{taken_, at, bytes};
            }
        } catch (const std::bad_alloc&) {}
    }

    block* taken_ = nullptr;
};

/// Nothing at all, or nothing for the record of a coroutine's waits: then there is a relay that no stop can find.
constexpr std::size_t record_class = (sizeof(coflux::detail::wait_record) - 1) / frame_cache::granule;
struct wanting {
    std::size_t first;
    std::size_t last;
};
constexpr wanting all{0, frame_cache::classes - 1};
constexpr wanting records{record_class, record_class};

waiting waits(coflux::environment&, coflux::borrowed<coflux::manual_reset_event> event) {
    co_await event->wait();
    co_return 1;
}

/// The child is of the environment that the root was made in: a stop of the root reaches it by a relay.
coflux::task<void, noop> awaits_without(coflux::environment& env, wanting what) {
    coflux::manual_reset_event event;
    auto child = waits(env, coflux::borrowed(event));
    bool thrown = false;
    try {
        const no_memory none(what.first, what.last);
        (void)co_await std::move(child);
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    EXPECT_TRUE(thrown);
    EXPECT_TRUE(child.valid()) << "nothing has happened";
    EXPECT_FALSE(child.done());
    event.set();
    EXPECT_EQ(co_await std::move(child), 1);
}

coflux::task<void, noop> awaits_all_without(coflux::environment& env, wanting what) {
    coflux::manual_reset_event event;
    auto one = waits(env, coflux::borrowed(event));
    auto other = waits(env, coflux::borrowed(event));
    const auto looks = one.view();
    bool thrown = false;
    try {
        const no_memory none(what.first, what.last);
        (void)co_await coflux::when_all(std::move(one), std::move(other));
    } catch (const std::bad_alloc&) {
        thrown = true;
    }
    EXPECT_TRUE(thrown) << "the children are stopped, and joined";
    EXPECT_TRUE(looks.done());
}

coflux::task<void, noop> asks_without(coflux::environment& env, wanting what) {
    coflux::manual_reset_event event;
    auto child = waits(env, coflux::borrowed(event));
    {
        const no_memory none(what.first, what.last);
        const auto end = co_await coflux::as_outcome(std::move(child));
        EXPECT_TRUE(end.has_error());
    }
    EXPECT_TRUE(child.valid());
    event.set();
    EXPECT_EQ(co_await std::move(child), 1);
}

template <typename Make>
void runs(Make make) {
    if (!coflux::testing::counts_new()) GTEST_SKIP() << "operator new is not replaced here";
    for (const wanting what : {all, records}) {
        auto env = coflux::make_environment();
        make(env, what).get();
    }
}

TEST(stop_relay_without_memory, of_a_plain_await_throws_and_nothing_has_happened) {
    runs(awaits_without);
}
TEST(stop_relay_without_memory, of_an_await_as_outcome_is_an_error_and_nothing_has_happened) {
    runs(asks_without);
}
TEST(stop_relay_without_memory, of_when_all_tells_the_children_and_throws_when_they_have_ended) {
    runs(awaits_all_without);
}

}  // namespace
