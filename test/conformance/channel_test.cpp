// The laws of channels: ours keep them, and those that break one are found out.
#include <coflux/testing/conformance/channel_suite.hpp>

#include <atomic>
#include <chrono>
#include <coroutine>
#include <cstddef>
#include <optional>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>

#include "subjects.hpp"

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_channel {

using coflux_test::fresh;

/// The ends of an spsc channel belong to one coroutine each, which no other coroutine can close under it: it is not in
/// this suite.
struct mpsc_ends {
    static constexpr std::size_t receivers = 1;
    decltype(coflux::make_mpsc<int>(4)) ends = coflux::make_mpsc<int>(4);

    auto send(int&& v) noexcept { return ends.first.send(std::move(v)); }
    auto receive() noexcept { return ends.second.receive(); }
    void close() noexcept { ends.second.close(); }
};

}  // namespace conformance_of_channel

namespace coflux::testing {

using namespace conformance_of_channel;
using our_channels =
    ::testing::Types<fresh<channel<int[1]>>, fresh<channel<int[16]>>, fresh<channel<int[]>>, fresh<mpsc_ends>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, channel_conformance, our_channels);

}  // namespace coflux::testing

namespace conformance_of_channel {

/// One that keeps all laws, for derived ones to break.
struct sound {
    coflux::channel<int[4]> in;

    auto send(int&& v) noexcept { return in.send(std::move(v)); }
    auto receive() noexcept { return in.receive(); }
    void close() noexcept { in.close(); }
};
struct scrambles : sound {
    auto send(int&& v) noexcept {
        v ^= 1;
        return in.send(std::move(v));
    }
};
struct loses_the_oldest_by_the_close : sound {
    void close() noexcept {
        (void)in.try_receive();
        in.close();
    }
};
struct never_closes : sound {
    void close() noexcept {}
};
struct gives_up_when_empty : sound {
    struct answer {
        std::optional<int> value;
        bool await_ready() const noexcept { return true; }
        void await_suspend(std::coroutine_handle<>) const noexcept {}
        std::optional<int> await_resume() const noexcept { return value; }
    };
    auto receive() noexcept { return answer{in.try_receive()}; }
};
/// Its waits are made where no stop is heard.
struct deaf : sound {
    decltype(coflux::make_environment()) env = coflux::make_environment();

    static coflux::call<std::optional<int>> receive_in(coflux::environment&, coflux::channel<int[4]>& in) {
        co_return co_await in.receive();
    }
    static coflux::call<bool> send_in(coflux::environment&, coflux::channel<int[4]>& in, int v) {
        const bool sent = co_await in.send(std::move(v));
        co_return sent;
    }
    auto receive() { return receive_in(env, in); }
    auto send(int&& v) { return send_in(env, in, v); }
};
/// Now and then it sends what it has sent before.
struct repeats_itself : sound {
    std::atomic<int> sends{0};

    auto send(int&& v) noexcept {
        if (++sends % 150 == 0) --v;
        return in.send(std::move(v));
    }
};

template <typename C>
std::string broken_by() {
    coflux::testing::conformance_options options;
    options.patience = std::chrono::milliseconds(50);
    options.many = 200;
    std::string laws;
    std::string last;
    for (const auto& v : coflux::testing::check_channel(fresh<C>{}, options)) {
        if (v.law != last) laws += v.law + ' ';
        last = v.law;
    }
    return laws;
}

TEST(channel_laws, find_nothing_in_a_sound_channel) {
    EXPECT_EQ(broken_by<sound>(), "");
}
TEST(channel_laws, find_out_one_that_scrambles) {
    EXPECT_NE(broken_by<scrambles>().find("delivers_in_order"), std::string::npos);
}
TEST(channel_laws, find_out_one_that_loses_a_value_by_the_close) {
    EXPECT_EQ(broken_by<loses_the_oldest_by_the_close>(),
              "keeps_what_was_sent_before_the_close sends_nothing_when_stopped ");
}
TEST(channel_laws, find_out_one_that_never_closes) {
    const std::string laws = broken_by<never_closes>();
    EXPECT_NE(laws.find("wakes_receivers_by_the_close"), std::string::npos) << laws;
    EXPECT_NE(laws.find("refuses_after_the_close"), std::string::npos) << laws;
}
TEST(channel_laws, find_out_one_that_gives_up_when_empty) {
    EXPECT_NE(broken_by<gives_up_when_empty>().find("makes_receivers_wait_for_a_value"), std::string::npos);
}
TEST(channel_laws, find_out_one_that_hears_no_stop) {
    EXPECT_EQ(broken_by<deaf>(), "takes_nothing_when_stopped sends_nothing_when_stopped ");
}
TEST(channel_laws, find_out_one_that_repeats_itself_among_threads) {
    EXPECT_EQ(broken_by<repeats_itself>(), "loses_nothing_between_threads ");
}

}  // namespace conformance_of_channel
