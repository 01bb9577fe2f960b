# Turn the text file INPUT into the C string sql_schema in OUTPUT: bytes, since
# string literals may be no longer than 4095 characters.
file(READ ${INPUT} bytes HEX)
string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
string(REGEX REPLACE "((0x..,){16})" "\\1\n\t" bytes "${bytes}")
file(WRITE ${OUTPUT} "/* Made from schema.sql. */\n#include \"sql.h\"\n\nconst char sql_schema[] = {\n\t${bytes}0};\n")
