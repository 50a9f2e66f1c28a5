// Lines of files: positions, numbers, limits, files that grow or shrink.
#include <coflux/stream/line_source.hpp>

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <coflux/coflux.hpp>
#include <coflux/stream/stream.hpp>
#include <coflux/testing/replay_chooser.hpp>
#include <coflux/testing/sim_disk.hpp>

#include "support/temporary_folder.hpp"

namespace {

namespace stream = coflux::stream;
using namespace std::chrono_literals;
using coflux::borrowed;
using coflux::environment;
using coflux::testing::sim_disk;
using coflux::testing::sim_executor;
using stream::line_source;
using stream::line_source_options;
using lines = stream::batch<stream::text_line>;
using texts = std::vector<std::string>;

/// A simulated disk, on which a block runs.
struct one_disk {
    template <typename Block>
    void run(Block block) {
        [](environment&, borrowed<Block> b) -> coflux::task<void, sim_executor> {
            auto& here = co_await coflux::context();
            co_await (*b)(here);
        }(env, borrowed(block))
                                                   .get();
    }
    /// Each as "partition:number:next:text".
    texts all_of(line_source from, std::size_t most = 3, const stream::positions& begin = {}) {
        texts all;
        run([&](environment& here) -> coflux::call<void> {
            if (!begin.empty()) co_await from.seek(here, begin);
            lines batch;
            while (co_await from.read(here, batch, most)) {
                EXPECT_FALSE(batch.empty());
                EXPECT_LE(batch.size(), most);
                for (const auto& r : batch) {
                    all.push_back(from.partition_name(r.partition) + ":" + std::to_string(r.value.number) + ":" +
                                  std::to_string(r.next) + ":" + r.value.text);
                    EXPECT_EQ(*r.value.file, from.partition_name(r.partition));
                }
                batch.clear();
            }
            EXPECT_TRUE(batch.empty());
        });
        return all;
    }
    std::string error_of(line_source from, const stream::positions& begin = {}) {
        try {
            (void)all_of(std::move(from), 1000, begin);
        } catch (const stream::bad_text& e) {
            return e.what();
        }
        return "none";
    }

    coflux::testing::fifo_chooser fifo;
    coflux::testing::simulation sim{fifo};
    sim_executor on;
    sim_disk disk{on};
    decltype(coflux::make_environment(std::declval<sim_executor&>())) env{coflux::make_environment(on)};
};

TEST(line_source, gives_each_line_without_its_end_and_the_byte_behind_it) {
    one_disk d;
    d.disk.put("a", "one\n\nthree\r\nfo\rur\nlast");
    EXPECT_EQ(d.all_of(line_source("a")),
              (texts{"a:1:4:one", "a:2:5:", "a:3:12:three", "a:4:18:fo\rur", "a:5:22:last"}));
    d.disk.put("empty", "");
    EXPECT_EQ(d.all_of(line_source("empty")), texts{});
    d.disk.put("end", "\n");
    EXPECT_EQ(d.all_of(line_source("end")), texts{"end:1:1:"});
}

TEST(line_source, reads_files_by_turns_as_partitions) {
    one_disk d;
    d.disk.put("a", "1\n2\n");
    d.disk.put("b", "");
    d.disk.put("c", "3\n4\n5\n6\n");
    EXPECT_EQ(line_source(texts{"c", "b", "a"}).partitions(), (std::vector<std::uint32_t>{0, 1, 2}));
    EXPECT_EQ(d.all_of(line_source(texts{"c", "b", "a"})),
              (texts{"c:1:2:3", "c:2:4:4", "c:3:6:5", "a:1:2:1", "a:2:4:2", "c:4:8:6"}));
}

TEST(line_source, reads_files_that_are_continued_one_after_the_other) {
    one_disk d;
    d.disk.put("a", "1\n2\n");
    d.disk.put("b", "");
    d.disk.put("c", "3\n4\n5\n6\n");
    EXPECT_EQ(line_source(texts{"c", "b", "a"}, {.continued = true}).partitions(), std::vector<std::uint32_t>{0});
    EXPECT_EQ(d.all_of(line_source(texts{"c", "b", "a"}, {.continued = true})),
              (texts{"c:1:2:3", "c:2:4:4", "c:3:6:5", "c:4:8:6", "a:1:2:1", "a:2:4:2"}));
}

TEST(line_source, reads_more_files_by_turns_than_it_keeps_open) {
    constexpr std::size_t files = 70, count = 7;
    one_disk d;
    texts names, expected, got;
    for (std::size_t f = 0; f != files; ++f) {
        std::string text;
        names.push_back("f" + std::to_string(f));
        for (std::size_t i = 1; i <= count; ++i) {
            text += i == 3 ? "\"3\n4\"\n" : std::to_string(i) + "\n";
            expected.push_back(names.back() + ":" + std::to_string(i));
        }
        d.disk.put(names.back(), text.substr(0, text.size() - 1));
    }
    for (const std::string& line : d.all_of(line_source(names, {.quoted = true}), 2)) {
        got.push_back(line.substr(0, line.find(':')) + ":");
    }
    EXPECT_EQ(got.size(), expected.size());
    for (std::size_t f = 0; f != files; ++f) EXPECT_EQ(std::ranges::count(got, names[f] + ":"), count);
}

/// Each file is in the order of time, and begins with the same time.
TEST(line_source, has_no_record_late_that_is_in_time_in_its_file) {
    one_disk d;
    constexpr int count = 3000;
    std::string text;
    for (int i = 0; i != count; ++i) text += std::to_string(i) + "\n";
    d.disk.put("a", text);
    d.disk.put("b", text);
    const auto seconds = [](const std::string& line) {
        return std::chrono::sys_seconds(std::chrono::seconds(std::stoi(line)));
    };
    for (const std::size_t most : {10U, 1000U}) {
        std::uint64_t counted = 0;
        stream::job_report report;
        d.run([&](environment& here) -> coflux::call<void> {
            report = co_await stream::run(here,
                                          stream::from(line_source(texts{"a", "b"})) |
                                              stream::map([](const stream::text_line& line) { return line.text; }) |
                                              stream::event_times(seconds) |
                                              stream::by_key([](const std::string&) { return 0; }) |
                                              stream::window(stream::tumbling(60s), stream::count()) |
                                              stream::to(stream::for_each([&](const auto& w) { counted += w.value; })),
                                          stream::job{.max_batch = most});
        });
        EXPECT_EQ(report.late, 0U);
        EXPECT_EQ(counted, std::uint64_t{2} * count);
    }
}

TEST(line_source, tells_how_much_is_left_of_all_its_files) {
    one_disk d;
    d.disk.put("a", "1\n2\n3\n");
    d.disk.put("b", "44444\n");
    line_source from(texts{"a", "gone", "b"});
    EXPECT_TRUE(from.is_bounded());
    EXPECT_TRUE(from.measure().empty());  // nothing was looked at
    d.run([&](environment& here) -> coflux::call<void> {
        lines batch;
        (void)co_await from.read(here, batch, 2);
        const auto now = from.measure();
        EXPECT_EQ(now.size(), 2U);
        if (now.size() != 2) co_return;
        EXPECT_EQ(now[0].partition, 0U);
        EXPECT_EQ(now[0].next, 4);
        EXPECT_EQ(now[0].end, 6);
        EXPECT_EQ(now[1].partition, 2U);
        EXPECT_EQ(now[1].next, 0);
        EXPECT_EQ(now[1].end, 6);
    });
    EXPECT_FALSE(line_source("a", {.follow = true}).is_bounded());
}

TEST(line_source, gives_lines_that_are_longer_than_what_it_reads_at_a_time) {
    one_disk d;
    std::string text;
    texts expected;
    for (std::size_t i = 1; i != 40; ++i) {
        const std::string line(i * 20'000, static_cast<char>('a' + i % 26));
        text += line + "\n";
        expected.push_back("a:" + std::to_string(i) + ":" + std::to_string(text.size()) + ":" + line);
    }
    d.disk.put("a", text);
    EXPECT_TRUE(d.all_of(line_source("a")) == expected);
}

TEST(line_source, begins_again_where_it_was_sent) {
    one_disk d;
    d.disk.put("a", "1\n2\n3\n4\n");
    d.disk.put("b", "5\n6\n");
    d.run([](environment& here) -> coflux::call<void> {
        line_source from(texts{"a", "b"}, {.continued = true});
        const auto reads = [&](environment&, const stream::positions& to) -> coflux::call<std::string> {
            auto& here = co_await coflux::context();
            co_await from.seek(here, to);
            lines batch;
            std::string all;
            while (co_await from.read(here, batch, 3)) continue;
            for (const auto& r : batch) all += r.value.text + ":" + std::to_string(r.value.number) + " ";
            co_return all;
        };
        EXPECT_EQ(co_await reads(here, {}), "1:1 2:2 3:3 4:4 5:1 6:2 ");
        EXPECT_EQ(co_await reads(here, {{"a", 4}}), "3:3 4:4 5:1 6:2 ");
        EXPECT_EQ(co_await reads(here, {}), "3:3 4:4 5:1 6:2 ");
        EXPECT_EQ(co_await reads(here, {{"a", 2}, {"b", 2}}), "2:2 3:3 4:4 6:2 ");
    });
}
TEST(line_source, begins_at_a_position_with_the_number_of_the_line) {
    one_disk d;
    d.disk.put("a", "one\ntwo\nthree\nfour\n");
    d.disk.put("b", "x\n");
    EXPECT_EQ(d.all_of(line_source(texts{"a", "b"}), 2, {{"a", 8}}), (texts{"a:3:14:three", "a:4:19:four", "b:1:2:x"}));
    EXPECT_EQ(d.all_of(line_source("a"), 2, {{"a", 19}}), texts{});
    EXPECT_THROW((void)d.all_of(line_source("a"), 2, {{"c", 1}}), std::invalid_argument);
    EXPECT_EQ(d.all_of(line_source("b", {.ignore_gone_files = true}), 2, {{"a", 8}, {"c", 1}}), texts{"b:1:2:x"});
}

TEST(line_source, leaves_out_the_names_of_columns) {
    one_disk d;
    d.disk.put("a", "id,name\n1,x\n");
    d.disk.put("b", "id,name\n");
    EXPECT_EQ(d.all_of(line_source(texts{"a", "b"}, {.skip = 1})), texts{"a:2:12:1,x"});
    EXPECT_EQ(d.all_of(line_source("a", {.skip = 1}), 3, {{"a", 8}}), texts{"a:2:12:1,x"});
}

TEST(line_source, keeps_line_ends_between_quotes_if_it_is_told_so) {
    one_disk d;
    d.disk.put("a", "1,\"two\nlines\"\n2,\"say \"\"x\n\"\"\"\n3,y\n4,\"never");
    EXPECT_EQ(d.all_of(line_source("a", {.quoted = true})),
              (texts{"a:1:14:1,\"two\nlines\"", "a:3:29:2,\"say \"\"x\n\"\"\"", "a:5:33:3,y", "a:6:41:4,\"never"}));
}

// A quote is stray where it opens a field and does not close, or closes before something that is no separator.
TEST(line_source, lets_a_stray_quote_take_in_no_line) {
    one_disk d;
    const auto read = [&d](const std::string& text, line_source_options options = {.quoted = true}) {
        d.disk.put("a", text);
        texts all = d.all_of(line_source("a", options));
        EXPECT_EQ(d.all_of(line_source("a", options), 1), all);
        // A run that begins behind a record gives those that follow.
        for (std::size_t i = 0; i + 1 < all.size(); ++i) {
            const std::string rest = all[i].substr(all[i].find(':', 2) + 1);
            const stream::positions behind{{"a", std::stoll(rest)}};
            EXPECT_EQ(d.all_of(line_source("a", options), 3, behind), (texts{all.begin() + i + 1, all.end()}));
        }
        return all;
    };
    // One that never closes: to the end of the file.
    EXPECT_EQ(read("1,x\n2,\"y\n3,z\n"), (texts{"a:1:4:1,x", "a:2:9:2,\"y", "a:3:13:3,z"}));
    EXPECT_EQ(read("1,\"x\r\n2,y"), (texts{"a:1:6:1,\"x", "a:2:9:2,y"}));
    // In the middle of a field: it opens nothing.
    EXPECT_EQ(read("1,5\" pipe\n2,x\n3,\"y\"\n"), (texts{"a:1:10:1,5\" pipe", "a:2:14:2,x", "a:3:20:3,\"y\""}));
    // In the line before the last one, and in the last one.
    EXPECT_EQ(read("1,x\n\"2,y\n3,z"), (texts{"a:1:4:1,x", "a:2:9:\"2,y", "a:3:12:3,z"}));
    EXPECT_EQ(read("1,x\n\"2,y"), (texts{"a:1:4:1,x", "a:2:8:\"2,y"}));
    // The next quote does not close it, because it opens a field of its own.
    EXPECT_EQ(read("\"1,x\n2,y\n3,\"z\"\n4,v\n"), (texts{"a:1:5:\"1,x", "a:2:9:2,y", "a:3:15:3,\"z\"", "a:4:19:4,v"}));
    // Behind a line end that is a part of a field.
    EXPECT_EQ(read("\"1\n1\",\"x\n2,y\n"), (texts{"a:1:9:\"1\n1\",\"x", "a:3:13:2,y"}));
    // Its line closes it, and goes on.
    EXPECT_EQ(read("\"1\"x,\"y\n2,z\n"), (texts{"a:1:8:\"1\"x,\"y", "a:2:12:2,z"}));
    // The separator is that of the file.
    EXPECT_EQ(read("1;\"x\ny\"\n2,\"z\n", {.quoted = true, .separator = ';'}),
              (texts{"a:1:8:1;\"x\ny\"", "a:3:13:2,\"z"}));
}

TEST(line_source, looks_no_further_for_the_end_of_a_quote_than_a_record_may_be_long) {
    one_disk d;
    const std::string rest(2 << 20, '\n');
    d.disk.put("a", "1,x\n2,\"y\n" + rest + "3,\"z\"\n");
    const texts all = d.all_of(line_source("a", {.quoted = true}), 1000);
    ASSERT_EQ(all.size(), 3 + rest.size());
    EXPECT_EQ(all[1], "a:2:9:2,\"y");
    EXPECT_EQ(all[2], "a:3:10:");
    // A line that is too long itself is an error, as it is without a quote.
    d.disk.put("b", "1,x\n2,\"never closes\n3,y\n");
    EXPECT_EQ(d.error_of(line_source("b", {.most_bytes = 12, .quoted = true})),
              "coflux: b, line 2: it has more than 12 bytes (line_source_options::most_bytes)");
}

TEST(line_source, gives_a_stray_quote_to_the_dead_letters_with_its_line) {
    one_disk d;
    d.disk.put("a", "1,x\n2,\"y\n3,z\n4,\"a\nb\",\"c\n5,v\n");
    d.run([](environment& here) -> coflux::call<void> {
        stream::memory_sink<stream::dead_letter> dead;
        stream::memory_sink<std::vector<std::string>> sink;
        (void)co_await stream::run(here,
                                   stream::from(line_source("a", {.quoted = true})) |
                                       stream::parse(stream::csv_fields()) | stream::to(sink),
                                   stream::job{.workers = 1, .on_error = stream::dead_letters(dead)});
        EXPECT_EQ(sink.values(), (std::vector<texts>{{"1", "x"}, {"3", "z"}, {"5", "v"}}));
        EXPECT_EQ(dead.values().size(), 2U);
        if (dead.values().size() != 2) co_return;
        EXPECT_EQ(dead.values()[0].error, "coflux: a, line 2: coflux: field 2: its quote never closes");
        EXPECT_EQ(dead.values()[0].original.value, "2,\"y");
        EXPECT_EQ(dead.values()[1].error,
                  "coflux: a, line 4: coflux: field 3: its quote, in line 2 of the record, never closes");
    });
}

TEST(line_source, keeps_the_bytes_for_dead_letters_if_it_is_told_so) {
    one_disk d;
    d.disk.put("a", "o\xffne\n");
    d.run([&](environment& here) -> coflux::call<void> {
        line_source from("a");
        lines batch;
        batch.keep_originals();
        EXPECT_TRUE(co_await from.read(here, batch, 10));
        EXPECT_TRUE(batch[0].original != nullptr && batch[0].original->value == "o\xffne");
    });
}

TEST(line_source, names_a_line_that_is_too_long) {
    one_disk d;
    d.disk.put("a", "12345\n123456\n");
    EXPECT_EQ(d.error_of(line_source("a", {.most_bytes = 6})), "none");
    EXPECT_EQ(d.error_of(line_source("a", {.most_bytes = 5})),
              "coflux: a, line 2: it has more than 5 bytes (line_source_options::most_bytes)");
    d.run([](environment& here) -> coflux::call<void> {
        line_source from("a", {.most_bytes = 5});
        lines batch;
        EXPECT_TRUE(co_await from.read(here, batch, 10));
        EXPECT_EQ(batch.size(), 1U);
        for (int i = 0; i != 2; ++i) {
            const auto read = co_await coflux::as_outcome(from.read(here, batch, 10));
            EXPECT_TRUE(read.has_error());
            EXPECT_EQ(batch.size(), 1U);
        }
    });
    d.disk.put("huge", "x\n" + std::string(40 << 20, 'x'));
    EXPECT_EQ(d.error_of(line_source("huge")),
              "coflux: huge, line 2: it has more than 1048576 bytes (line_source_options::most_bytes)");
}

TEST(line_source, names_a_file_that_has_become_shorter) {
    one_disk d;
    d.disk.put("a", "one\ntwo\n");
    EXPECT_EQ(d.error_of(line_source("a"), {{"a", 100}}),
              "coflux: a: it has become shorter: it ends at byte 8, and has been read up to 100");
    d.run([&](environment& here) -> coflux::call<void> {
        line_source from("a");
        lines batch;
        EXPECT_TRUE(co_await from.read(here, batch, 10));
        coflux::file f = co_await coflux::file::open("a", {.write = true});
        co_await f.truncate(3);
        try {
            (void)co_await from.read(here, batch, 10);
            ADD_FAILURE() << "no error";
        } catch (const stream::bad_text& e) {
            EXPECT_EQ(e.what(), std::string("coflux: a: it has become shorter: it has 3 bytes, and 8 were read"));
            EXPECT_EQ(e.file(), "a");
        }
        EXPECT_EQ(batch.size(), 2U);
    });
}

TEST(line_source, names_a_followed_file_that_has_become_shorter) {
    one_disk d;
    d.disk.put("a", "one\ntwo\n");
    d.run([&](environment& here) -> coflux::call<void> {
        line_source from("a", {.follow = true});
        lines batch;
        EXPECT_TRUE(co_await from.read(here, batch, 10));
        coflux::file f = co_await coflux::file::open("a", {.write = true, .truncate = true});
        const auto read = co_await coflux::as_outcome(from.read(here, batch, 10));
        EXPECT_TRUE(read.has_error());
        EXPECT_EQ(batch.size(), 2U);
    });
}

TEST(line_source, holds_no_more_of_a_line_of_a_gigabyte_than_it_may) {
    const coflux_test::temporary_folder folder;
    const std::string path = folder.file("huge", "one\n");
    std::filesystem::resize_file(path, std::uintmax_t{1} << 30);  // a hole: it takes no space
    coflux::thread_pool_executor pool{1};
    auto env = coflux::make_environment(pool);
    const auto error = [](environment&, std::string of) -> coflux::task<std::string, coflux::thread_pool_executor> {
        auto& here = co_await coflux::context();
        line_source from(std::move(of));
        lines batch;
        try {
            while (co_await from.read(here, batch, 1)) {}
        } catch (const stream::bad_text& e) {
            co_return e.what();
        }
        co_return "none";
    }(env, path)
                                                               .get();
    EXPECT_EQ(error, "coflux: " + path + ", line 2: it has more than 1048576 bytes (line_source_options::most_bytes)");
}

coflux::fork<void, sim_executor> appends(environment&, std::string path, std::string text, std::chrono::seconds when) {
    co_await coflux::sleep_for(when);
    coflux::file f = co_await coflux::file::open(std::move(path), {.write = true});
    co_await f.append(text);
}
TEST(line_source, follows_files_that_grow_and_waits_for_the_end_of_a_line) {
    one_disk d;
    d.disk.put("a", "1\nha");
    d.disk.put("b", "");
    d.run([&](environment& here) -> coflux::call<void> {
        line_source from(texts{"a", "b"}, {.follow = true, .look_every = 10ms});
        auto first = appends(here, "b", "x\n", 1s);
        auto second = appends(here, "a", "lf\n", 2s);
        texts all;
        lines batch;
        const auto begun = coflux::clock::now();
        for (int i = 0; i != 3; ++i) {
            EXPECT_TRUE(co_await from.read(here, batch, 10));
        }
        const auto took = coflux::clock::now() - begun;
        EXPECT_TRUE(took >= 2s && took < 2100ms);
        for (const auto& r : batch) all.push_back(r.value.text);
        EXPECT_EQ(all, (texts{"1", "x", "half"}));
        EXPECT_EQ(batch[2].next, 7);
        const auto stopped = co_await coflux::timeout(from.read(here, batch, 10), 1s);
        EXPECT_TRUE(stopped.timed_out());
        co_await std::move(first);
        co_await std::move(second);
    });
}

TEST(line_source, says_what_the_system_refuses_and_which_options_cannot_be) {
    one_disk d;
    try {
        (void)d.all_of(line_source("none"));
        ADD_FAILURE() << "no error";
    } catch (const std::system_error& e) {
        EXPECT_NE(std::string(e.what()).find("none"), std::string::npos);
    }
    d.disk.put("a", "x\n");
    d.disk.fail({.on = coflux::testing::disk_call::open, .error = std::errc::permission_denied});
    try {
        (void)d.all_of(line_source("a"));
        ADD_FAILURE() << "no error";
    } catch (const std::system_error& e) {
        EXPECT_EQ(e.code(), std::errc::permission_denied);
    }
    EXPECT_THROW(line_source(texts{}), std::invalid_argument);
    EXPECT_THROW(line_source("a", {.most_bytes = 0}), std::invalid_argument);
    EXPECT_THROW(line_source("a", {.look_every = 0s}), std::invalid_argument);
    EXPECT_THROW(line_source("a", {.follow = true, .continued = true}), std::invalid_argument);
}

TEST(line_source, finds_the_files_of_a_folder_in_the_order_of_their_names) {
    const coflux_test::temporary_folder folder;
    for (const char* name : {"b.log", "a.log", "c.txt"}) folder.file(name, "x");
    std::filesystem::create_directory(folder.path("d.log"));
    coflux::thread_pool_executor pool{1};
    auto env = coflux::make_environment(pool);
    const auto found = [](environment&, std::string path) -> coflux::task<texts, coflux::thread_pool_executor> {
        auto& here = co_await coflux::context();
        co_return co_await stream::files_in(here, path, ".log");
    }(env, folder.path())
                                                                 .get();
    EXPECT_EQ(found, (texts{folder.path("a.log"), folder.path("b.log")}));
}

}  // namespace
