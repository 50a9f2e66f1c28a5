// A mark of an object that one operation at a time uses, across its waits.
#pragma once

#include <utility>

#include <coflux/base/assert.hpp>

namespace coflux::detail {

/// Checks that its object does not die while an operation of it waits, and that operations come one after the other.
/// Declare it as the last member: it dies first.
class use_mark {
public:
    explicit use_mark(const char* whose) noexcept : whose_(whose) {}
    use_mark(const use_mark&) = delete;
    use_mark& operator=(const use_mark&) = delete;
    ~use_mark() { COFLUX_VERIFY(!is_used_, "a %s dies while an operation of it waits", whose_); }

    /// An operation, from before its first wait to after its last one.
    class [[nodiscard]] use {
    public:
        explicit use(use_mark& of) noexcept : of_(of) {
            of.check_unused();
            of.is_used_ = true;
        }
        use(const use&) = delete;
        use& operator=(const use&) = delete;
        ~use() { of_.is_used_ = false; }

    private:
        use_mark& of_;
    };

    void check_unused() const noexcept {
        COFLUX_VERIFY(!is_used_, "a %s is used while an operation of it waits: one coroutine at a time", whose_);
    }

private:
    const char* whose_;
    bool is_used_ = false;
};

}  // namespace coflux::detail
