# Install rules: headers, CMake package, pkg-config files, licence and SBOM. The package is relocatable and the same on every
# machine.

include(GNUInstallDirs)
include(CMakePackageConfigHelpers)

set(package_dir ${CMAKE_INSTALL_DATADIR}/cmake/gated)

target_include_directories(gated INTERFACE $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
install(TARGETS gated EXPORT gatedTargets)
install(EXPORT gatedTargets NAMESPACE gated:: DESTINATION ${package_dir})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/gated DESTINATION ${CMAKE_INSTALL_INCLUDEDIR}
        FILES_MATCHING PATTERN "*.hpp" PATTERN "*.inl" PATTERN "*.h")

# Before 1.0, minor versions can change the interface.
write_basic_package_version_file(${PROJECT_BINARY_DIR}/gatedConfigVersion.cmake COMPATIBILITY SameMinorVersion
                                 ARCH_INDEPENDENT)
install(FILES ${PROJECT_SOURCE_DIR}/cmake/gatedConfig.cmake ${PROJECT_SOURCE_DIR}/cmake/dependencies.cmake
              ${PROJECT_SOURCE_DIR}/cmake/native.cmake ${PROJECT_BINARY_DIR}/gatedConfigVersion.cmake
        DESTINATION ${package_dir})
# Sources of gated::compiled and gated::c, for projects that build them.
install(DIRECTORY ${PROJECT_SOURCE_DIR}/cmake/compiled ${PROJECT_SOURCE_DIR}/cmake/c DESTINATION ${package_dir})

# For builds without CMake: pkg-config --cflags gated, or gated-io.
set(pkgconfig_dir ${CMAKE_INSTALL_DATADIR}/pkgconfig)
file(RELATIVE_PATH prefix_from_here /${pkgconfig_dir} /)
string(REGEX REPLACE "/$" "" prefix_from_here ${prefix_from_here})
cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_INCLUDEDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE includedir)
foreach(name gated gated-io)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/${name}.pc.in ${PROJECT_BINARY_DIR}/${name}.pc @ONLY)
  install(FILES ${PROJECT_BINARY_DIR}/${name}.pc DESTINATION ${pkgconfig_dir})
endforeach()

# The library of the C interface and its pkg-config file, if the target gated_c was built.
if(TARGET gated_c)
  set(pkgconfig_of_c ${CMAKE_INSTALL_LIBDIR}/pkgconfig)
  file(RELATIVE_PATH prefix_from_here /${pkgconfig_of_c} /)
  string(REGEX REPLACE "/$" "" prefix_from_here ${prefix_from_here})
  cmake_path(ABSOLUTE_PATH CMAKE_INSTALL_LIBDIR BASE_DIRECTORY "\${prefix}" OUTPUT_VARIABLE libdir)
  configure_file(${PROJECT_SOURCE_DIR}/cmake/gated-c.pc.in ${PROJECT_BINARY_DIR}/gated-c.pc.made @ONLY)
  add_custom_command(TARGET gated_c POST_BUILD VERBATIM
    COMMAND ${CMAKE_COMMAND} -E copy ${PROJECT_BINARY_DIR}/gated-c.pc.made ${PROJECT_BINARY_DIR}/gated-c.pc)
  install(FILES ${PROJECT_BINARY_DIR}/gated-c.pc DESTINATION ${pkgconfig_of_c} OPTIONAL)
  install(FILES $<TARGET_FILE:gated_c> $<TARGET_LINKER_FILE:gated_c> DESTINATION ${CMAKE_INSTALL_LIBDIR} OPTIONAL)
endif()

# The SBOM, in CycloneDX format. Its content depends only on the version.
string(UUID sbom_uuid NAMESPACE 6ba7b811-9dad-11d1-80b4-00c04fd430c8 NAME "pkg:generic/gated@${PROJECT_VERSION}" TYPE SHA1)
configure_file(${PROJECT_SOURCE_DIR}/cmake/packaging/gated.cdx.json.in ${PROJECT_BINARY_DIR}/gated.cdx.json @ONLY)
install(FILES ${PROJECT_BINARY_DIR}/gated.cdx.json ${PROJECT_SOURCE_DIR}/LICENSE DESTINATION ${CMAKE_INSTALL_DATADIR}/doc/gated)
