// kafka::create_topic: without a broker. broker_test.cpp makes topics.
#include <coflux/kafka/create_topic.hpp>

#include <gtest/gtest.h>

#include "kafka_scenes.hpp"

namespace {

using namespace coflux_test;

TEST(kafka_create_topic, says_that_no_broker_answers) {
    on_worker([](coflux::environment&) -> coflux::call<void> {
        auto&& here = co_await coflux::context();
        try {
            co_await kafka::create_topic(here, {.brokers = "127.0.0.1:1", .request_timeout = 100ms},
                                         {.name = "orders"});
            ADD_FAILURE() << "there is no broker";
        } catch (const kafka::error& e) {
            expect_in(e.what(), "no broker of '127.0.0.1:1' answered within 100 ms");
        }
    });
}

}  // namespace
