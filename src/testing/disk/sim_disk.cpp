#include <coflux/testing/sim_disk.hpp>

#include <utility>

#include <coflux/base/assert.hpp>

#include "disk.hpp"

namespace coflux::testing {
namespace {

sim_executor of_youngest() {
    simulation* const in = simulation::current();
    COFLUX_VERIFY(in != nullptr, "a sim_disk is made where there is no simulation");
    return sim_executor(*in);
}

}  // namespace

sim_disk::sim_disk(sim_disk_options options)
    : disk_(std::make_unique<detail::disk>(of_youngest(), nullptr, std::move(options))) {}
sim_disk::sim_disk(sim_executor of, sim_disk_options options)
    : disk_(std::make_unique<detail::disk>(of, &of, std::move(options))) {}
sim_disk::~sim_disk() = default;

void sim_disk::put(std::string_view path, std::string_view bytes) {
    disk_->put(path, bytes);
}
void sim_disk::make_directory(std::string_view path) {
    disk_->make_directory(path);
}
std::optional<std::string> sim_disk::contents(std::string_view path) const {
    return disk_->contents(path);
}
void sim_disk::crash() noexcept {
    disk_->crash();
}
void sim_disk::restart() noexcept {
    disk_->restart();
}
bool sim_disk::is_up() const noexcept {
    return disk_->is_up();
}
void sim_disk::fail(const disk_fault& f) {
    disk_->fail(f);
}
void sim_disk::set_capacity(std::uint64_t bytes) noexcept {
    disk_->set_capacity(bytes);
}
std::size_t sim_disk::open_files() const noexcept {
    return disk_->open_files();
}
std::string sim_disk::dump() const {
    return disk_->dump();
}

}  // namespace coflux::testing
