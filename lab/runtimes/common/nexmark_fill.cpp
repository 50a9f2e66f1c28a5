// lab_nexmark_fill FILE EVENTS
#include "nexmark/generator.hpp"
#include "nexmark/line.hpp"

#include <cstdint>
#include <exception>
#include <fstream>
#include <iostream>
#include <string>

int main(int argc, char** argv) {
    if (argc != 3) {
        std::cerr << "usage: lab_nexmark_fill FILE EVENTS\n";
        return 2;
    }
    try {
        std::ofstream file;
        file.exceptions(std::ios::failbit | std::ios::badbit);
        file.open(argv[1]);
        const std::int64_t events = std::stoll(argv[2]);
        for (std::int64_t n = 0; n < events; ++n) {
            file << lab::nexmark::line_of(lab::nexmark::generator{}.make(n)) << '\n';
        }
        file.close();
        return 0;
    } catch (const std::exception& e) {
        std::cerr << "lab_nexmark_fill: " << e.what() << '\n';
        return 1;
    }
}
