# make help: the comments "goal: ## group | what it does | details; details" of the makefiles as a table, or, with goal
# set, all that one command takes. Lines have at most 80 columns. Exit status 2: no command has that name.
/^[a-z][a-z-]*:.*## / {
    line = $0
    while (sub(/ *\\$/, "", line)) { getline; sub(/^ */, ""); line = line " " $0 }
    name = line
    sub(/:.*/, "", name)
    sub(/^.*## /, "", line)
    parts = split(line, part, " [|] ")
    if (parts < 2) { part[2] = part[1]; part[1] = "other" }
    if (!(part[1] in table)) groups = groups ? groups "|" part[1] : part[1]
    table[part[1]] = table[part[1]] sprintf("  make %-12s %s\n", name, part[2])
    if (name == goal) { text = sprintf("make %s: %s\n", name, part[2]); details = (parts > 2 ? part[3] : ""); found = 1 }
}

# a detail, in lines of 80 columns
function wrapped(s,    n, i, word, out, column) {
    n = split(s, word, " ")
    out = " "
    column = 1
    for (i = 1; i <= n; i++) {
        if (column + 1 + length(word[i]) > 80) { out = out "\n     "; column = 5 }
        out = out " " word[i]
        column += 1 + length(word[i])
    }
    return out
}

END {
    if (goal != "" && !found) {
        print "make help: C=" goal ": expected a command that `make help` lists" >"/dev/stderr"
        exit 2
    }
    if (goal != "") {
        printf "%s", text
        n = split(details, detail, "; ")
        for (i = 1; i <= n; i++) print wrapped(detail[i])
        exit
    }
    split("every day|debugging|networks|sign-off|other", order, "|")
    for (g = 1; g in order; g++) {
        if (!(order[g] in table)) continue
        printf "%s%s:\n", (g > 1 ? "\n" : ""), order[g]
        system("")
        printf "%s", table[order[g]] | "sort"
        close("sort")
    }
}
