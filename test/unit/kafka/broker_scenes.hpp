// Jobs on a real broker that copy numbers from one topic to another, and what such a topic has at last.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <coflux/kafka/consumer.hpp>
#include <coflux/kafka/create_topic.hpp>
#include <coflux/kafka/decode.hpp>
#include <coflux/kafka/producer.hpp>
#include <coflux/kafka/sink.hpp>
#include <coflux/kafka/source.hpp>
#include <coflux/kafka/transactional_sink.hpp>
#include <coflux/stream/stream.hpp>

#include "job_scenes.hpp"

namespace coflux_test {

/// A job that copies the numbers of one topic to another, as a member of a group.
struct copier {
    kafka::client_options client;
    std::string from;
    std::string to;
    std::string id;        // its transactional id
    std::string instance;  // empty: no static member
    bool is_exact = false;
    std::size_t width = 0;                     // of each value, in front of its number
    std::chrono::milliseconds patience = 60s;  // with a broker that does not answer
};

/// Runs it until it is drained; once more where a rebalance has cut a transaction off.
inline coflux::call<void> runs_copier(coflux::environment&, const copier& c, stream::job_control& control,
                                      std::atomic<std::size_t>& copied) {
    auto&& here = co_await coflux::context();
    while (!control.draining()) {
        kafka::source in({.client = c.client, .group = c.from, .instance = c.instance}, {c.from});
        const auto counts = [&copied](int) { ++copied; };
        const auto text = [&c](int n) { return std::string(c.width, ' ').append(std::to_string(n)); };
        bool is_cut_off = false;
        try {
            if (c.is_exact) {
                kafka::transactional_sink out(in,
                                              {.client = c.client,
                                               .transactional_id = c.id,
                                               .linger = 1ms,
                                               .delivery_timeout = c.patience,
                                               .transaction_timeout = c.patience},
                                              c.to, kafka::keyed(text_of_number, text));
                (void)co_await stream::run(
                    here, stream::from(in) | kafka::decode(number_of) | stream::tap(counts) | stream::to(out),
                    stream::job{
                        .workers = 2, .commit_every = 20ms, .delivery = stream::exactly_once, .control = &control});
                co_await out.close(here);
            } else {
                kafka::sink out({.client = c.client, .linger = 1ms, .delivery_timeout = c.patience}, c.to,
                                kafka::keyed(text_of_number, text));
                (void)co_await stream::run(
                    here, stream::from(in) | kafka::decode(number_of) | stream::tap(counts) | stream::to(out),
                    stream::job{.workers = 2, .commit_every = 20ms, .control = &control});
                co_await out.close(here);
            }
        } catch (const stream::partition_lost&) {
            is_cut_off = true;
        } catch (const kafka::error& e) {
            if (!e.requires_abort()) throw;
            is_cut_off = true;
        }
        EXPECT_TRUE(c.is_exact || !is_cut_off);
        co_await in.close(here);
    }
}

/// How often each number is in a topic, as those see it who read committed messages.
class counted_numbers {
public:
    counted_numbers(const kafka::client_options& client, std::string topic, std::int32_t partitions, int most)
        : in_({.client = client, .group = topic + "-checkers", .reports_end = true}),
          topic_(std::move(topic)),
          ended_(static_cast<std::size_t>(partitions)),
          times_(static_cast<std::size_t>(most)) {}

    /// Reads until so many different ones are there.
    coflux::call<void> read_until(coflux::environment&, std::size_t most) {
        auto&& here = co_await coflux::context();
        while (different_ < most) co_await read_some(here);
    }
    /// Reads to the end of each partition.
    coflux::call<void> read_all(coflux::environment&) {
        auto&& here = co_await coflux::context();
        while (std::ranges::count(ended_, true) != std::ssize(ended_)) co_await read_some(here);
    }
    [[nodiscard]] int most_times() const { return *std::ranges::max_element(times_); }
    [[nodiscard]] int least_times() const { return *std::ranges::min_element(times_); }

private:
    coflux::call<void> read_some(coflux::environment&) {
        auto&& here = co_await coflux::context();
        if (!std::exchange(has_begun_, true)) {
            std::vector<kafka::position> all;
            for (std::size_t p = 0; p != ended_.size(); ++p)
                all.emplace_back(topic_, static_cast<std::int32_t>(p), kafka::place::beginning);
            co_await in_.assign(here, all);
        }
        messages_.clear();
        const kafka::polled got = co_await in_.poll(here, messages_);
        for (const kafka::message& m : messages_) {
            if (times_.at(static_cast<std::size_t>(number_of(m.value())))++ == 0) ++different_;
        }
        for (const kafka::position& p : got.partitions) ended_[static_cast<std::size_t>(p.partition)] = true;
    }

    kafka::consumer in_;
    std::string topic_;
    std::vector<bool> ended_;
    std::vector<int> times_;
    std::size_t different_ = 0;
    std::vector<kafka::message> messages_;
    bool has_begun_ = false;
};

class copies_on_broker : public on_broker {
protected:
    coflux::call<void> makes_topics(coflux::environment&, const std::string& name, std::int32_t of_input = partitions) {
        auto&& here = co_await coflux::context();
        co_await kafka::create_topic(here, client, {.name = name, .partitions = of_input});
        co_await kafka::create_topic(here, client, {.name = name + "-out", .partitions = partitions});
    }
    static coflux::call<void> sends(coflux::environment&, kafka::producer& to, const std::string& topic, int from,
                                    int behind) {
        auto&& here = co_await coflux::context();
        for (int i = from; i != behind; ++i) {
            const std::string text = std::to_string(i);
            const kafka::outgoing m{.topic = topic, .key = text, .value = text};
            if (!to.try_send(m)) co_await to.send(here, m);
        }
        co_await to.flush(here);
    }

    static constexpr std::int32_t partitions = 4;
};

}  // namespace coflux_test
