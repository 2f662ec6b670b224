# Makes visits to the addresses of a list, in the spellings of people and attackers, among harmless
# ones. It reads the list as published and knows nothing of the extension, so its output is a record
# to compare with.
#
#   awk -f sql/visits.awk -v harmless=1000000 -v listed=2000 -v day=1 list.txt
#
# With -v progress=1 it writes to standard error how far it is.
#
# A line is 1 or 0, the octal character 037, and the URL. 1 means that a browser that opens the URL
# goes where an entry of the list says. The list can have ||host^ and ||host/path^, lines of hosts
# files, CSV with URLs, and one URL or name on each line. Some visits have capitals at random,
# because a list in lower case does not show which letters of a path are capitals.

# The address of a line, or "" if it has none.
function address_of(line) {
    gsub(/\r|^[ \t]+|[ \t]+$/, "", line)
    if (line ~ /^([#!;\[]|@@|\/)/ || line ~ /#[@?$%]?#/)
        return ""
    if (line ~ /^\|/) {
        # A rule that blocks only on some pages. Nobody who opens its address is blocked.
        if (line ~ /[$,](badfilter|removeparam|csp|redirect-rule)/ ||
            line ~ /[$,](domain|from|to|top|denyallow|method|app|client|ctag|dnstype|ipaddress)=/ ||
            line ~ /[$,](1p|first-party|strict1p|~third-party|~3p|popup|popunder)(,|$)/)
            return ""
        sub(/^\|\|?/, "", line)
        sub(/\$[A-Za-z0-9~_,=|.*-]+$/, "", line)
    }
    sub(/[|^]+\*?$/, "", line)
    if (line ~ /^([0-9.]+|[0-9a-fA-F:]*:[0-9a-fA-F:]*)[ \t]+[^ \t#]/) {
        sub(/^[^ \t]+[ \t]+/, "", line)
        sub(/[ \t].*/, "", line)
        if (line ~ /^[0-9.]+$/)
            return ""
    }
    if (match(line, /(^|[",])[hH][tTxX][tTxX][pP][sS]?:\/\/[^"]*/)) {
        line = substr(line, RSTART, RLENGTH)
        sub(/^[",]/, "", line)
    }
    sub(/[ \t]+[#;].*/, "", line)
    gsub(/\[\.\]/, ".", line)
    sub(/^[A-Za-z]+:\/\//, "", line)
    sub(/^\*?\./, "", line)
    sub(/\/\*$/, "/", line)
    # Leave out addresses whose meaning the spellings below would change.
    if (line !~ /^[A-Za-z0-9._-]+\.[A-Za-z0-9-]+(:[0-9]+)?(\/[!-"$-)+-~]*)?$/)
        return ""
    return line
}

# Text in the letters of another alphabet: full width, from U+FF01 on.
function wide(text,    out, i, code) {
    out = ""
    for (i = 1; i <= length(text); i++) {
        code = index(PRINTABLE, substr(text, i, 1))
        out = out sprintf("\357%c%c", 188 + int(code / 64), 128 + code % 64)
    }
    return out
}

# Half of the letters as capitals, which ones depends on the number.
function mixed(text, number,    out, i, letter) {
    out = ""
    for (i = 1; i <= length(text); i++) {
        letter = substr(text, i, 1)
        out = out ((number + i * i) % 3 ? letter : toupper(letter))
    }
    return out
}

function hexadecimal(host,    part) {
    split(host, part, ".")
    return sprintf("0x%x.%d.0%o.%d", part[1], part[2], part[3], part[4])
}

function spelling(host, rest, named, way, number,    dotted, part, path) {
    path = rest == "" ? "/" : rest
    if (way == 0) return "http://" host path
    if (way == 1) return "HTTP://" toupper(host) path
    if (way == 2) return "https://" host ":8443" path "#part"
    if (way == 3) return host "." path
    if (way == 4) return "http://user:secret@" host "/x/./.." path
    if (way == 5) return "  \thttp://" host path " "
    if (way == 6) return "https://" host mixed(path, number)
    # Hosts of six labels and folders of four have no entry of their own among the keys.
    if (way == 7) {
        if (named && split(host, part, ".") < 6) host = "s" day "." host
        return "https://" host path
    }
    if (way == 8) {
        if (path ~ /^\/([^\/]*\/)?([^\/]*\/)?$/) path = path number ".zip"
        return "http://" host path
    }
    if (way == 9) {
        dotted = host
        gsub(/\./, "%2e", dotted)
        return "http://" dotted path
    }
    if (way == 10) {
        dotted = path
        if (dotted !~ /\?/) gsub(/\//, "\\", dotted)
        return "http:\\\\" host dotted
    }
    if (way == 11) return "http:/" host path (path ~ /\?/ ? "#" : "?") "day=" day
    if (way == 12) return "http://" substr(host, 1, 2) "\302\255" substr(host, 3) path
    if (way == 13) {
        dotted = host
        gsub(/\./, "\343\200\202", dotted)
        return "https://" dotted path
    }
    if (way == 14) return "http://" wide(host) path
    if (way == 15) return "https://good.example%2F@" host path
    if (way == 16) return "http://" (named ? mixed(host, number) : hexadecimal(host)) path
    if (way == 17) return "ht\ttp://ok.example:80@" host "\t" path
    if (way == 18) return "//" host path
    return "\001 ws:" host path
}

BEGIN {
    FS = "\n"
    if (day == "") day = 1
    for (i = 33; i < 127; i++) PRINTABLE = PRINTABLE sprintf("%c", i)
}

{
    if (NR == 1) sub(/^\357\273\277/, "")
    address = address_of($0)
    if (address != "") found[entries++] = address
}

END {
    WAYS = 20
    if (listed == "") listed = entries * WAYS
    if (entries == 0) listed = 0
    # Steps that meet every entry once before any comes again.
    step = int(entries * 0.618) + day
    while (common(step, entries) > 1) step++
    for (i = 0; i < listed; i++) {
        number = i * 2654435761 % 2147483648
        address = found[(i * step + day) % entries]
        host = address
        sub(/\/.*/, "", host)
        rest = substr(address, length(host) + 1)
        sub(/:[0-9]+$/, "", host)
        printf "1\037%s\n", spelling(host, rest, host !~ /^[0-9.]+$/, (i + day) % WAYS, number)
    }
    split("shop news blog mail wiki", kind, " ")
    for (i = 0; i < harmless; i++) {
        if (progress && i % 100000 == 0) {
            printf "\r\033[KMaking visits: %d of %d", i, harmless > "/dev/stderr"
            fflush("/dev/stderr")
        }
        number = (i + day * 7919) * 2654435761 % 2147483648
        if (i % 20 == 1 && entries > 0) {
            address = found[(i * step + day) % entries]
            host = address
            sub(/[:\/].*/, "", host)
            if (i % 40 == 1 && host !~ /^[0-9.]+$/)
                printf "0\037http://%s.other%d.example/%s\n", host, i, substr(address, 1, 9)
            else
                printf "0\037https://www.example/?to=http://%s&n=%d\n", address, number
        } else {
            # Pages come again, on the same day and on others, every seventh time with a new query.
            host = number % (1 + int(harmless / 20))
            printf "0\037%s%s%d.example%s/%s/%x%s\n",
                i % 3 ? "https://www." : "http://", kind[1 + host % 5], host,
                i % 2 ? "" : ":8080", host % 4 ? "item" : "Photos", int(number / 4096) % 8,
                i % 7 ? "" : sprintf("?id=%x&from=mail", number)
        }
    }
}

function common(a, b) {
    return b ? common(b, a % b) : a
}
