#include "options.hpp"

#include <atomic>
#include <charconv>
#include <csignal>
#include <cstring>
#include <string_view>

#include <unistd.h>

namespace coflux_simulations {
namespace {

bool number(std::string_view text, std::uint64_t& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc() && end == text.data() + text.size();
}

// Lock-free: the handler reads them.
std::atomic<const char*> program{nullptr};
std::atomic<std::uint64_t> program_seed{0};
std::atomic<const char*> program_fault{nullptr};
std::atomic<std::uint64_t> program_point{0};

void say(const char* text) noexcept {
    [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

void say_number(std::uint64_t n) noexcept {
    char digits[24];
    const auto [end, error] = std::to_chars(digits, digits + sizeof digits - 1, n);
    *end = '\0';
    say(digits);
}

void on_abort(int) {
    const char* const name = program.load();
    if (name == nullptr) return;
    say("aborted in ");
    say(name);
    say(" --seeds 1 --seed ");
    say_number(program_seed.load());
    if (const char* const fault = program_fault.load(); fault != nullptr) {
        say(" --inject ");
        say(fault);
        say(" at point ");
        say_number(program_point.load());
    }
    say("\n");
}

}  // namespace

bool read_options(int argc, char** argv, options& into) {
    for (int i = 1; i < argc; ++i) {
        const std::string_view name = argv[i];
        if (name == "--list") {
            into.list = true;
            continue;
        }
        const std::string_view value = i + 1 < argc ? argv[++i] : "";
        bool good = !value.empty();
        if (name == "--seeds")
            good = good && number(value, into.seeds);
        else if (name == "--seed")
            good = good && number(value, into.seed);
        else if (name == "--only")
            into.only = value;
        else if (name == "--name")
            into.name = value;
        else if (name == "--expected")
            into.expected = value;
        else if (name == "--report")
            into.report = value;
        else if (name == "--inject")
            into.inject = value;
        else if (name == "--stride")
            good = good && number(value, into.stride) && into.stride != 0;
        else if (name == "--point")
            good = good && number(value, into.point);
        else
            good = false;
        if (good) continue;
        std::fprintf(
            stderr,
            "%s: not understood; there are --seeds N, --seed S, --only NAME, --name NAME, --expected FILE, --inject KIND, --point N, --stride N, --report FILE, --list\n",
            argv[i]);
        return false;
    }
    return true;
}

bool write_report(const options& wanted, const report& r) {
    if (wanted.report.empty()) return true;
    std::FILE* const file = std::fopen(wanted.report.c_str(), "w");
    if (file == nullptr) {
        std::fprintf(stderr, "%s cannot be written\n", wanted.report.c_str());
        return false;
    }
    std::fprintf(
        file,
        "{\"rung\": \"%s\", \"name\": \"%s\", \"what\": \"%s\", \"unit\": \"%s\", \"count\": %llu, \"seconds\": %.3f, "
        "\"result\": \"%s\", \"seed\": %llu}\n",
        r.rung, r.name.c_str(), r.what, r.unit, static_cast<unsigned long long>(r.count), r.seconds,
        r.passed ? "pass" : "fail", static_cast<unsigned long long>(r.seed));
    return std::fclose(file) == 0;
}

void announce(const char* name, std::uint64_t seed) noexcept {
    program_seed.store(seed, std::memory_order_relaxed);
    program.store(name, std::memory_order_relaxed);
}
void announce_point(const char* fault, std::uint64_t n) noexcept {
    program_point.store(n, std::memory_order_relaxed);
    program_fault.store(fault, std::memory_order_relaxed);
}
void tell_when_aborted() noexcept {
    (void)std::signal(SIGABRT, on_abort);
}

}  // namespace coflux_simulations
