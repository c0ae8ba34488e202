# Completion of cntk for fish: the program itself knows the candidates.
function __cntk_complete
    set -l words (commandline -opc) (commandline -ct)
    $words[1] --complete $words[2..-1] 2>/dev/null
end
complete -c cntk -f -a '(__cntk_complete)'
