# Completion of cntk for bash: the program itself knows the candidates.
_cntk() {
    local line=${COMP_LINE:0:COMP_POINT} words last typed
    read -ra words <<<"$line"
    [[ $line == *' ' ]] && words+=("")
    last=${words[-1]}
    mapfile -t COMPREPLY < <("${words[0]}" --complete "${words[@]:1}" 2>/dev/null)
    typed=${last%"${last##*[=:]}"} # the shell replaces only the text after these characters
    COMPREPLY=("${COMPREPLY[@]#"$typed"}")
    [[ ${COMPREPLY[0]-} == *[=[/] ]] && compopt -o nospace
}
complete -F _cntk cntk
