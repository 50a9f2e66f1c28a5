// lab_kafka_fill BROKER TOPIC RECORDS KEYS, or lab_kafka_fill BROKER TOPIC FILE
#include "kafka_work.hpp"

#include <exception>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 4 && argc != 5) {
        std::cerr << "usage: lab_kafka_fill BROKER TOPIC RECORDS KEYS\n       lab_kafka_fill BROKER TOPIC FILE\n";
        return 2;
    }
    try {
        if (argc == 5) {
            lab::fill_topic(argv[1], argv[2], std::stoull(argv[3]), std::stoull(argv[4]));
        } else {
            lab::fill_topic_of_lines(argv[1], argv[2], argv[3]);
        }
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "lab_kafka_fill: " << e.what() << '\n';
        return 1;
    }
}
