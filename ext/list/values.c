/* The class of a field of a table, by its text. rows.c chooses the entry of a row by the classes.
 * The key of a field that was not meant as an address can match an innocent page, so in doubt a
 * field is not an entry. A name counts as one unless it ends like a file or begins like the name of
 * a package, or if a heading or a word for a type says that the field is a host. */
#include "list/list.h"

#include <stdlib.h>

/* If a piece begins with [.], (dot) or the like, returns the length of that and sets *meant to what
 * it stands for. Otherwise returns 0. */
static size_t list_bracket(struct list_piece piece, const char **meant) {
    static const struct {
        const char *written, *meant;
    } BRACKETS[] = {{"[.]", "."},   {"[dot]", "."}, {"[:]", ":"},   {"[://]", "://"},
                    {"[/]", "/"},   {"(.)", "."},   {"(dot)", "."}, {"{.}", "."},
                    {"{dot}", "."}, {"[.", "."},    {".]", "."}};
    const bool may_be =
        *piece.at == '[' || *piece.at == '(' || *piece.at == '{' || *piece.at == '.';
    for (size_t i = 0; may_be && i < sizeof BRACKETS / sizeof *BRACKETS; i++)
        if (list_begins(piece, BRACKETS[i].written)) {
            *meant = BRACKETS[i].meant;
            return strlen(BRACKETS[i].written);
        }
    return 0;
}

size_t list_mangled_scheme(struct list_piece piece) {
    struct list_piece rest = piece;
    if (!list_begins(piece, "hxxp") && !list_begins(piece, "h**p") && !list_begins(piece, "fxp"))
        return 0;
    rest.at += list_begins(piece, "fxp") ? 3 : 4;
    rest.at += list_begins(rest, "s");
    return list_begins(rest, ":") || list_begins(rest, "[:") ? (size_t)(rest.at - piece.at) : 0;
}

bool list_refang(struct bloom_list *list, struct list_piece piece, const char *escaped) {
    const size_t mangled = list_mangled_scheme(piece);
    bool defanged = mangled > 0;
    uint8_t *to = list->text;
    list->judged = (struct list_piece){NULL, NULL}; /* that field's text is overwritten */
    if (defanged) {
        memcpy(to, "ftp", 3); /* any scheme will do, because keys do not contain it */
        to += 3;
        piece.at += mangled;
    }
    while (piece.at < piece.end) {
        const char *meant = NULL;
        const size_t bracket = list_bracket(piece, &meant);
        if (bracket == 0) {
            piece.at += escaped != NULL && list_begins(piece, escaped);
            *to++ = *piece.at++;
            continue;
        }
        while (*meant != '\0')
            *to++ = (uint8_t)*meant++;
        piece.at += bracket;
        defanged = true;
    }
    list->used = (size_t)(to - list->text);
    return defanged;
}

bool list_is_defanged(struct bloom_list *list, struct list_piece piece) {
    const bool has_bracket = list_find_any(piece, "[({]") < piece.end;
    const struct list_piece word = {piece.at,
                                    has_bracket ? list_find_any(piece, " \t,") : piece.end};
    return list_mangled_scheme(piece) > 0 || (has_bracket && list_refang(list, word, NULL));
}

/* Compares some letters with the word of a row, after which a blank follows. */
static int list_compare(const void *key, const void *row) {
    const char *letters = key, *word = row;
    while (*letters == *word) {
        letters++;
        word++;
    }
    return *letters == '\0' && *word == ' ' ? 0 : *letters - *word;
}

/* Looks up a word, without signs between its letters. Returns what it means: a letter of MEANINGS,
 * and F for the ending of a file. No top-level domain is such an ending. */
static const char *list_look_up(struct list_piece word) {
    /* Sorted, with a blank after each word. */
    static const char WORDS[][20] = {
        /* clang-format off */
        "7z F", "apk F", "asn O", "asp F", "aspx F", "avi F", "bak F", "bat F", "bin F",
        "bitcoinaddress O", "bmp F", "btc O", "c2 C", "c2domain C", "c2ip C", "c2server C",
        "c2url C", "cfg F", "cgi F", "chm F", "class F", "cmd F", "comment O", "conf F", "cpl F",
        "css F", "csv F", "cve O", "dat F", "data V", "db F", "description O", "dex F", "dll F",
        "dmg F", "doc F", "docm F", "docx F", "domain H", "domainip H", "domainname H",
        "domainport T", "domains H", "drv F", "elf F", "email O", "emailaddr O", "emailaddress O",
        "emaildst O", "emailsrc O", "emailsubject O", "eml F", "exe F", "file O", "filehash O",
        "filehashmd5 O", "filehashsha1 O", "filehashsha256 O", "filename O", "filenamemd5 O",
        "filenamesha1 O", "filenamesha256 O", "filepath O", "filepathname O", "fqdn H", "gif F",
        "gz F", "hash O", "host H", "hostip H", "hostname H", "hostnameport T", "hostport T",
        "hta F", "htm F", "html F", "hwp F", "ico F", "img F", "imphash O", "indicator I",
        "indicatorvalue E", "inf F", "info O", "ini F", "inteladdr T", "intelcerthash O",
        "inteldomain T", "intelemail O", "intelfilehash O", "intelfilename O", "intelpubkeyhash O",
        "intelsoftware O", "intelurl T", "intelusername O", "ioc X", "iocvalue E", "ip H", "ipa F",
        "ipaddr T", "ipaddress H", "ipdomain H", "ipdst T", "ipdstport T", "ipport H", "ips H",
        "ipsrc T", "ipsrcport T", "ipv4 H", "ipv4addr T", "ipv6 T", "ipv6addr T", "iso F", "ja3 O",
        "jar F", "jpeg F", "jpg F", "js F", "jse F", "json F", "jsp F", "key F", "link O", "lnk F",
        "log F", "mail O", "md5 O", "md5hash O", "mp3 F", "mp4 F", "msc F", "msg F", "msi F",
        "mutex O", "observable V", "ocx F", "odt F", "package O", "packagename O", "pcap F",
        "pdb OF", "pdf F", "php F", "pif F", "png F", "ppt F", "pptm F", "pptx F", "ps1 F",
        "psd1 F", "psm1 F", "rar F", "reference O", "reg F", "registrykey O", "regkey O",
        "regkeyvalue O", "rtf F", "scr F", "sct F", "sha1 O", "sha1hash O", "sha224 O", "sha256 O",
        "sha256hash O", "sha384 O", "sha512 O", "sha512hash O", "ssdeep O", "svg F", "swf F",
        "sys F", "tar F", "text O", "tgz F", "tlsh O", "tmp F", "txt F", "uri UF", "url UF",
        "urls U", "useragent O", "value V", "vbe F", "vbs F", "vhd F", "vulnerability O", "wav F",
        "wsf F", "xla F", "xlam F", "xll F", "xls F", "xlsb F", "xlsm F", "xlsx F", "xml F",
        "xps F", "yaml F", "yara O", "yml F"
        /* clang-format on */
    };
    char letters[sizeof *WORDS];
    size_t used = 0;
    if (list_length(word) >= sizeof letters || list_has(word, ','))
        return "";
    for (; word.at < word.end; word.at++)
        if (url_is_letter(*word.at) || url_is_digit(*word.at))
            letters[used++] = (char)url_lower(*word.at);
    letters[used] = '\0';
    const char *found =
        bsearch(letters, WORDS, sizeof WORDS / sizeof *WORDS, sizeof *WORDS, list_compare);
    return found != NULL ? found + used + 1 : "";
}

struct list_meaning list_meaning_of(struct list_piece word) {
    static const struct list_meaning MEANINGS['Z'] = {
        ['O'] = {LIST_IS_OTHER_TYPE, LIST_NO_COLUMN},  ['T'] = {LIST_IS_HOST_TYPE, LIST_NO_COLUMN},
        ['H'] = {LIST_IS_HOST_TYPE, LIST_HOST_COLUMN}, ['U'] = {LIST_IS_HOST_TYPE, LIST_URL_COLUMN},
        ['C'] = {LIST_IS_WORD, LIST_HOST_COLUMN},      ['V'] = {LIST_IS_WORD, LIST_VALUE_COLUMN},
        ['I'] = {LIST_IS_WORD, LIST_INDICATOR_COLUMN}, ['E'] = {LIST_IS_WORD, LIST_ENTRY_COLUMN},
        ['X'] = {LIST_IS_WORD, LIST_IOC_COLUMN},
    };
    const bool may_mean = word.at < word.end && url_is_letter(*word.at);
    return MEANINGS[may_mean ? (uint8_t)*list_look_up(word) : 0]; /* zero: a word, no column */
}

/* Returns true if all of several words are entries. */
static bool list_are_entries(struct bloom_list *list, struct list_piece words) {
    bool are_entries = list_has(words, ' ');
    while (are_entries && words.at < words.end) {
        struct list_piece word = list_next_name(&words, LIST_FIELD);
        are_entries = list_class_of(list, &word) >= LIST_IS_ENTRY;
    }
    return are_entries;
}

/* Returns true if a name belongs to a file or a package. */
static bool list_is_file_or_package(struct list_piece name, struct list_piece ending) {
    const struct list_piece first = {name.at, list_find(name, '.')};
    if (strchr(list_look_up(ending), 'F') != NULL)
        return true;
    if (first.end + 1 == ending.at) /* a package has three parts */
        return false;
    return list_contains(name, ".android.") || list_is_one_of(first, "com,io,net,org,");
}

/* Returns the class of a field whose key has been made and has a name as its host. People mean a
 * name only if its last label begins with a letter and is longer. */
static enum list_class list_name_class(const struct bloom_list *list, struct list_piece field) {
    const struct list_piece name = {list->key, list->key + list->url.host};
    const struct list_piece last = list_last(name, '.');
    const bool is_alone = list->url.length == list->url.host + 1 && !list_has(field, ':');
    return list_length(last) < 2 || !url_is_letter(*last.at) ? LIST_IS_WORD
           : is_alone && list_is_file_or_package(name, last) ? LIST_IS_DOUBTFUL
                                                             : LIST_IS_ENTRY;
}

/* Returns the class of any field whose key has been made. */
static enum list_class list_key_class(const struct bloom_list *list, struct list_piece field) {
    struct list_piece text = {list->text, list->text + list->used};
    text.end = list_find_any(text, "/?");
    if (list_find_any(text, "@\\#") < text.end || list_contains(text, ".."))
        return LIST_IS_WORD;
    return list->url.address ? LIST_IS_ENTRY : list_name_class(list, field);
}

/* Returns where a defanged entry ends: at a comma, bar, blank or quotation mark, or at what its
 * author left out, as in h/<id> and h/[a random name]. */
static const uint8_t *list_defanged_end(struct list_piece entry) {
    const uint8_t *at = entry.at, *closed = list_last(entry, ']').at;
    const char *meant;
    for (; at < entry.end && strchr(" \t,|<\"", *at) == NULL; at++) {
        const bool in_path = at > entry.at + 1 && at[-1] == '/' && at[-2] != '/';
        if (*at == '[' && (in_path || closed <= at) &&
            list_bracket((struct list_piece){at, entry.end}, &meant) == 0)
            break;
    }
    return at;
}

static enum list_class list_judge(struct bloom_list *list, struct list_piece *field) {
    if (!list_has(*field, '.')) {
        const enum list_class type = list_meaning_of(*field).type;
        if (type != LIST_IS_WORD || !list_has(*field, ':'))
            return type;
    } else if (list_read_plain(list, *field)) {
        return list->url.scheme    ? LIST_IS_URL
               : list->url.address ? LIST_IS_ENTRY
                                   : list_name_class(list, *field);
    }
    if (list_is_number(*field))
        return LIST_IS_WORD;
    if (list_are_entries(list, *field))
        return LIST_IS_NAMES;
    const bool is_defanged = list_is_defanged(list, *field);
    const bool has_scheme = list_has_scheme(*field) || list_mangled_scheme(*field) > 0;
    if (is_defanged)
        field->end = list_defanged_end(*field);
    else if (!has_scheme)
        field->end = list_find(*field, '|');
    if (has_scheme)
        return is_defanged ? LIST_IS_SURE : LIST_IS_URL;
    struct list_piece host = {field->at, list_find_any(*field, "/:?")};
    if (list_has(host, ' ') && !list_is_range(&host, false))
        return LIST_IS_WORD; /* early, because prose is long */
    const enum list_form form = list_read(list, *field, LIST_FIELD);
    return form == LIST_RANGE                          ? LIST_IS_RANGE
           : form >= LIST_NO_KEY && form != LIST_LOCAL ? LIST_IS_WORD
                                                       : list_key_class(list, *field);
}

/* Returns true if three words in a row begin with letters, unlike those of a date. */
static bool list_is_prose(struct list_piece field) {
    unsigned words = 0;
    while (words < 3 && field.at < field.end)
        words = url_is_letter(*list_word(&field).at) ? words + 1 : 0;
    return words == 3;
}

enum list_class list_class_of(struct bloom_list *list, struct list_piece *field) {
    struct list_piece value = *field;
    enum list_class class = list_judge(list, field);
    if (class != LIST_IS_WORD)
        return class;
    if (list_has(value, ':') &&
        list_meaning_of(list_split(&value, ':')).type == LIST_IS_HOST_TYPE) {
        value = list_trim(value); /* Ip:192.0.2.9 */
        class = list_judge(list, &value);
        if (class >= LIST_IS_RANGE) {
            *field = value;
            return class == LIST_IS_NAMES ? class : LIST_IS_SURE;
        }
    }
    return list_has(*field, ' ') && list_is_prose(list_trim(*field)) ? LIST_IS_PROSE : LIST_IS_WORD;
}
