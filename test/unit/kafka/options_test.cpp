// kafka::client_options.
#include <coflux/kafka/options.hpp>

#include <mutex>
#include <string>

#include <gtest/gtest.h>

#include "kafka_scenes.hpp"

namespace {

using namespace coflux_test;

TEST(kafka_options, pass_settings_on_and_the_log_back) {
    std::mutex lock;
    std::string all;
    {
        const kafka::producer out({.client = {.brokers = "127.0.0.1:1",
                                              .client_id = "tester",
                                              .settings = {{"debug", "conf"}},
                                              .on_log = [&](const kafka::log_line& line) {
                                                  const std::lock_guard guard(lock);
                                                  all.append(line.facility).append(" ").append(line.text).append("\n");
                                              }}});
    }
    expect_in(all, "CONF ");
    expect_in(all, "client.id = tester");
}

}  // namespace
