// librdkafka's consumer and producer by hand, on one thread beside its own: the floor of kafka_job.
#include "kafka_reader.hpp"
#include "nexmark/flat_map.hpp"
#include "nexmark/rows.hpp"
#include "workloads.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace lab {
namespace {

using std::chrono::steady_clock;

struct total {
    std::uint64_t count = 0;
    std::uint64_t sum = 0;
};

// Whether it is time to commit: so long after the last one has ended.
class pace {
public:
    explicit pace(std::chrono::milliseconds each) : each_{each} {}
    [[nodiscard]] bool is_due() const { return steady_clock::now() - last_ >= each_; }
    void restart() { last_ = steady_clock::now(); }

private:
    std::chrono::milliseconds each_;
    steady_clock::time_point last_ = steady_clock::now();
};

std::uint64_t count(const kafka_work& work, const std::string& pass, harness::stopwatch& watch) {
    kafka_reader in{work, pass};
    nexmark::flat_map<total> totals;
    in.read(
        watch,
        [&](const rd_kafka_message_t& m) {
            const kafka_record of = kafka_record::read(key_of(m), value_of(m));
            total& t = totals[static_cast<std::int64_t>(of.key)];
            ++t.count;
            t.sum += of.amount;
        },
        [] {});
    nexmark::row_sum out;
    totals.for_each([&](std::int64_t key, const total& t) { out.add(key, t.count, t.sum); });
    watch.stop();
    return out.value();
}

class writer {
public:
    writer(const kafka_work& work, const std::string& pass) : topic_{pass} {
        std::vector<std::pair<const char*, std::string>> settings{{"enable.idempotence", "true"}};
        if (work.what == kafka_work::job::copy_once) {
            settings.emplace_back("transactional.id", pass);
        }
        client_ = make_rdkafka(RD_KAFKA_PRODUCER, work.broker, settings);
        // A topic whose partitions are not known when its first message comes is asked for again a second later.
        rd_kafka_topic_t* const to = rd_kafka_topic_new(client_.get(), topic_.c_str(), nullptr);
        const rd_kafka_metadata_t* found = nullptr;
        const rd_kafka_resp_err_t code = rd_kafka_metadata(client_.get(), 0, to, &found, 10'000);
        rd_kafka_topic_destroy(to);
        require(code, "reach the broker");
        rd_kafka_metadata_destroy(found);
    }

    void write(const kafka_bytes& m) {
        for (;;) {
            const rd_kafka_resp_err_t code = rd_kafka_producev(
                client_.get(), RD_KAFKA_V_TOPIC(topic_.c_str()), RD_KAFKA_V_KEY(m.key.data(), m.key.size()),
                RD_KAFKA_V_VALUE(const_cast<char*>(m.value.data()), m.value.size()),
                RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY), RD_KAFKA_V_END);
            if (code != RD_KAFKA_RESP_ERR__QUEUE_FULL) {
                return require(code, "produce");
            }
            rd_kafka_poll(client_.get(), 10);
        }
    }
    void flush() { require(rd_kafka_flush(client_.get(), 60'000), "flush"); }
    [[nodiscard]] rd_kafka_t* client() const noexcept { return client_.get(); }

private:
    std::string topic_;
    rdkafka_owned<rd_kafka_t> client_;
};

void copy(const kafka_work& work, const std::string& pass, harness::stopwatch& watch) {
    constexpr int patience_ms = 60'000;
    const bool is_exact = work.what == kafka_work::job::copy_once;
    kafka_reader in{work, pass};
    writer out{work, pass};
    const auto begin = [&] {
        if (is_exact) {
            require(rd_kafka_begin_transaction(out.client()), "begin a transaction");
        }
    };
    const auto commit = [&] {
        if (!is_exact) {
            out.flush();
            return in.commit();
        }
        const auto group = rd_kafka_consumer_group_metadata(in.client());
        rd_kafka_error_t* const refused =
            rd_kafka_send_offsets_to_transaction(out.client(), in.next(), group, patience_ms);
        rd_kafka_consumer_group_metadata_destroy(group);
        require(refused, "send positions");
        require(rd_kafka_commit_transaction(out.client(), patience_ms), "commit a transaction");
    };
    if (is_exact) {
        require(rd_kafka_init_transactions(out.client(), patience_ms), "begin with transactions");
    }
    begin();
    pace commits{work.commit_every};
    in.read(
        watch,
        [&](const rd_kafka_message_t& m) { out.write(kafka_bytes::with_twice_the_amount(key_of(m), value_of(m))); },
        [&] {
            rd_kafka_poll(out.client(), 0);
            if (commits.is_due()) {
                commit();
                begin();
                commits.restart();
            }
        });
    commit();
    watch.stop();
}

}  // namespace

harness::measured kafka_job(const harness::request& r) {
    const kafka_work work{r};
    return harness::measure(r, [&](harness::stopwatch& watch) {
        const std::string pass = name_of_pass();
        if (work.what == kafka_work::job::count) {
            return count(work, pass, watch);
        }
        work.make_topic(pass);
        copy(work, pass, watch);
        const std::uint64_t answer = work.answer_of(pass);
        work.drop_topic(pass);
        return answer;
    });
}

}  // namespace lab
