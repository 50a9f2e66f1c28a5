// The command line of the programs of this folder, and their report.
#pragma once

#include <cstdint>
#include <cstdio>
#include <string>

namespace coflux_simulations {

struct options {
    std::uint64_t seeds = 1000;  ///< runs of each program
    std::uint64_t seed = 1;      ///< of the first of them
    std::string only;            ///< programs whose name contains it
    std::string name;            ///< of an example
    std::string expected;        ///< file with what it prints
    std::string report;          ///< file for the figures, or empty
    std::string inject;          ///< "stop", "allocation", "exception": instead of plain runs, one for each point
    std::uint64_t point = 0;     ///< with `inject`, only this one, and in this process; 0: all
    std::uint64_t stride = 1;    ///< with `inject`, from one point to the next that is tried
    bool list = false;
};

/// Reads them; false, with a text on stderr, if there is something else.
bool read_options(int argc, char** argv, options& into);

struct report {
    const char* rung;
    std::string name;
    const char* what;
    const char* unit;
    std::uint64_t count;
    double seconds;
    bool passed;
    std::uint64_t seed;
};

/// Writes it as JSON where the options say. False if the file cannot be written.
bool write_report(const options& wanted, const report& r);

/// Says on stderr what was running if the program is aborted: a failed check ends it without coming back.
void announce(const char* program, std::uint64_t seed) noexcept;
void announce_point(const char* fault, std::uint64_t n) noexcept;
void tell_when_aborted() noexcept;

}  // namespace coflux_simulations
