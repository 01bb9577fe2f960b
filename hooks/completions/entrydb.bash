# Completion of entrydb(1) for bash. Commands and options are read from the program's
# help, groups and names from its output, so that this file needs no updates.
# shellcheck shell=bash

# The names in the help of the program, or of a command.
_entrydb_listed() {
    "$@" --help 2>/dev/null | sed -n 's/^  \(--\)\{0,1\}\([a-z][a-z-]*\).*/\1\2/p'
}

# Offer the lines of standard input that begin with the word, except those with escaped characters,
# which cannot be typed as shown.
_entrydb_offer() {
    local line
    while IFS= read -r line; do
        if [[ $line == "$1"* && $line != *\\* ]]; then
            COMPREPLY+=("$(printf %q "$line")")
        fi
    done
}

_entrydb_offer_files() {
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen "$1" -- "$2")
}

# _entrydb_value PROGRAM OPTION WORD: status 1 if the option takes no argument.
_entrydb_value() {
    case $2 in
    --db | --sarif | --html | --baseline | --facts | --requirements) _entrydb_offer_files -f "$3" ;;
    --path | --prefix) _entrydb_offer_files -d "$3" ;;
    --root) _entrydb_offer_files -f "$3" ;;
    --platform) _entrydb_offer "$3" < <(printf '%s\n' linux/amd64 linux/arm64) ;;
    --python) _entrydb_offer "$3" < <(printf '%s\n' 3.10 3.11 3.12 3.13 3.14 3.15 im10) ;;
    --fresh) _entrydb_offer "$3" < <(printf '%s\n' trust roots exact) ;;
    --fail-on) _entrydb_offer "$3" < <(printf '%s\n' note warning error none) ;;
    --color) _entrydb_offer "$3" < <(printf '%s\n' auto always never) ;;
    --hook) _entrydb_offer "$3" < <(printf '%s\n' apk conda dpkg pacman pip rpm systemd uv) ;;
    --group) _entrydb_offer "$3" < <("$1" groups "${context[@]}" 2>/dev/null | cut -f 1) ;;
    --distribution | --program | --priority | --timeout | --since | --command) ;;
    *) return 1 ;;
    esac
}

_entrydb_argument() {
    local program=$1 word=$2
    case $command:${#arguments[@]} in
    :* | help:0) _entrydb_offer "$word" < <(_entrydb_listed "$program" | grep -v '^-') ;;
    list:0 | why:0 | disable:0 | enable:0 | probe:0) _entrydb_offer "$word" < <("$program" groups "${context[@]}" 2>/dev/null | cut -f 1) ;;
    list:1 | why:1 | probe:1) _entrydb_offer "$word" < <("$program" list "${context[@]}" -- "${arguments[0]}" 2>/dev/null | cut -f 2) ;;
    run:0) _entrydb_offer "$word" < <("$program" list "${context[@]}" -- console_scripts 2>/dev/null | cut -f 2) ;;
    add:* | update:* | verify:* | audit:* | forget:*) _entrydb_offer_files -f "$word" ;;
    esac
}

# Parse the words before the current one: the command, its arguments, and the options that select
# the groups. bash splits --option=value into three words.
_entrydb_read_line() {
    local at word value
    for ((at = 1; at < COMP_CWORD; at++)); do
        word=${COMP_WORDS[at]} value=${COMP_WORDS[at + 1]-}
        [[ $value == '=' ]] && value=${COMP_WORDS[at + 2]-} && ((at++))
        case $word in
        --db | --path | --root | --platform | --python)
            ((at + 1 < COMP_CWORD)) && context+=("$word" "${value/#\~/$HOME}")
            ((at++))
            ;;
        --fresh | --group | --hook | --color | --prefix | --distribution | --program | --priority | --timeout | --sarif | --html | --baseline | --facts | --fail-on | --since | --requirements | --command) ((at++)) ;;
        -*) ;;
        *) if [[ $command ]]; then arguments+=("$word"); else command=$word; fi ;;
        esac
    done
}

_entrydb() {
    # Not the program that the line names: another user's is not run before the line is.
    local program=entrydb word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]}
    local command='' arguments=() context=()
    COMPREPLY=()
    _entrydb_read_line
    [[ $word == '=' ]] && word=
    [[ $before == '=' ]] && before=${COMP_WORDS[COMP_CWORD - 2]}
    [[ $before == --* ]] && _entrydb_value "$program" "$before" "$word" && return
    if [[ $word == -* ]]; then
        _entrydb_offer "$word" < <(_entrydb_listed "$program" ${command:+"$command"} | grep '^-')
    else
        _entrydb_argument "$program" "$word"
    fi
    ! declare -F __ltrim_colon_completions >/dev/null || __ltrim_colon_completions "$word"
}

complete -F _entrydb entrydb
