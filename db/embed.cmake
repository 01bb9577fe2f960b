# Write OUTPUT, which defines the C string NAME, declared in HEADER, with the concatenated text
# files INPUT: as bytes, since string literals are limited to 4095 characters.
foreach(input ${INPUT})
    file(READ ${input} more HEX)
    string(APPEND bytes "${more}")
endforeach()
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){16})" "\\1\n\t" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made from a text. */\n#include \"${HEADER}\"\n\nconst char ${NAME}[] = {\n\t${bytes}0};\n")
