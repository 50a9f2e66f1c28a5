// The laws of a source: ours keep them, and those that break one are found out.
#include <coflux/testing/conformance/source_suite.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/coflux.hpp>
#include <coflux/stream/line_source.hpp>
#include <coflux/stream/memory.hpp>
#include <coflux/stream/merge.hpp>
#include <coflux/stream/receiver_source.hpp>

#include "subjects.hpp"
#include "support/temporary_folder.hpp"

// Not anonymous: g++ warns of coroutines of a header whose frames have members of such types.
namespace conformance_of_source {

namespace stream = coflux::stream;
using coflux::call;
using coflux::environment;
using coflux_test::fresh;
using stream::positions;
using by_partition = std::map<std::string, std::vector<int>>;

struct of_memory {
    stream::memory_source<int> source{std::vector<std::vector<int>>{{1, 2, 3, 4, 5, 6, 7}, {}, {11, 12, 13}}};

    auto& get() noexcept { return source; }
    static by_partition expected() { return {{"0", {1, 2, 3, 4, 5, 6, 7}}, {"1", {}}, {"2", {11, 12, 13}}}; }
};
/// Files, of which a process reads what another has left.
template <bool Follows, bool Continued>
struct of_lines {
    static constexpr bool endless = Follows;
    static constexpr bool has_originals = true;
    std::unique_ptr<coflux_test::temporary_folder> folder = std::make_unique<coflux_test::temporary_folder>();
    std::string first = folder->file("first", "a\n\nccc\r\ndd\ne\n");
    std::string second = folder->file("second", Follows ? "x\nyy\n" : "x\nyy\nthe last has no end");
    std::optional<stream::line_source> source;

    of_lines() { restart(); }
    stream::line_source& get() noexcept { return *source; }
    void restart() {
        stream::line_source_options options;
        options.follow = Follows;
        options.continued = Continued;
        options.look_every = std::chrono::milliseconds(1);
        source.reset();
        source.emplace(std::vector<std::string>{first, second}, options);
    }
    static std::string show(const stream::text_line& line) { return std::to_string(line.number) + ": " + line.text; }
    std::map<std::string, std::vector<std::string>> expected() const {
        std::vector<std::string> short_file{"1: x", "2: yy"};
        if (!Follows) short_file.emplace_back("3: the last has no end");
        return {{first, {"1: a", "2: ", "3: ccc", "4: dd", "5: e"}}, {second, short_file}};
    }
};
template <bool Closed>
struct of_channel {
    static constexpr bool endless = !Closed;
    std::unique_ptr<coflux::channel<int[16]>> values = std::make_unique<coflux::channel<int[16]>>();
    stream::receiver_source<coflux::channel<int[16]>&> source{*values};

    of_channel() {
        for (int i = 0; i != 9; ++i) (void)values->try_send(int{i});
        if (Closed) values->close();
    }
    auto& get() noexcept { return source; }
    static by_partition expected() { return {{"0", {0, 1, 2, 3, 4, 5, 6, 7, 8}}}; }
};
struct of_generator {
    static coflux::async_generator<int> counts(environment&) {
        for (int i = 0; i != 6; ++i) {
            co_await coflux::yield();
            co_yield i;
        }
    }
    stream::generator_source<coflux::async_generator<int> (*)(environment&)> source{&counts};

    auto& get() noexcept { return source; }
    static by_partition expected() { return {{"0", {0, 1, 2, 3, 4, 5}}}; }
};
struct of_two {
    using pair =
        decltype(stream::merge(std::declval<stream::memory_source<int>>(), std::declval<stream::memory_source<int>>()));
    pair source = stream::merge(stream::memory_source<int>({1, 2, 3, 4}), stream::memory_source<int>({5, 6}));

    auto& get() noexcept { return source; }
    static int show(const std::variant<int, int>& value) {
        return std::visit([](int v) { return v; }, value);
    }
    static by_partition expected() { return {{"0/0", {1, 2, 3, 4}}, {"1/0", {5, 6}}}; }
};

}  // namespace conformance_of_source

namespace coflux::testing {

using namespace conformance_of_source;
using our_sources = ::testing::Types<fresh<of_memory>, fresh<of_lines<false, false>>, fresh<of_lines<false, true>>,
                                     fresh<of_lines<true, false>>, fresh<of_channel<true>>, fresh<of_channel<false>>,
                                     fresh<of_generator>, fresh<of_two>>;
INSTANTIATE_TYPED_TEST_SUITE_P(ours, source_conformance, our_sources);

}  // namespace coflux::testing

namespace conformance_of_source {

/// As a user would write it, with a fault or with none. It seeks, commits, and knows its partitions.
enum class fault {
    none,
    drops_one,
    puts_too_many,
    puts_an_empty_batch,
    puts_at_the_end,
    position_of_the_record,
    positions_that_do_not_rise,
    lost_by_a_stop,
    puts_before_it_throws,
    seeks_one_too_far,
    forgets_its_seek,
    takes_any_name,
    hides_a_name,
    commits_nothing,
    ends_too_early,
    measures_wrongly,
    tells_a_partition_twice,
    loses_originals
};
template <fault Fault>
class foreign {
public:
    using value_type = int;
    static constexpr bool has_originals = true;

    call<bool> read(environment&, stream::batch<int>& into, std::size_t most) {
        auto& here = co_await coflux::context();
        const bool is_early = Fault == fault::puts_before_it_throws && next_ != values.size();
        if (is_early) put(into);
        const std::size_t was = next_;
        if (Fault == fault::lost_by_a_stop && next_ < values.size()) ++next_;
        co_await waits(here);
        next_ = was;
        if (is_early) co_return true;
        if (Fault == fault::drops_one && next_ == 3) ++next_;
        if (Fault == fault::puts_too_many) ++most;
        if (next_ == values.size()) {
            if (Fault == fault::puts_at_the_end) into.push_back({0, stream::no_time, 99, 0, 0, {}});
            co_return false;
        }
        if (Fault == fault::puts_an_empty_batch && next_ == 4 && !std::exchange(was_empty_, true)) co_return true;
        for (; most != 0 && next_ != values.size(); --most) put(into);
        if (next_ == values.size() || Fault == fault::ends_too_early) ended_ = {0};
        co_return true;
    }
    std::string partition_name(std::uint32_t) const { return "numbers"; }
    call<void> seek(environment&, const positions& to) {
        for (const stream::position& each : to) {
            if (each.partition != "numbers" && Fault == fault::takes_any_name) continue;
            if (each.partition != "numbers" && Fault == fault::hides_a_name) throw std::invalid_argument("no");
            if (each.partition != "numbers") throw std::invalid_argument("there is no partition " + each.partition);
            begin_ = std::min(values.size(), static_cast<std::size_t>(each.next));
            if (Fault == fault::seeks_one_too_far && begin_ != values.size()) ++begin_;
        }
        next_ = Fault == fault::forgets_its_seek && to.empty() ? 0 : begin_;
        ended_.clear();
        co_return;
    }
    call<void> commit(environment&, const positions& done) {
        if (Fault != fault::commits_nothing && !done.empty())
            committed_ = std::min(values.size(), static_cast<std::size_t>(done[0].next));
        co_return;
    }
    std::vector<std::uint32_t> partitions() const {
        return std::vector<std::uint32_t>(Fault == fault::tells_a_partition_twice ? 2 : 1);
    }
    const std::vector<std::uint32_t>& ended() const noexcept { return ended_; }
    std::vector<stream::partition_extent> measure() const {
        const std::size_t at = Fault == fault::measures_wrongly ? begin_ : next_;
        return {{0, static_cast<std::int64_t>(at), static_cast<std::int64_t>(values.size())}};
    }
    bool is_bounded() const noexcept { return true; }

    foreign& get() noexcept { return *this; }
    void restart() {
        begin_ = next_ = committed_;
        ended_.clear();
    }
    static by_partition expected() { return {{"numbers", values}}; }

private:
    /// Two points where a stop may come.
    static call<void> waits(environment&) {
        co_await coflux::yield();
        co_await coflux::yield();
    }
    void put(stream::batch<int>& into) {
        if (next_ == values.size()) return;
        auto next = static_cast<std::int64_t>(next_ + (Fault == fault::position_of_the_record ? 0 : 1));
        if (Fault == fault::positions_that_do_not_rise) next = 4;
        auto original = std::make_shared<stream::original>();
        stream::record<int> made{values[next_], stream::no_time, next, 0, 0, {}};
        if (Fault == fault::loses_originals) original.reset();
        if (into.keeps_originals()) {
            into.push_back(std::move(made), std::move(original));
        } else {
            into.push_back(std::move(made));
        }
        ++next_;
    }

    static inline const std::vector<int> values{10, 20, 30, 40, 50, 60, 70, 80};
    std::size_t begin_ = 0;
    std::size_t next_ = 0;
    std::size_t committed_ = 0;
    std::vector<std::uint32_t> ended_;
    bool was_empty_ = false;
};

/// It begins where the last run has ended, unless it is told a position.
struct goes_on {
    using value_type = int;
    stream::memory_source<int> numbers{std::vector<int>{1, 2, 3, 4, 5}};

    call<bool> read(environment& here, stream::batch<int>& into, std::size_t most) {
        return numbers.read(here, into, most);
    }
    std::string partition_name(std::uint32_t p) const { return numbers.partition_name(p); }
    call<void> seek(environment&, const positions& to) {
        auto& here = co_await coflux::context();
        if (!to.empty()) co_await numbers.seek(here, to);
    }

    goes_on& get() noexcept { return *this; }
    static by_partition expected() { return {{"0", {1, 2, 3, 4, 5}}}; }
};
/// A stop does not end its wait.
struct deaf {
    using value_type = int;
    static constexpr bool endless = true;
    decltype(coflux::make_environment()) env = coflux::make_environment();
    coflux::manual_reset_event never;
    int next = 0;

    static call<void> waits(environment&, coflux::manual_reset_event& never) { co_await never.wait(); }
    call<bool> read(environment&, stream::batch<int>& into, std::size_t most) {
        if (next == 3) co_await waits(env, never);
        for (; next != 3 && most != 0; --most) {
            ++next;
            into.push_back({next, stream::no_time, next, 0, 0, {}});
        }
        co_return true;
    }
    std::string partition_name(std::uint32_t) const { return "0"; }

    deaf& get() noexcept { return *this; }
    static by_partition expected() { return {{"0", {1, 2, 3}}}; }
};

/// It cannot commit while a read waits.
struct shy {
    using value_type = int;
    static constexpr bool endless = true;
    coflux::manual_reset_event waits;
    coflux::manual_reset_event never;
    int next = 0;

    call<bool> read(environment&, stream::batch<int>& into, std::size_t) {
        if (next == 3) {
            waits.set();
            co_await never.wait();
        }
        ++next;
        into.push_back({next, stream::no_time, next, 0, 0, {}});
        co_return true;
    }
    std::string partition_name(std::uint32_t) const { return "0"; }
    call<void> commit(environment&, const positions&) {
        co_await waits.wait();
        throw std::logic_error("a read waits");
    }

    shy& get() noexcept { return *this; }
    static by_partition expected() { return {{"0", {1, 2, 3}}}; }
};

template <typename Source>
std::string broken_by_type(std::chrono::milliseconds patience) {
    coflux::testing::conformance_options options;
    options.patience = patience;
    std::string laws = " ";
    for (const auto& v : coflux::testing::check_source(fresh<Source>{}, options)) {
        if (laws.find(" " + v.law + " ") == std::string::npos) laws += v.law + ' ';
    }
    return laws;
}
template <fault Fault>
std::string broken_by() {
    return broken_by_type<foreign<Fault>>(std::chrono::seconds(20));  // its commits are on a pool
}
template <fault Fault>
bool breaks(const std::string& law) {
    return broken_by<Fault>().find(" " + law + " ") != std::string::npos;
}

TEST(source_laws, find_nothing_in_a_sound_source) {
    EXPECT_EQ(broken_by<fault::none>(), " ");
}
TEST(source_laws, find_out_one_that_drops_a_record) {
    EXPECT_TRUE(breaks<fault::drops_one>("gives_each_record_once_and_in_order"));
}
TEST(source_laws, find_out_one_that_puts_more_than_it_is_asked_for) {
    EXPECT_TRUE(breaks<fault::puts_too_many>("gives_each_record_once_and_in_order"));
}
TEST(source_laws, find_out_one_that_puts_nothing_before_the_end) {
    EXPECT_TRUE(breaks<fault::puts_an_empty_batch>("gives_each_record_once_and_in_order"));
}
TEST(source_laws, find_out_one_that_puts_a_record_at_the_end) {
    EXPECT_TRUE(breaks<fault::puts_at_the_end>("gives_each_record_once_and_in_order"));
}
TEST(source_laws, find_out_one_whose_positions_are_those_of_the_records) {
    EXPECT_TRUE(breaks<fault::position_of_the_record>("goes_on_behind_each_position"));
}
TEST(source_laws, find_out_one_that_loses_a_record_to_a_stop) {
    EXPECT_TRUE(breaks<fault::lost_by_a_stop>("loses_nothing_to_a_stop"));
}
TEST(source_laws, find_out_one_that_puts_before_it_throws) {
    EXPECT_TRUE(breaks<fault::puts_before_it_throws>("puts_nothing_when_it_throws"));
}
TEST(source_laws, find_out_one_that_seeks_one_too_far) {
    EXPECT_TRUE(breaks<fault::seeks_one_too_far>("goes_on_behind_each_position"));
}
TEST(source_laws, find_out_one_that_forgets_where_the_last_seek_began) {
    EXPECT_EQ(broken_by<fault::forgets_its_seek>(), " seeks_only_what_is_named ");
}
TEST(source_laws, find_out_one_that_takes_the_name_of_any_partition) {
    EXPECT_EQ(broken_by<fault::takes_any_name>(), " refuses_an_unknown_partition ");
}
TEST(source_laws, find_out_one_that_does_not_tell_which_partition) {
    EXPECT_EQ(broken_by<fault::hides_a_name>(), " refuses_an_unknown_partition ");
}
TEST(source_laws, find_out_one_that_commits_nothing) {
    EXPECT_EQ(broken_by<fault::commits_nothing>(), " goes_on_behind_a_commit ");
}
TEST(source_laws, find_out_one_whose_partition_gives_records_behind_its_end) {
    EXPECT_TRUE(breaks<fault::ends_too_early>("gives_each_record_once_and_in_order"));
}
TEST(source_laws, find_out_one_that_does_not_measure_how_far_it_was_read) {
    EXPECT_EQ(broken_by<fault::measures_wrongly>(), " measures_what_is_left ");
}
TEST(source_laws, find_out_one_that_cannot_commit_while_a_read_waits) {
    const std::string laws = broken_by_type<shy>(std::chrono::milliseconds(200));
    EXPECT_NE(laws.find(" commits_beside_a_read "), std::string::npos) << laws;
}
TEST(source_laws, find_out_one_whose_positions_do_not_rise) {
    EXPECT_TRUE(breaks<fault::positions_that_do_not_rise>("gives_rising_positions"));
}
TEST(source_laws, find_out_one_that_tells_a_partition_twice) {
    EXPECT_EQ(broken_by<fault::tells_a_partition_twice>(), " knows_its_partitions ");
}
TEST(source_laws, find_out_one_that_does_not_begin_a_second_run) {
    const std::string laws = broken_by_type<goes_on>(std::chrono::milliseconds(200));
    EXPECT_NE(laws.find(" begins_again "), std::string::npos) << laws;
}
TEST(source_laws, find_out_one_that_hears_no_stop) {
    EXPECT_EQ(broken_by_type<deaf>(std::chrono::milliseconds(200)), " loses_nothing_to_a_stop ");
}
TEST(source_laws, find_out_one_that_loses_originals) {
    EXPECT_EQ(broken_by<fault::loses_originals>(), " keeps_originals_where_asked ");
}

}  // namespace conformance_of_source
