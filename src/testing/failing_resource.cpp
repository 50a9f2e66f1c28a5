#include <coflux/testing/failing_resource.hpp>

#include <new>

#include <coflux/testing/report.hpp>

namespace coflux::testing {

using guard = coflux::detail::lock_guard<coflux::detail::mutex>;

void failing_resource::arm(std::size_t n, bool goes_on) noexcept {
    const guard locked(lock_);
    fails_in_ = n;
    goes_on_ = goes_on;
    failures_ = 0;
}
void failing_resource::fail_at(std::size_t n) noexcept {
    arm(n, false);
}
void failing_resource::fail_from(std::size_t n) noexcept {
    arm(n, true);
}
std::size_t failing_resource::failures() const noexcept {
    const guard locked(lock_);
    return failures_;
}
std::size_t failing_resource::requests() const noexcept {
    const guard locked(lock_);
    return requests_;
}
std::size_t failing_resource::allocations() const noexcept {
    const guard locked(lock_);
    return allocations_;
}
std::size_t failing_resource::live() const noexcept {
    const guard locked(lock_);
    return blocks_.size();
}

std::string failing_resource::leaks() const {
    const guard locked(lock_);
    if (blocks_.empty()) return {};
    std::string text = std::to_string(blocks_.size()) + (blocks_.size() == 1 ? " block:" : " blocks:");
    std::size_t shown = 0;
    for (const auto& [at, b] : blocks_) {
        if (++shown > 5) return text + " ...";
        text += (shown == 1 ? " " : ", ") + std::to_string(b.bytes) + " bytes of request " + std::to_string(b.request);
    }
    return text;
}

void* failing_resource::do_allocate(std::size_t bytes, std::size_t alignment) {
    const guard locked(lock_);
    ++requests_;
    if (fails_in_ != 0 && --fails_in_ == 0) {
        if (goes_on_) fails_in_ = 1;
        ++failures_;
        throw std::bad_alloc();
    }
    void* const at = upstream_->allocate(bytes, alignment);
    try {
        blocks_.emplace(at, block{bytes, alignment, requests_});
    } catch (...) {
        upstream_->deallocate(at, bytes, alignment);
        throw;
    }
    ++allocations_;
    return at;
}

void failing_resource::do_deallocate(void* at, std::size_t bytes, std::size_t alignment) {
    std::string wrong;
    {
        const guard locked(lock_);
        const auto found = blocks_.find(at);
        if (found == blocks_.end()) {
            wrong = "a block of " + std::to_string(bytes) + " bytes was given back that is not out";
        } else {
            const block taken = found->second;
            blocks_.erase(found);
            if (taken.bytes != bytes || taken.alignment != alignment)
                wrong = "the block of request " + std::to_string(taken.request) + ", " + std::to_string(taken.bytes) +
                        " bytes aligned to " + std::to_string(taken.alignment) + ", was given back as " +
                        std::to_string(bytes) + " bytes aligned to " + std::to_string(alignment);
            upstream_->deallocate(at, taken.bytes, taken.alignment);
        }
    }
    if (!wrong.empty()) report_failure(wrong);
}

}  // namespace coflux::testing
