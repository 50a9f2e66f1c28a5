// The laws of a sink: ours keep them, and those that break one are found out.
#include <coflux/testing/conformance/sink_suite.hpp>

#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/stream/line_sink.hpp>
#include <coflux/stream/memory.hpp>
#include <coflux/stream/receiver_source.hpp>

#include "subjects.hpp"
#include "support/temporary_folder.hpp"

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_sink {

namespace stream = coflux::stream;
using coflux::call;
using coflux::environment;
using coflux_test::fresh;
using stream::positions;

struct of_memory {
    stream::memory_sink<std::string> sink;

    auto& get() noexcept { return sink; }
    static std::string value(std::size_t i) { return "a value that has a place of its own: " + std::to_string(i); }
    const std::vector<std::string>& seen() const noexcept { return sink.values(); }
};
/// A sink without its transactions.
template <typename Sink>
struct without_transactions {
    Sink all;

    call<void> write(environment& here, std::span<stream::record<std::string>> records) {
        return all.write(here, records);
    }
    call<void> flush(environment& here) { return all.flush(here); }
};
struct of_memory_once_at_least : of_memory {
    without_transactions<stream::memory_sink<std::string>> at_least_once;

    auto& get() noexcept { return at_least_once; }
    const std::vector<std::string>& seen() const noexcept { return at_least_once.all.values(); }
};
/// The lines of a file, and the processes that write them.
template <typename Sink>
struct of_lines {
    std::unique_ptr<coflux_test::temporary_folder> folder = std::make_unique<coflux_test::temporary_folder>();
    std::optional<Sink> sink;

    of_lines() { restart(); }
    auto& get() noexcept { return *sink; }
    void restart() {
        sink.reset();
        sink.emplace(stream::line_sink(folder->path("lines")));
    }
    static std::string value(std::size_t i) { return "line " + std::to_string(i); }
    std::vector<std::string> seen() const {
        std::istringstream in(coflux_test::text_of(folder->path("lines")));
        std::vector<std::string> all;
        for (std::string line; std::getline(in, line);) all.push_back(line);
        return all;
    }
};
struct of_channel {
    std::unique_ptr<coflux::channel<std::size_t[100]>> values = std::make_unique<coflux::channel<std::size_t[100]>>();
    stream::sender_sink<coflux::channel<std::size_t[100]>&> sink{*values};
    std::vector<std::size_t> got;

    auto& get() noexcept { return sink; }
    static std::size_t value(std::size_t i) { return i; }
    const std::vector<std::size_t>& seen() {
        while (auto value = values->try_receive()) got.push_back(*value);
        return got;
    }
};

}  // namespace conformance_of_sink

namespace coflux::testing {

using namespace conformance_of_sink;
using our_sinks = ::testing::Types<fresh<of_memory>, fresh<of_memory_once_at_least>, fresh<of_lines<stream::line_sink>>,
                                   fresh<of_lines<without_transactions<stream::line_sink>>>, fresh<of_channel>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, sink_conformance, our_sinks);

}  // namespace coflux::testing

namespace conformance_of_sink {

/// As a user would write it, with a fault or with none: what outlives a process, and the sink.
enum class fault {
    none,
    last_first,
    writes_twice,
    flushes_nothing,
    keeps_a_part,
    moves_too_early,
    hides_a_failure,
    stop_takes_all,
    commits_in_two,
    forgets_positions,
    aborts_nothing,
    goes_on_with_an_open_one
};
template <fault Fault>
class foreign {
public:
    call<void> write(environment&, std::span<stream::record<std::string>> records) {
        auto& here = co_await coflux::context();
        std::vector<std::string> taken;
        if (Fault == fault::moves_too_early) {
            for (auto& each : records) taken.push_back(std::move(each.value));
        }
        const auto before = visible_;
        if (Fault == fault::stop_takes_all) visible_.clear();
        co_await waits(here);
        if (Fault == fault::stop_takes_all) visible_ = before;
        if (fails_ && Fault == fault::keeps_a_part) open_.push_back(records[0].value);
        if (fails_ && Fault != fault::hides_a_failure) throw std::runtime_error("the disk is full");
        if (fails_) co_return;
        if (Fault != fault::moves_too_early) {
            for (auto& each : records) taken.push_back(std::move(each.value));
        }
        const bool at_front = Fault == fault::last_first && !open_.empty();
        open_.insert(at_front ? open_.begin() : open_.end(), taken.begin(), taken.end());
        if (Fault == fault::writes_twice) open_.push_back(taken.back());
    }
    call<void> flush(environment&) { co_return; }
    call<void> begin(environment&) {
        if (Fault != fault::goes_on_with_an_open_one) open_.clear();
        co_return;
    }
    call<void> commit(environment&, const positions& done) {
        auto& here = co_await coflux::context();
        if (Fault != fault::commits_in_two) co_await waits(here);
        visible_.insert(visible_.end(), open_.begin(), open_.end());
        open_.clear();
        if (Fault == fault::commits_in_two) co_await waits(here);
        if (Fault != fault::forgets_positions || !committed_) committed_ = done;
    }
    call<void> abort(environment&) {
        if (Fault == fault::aborts_nothing) visible_.insert(visible_.end(), open_.begin(), open_.end());
        if (Fault != fault::goes_on_with_an_open_one) open_.clear();
        co_return;
    }
    call<std::optional<positions>> committed(environment&) { co_return committed_; }

    foreign& get() noexcept { return *this; }
    static std::string value(std::size_t i) { return "a value that has a place of its own: " + std::to_string(i); }
    const std::vector<std::string>& seen() const noexcept { return visible_; }
    void restart() {
        if (Fault == fault::flushes_nothing && !visible_.empty()) visible_.pop_back();
    }
    void fail(bool now) noexcept { fails_ = now; }

private:
    /// Two points where a stop may come.
    static call<void> waits(environment&) {
        co_await coflux::yield();
        co_await coflux::yield();
    }

    std::vector<std::string> visible_;
    std::vector<std::string> open_;
    std::optional<positions> committed_;
    bool fails_ = false;
};

/// Without transactions: what was written is visible behind a flush.
class at_least_once {
public:
    call<void> write(environment& here, std::span<stream::record<std::string>> records) {
        return all_.write(here, records);
    }
    call<void> flush(environment& here) { return all_.commit(here, none_); }

    at_least_once& get() noexcept { return *this; }
    static std::string value(std::size_t i) { return foreign<fault::keeps_a_part>::value(i); }
    const std::vector<std::string>& seen() const noexcept { return all_.seen(); }
    void fail(bool now) noexcept { all_.fail(now); }

private:
    foreign<fault::keeps_a_part> all_;
    positions none_;
};

template <typename Make>
std::string laws_broken_by(Make make) {
    coflux::testing::conformance_options options;
    options.patience = std::chrono::milliseconds(500);
    std::string laws = " ";
    for (const auto& v : coflux::testing::check_sink(make, options)) {
        if (laws.find(" " + v.law + " ") == std::string::npos) laws += v.law + ' ';
    }
    return laws;
}
template <fault Fault>
std::string broken_by() {
    return laws_broken_by(fresh<foreign<Fault>>{});
}

TEST(sink_laws, find_nothing_in_a_sound_sink) {
    EXPECT_EQ(broken_by<fault::none>(), " ");
}
TEST(sink_laws, find_out_one_that_takes_the_last_first) {
    EXPECT_NE(broken_by<fault::last_first>().find("takes_each_record_once_and_in_order"), std::string::npos);
}
TEST(sink_laws, find_out_one_that_writes_twice) {
    EXPECT_NE(broken_by<fault::writes_twice>().find("takes_each_record_once_and_in_order"), std::string::npos);
}
TEST(sink_laws, find_out_one_that_leaves_less_to_the_next_run_than_it_had_flushed) {
    EXPECT_NE(broken_by<fault::flushes_nothing>().find("keeps_them_for_the_next_run"), std::string::npos);
}
TEST(sink_laws, find_out_one_that_keeps_a_part_of_a_write_that_fails_in_its_transaction) {
    EXPECT_EQ(broken_by<fault::keeps_a_part>(), " takes_the_same_again_behind_a_failure ");
}
TEST(sink_laws, find_nothing_in_one_without_transactions_that_keeps_a_part_of_a_write_that_fails) {
    EXPECT_EQ(laws_broken_by(fresh<at_least_once>{}), " ");
}
TEST(sink_laws, find_out_one_that_moves_values_out_before_it_fails) {
    EXPECT_EQ(broken_by<fault::moves_too_early>(), " takes_the_same_again_behind_a_failure ");
}
TEST(sink_laws, find_out_one_that_hides_a_failure) {
    EXPECT_EQ(broken_by<fault::hides_a_failure>(), " takes_the_same_again_behind_a_failure ");
}
TEST(sink_laws, find_out_one_whose_records_a_stop_takes_away) {
    EXPECT_NE(broken_by<fault::stop_takes_all>().find("loses_nothing_to_a_stop"), std::string::npos);
}
TEST(sink_laws, find_out_one_whose_commit_has_two_points) {
    EXPECT_EQ(broken_by<fault::commits_in_two>(), " commits_as_a_whole ");
}
TEST(sink_laws, find_out_one_that_tells_the_positions_of_another_commit) {
    const std::string laws = broken_by<fault::forgets_positions>();
    EXPECT_NE(laws.find(" tells_the_positions_of_the_last_commit "), std::string::npos) << laws;
}
TEST(sink_laws, find_out_one_that_aborts_nothing) {
    EXPECT_NE(broken_by<fault::aborts_nothing>().find("forgets_what_was_not_committed"), std::string::npos);
}
TEST(sink_laws, find_out_one_that_goes_on_with_an_open_transaction) {
    EXPECT_NE(broken_by<fault::goes_on_with_an_open_one>().find("forgets_what_was_not_committed"), std::string::npos);
}

}  // namespace conformance_of_sink
