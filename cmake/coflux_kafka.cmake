# coflux::kafka, which needs librdkafka and is needed by nothing else. Sets COFLUX_HAS_KAFKA for the package config.
#
# The preset clang-tsan leaves out test/unit/kafka: librdkafka begins its threads by C11's thrd_create(), which
# ThreadSanitizer does not see, and the first allocation of such a thread ends the process.
set(COFLUX_HAS_KAFKA OFF)
set(COFLUX_KAFKA_PACKAGE "rdkafka>=2.0.2")
if(NOT COFLUX_WITH_KAFKA STREQUAL "OFF")
    find_package(PkgConfig QUIET)
    set(missing "there is no librdkafka 2.0.2 or later (Debian: librdkafka-dev, pkg-config)")
    if(PkgConfig_FOUND)
        pkg_check_modules(COFLUX_KAFKA QUIET IMPORTED_TARGET "${COFLUX_KAFKA_PACKAGE}")
    endif()
    if(COFLUX_KAFKA_FOUND)
        set(COFLUX_HAS_KAFKA ON)
    elseif(COFLUX_WITH_KAFKA STREQUAL "AUTO")
        message(STATUS "coflux: coflux::kafka is not built: ${missing}")
    else()
        message(FATAL_ERROR "coflux: COFLUX_WITH_KAFKA is ON, and ${missing}")
    endif()
endif()
if(COFLUX_HAS_KAFKA)
    coflux_add_library(kafka FOLDERS kafka)
    # No header of ours includes librdkafka's.
    target_link_libraries(coflux_kafka PUBLIC coflux::stream PRIVATE PkgConfig::COFLUX_KAFKA)
endif()
