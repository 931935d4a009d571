# Install rules. The package is headers and four CMake files, and two files for pkg-config, the same on every machine, and works
# wherever it is moved.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/gated)

target_include_directories(gated INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS gated EXPORT gatedTargets)
install(EXPORT gatedTargets NAMESPACE gated:: DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gated DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inl")

# Before 1.0 a minor version may change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gatedConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/gatedConfig.cmake ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake
              ${PROJECT_SOURCE_DIR}/cmake/native.cmake ${PROJECT_BINARY_DIR}/gatedConfigVersion.cmake
        DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cmake/compiled DESTINATION ${package_dir})  # built where it is linked

# For builds without CMake: pkg-config --cflags gated, or gated-io.
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_here /${pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" prefix_from_here ${prefix_from_here})
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE includedir)
foreach(name gated gated-io)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir})
endforeach()
