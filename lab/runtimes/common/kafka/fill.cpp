// lab_kafka_fill BROKER TOPIC RECORDS KEYS
#include "kafka_work.hpp"

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 5) {
        std::cerr << "usage: lab_kafka_fill BROKER TOPIC RECORDS KEYS\n";
        return 2;
    }
    try {
        lab::fill_topic(argv[1], argv[2], std::stoull(argv[3]), std::stoull(argv[4]));
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "lab_kafka_fill: " << e.what() << '\n';
        return 1;
    }
}
