// A process that ends by abort() writes no counts of what ran: this one does, so that a death test counts as what it
// is, a test of the check that it sees fail.
#include <csignal>

extern "C" void __gcov_dump();

namespace {

extern "C" void write_counts(int) {
    __gcov_dump();  // abort() raises the signal in the calling thread; when the handler returns, it ends the process
}

[[maybe_unused]] const auto installed = std::signal(SIGABRT, write_counts);

}  // namespace
