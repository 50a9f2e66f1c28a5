option(COFLUX_PRECOMPILE_LIBRARY "Build the libraries with a precompiled header (clang)" OFF)
option(COFLUX_PRECOMPILE_TESTS "Build the unit tests with a precompiled header" ON)
option(COFLUX_PRECOMPILE_PROGRAMS "Build examples, simulations, fuzz programs and their like with a precompiled header" OFF)

# coflux_precompile(<target> LINK <library>... HEADERS <header>... [DEFINITIONS <definition>...] [OPTIONS <option>...])
#
# Makes <target>, whose precompiled header other targets of the same libraries, definitions and options use.
function(coflux_precompile target)
    cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "LINK;HEADERS;DEFINITIONS;OPTIONS")
    set(source "${CMAKE_CURRENT_BINARY_DIR}/${target}.cpp")
    file(CONFIGURE OUTPUT "${source}" CONTENT "// A target needs a source; this one is there for its precompiled header.\n")
    add_library(${target} OBJECT "${source}")
    target_link_libraries(${target} PRIVATE ${arg_LINK})
    target_compile_definitions(${target} PRIVATE ${arg_DEFINITIONS})
    target_compile_options(${target} PRIVATE ${arg_OPTIONS})
    coflux_warnings(${target})
    target_precompile_headers(${target} PRIVATE ${arg_HEADERS})
    if(CMAKE_CXX_COMPILER_ID MATCHES "Clang")
        include(coflux_python)
        # clang's precompiled header names its checkout, so that another one must not have it from the cache.
        set_target_properties(
            ${target} PROPERTIES CXX_COMPILER_LAUNCHER
                                 "${COFLUX_PYTHON};-B;${PROJECT_SOURCE_DIR}/cmake/precompile.py;--root=${PROJECT_SOURCE_DIR}")
    endif()
    coflux_no_header_times(${target})
endfunction()

# Else ccache, or a checkout that touches the headers, brings a file back that clang holds to be out of date.
function(coflux_no_header_times target)
    target_compile_options(${target} PRIVATE "$<$<CXX_COMPILER_ID:Clang>:SHELL:-Xclang -fno-pch-timestamp>")
endfunction()

# coflux_use_precompiled(<target> <the target that has the header>)
function(coflux_use_precompiled target from)
    target_precompile_headers(${target} REUSE_FROM ${from})
    coflux_no_header_times(${target})
endfunction()

# Most of a source of the libraries is headers, of which four fifths of its compilation consist. The sources still include
# what they use, and only lower layers: tools/check_layers.py reads the sources, and the daily build goes without.
if(COFLUX_PRECOMPILE_LIBRARY)
    coflux_precompile(
        coflux_library_precompiled
        LINK Threads::Threads
        HEADERS <coflux/coflux.hpp>
        OPTIONS "${COFLUX_ALIGNED_FRAMES}")
    target_compile_features(coflux_library_precompiled PRIVATE cxx_std_20)
    target_include_directories(coflux_library_precompiled PRIVATE "${PROJECT_SOURCE_DIR}/include")
    set_target_properties(coflux_library_precompiled PROPERTIES POSITION_INDEPENDENT_CODE ON)
    coflux_sanitize(coflux_library_precompiled)
    if(BUILD_SHARED_LIBS)
        target_compile_definitions(coflux_library_precompiled PRIVATE COFLUX_SHARED_LIBRARIES)
    endif()
endif()

# What most programs include, for those that link the runtime and the kit. The programs still include what they use: the
# release build of g++ goes without, and so do the examples of users.
if(COFLUX_PRECOMPILE_PROGRAMS AND (COFLUX_BUILD_TESTS OR COFLUX_BUILD_EXAMPLES))
    set(program_headers <algorithm> <atomic> <chrono> <cstdio> <optional> <stdexcept> <string> <thread> <utility> <vector>
                        <coflux/coflux.hpp> <coflux/testing/testing.hpp>)
    coflux_precompile(coflux_program_precompiled LINK coflux::coflux coflux::testing HEADERS ${program_headers})
endif()

# A program that links those uses their headers.
function(coflux_precompiled_program target)
    if(COFLUX_PRECOMPILE_PROGRAMS)
        coflux_use_precompiled(${target} coflux_program_precompiled)
    endif()
endfunction()
