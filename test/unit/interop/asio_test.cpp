#include <coflux/interop/asio.hpp>

#include <array>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <tuple>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/associated_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/strand.hpp>
#include <boost/asio/write.hpp>

#include <coflux/coflux.hpp>

namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using asio::ip::tcp;
using coflux::use_coflux;
using pool = coflux::thread_pool_executor;
using worker = coflux::worker_executor;

/// An io_context that threads run.
class running_context {
public:
    explicit running_context(int threads = 1) {
        for (int i = 0; i < threads; ++i) threads_.emplace_back([this] { context.run(); });
    }
    running_context(const running_context&) = delete;
    running_context& operator=(const running_context&) = delete;
    ~running_context() {
        guard_.reset();
        for (std::thread& t : threads_) t.join();
    }
    asio::io_context context;

private:
    asio::executor_work_guard<asio::io_context::executor_type> guard_{context.get_executor()};
    std::vector<std::thread> threads_;
};

template <typename E>
coflux::task<void, E> waits(coflux::environment&, asio::io_context* context) {
    asio::steady_timer timer(*context, 1ms);
    co_await timer.async_wait(use_coflux);
    EXPECT_GE(std::chrono::steady_clock::now(), timer.expiry());
    // Expired already.
    co_await timer.async_wait(use_coflux);
    const auto [error] = co_await timer.async_wait(asio::as_tuple(use_coflux));
    EXPECT_FALSE(error);
}
TEST(use_coflux, awaits_a_timer_on_a_worker) {
    running_context io;
    worker w;
    auto env = coflux::make_environment(w);
    waits<worker>(env, &io.context).get();
}
TEST(use_coflux, awaits_a_timer_on_a_pool) {
    running_context io;
    pool p{2};
    auto env = coflux::make_environment(p);
    waits<pool>(env, &io.context).get();
}
TEST(use_coflux, awaits_a_timer_without_an_executor) {
    running_context io;
    auto env = coflux::make_environment();
    waits<coflux::noop_executor>(env, &io.context).get();
}

coflux::task<void, worker> stays(coflux::environment&, asio::io_context* context) {
    const std::thread::id here = std::this_thread::get_id();
    for (int i = 0; i < 100; ++i) {
        asio::steady_timer timer(*context, std::chrono::microseconds(i));
        co_await timer.async_wait(use_coflux);
        EXPECT_EQ(std::this_thread::get_id(), here);
    }
}
TEST(use_coflux, resumes_on_the_coroutines_own_executor) {
    running_context io;
    worker w;
    auto env = coflux::make_environment(w);
    stays(env, &io.context).get();
}

// --- an echo ---------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<void, E> echoes(coflux::environment&, tcp::socket socket) {
    std::array<char, 4096> buffer{};
    for (;;) {
        const auto [error, n] = co_await socket.async_read_some(asio::buffer(buffer), asio::as_tuple(use_coflux));
        if (error == asio::error::eof) co_return;
        EXPECT_FALSE(error);
        EXPECT_EQ(co_await asio::async_write(socket, asio::buffer(buffer, n), use_coflux), n);
    }
}
template <typename E>
coflux::fork<void, E> sends(coflux::environment&, tcp::socket* to, const std::string* text) {
    EXPECT_EQ(co_await asio::async_write(*to, asio::buffer(*text), use_coflux), text->size());
    boost::system::error_code ignored;
    to->shutdown(tcp::socket::shutdown_send, ignored);
}
template <typename E>
coflux::task<void, E> talks(coflux::environment&, asio::io_context* context) {
    auto&& here = co_await coflux::context();
    tcp::acceptor acceptor(*context, tcp::endpoint(asio::ip::make_address("127.0.0.1"), 0));
    tcp::socket client(*context);
    auto accepts = acceptor.async_accept(use_coflux);
    co_await client.async_connect(acceptor.local_endpoint(), use_coflux);
    auto server = echoes<E>(here, co_await std::move(accepts));
    std::string text(1'000'000, ' ');
    for (std::size_t i = 0; i < text.size(); ++i) text[i] = static_cast<char>('a' + i % 23);
    auto sender = sends<E>(here, &client, &text);
    std::string got(text.size(), ' ');
    EXPECT_EQ(co_await asio::async_read(client, asio::buffer(got), use_coflux), got.size());
    EXPECT_TRUE(got == text);
    co_await coflux::when_all(std::move(sender), std::move(server));
    // The end, as the error of Asio.
    char one = 0;
    bool ended = false;
    try {
        (void)co_await client.async_read_some(asio::buffer(&one, 1), use_coflux);
    } catch (const boost::system::system_error& e) {
        ended = e.code() == asio::error::eof;
    }
    EXPECT_TRUE(ended);
}
TEST(use_coflux, carries_an_echo_on_a_worker) {
    running_context io;
    worker w;
    auto env = coflux::make_environment(w);
    talks<worker>(env, &io.context).get();
}
TEST(use_coflux, carries_an_echo_on_a_pool) {
    running_context io;
    pool p{2};
    auto env = coflux::make_environment(p);
    talks<pool>(env, &io.context).get();
}

// --- stop ------------------------------------------------------------------------------------------------------------

template <typename E>
coflux::fork<void, E> sleeps(coflux::environment&, asio::steady_timer* timer) {
    co_await timer->async_wait(use_coflux);
}
template <typename E>
coflux::task<void, E> stops(coflux::environment&, asio::io_context* context) {
    auto&& here = co_await coflux::context();
    asio::steady_timer timer(*context, 1h);
    EXPECT_FALSE(co_await coflux::timeout(timer.async_wait(use_coflux), 2ms));
    // In each phase.
    for (int i = 0; i < 300; ++i) {
        auto fork = sleeps<E>(here, &timer);
        for (int y = 0; y < i % 5; ++y) co_await coflux::yield();
        if (i % 3 == 0) co_await coflux::sleep_for(std::chrono::microseconds(i));
        fork.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(fork));
        EXPECT_TRUE(end.is_stopped());
    }
    // Beside the end: either a value, or a stop.
    for (int i = 0; i < 300; ++i) {
        asio::steady_timer soon(*context, std::chrono::microseconds(i));
        auto fork = sleeps<E>(here, &soon);
        co_await coflux::sleep_for(std::chrono::microseconds(i));
        fork.request_stop();
        const auto end = co_await coflux::as_outcome(std::move(fork));
        EXPECT_FALSE(end.has_error());
    }
    // One that the program cancels is an error.
    auto fork = sleeps<E>(here, &timer);
    auto deed = [&timer] { timer.cancel(); };
    while (!fork.done()) {
        asio::post(timer.get_executor(), deed);
        co_await coflux::sleep_for(100us);
    }
    const auto end = co_await coflux::as_outcome(std::move(fork));
    EXPECT_TRUE(end.has_error());
    // The loser of a race.
    asio::steady_timer soon(*context, 1ms);
    const auto first = co_await coflux::when_any(timer.async_wait(use_coflux), soon.async_wait(use_coflux));
    EXPECT_EQ(first.index(), 1U);
}
TEST(use_coflux, ends_an_operation_when_it_is_stopped_on_a_worker) {
    running_context io;
    worker w;
    auto env = coflux::make_environment(w);
    stops<worker>(env, &io.context).get();
}
TEST(use_coflux, ends_an_operation_when_it_is_stopped_on_a_pool) {
    running_context io;
    pool p{2};
    auto env = coflux::make_environment(p);
    stops<pool>(env, &io.context).get();
}
coflux::task<void, pool> stops_on_strands(coflux::environment&, asio::io_context* context) {
    for (int i = 0; i < 100; ++i) {
        asio::steady_timer timer(asio::make_strand(*context), 1h);
        EXPECT_FALSE(co_await coflux::timeout(timer.async_wait(use_coflux), std::chrono::microseconds(i + 1)));
    }
}
TEST(use_coflux, ends_an_operation_when_it_is_stopped_on_a_strand_of_two_threads) {
    running_context io(2);
    pool p{2};
    auto env = coflux::make_environment(p);
    stops_on_strands(env, &io.context).get();
}

/// Stops nothing: a value that comes nevertheless counts.
struct late {
    using executor_type = asio::io_context::executor_type;
    executor_type on;
    [[nodiscard]] executor_type get_executor() const noexcept { return on; }
    template <typename Handler>
    void operator()(Handler&& handler, int value) const {
        asio::post(
            on, [h = std::forward<Handler>(handler), value]() mutable { std::move(h)(std::exception_ptr(), value); });
    }
};
template <typename Token>
auto async_late(asio::io_context& context, int value, Token&& token) {
    return asio::async_initiate<Token, void(std::exception_ptr, int)>(late{context.get_executor()}, token, value);
}
struct failing {
    using executor_type = asio::io_context::executor_type;
    executor_type on;
    bool throws;
    [[nodiscard]] executor_type get_executor() const noexcept { return on; }
    template <typename Handler>
    void operator()(Handler&& handler) const {
        if (throws) throw std::runtime_error("does not begin");
        std::forward<Handler>(handler)(std::make_exception_ptr(std::runtime_error("fails")));
    }
};
template <typename Token>
auto async_failing(asio::io_context& context, bool throws, Token&& token) {
    return asio::async_initiate<Token, void(std::exception_ptr)>(failing{context.get_executor(), throws}, token);
}
struct plain {
    template <typename Handler>
    void operator()(Handler&& handler) const {
        std::forward<Handler>(handler)(1, std::string("two"));
    }
};
/// Its initiation does not tell an executor.
template <typename Token>
auto async_plain(Token&& token) {
    return asio::async_initiate<Token, void(int, std::string)>(plain{}, token);
}

coflux::task<void, worker> others(coflux::environment&, asio::io_context* context) {
    EXPECT_EQ(co_await async_late(*context, 7, use_coflux), 7);
    for (const bool throws : {false, true}) {
        std::string text;
        try {
            co_await async_failing(*context, throws, use_coflux);
        } catch (const std::runtime_error& e) {
            text = e.what();
        }
        EXPECT_EQ(text, throws ? "does not begin" : "fails");
    }
    const auto [one, two] = co_await async_plain(asio::bind_executor(context->get_executor(), use_coflux));
    EXPECT_EQ(one, 1);
    EXPECT_EQ(two, "two");
}
TEST(use_coflux, takes_all_kinds_of_completions) {
    running_context io;
    worker w;
    auto env = coflux::make_environment(w);
    others(env, &io.context).get();
}

// --- executors -------------------------------------------------------------------------------------------------------

/// The threads on which an operation is begun, and cancelled; it is begun by a lambda.
struct seen_threads {
    std::atomic<bool> has_begun{false};
    std::thread::id begun;
    std::thread::id cancelled;
    bool knows_its_executor = false;
};
template <typename Token>
auto async_watched(seen_threads& seen, asio::any_io_executor on, Token&& token) {
    const auto begin = [&seen, on](auto&& handler) {
        seen.begun = std::this_thread::get_id();
        seen.knows_its_executor = asio::get_associated_executor(handler) == on;
        using handler_type = std::decay_t<decltype(handler)>;
        auto kept = std::make_shared<handler_type>(std::forward<decltype(handler)>(handler));
        asio::get_associated_cancellation_slot(*kept).assign([&seen, on, kept](asio::cancellation_type) {
            seen.cancelled = std::this_thread::get_id();
            asio::post(on, [kept] { std::move (*kept)(asio::error::make_error_code(asio::error::operation_aborted)); });
        });
        seen.has_begun = true;
    };
    return asio::async_initiate<Token, void(boost::system::error_code)>(begin, token);
}
template <typename Token>
coflux::fork<void, worker> awaits_watched(coflux::environment&, seen_threads* seen, asio::any_io_executor on,
                                          Token token) {
    auto watched = async_watched(*seen, on, token);
    co_await std::move(watched);
}
template <typename Token>
coflux::call<void> stops_watched(coflux::environment&, asio::any_io_executor on, Token token) {
    auto&& here = co_await coflux::context();
    std::thread::id io;
    asio::post(on, [&io] { io = std::this_thread::get_id(); });
    seen_threads seen;
    auto fork = awaits_watched(here, &seen, on, token);
    while (!seen.has_begun) co_await 1ms;
    fork.request_stop();
    const auto end = co_await coflux::as_outcome(std::move(fork));
    EXPECT_FALSE(end.has_value());
    EXPECT_EQ(seen.begun, io);
    EXPECT_EQ(seen.cancelled, io);
    EXPECT_TRUE(seen.knows_its_executor);
}
coflux::task<void, worker> binds(coflux::environment&, asio::io_context* context) {
    auto&& here = co_await coflux::context();
    const asio::any_io_executor on = context->get_executor();
    co_await stops_watched(here, on, asio::bind_executor(on, use_coflux));
    co_await stops_watched(here, on, asio::bind_executor(on, asio::as_tuple(use_coflux)));
    // An object that tells its own has it, too.
    asio::steady_timer timer(*context, 1ms);
    co_await timer.async_wait(asio::bind_executor(on, use_coflux));
    const auto [error] = co_await timer.async_wait(asio::bind_executor(on, asio::as_tuple(use_coflux)));
    EXPECT_FALSE(error);
    co_await asio::post(on, use_coflux);
}
TEST(use_coflux, begins_and_cancels_on_the_executor_that_is_bound_to_it) {
    running_context io;
    worker w;
    auto env = coflux::make_environment(w);
    binds(env, &io.context).get();
}

/// An executor that calls back once before it takes a function, and once after.
struct observer {
    std::function<void()> before;
    std::function<void()> after;
};
template <typename Inner>
struct observed {
    Inner inner;
    observer* by;

    template <typename F>
    void execute(F&& f) const {
        observer& mine = *by;
        if (mine.before) std::exchange(mine.before, nullptr)();
        inner.execute(std::forward<F>(f));
        if (mine.after) std::exchange(mine.after, nullptr)();
    }
    template <typename P>
    auto query(const P& p) const -> decltype(asio::query(std::declval<const Inner&>(), p)) {
        return asio::query(inner, p);
    }
    template <typename P>
    auto require(const P& p) const -> observed<std::decay_t<decltype(asio::require(std::declval<const Inner&>(), p))>> {
        return {asio::require(inner, p), by};
    }
    bool operator==(const observed& other) const noexcept { return inner == other.inner; }
};
using observed_context = observed<asio::io_context::executor_type>;
struct waits_observed {
    using executor_type = observed_context;
    asio::steady_timer* timer;
    executor_type on;
    [[nodiscard]] executor_type get_executor() const noexcept { return on; }
    template <typename Handler>
    void operator()(Handler&& handler) const {
        timer->async_wait(std::forward<Handler>(handler));
    }
};
coflux::fork<void, worker> awaits_observed(coflux::environment&, asio::steady_timer* timer, observed_context on) {
    auto wait = asio::async_initiate<const coflux::use_coflux_t, void(boost::system::error_code)>(
        waits_observed{timer, on}, use_coflux);
    co_await std::move(wait);
}
/// The operation ends between a stop and its cancellation, and the io_context has nothing else to do.
coflux::task<void, worker> cancels_late(coflux::environment&) {
    auto&& here = co_await coflux::context();
    asio::io_context io;
    asio::steady_timer timer(io, 1h);
    observer by;
    auto fork = awaits_observed(here, &timer, observed_context{io.get_executor(), &by});
    co_await coflux::yield();
    EXPECT_GE(io.poll(), 1U);  // it begins
    by.before = [&] {
        timer.cancel();
        EXPECT_GE(io.poll(), 1U);  // it ends
    };
    fork.request_stop();
    EXPECT_FALSE(by.before);
    EXPECT_FALSE(io.stopped());
    EXPECT_EQ(io.poll(), 1U);
    EXPECT_TRUE(io.stopped());
    io.restart();
    (void)io.poll();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(fork))).is_stopped());
}
TEST(use_coflux, keeps_an_io_context_at_work_until_a_late_cancellation_has_run) {
    worker w;
    auto env = coflux::make_environment(w);
    cancels_late(env).get();
}
/// The cancellation has run, and the operation has ended, when the stopper comes back from post().
coflux::task<void, worker> cancels_early(coflux::environment&) {
    auto&& here = co_await coflux::context();
    asio::io_context io;
    asio::steady_timer timer(io, 1h);
    observer by;
    auto fork = awaits_observed(here, &timer, observed_context{io.get_executor(), &by});
    co_await coflux::yield();
    EXPECT_GE(io.poll(), 1U);  // it begins
    by.after = [&] {
        EXPECT_EQ(io.poll(), 2U);  // the cancellation, and the end
        EXPECT_FALSE(io.stopped());
    };
    fork.request_stop();
    EXPECT_FALSE(by.after);
    EXPECT_TRUE(io.stopped());
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(fork))).is_stopped());
}
TEST(use_coflux, keeps_an_io_context_at_work_until_a_stopper_has_returned_from_its_post) {
    worker w;
    auto env = coflux::make_environment(w);
    cancels_early(env).get();
}

/// A function, and a handler, that no thread has run when their context dies.
struct never {
    using executor_type = asio::io_context::executor_type;
    executor_type on;
    [[nodiscard]] executor_type get_executor() const noexcept { return on; }
    template <typename Handler>
    void operator()(Handler&& handler) const {
        asio::post(on, [h = std::forward<Handler>(handler)]() mutable { std::move(h)(); });
    }
};
coflux::fork<void, worker> awaits_never(coflux::environment&, asio::io_context* context) {
    auto unused = asio::async_initiate<const coflux::use_coflux_t, void()>(never{context->get_executor()}, use_coflux);
    co_await std::move(unused);
}
coflux::task<void, worker> drops(coflux::environment&, bool begins) {
    auto&& here = co_await coflux::context();
    std::optional<asio::io_context> context(std::in_place);
    auto fork = awaits_never(here, &*context);
    co_await 1ms;
    if (begins) {
        EXPECT_EQ(context->poll_one(), 1U);
    }
    context.reset();
    EXPECT_TRUE((co_await coflux::as_outcome(std::move(fork))).is_stopped());
}
TEST(use_coflux, stops_what_asio_drops) {
    worker w;
    auto env = coflux::make_environment(w);
    drops(env, false).get();
    drops(env, true).get();
}

/// The same on a strand, which its cancellation knows, too.
struct never_on_strand {
    using executor_type = asio::strand<asio::io_context::executor_type>;
    const executor_type on;  // a move copies it
    [[nodiscard]] executor_type get_executor() const noexcept { return on; }
    template <typename Handler>
    void operator()(Handler&& handler) const {
        asio::get_associated_cancellation_slot(handler).assign([strand = on](asio::cancellation_type) {});
        asio::post(on, [h = std::forward<Handler>(handler)]() mutable { std::move(h)(); });
    }
};
using strand_of_context = never_on_strand::executor_type;
coflux::fork<void, worker> awaits_on_strand(coflux::environment&, const strand_of_context* strand) {
    auto unused = asio::async_initiate<const coflux::use_coflux_t, void()>(never_on_strand{*strand}, use_coflux);
    co_await std::move(unused);
}
coflux::fork<void, worker> posts_to_strand(coflux::environment&, const strand_of_context* strand) {
    co_await asio::post(*strand, use_coflux);
}
coflux::fork<void, worker> posts_bound_to_strand(coflux::environment&, const strand_of_context* strand) {
    auto unused = asio::post(strand->get_inner_executor(), asio::bind_executor(*strand, use_coflux));
    co_await std::move(unused);
}
coflux::task<void, worker> drops_strands(coflux::environment&, bool begins) {
    auto&& here = co_await coflux::context();
    for (auto* const awaits : {&awaits_on_strand, &posts_to_strand, &posts_bound_to_strand}) {
        std::optional<asio::io_context> context(std::in_place);
        std::optional<strand_of_context> strand(asio::make_strand(*context));
        auto fork = awaits(here, &*strand);
        co_await coflux::yield();
        if (begins) {
            EXPECT_EQ(context->poll_one(), 1U);
        }
        strand.reset();
        context.reset();
        EXPECT_TRUE((co_await coflux::as_outcome(std::move(fork))).is_stopped());
    }
}
TEST(use_coflux, has_no_strand_of_an_io_context_that_has_died) {
    worker w;
    auto env = coflux::make_environment(w);
    drops_strands(env, false).get();
    drops_strands(env, true).get();
}

}  // namespace
