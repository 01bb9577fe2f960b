# Registers the Python scripts, the oracles and the fuzz targets as tests of ctest.
#
# tests/FOLDER/test_NAME.py becomes the test FOLDER-NAME with the label FOLDER automatically. A script exits
# with status 77 if all of its tests were skipped.

option(ENTRYDB_ALL_TESTS "Also run tests that need root, a network, other packages or much time" OFF)
set(ENTRYDB_TEST_SECONDS 900 CACHE STRING "How long one test may take")
set(ENTRYDB_TEST_SEED 1 CACHE STRING "Of all that is random in the tests")

# Packagers run the tests of what the compiler's flags may change: unit, api, cli and python-behaviour, except
# those that measure or take long. They need neither root nor a network, and skip whatever is missing.
set(for_packagers cli)
if(ENTRYDB_PYTHON)
    list(APPEND for_packagers python-behaviour)
endif()
set(too_long cli-add cli-audit cli-audit_attacks cli-bad_input cli-concurrency cli-growth cli-images cli-index
    cli-limits cli-mutations cli-push)
# Builds with a sanitizer run tests of hostile input, threads and failures. Interpreters are not instrumented,
# so AddressSanitizer's library is preloaded.
set(under_address cli-add cli-images cli-index cli-audit_attacks cli-bad_input cli-concurrency cli-freshness cli-hook cli-mutations
    cli-plugins cli-push cli-trust python-behaviour)
# These use two processors.
set(for_two faults-faults oracle-environments python-differential python-mutants)
# The longest tests begin first, so that none of them runs alone in the end.
set(longest fresh-package fresh-tests fresh-install hooks-dpkg hooks-pacman hooks-rpm python-unstable python-behaviour cli-growth python-replaced)
# These install or read the wheel.
set(by_wheel hooks-pip python-free_threaded python-switch python-wheel release-upgrades)

set(script_environment ${test_environment}
    "ENTRYDB_PYTHON_PACKAGE=${PROJECT_BINARY_DIR}/libquery/python"
    "ENTRYDB_TEST_SEED=${ENTRYDB_TEST_SEED}"
    "PYTHONPATH=${CMAKE_CURRENT_SOURCE_DIR}/lib"
    "PYTHONDONTWRITEBYTECODE=1")
if(NOT ENTRYDB_ALL_TESTS) # not another Python on the builder's PATH
    list(APPEND script_environment "ENTRYDB_TEST_PYTHONS=${Python3_EXECUTABLE}")
endif()

# Add a test that runs the script with these arguments.
function(entrydb_script name label)
    if(ENTRYDB_SANITIZE AND NOT (name IN_LIST under_address AND ENTRYDB_SANITIZE MATCHES address))
        return()
    endif()
    add_test(NAME ${name} COMMAND ${Python3_EXECUTABLE} ${ARGN})
    set_tests_properties(${name} PROPERTIES LABELS ${label} SKIP_RETURN_CODE 77 TIMEOUT ${ENTRYDB_TEST_SECONDS}
        ENVIRONMENT "${script_environment}" ENVIRONMENT_MODIFICATION "${without_settings}")
    if(NOT ENTRYDB_ALL_TESTS AND (name IN_LIST too_long OR NOT (label IN_LIST for_packagers OR name IN_LIST for_packagers)))
        set_tests_properties(${name} PROPERTIES DISABLED TRUE)
    endif()
    if(name IN_LIST for_two)
        set_tests_properties(${name} PROPERTIES PROCESSORS 2)
    endif()
    if(name IN_LIST longest)
        math(EXPR seconds "2 * ${ENTRYDB_TEST_SECONDS}")
        set_tests_properties(${name} PROPERTIES COST 1000 TIMEOUT ${seconds})
    endif()
    if(name IN_LIST by_wheel)
        set_property(TEST ${name} APPEND PROPERTY FIXTURES_REQUIRED wheel)
    endif()
    if(label STREQUAL torch)
        set_property(TEST ${name} APPEND PROPERTY FIXTURES_REQUIRED wheel torch)
    endif()
endfunction()

file(GLOB scripts CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */test_*.py)
foreach(script ${scripts})
    string(REGEX REPLACE "^(.*)/test_(.*)\\.py$" "\\1;\\2" parts ${script})
    list(GET parts 0 folder)
    list(GET parts 1 name)
    set(label ${folder})
    if(folder STREQUAL api) # the C tests have that label
        set(label api-scripts)
    endif()
    entrydb_script(${folder}-${name} ${label} ${CMAKE_CURRENT_SOURCE_DIR}/${script} -v)
endforeach()

# It keeps the packages that it builds for these.
if(NOT ENTRYDB_SANITIZE)
    set_tests_properties(hooks-dpkg hooks-debian_tools PROPERTIES DEPENDS fresh-package)
endif()

set(here ${CMAKE_CURRENT_SOURCE_DIR})
entrydb_script(oracle-text oracle ${here}/lib/each_python.py ${here}/unit/text_oracle.py $<TARGET_FILE:text_oracle>)
entrydb_script(oracle-zip oracle ${here}/lib/each_python.py ${here}/unit/zip_oracle.py $<TARGET_FILE:zip_oracle>)
entrydb_script(oracle-environments oracle ${here}/cli/differential.py)
entrydb_script(oracle-mutants oracle ${here}/cli/mutants.py)
entrydb_script(network-environment network ${here}/cli/oracle_venv.py)
entrydb_script(network-wheels network ${here}/cli/oracle_wheels.py)
entrydb_script(network-plugins network ${here}/cli/oracle_plugins.py)

if(NOT ENTRYDB_SANITIZE)
    entrydb_script(python-differential oracle ${here}/python/differential.py)
    entrydb_script(python-mutants oracle ${here}/python/mutants.py)
    entrydb_script(wheel network ${here}/lib/wheels.py ${PROJECT_BINARY_DIR}/wheel)
    entrydb_script(torch network ${here}/lib/torch_environment.py)
    set_tests_properties(wheel PROPERTIES FIXTURES_SETUP wheel)
    set_tests_properties(torch PROPERTIES FIXTURES_SETUP torch)
elseif(TEST python-behaviour)
    execute_process(COMMAND ${CMAKE_C_COMPILER} -print-file-name=libasan.so OUTPUT_VARIABLE library
        OUTPUT_STRIP_TRAILING_WHITESPACE)
    set_property(TEST python-behaviour APPEND PROPERTY ENVIRONMENT "ENTRYDB_TEST_PRELOAD=${library}"
        "ENTRYDB_TEST_PYTHONS=${Python3_EXECUTABLE}")
endif()

# New inputs go to a corpus in the build directory, since the one here is source code. A crash would otherwise
# exit with status 77, which means skipped.
if(ENTRYDB_FUZZ)
    file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/crashes)
    file(GLOB sources CONFIGURE_DEPENDS fuzz/fuzz_*.c)
    foreach(source ${sources})
        string(REGEX REPLACE ".*/fuzz_(.*)\\.c$" "\\1" name ${source})
        set(seeds ${CMAKE_CURRENT_SOURCE_DIR}/fuzz/corpus/${name})
        if(NOT EXISTS ${seeds})
            set(seeds)
        endif()
        file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/corpus/${name})
        add_test(NAME fuzz-${name} COMMAND sh -c
            "exec \"$0\" -max_total_time=\${ENTRYDB_TEST_FUZZ_SECONDS:-5} \"$@\"" $<TARGET_FILE:fuzz_${name}>
            -seed=${ENTRYDB_TEST_SEED} -error_exitcode=99 -timeout_exitcode=99 -timeout=20 -rss_limit_mb=2048
            -artifact_prefix=${PROJECT_BINARY_DIR}/crashes/${name}- -print_final_stats=1
            ${PROJECT_BINARY_DIR}/corpus/${name} ${seeds})
        set_tests_properties(fuzz-${name} PROPERTIES LABELS fuzz TIMEOUT ${ENTRYDB_TEST_SECONDS})
    endforeach()
endif()
