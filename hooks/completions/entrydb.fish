# Completion of entrydb(1) for fish. Commands and options are read from the program's
# help, groups and names from its output, so that this file needs no updates.

# The items of its help: a name, a tab, an explanation; $argv[1] is the pattern of a name.
function __entrydb_listed
    command $argv[2..-1] --help 2>/dev/null |
        string replace --filter --regex "^  ($argv[1])(?: \S+)*  +(.*)" '$1\t$2'
end

# Omit items with an escaped character, which cannot be typed as shown.
function __entrydb_column
    cut -f $argv[1] | string match --invert --regex '\\\\'
end

function __entrydb_value --argument-names program option
    switch $option
        case --db --root --sarif --html --baseline --facts --requirements
            __fish_complete_path (string replace --regex '^--\w+=' '' -- (commandline -ct))
        case --path --prefix
            __fish_complete_directories (string replace --regex '^--\w+=' '' -- (commandline -ct))
        case --platform
            printf '%s\n' linux/amd64 linux/arm64
        case --python
            printf '%s\n' 3.10 3.11 3.12 3.13 3.14 3.15 im10
        case --fresh
            printf '%s\n' trust roots exact
        case --fail-on
            printf '%s\n' note warning error none
        case --color
            printf '%s\n' auto always never
        case --hook
            printf '%s\n' apk conda dpkg pacman pip rpm systemd uv
        case --group
            command $program groups $argv[3..-1] 2>/dev/null | __entrydb_column 1
    end
end

function __entrydb_complete
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    # Not the program that the line names: another user's is not run before the line is.
    set -l program entrydb
    set -l command
    set -l arguments
    set -l context
    set -l option
    for before in $words[2..-1]
        if test -n "$option" # its value
            contains -- $option --db --path --root --platform --python
            and set -a context $option (string replace --regex '^~' $HOME -- $before)
            set option
            continue
        end
        switch $before
            case '--db=*' '--path=*' '--root=*' '--platform=*' '--python=*'
                set -a context $before
            case --db --path --root --platform --python --fresh --group --hook --color --prefix --distribution \
                --program --priority --timeout --sarif --html --baseline --facts --fail-on --since --requirements --command
                set option $before
            case '-*'
            case '*'
                if set -q command[1]
                    set -a arguments $before
                else
                    set command $before
                end
        end
    end
    if test -n "$option"
        __entrydb_value $program $option $context
        return
    end
    switch "$word"
        case '--*=*'
            set option (string replace --regex '=.*' '' -- $word)
            __entrydb_value $program $option $context | string replace --regex -- '^' "$option="
            return
        case '-*'
            __entrydb_listed '--[a-z-]+' $program $command
            return
    end
    switch "$command:"(count $arguments)
        case ':*' help:0
            __entrydb_listed '[a-z]+' $program
        case list:0 why:0 disable:0 enable:0 probe:0
            command $program groups $context 2>/dev/null | __entrydb_column 1
        case list:1 why:1 probe:1
            command $program list $context -- $arguments[1] 2>/dev/null | __entrydb_column 2
        case run:0
            command $program list $context -- console_scripts 2>/dev/null | __entrydb_column 2
        case 'add:*' 'update:*' 'verify:*' 'audit:*' 'forget:*'
            __fish_complete_path "$word"
    end
end

complete --command entrydb --no-files --arguments '(__entrydb_complete)'
