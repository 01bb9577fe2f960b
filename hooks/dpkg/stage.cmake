# What Debian's policy asks of a package, done to the files of the installation before they
# are packed: documents in /usr/share/doc, what is compressed there and in man, no debugging
# symbols in the static library.
if(NOT CPACK_GENERATOR STREQUAL "DEB")
    return()
endif()

set(stage ${CPACK_TEMPORARY_DIRECTORY}/usr)
set(documents ${stage}/share/doc/${CPACK_PACKAGE_NAME})

file(STRINGS ${CPACK_ENTRYDB_DPKG}/changelog newest LIMIT_COUNT 1)
if(NOT newest MATCHES "^${CPACK_PACKAGE_NAME} \\(${CPACK_PACKAGE_VERSION}\\)")
    message(FATAL_ERROR "hooks/dpkg/changelog begins with \"${newest}\", "
        "not with version ${CPACK_PACKAGE_VERSION}")
endif()

unset(ENV{DESTDIR}) # CPack's own; the paths here are whole
set(CMAKE_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS ${CPACK_INSTALL_DEFAULT_DIRECTORY_PERMISSIONS})
function(put file directory name)
    file(INSTALL ${file} DESTINATION ${directory} RENAME ${name}
        PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()
put(${CPACK_ENTRYDB_DPKG}/changelog ${documents} changelog)
put(${CPACK_RESOURCE_FILE_LICENSE} ${documents} copyright)
put(${CPACK_ENTRYDB_DPKG}/lintian-overrides ${stage}/share/lintian/overrides ${CPACK_PACKAGE_NAME})

file(GLOB manuals ${stage}/share/man/man*/*.[1-9])
execute_process(COMMAND gzip -9nf ${documents}/changelog ${manuals} COMMAND_ERROR_IS_FATAL ANY)
file(GLOB_RECURSE archives ${stage}/lib/*.a)
execute_process(COMMAND strip --strip-debug --enable-deterministic-archives ${archives}
    COMMAND_ERROR_IS_FATAL ANY)
