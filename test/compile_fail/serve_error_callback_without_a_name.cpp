// expect: coflux: serve_options::on_error refers to what it calls: give the lambda a name
#include <coflux/coflux.hpp>

void count(int& errors) {
    coflux::serve_options options;
#ifdef COFLUX_GOOD
    auto log = [&errors](const std::exception_ptr&) { ++errors; };
    options.on_error = log;
    options = {.on_error = [](const std::exception_ptr&) {}};
#else
    options.on_error = [&errors](const std::exception_ptr&) { ++errors; };
#endif
    (void)options;
}
