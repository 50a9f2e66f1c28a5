// A stop from another thread against the completion of what a ring reads: the places of src/io/uring/uring_source.cpp
// and the homes of descriptors as they are, over a ring whose other side is the model's (docs/design/io_uring.md).
#include <coroutine>
#include <cstddef>
#include <memory>
#include <utility>

#define COFLUX_SLOTS_IN_CHUNK 2
#define COFLUX_MOST_CHUNKS 1

#include "../../../src/io/detail/descriptor.cpp"
#include "../../../src/io/detail/io_operation.cpp"
#include "../../../src/io/detail/socket_calls.cpp"
#include "../../../src/io/endpoint.cpp"
#include "../../../src/os/net/message.cpp"
#include "../../../src/os/net/socket.cpp"
#include "../../../src/os/net/socket_name.cpp"
#include "../../../src/os/net/unix_socket.cpp"
#include "support/model_ring.hpp"

#include "../../../src/io/uring/uring_source.cpp"

#include <coflux/core/as_outcome.hpp>
#include <coflux/core/fork.hpp>
#include <coflux/core/make_environment.hpp>
#include <coflux/core/task.hpp>
#include <coflux/core/this_coroutine.hpp>

#include "support/coroutines.hpp"

/// Each thread has counts of its own, and none is a part of the protocol.
void coflux::detail::io_counts::count_wait() noexcept {}

namespace {

using coflux::environment;
using coflux::detail::descriptor;
using coflux::detail::direction;
using coflux::detail::io_kind;
using coflux::detail::io_operation;
using coflux::detail::io_source;
using coflux::detail::promise_base;
using coflux::detail::uring_source;
using coflux::model::coroutine_scenario;
using coflux::model::plain;
using coflux::model::ring_system;

std::shared_ptr<io_source> the_source;

/// A post wakes the thread that sleeps in the ring.
struct io_executor : coflux::model::bag_executor {
    void execute(std::coroutine_handle<> h) noexcept {
        bag_executor::execute(h);
        if (coflux::detail::this_thread.events == nullptr) the_source->wake();
    }
};
template <typename T>
using fork = coflux::fork<T, io_executor>;
template <typename T>
using task = coflux::task<T, io_executor>;

/// The buffer that the system writes to: it must not do so when this has died.
struct read_buffer {
    plain<int> byte{0};
    ~read_buffer() {
        MODEL_CHECK(!ring_system::present()->writes_to(&byte));
        byte.set(-1);
    }
};

class read_awaiter : public io_operation {
public:
    read_awaiter(promise_base& p, descriptor& on, read_buffer& into) noexcept
        : io_operation(p, on, how_it_reads),
          into_(into) {}
    [[nodiscard]] bool await_ready() const noexcept { return false; }
    std::coroutine_handle<> await_suspend(std::coroutine_handle<>) { return suspend(); }
    int await_resume() noexcept {
        resumed();
        MODEL_CHECK(moved_ == 1);
        return into_.byte.get();
    }

private:
    static bool attempt(io_operation&) noexcept { return false; }
    static bool prepare(io_operation& op, coflux::detail::io_submission& call) noexcept {
        call.address = &static_cast<read_awaiter&>(op).into_.byte;
        call.size = 1;
        return true;
    }
    static bool take(io_operation& op, std::ptrdiff_t moved) noexcept {
        static_cast<read_awaiter&>(op).moved_ += moved;
        return true;
    }
    static constexpr io_kind how_it_reads{
        &attempt, direction::in, {&io_operation::claim, &io_operation::stop_claimed, "a byte"}, &prepare, &take};

    read_buffer& into_;
    std::ptrdiff_t moved_ = 0;
};
using read_request = coflux::detail::request<read_awaiter, descriptor&, read_buffer&>;

struct host : coflux::detail::event_host {
    explicit host(std::shared_ptr<io_source> source) { publish(std::move(source)); }
};

/// Thread 0 is that of the host, thread 1 requests the stop of the root, thread 2 lets a byte arrive.
template <typename Derived, unsigned Threads>
struct of_ring : coroutine_scenario<Derived, Threads> {
    ring_system system;
    std::shared_ptr<uring_source> source = std::make_shared<uring_source>(coflux::detail::ring_rung::deferred);
    host hosts{source};
    descriptor on{-1, coflux::endpoint(), coflux::detail::socket_calls::of_system()};
    io_executor executor;
    environment* made = nullptr;  // not atomic, as in bag_executor: `order` is
    unsigned others_done = 0;
    coflux::detail::atomic<int> order{0};
    int went_on = 0;  // written by one coroutine at a time; the model's own
    int unwound = 0;
    int last = 0;

    struct counts_unwinding {
        of_ring& of;
        plain<int> lives{1};
        ~counts_unwinding() {
            MODEL_CHECK(lives.get() == 1);
            lives.set(0);
            ++of.unwound;
        }
    };

    of_ring() { the_source = source; }
    ~of_ring() override { the_source.reset(); }

    void run(unsigned thread) {
        if (thread == 0) return serves();
        while (made == nullptr) coflux::detail::cpu_pause();
        (void)order.fetch_add(1, coflux::detail::memory_order_acquire);
        coflux::model::wait_a_while(thread == 1 ? 96 : 64);
        if (thread == 1) {
            made->request_stop();
        } else {
            system.arrive();
        }
        (void)order.fetch_add(1, coflux::detail::memory_order_release);
        ++others_done;
    }
    void serves() {
        coflux::detail::this_thread.events = &hosts;
        const void* at = nullptr;
        std::size_t bytes = 0;
        {
            auto env = coflux::make_environment(executor);
            at = &env;
            bytes = sizeof env;
            auto root = Derived::root(env, static_cast<Derived*>(this));
            if constexpr (!Derived::tells_of_itself) tell(env);
            for (;;) {
                // A look takes wake-ups away, so it comes before the question.
                while (source->look(4) != 0 || executor.run_one()) {}
                if (root.done()) break;
                source->sleep_until(coflux::detail::ring::for_ever);
            }
            while (others_done != Threads - 1) coflux::detail::cpu_pause();
            (void)order.fetch_add(1, coflux::detail::memory_order_acquire);
        }
        coflux::model::forget(at, bytes);
    }
    /// Thread 1 requests the stop of `e`.
    void tell(environment& e) {
        order.store(1, coflux::detail::memory_order_release);
        made = &e;
    }
    static constexpr bool tells_of_itself = false;
    void holds() {
        MODEL_CHECK(unwound == 1);
        // The result that came counts, and none was made up.
        MODEL_CHECK(went_on == system.given() && last == went_on);
        MODEL_CHECK(!source->has_pending());
    }
    void after() override {
        coroutine_scenario<Derived, Threads>::after();
        MODEL_CHECK(!on.is_waited_for());
    }
};

/// Nothing ends the read but the cancel.
struct stop_alone : of_ring<stop_alone, 2> {
    static task<void> root(environment&, stop_alone* s) {
        const counts_unwinding counts{*s};
        read_buffer one;
        s->last = co_await read_request(s->on, one);
        ++s->went_on;
    }
};

/// The same, where the request is no more than a look at one record. It posts no further step, which would wake the
/// host: only the place does.
struct stop_of_one : of_ring<stop_of_one, 2> {
    static constexpr bool tells_of_itself = true;
    static task<void> root(environment&, stop_of_one* s) {
        const counts_unwinding counts{*s};
        s->tell(co_await coflux::context());
        read_buffer one;
        s->last = co_await read_request(s->on, one);
        ++s->went_on;
    }
};

/// The byte comes while the read is queued, is under way, is cancelled, or is stopped already.
struct stop_or_byte : of_ring<stop_or_byte, 3> {
    static task<void> root(environment&, stop_or_byte* s) {
        const counts_unwinding counts{*s};
        read_buffer one;
        s->last = co_await read_request(s->on, one);
        ++s->went_on;
    }
};

/// The next read has the place of the one that the stop has met, and is stopped in its turn.
struct stop_at_next_read : of_ring<stop_at_next_read, 3> {
    static task<void> root(environment&, stop_at_next_read* s) {
        const counts_unwinding counts{*s};
        for (;;) {
            read_buffer one;
            s->last = co_await read_request(s->on, one);
            ++s->went_on;
        }
    }
};

/// A child's read is stopped; its parent, which is not, reads the byte that the child did not get.
struct read_after_stopped : of_ring<read_after_stopped, 3> {
    static fork<void> reads(environment&, read_after_stopped* s) {
        read_buffer one;
        s->last = co_await read_request(s->on, one);
        ++s->went_on;
    }
    static task<void> root(environment&, read_after_stopped* s) {
        const counts_unwinding counts{*s};
        auto&& here = co_await coflux::context();
        auto child = reads(here, s);
        child.request_stop();
        const auto how = co_await coflux::as_outcome(std::move(child));
        MODEL_CHECK(how.is_stopped() == (s->went_on == 0));
        if (!how.is_stopped()) co_return;
        read_buffer one;
        s->last = co_await read_request(s->on, one);
        ++s->went_on;
    }
};

}  // namespace

namespace coflux::detail {

// Where the coroutines of the model wait: src/io/detail/io_service.cpp.
std::shared_ptr<io_source> source_for(promise_base&) {
    return the_source;
}
io_source* made_source_for(const promise_base&) noexcept {
    return the_source.get();
}

// No operation has a limit.
bool io_limit::prepare(promise_base&) {
    std::abort();
}
void io_limit::arm() noexcept {
    std::abort();
}
void io_limit::disarm_now() noexcept {
    std::abort();
}

os::process_mark::process_mark() noexcept : forks_(forks_of_process.load(memory_order_relaxed)) {}  // it begins

}  // namespace coflux::detail

int main(int count, char** arguments) {
    using coflux::model::sampled;
    return coflux::model::run(
        count, arguments, "io_stop", "a stop against the completion of what a ring reads",
        {
            sampled<stop_alone>("stop_alone", "queued to free, submitted to cancelled"),
            sampled<stop_of_one>("stop_of_one",
                                 "submitted to cancelled, by a host that sleeps until the place wakes it"),
            sampled<stop_or_byte>("stop_or_byte", "completed before, beside and after the stop and its cancel"),
            sampled<stop_at_next_read>("stop_at_next_read", "free to queued to submitted again, beside a stop"),
            sampled<read_after_stopped>("read_after_stopped", "a place that a stopped read has left"),
        });
}
