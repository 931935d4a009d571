# Install rules. The package is headers and four CMake files, the same on every machine, and works wherever it is moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/gated)

target_include_directories(gated INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS gated EXPORT gatedTargets)
install(EXPORT gatedTargets NAMESPACE gated:: DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gated DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp")

# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gatedConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/gatedConfig.cmake ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake
              ${PROJECT_SOURCE_DIR}/cmake/native.cmake ${PROJECT_BINARY_DIR}/gatedConfigVersion.cmake
        DESTINATION ${package_dir})
