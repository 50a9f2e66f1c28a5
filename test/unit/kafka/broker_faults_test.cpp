// Stream jobs on a real broker that dies, that has no space left, and whose topic grows. with_broker.py starts one for
// kafka.broker, and says where its data are.
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/io/process.hpp>
#include <coflux/kafka/create_topic.hpp>
#include <coflux/kafka/decode.hpp>
#include <coflux/kafka/error.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/kafka/sink.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/stream/stream.hpp>

#include "broker_scenes.hpp"

namespace {

using namespace coflux_test;

using coflux::call;
using coflux::environment;

/// `scripts/kafka`, and the folder of a broker.
struct broker_script {
    std::string path;
    std::string data;

    call<void> runs(environment&, std::vector<std::string> words) const {
        words.insert(words.begin(), path);
        words.insert(words.end(), {"--data", data});
        coflux::process done = co_await coflux::process::spawn(words, {.output = coflux::standard_stream::null()});
        EXPECT_TRUE((co_await done.wait()).is_success()) << words[1];
    }
};

class kafka_broker_faults : public copies_on_broker {
protected:
    void SetUp() override {
        copies_on_broker::SetUp();
        if (IsSkipped()) return;
        const char* const path = std::getenv("COFLUX_KAFKA_SCRIPT");
        const char* const data = std::getenv("COFLUX_KAFKA_DATA");
        if (path == nullptr || data == nullptr)
            GTEST_SKIP()
                << "skipped, because COFLUX_KAFKA_SCRIPT and COFLUX_KAFKA_DATA do not say how to kill the broker";
        script = {path, data};
    }
    void survives_the_broker(const std::string& name, bool is_exact);
    void survives_a_full_disk(bool is_exact);

    broker_script script;
};

void kafka_broker_faults::survives_the_broker(const std::string& name, bool is_exact) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        constexpr int half = 10'000;
        constexpr int count = 2 * half;
        co_await makes_topics(here, name);
        client.request_timeout = 60s;  // a broker takes seconds to come back
        const copier c{client, name, name + "-out", name, {}, is_exact};
        stream::job_control control;
        std::atomic<std::size_t> copied = 0;
        const auto drives = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            kafka::producer out({.client = client, .linger = 1ms});
            counted_numbers counted(client, name + "-out", partitions, count);
            co_await sends(self, out, name, 0, half);
            co_await counted.read_until(self, half / 10);
            co_await script.runs(self, {"kill"});
            co_await script.runs(self, {"start"});
            co_await sends(self, out, name, half, count);
            co_await counted.read_until(self, count);
            control.drain();
            co_await out.close(self);
        };
        co_await coflux::when_all(runs_copier(here, c, control, copied), drives(here));
        counted_numbers at_last(client, name + "-out", partitions, count);
        co_await at_last.read_all(here);
        EXPECT_GE(at_last.least_times(), 1);
        if (is_exact) {
            EXPECT_EQ(at_last.most_times(), 1);
        }
    });
}

TEST_F(kafka_broker_faults, lose_nothing_where_the_broker_is_killed) {
    survives_the_broker("broker-killed", false);
}
TEST_F(kafka_broker_faults, copy_nothing_twice_where_the_broker_is_killed) {
    survives_the_broker("broker-killed-exact", true);
}

TEST_F(kafka_broker_faults, leave_no_partition_out_that_a_topic_gets_while_the_job_runs) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        const std::string name = "grown";
        constexpr int count = 2'000;
        co_await makes_topics(here, name, 2);
        copier c{client, name, name + "-out", name, {}, true};
        c.client.settings.emplace_back("topic.metadata.refresh.interval.ms", "500");
        stream::job_control control;
        std::atomic<std::size_t> copied = 0;
        const auto drives = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            counted_numbers counted(client, name + "-out", partitions, count);
            kafka::producer before({.client = client, .linger = 1ms});
            co_await sends(self, before, name, 0, count / 2);
            co_await counted.read_until(self, count / 2);
            co_await script.runs(self, {"topic", name, "4"});
            kafka::producer behind({.client = client, .linger = 1ms});  // which knows all four
            for (int i = count / 2; i != count; ++i) {
                const std::string text = std::to_string(i);
                co_await behind.send(self, {.topic = name, .partition = 2 + i % 2, .value = text});
            }
            co_await behind.flush(self);
            co_await counted.read_until(self, count);
            control.drain();
            co_await before.close(self);
            co_await behind.close(self);
        };
        co_await coflux::when_all(runs_copier(here, c, control, copied), drives(here));
        counted_numbers at_last(client, name + "-out", partitions, count);
        co_await at_last.read_all(here);
        EXPECT_EQ(at_last.least_times(), 1);
        EXPECT_EQ(at_last.most_times(), 1);
    });
}

/// A folder for the data of another broker, without what was in it at the end.
class temporary_folder {
public:
    temporary_folder() {
        if (::mkdtemp(name_.data()) == nullptr) throw std::runtime_error("there is no temporary folder");
    }
    temporary_folder(const temporary_folder&) = delete;
    temporary_folder& operator=(const temporary_folder&) = delete;
    ~temporary_folder() { std::filesystem::remove_all(name_); }
    [[nodiscard]] const std::string& name() const noexcept { return name_; }

private:
    std::string name_ = (std::filesystem::temp_directory_path() / "coflux-broker.XXXXXX").string();
};

/// The broker may write no file of more than so much. A file that is too large is to it what a full disk is: it ends.
void kafka_broker_faults::survives_a_full_disk(bool is_exact) {
    on_pool([&](environment&) -> call<void> {
        auto&& here = co_await coflux::context();
        constexpr int count = 16'000;
        constexpr std::size_t width = 1'000;
        const temporary_folder folder;
        const broker_script small{script.path, folder.name()};
        // An index takes 10 MiB at once.
        coflux::process shell = co_await coflux::process::spawn(
            {"bash", "-c", R"(ulimit -f 11264; exec "$0" start --data "$1" > "$1/address")", small.path, small.data});
        EXPECT_TRUE((co_await shell.wait()).is_success());
        std::ifstream(folder.name() + "/address") >> client.brokers;
        client.request_timeout = 10s;
        co_await kafka::create_topic(here, client, {.name = "full", .partitions = 4});
        co_await kafka::create_topic(here, client, {.name = "full-out", .partitions = 1});
        kafka::producer out({.client = client, .linger = 1ms});
        co_await sends(here, out, "full", 0, count);
        co_await out.close(here);

        copier c{client, "full", "full-out", "full", "one", is_exact, width, 10s};
        stream::job_control control;
        std::atomic<std::size_t> copied = 0;
        std::string failed;
        try {  // it gives up by itself; ctest ends one that does not
            co_await runs_copier(here, c, control, copied);
        } catch (const kafka::error& e) {
            failed = e.what();
        }
        expect_in(failed, "coflux: Kafka: ");

        co_await small.runs(here, {"start"});
        c.client.request_timeout = c.patience = 60s;
        const auto drains = [&](environment&) -> call<void> {
            auto&& self = co_await coflux::context();
            counted_numbers counted(client, "full-out", 1, count);
            co_await counted.read_until(self, count);
            control.drain();
        };
        co_await coflux::when_all(runs_copier(here, c, control, copied), drains(here));
        counted_numbers at_last(client, "full-out", 1, count);
        co_await at_last.read_all(here);
        EXPECT_GE(at_last.least_times(), 1);
        if (is_exact) {
            EXPECT_EQ(at_last.most_times(), 1);
        }
        co_await small.runs(here, {"kill"});
    });
}

TEST_F(kafka_broker_faults, lose_nothing_where_the_disk_is_full) {
    survives_a_full_disk(false);
}
TEST_F(kafka_broker_faults, copy_nothing_twice_where_the_disk_is_full) {
    survives_a_full_disk(true);
}

}  // namespace
