# embed_text(LIST NAME HEADER FILE...): append to the LIST of sources a C file that defines the string
# NAME, declared in HEADER, made from the concatenated text files.
function(embed_text list name header)
    list(TRANSFORM ARGN PREPEND ${CMAKE_CURRENT_SOURCE_DIR}/ OUTPUT_VARIABLE input)
    set(output ${CMAKE_CURRENT_BINARY_DIR}/${name}.c)
    set(script ${CMAKE_CURRENT_FUNCTION_LIST_FILE})
    add_custom_command(OUTPUT ${output}
        COMMAND ${CMAKE_COMMAND} "-DINPUT=${input}" -DOUTPUT=${output} -DNAME=${name} -DHEADER=${header} -P ${script}
        DEPENDS ${input} ${script} VERBATIM)
    set(${list} ${${list}} ${output} PARENT_SCOPE)
endfunction()

# The command above: as bytes, since string literals are limited to 4095 characters.
if(CMAKE_SCRIPT_MODE_FILE)
    foreach(input ${INPUT})
        file(READ ${input} more HEX)
        string(APPEND bytes "${more}")
    endforeach()
    string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
    string(REGEX REPLACE "((0x..,){16})" "\\1\n\t" bytes "${bytes}")
    file(WRITE ${OUTPUT} "/* Made from a text. */\n#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n\t${bytes}0};\n")
endif()
