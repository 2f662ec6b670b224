/* Users give the name of a file, an address, or a file that is compressed or of another form. Each
 * of them is told what it is and what to do. */
#include "filter/given_text.h"

#include "list/piece.h"

/* Returns true if a text looks like the name of a file, for example 'hosts.txt' instead of
 * readfile('hosts.txt'), '/etc/hosts', '~/list', 'lists/x' or 'C:\list'. It ends like the names of
 * lists (none of these ends is a top-level domain), or it is a path without signs that names of
 * files seldom have. It begins neither with a scheme nor with a host and a slash. It has blanks
 * only if it is a whole path with such an end. */
static bool is_file_name(const uint8_t *text, size_t length) {
    static const char *const ENDS[] = {".txt", ".csv",   ".tsv",  ".json", ".list", ".lst",
                                       ".log", ".hosts", ".conf", ".yaml", ".yml",  ".gz"};
    enum { NAME_MOST = 260 };
    struct list_piece name = {text, text + length};
    bool ends = false, common = length > 0 && text[length - 1] > ' ';
    while (name.at < name.end && name.end[-1] <= ' ')
        name.end--;
    if (name.at == name.end || list_length(name) > NAME_MOST)
        return false;
    for (size_t i = 0; i < sizeof ENDS / sizeof *ENDS; i++)
        ends |= list_length(name) > strlen(ENDS[i]) && list_ends(name, ENDS[i]);
    const bool drive = list_length(name) > 3 && url_is_letter(*text) && text[1] == ':' &&
                       (text[2] == '\\' || (text[2] == '/' && text[3] != '/'));
    const bool path = drive || (*text == '/' && !list_begins(name, "//")) ||
                      list_begins(name, "~/") || list_begins(name, "./") ||
                      list_begins(name, "../");
    for (const uint8_t *at = text; at < name.end; at++) {
        if (*at < ' ' || (*at == ' ' && !(path && ends)))
            return false;
        common &=
            url_is_letter(*at) || url_is_digit(*at) || *at >= 0x80 || strchr("._+~/-", *at) != NULL;
    }
    const uint8_t *slash = list_find(name, '/');
    if (drive || slash == name.end)
        return drive || ends;
    if (name.end[-1] == '/' || slash[1] == '/' || !(ends || (common && !url_is_digit(*text))))
        return false;
    while (*name.at == '.') /* of ../lists/x */
        name.at++;
    return !list_has((struct list_piece){name.at, slash}, '.');
}

/* Returns true if a text is one URL without a line end. That is meant as the address of a text. */
static bool is_address(const uint8_t *text, size_t length) {
    static const char *const SCHEMES[] = {"http://", "https://", "ftp://", "file://"};
    const struct list_piece piece = {text, text + length};
    bool has_scheme = false;
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++)
        has_scheme |= list_begins(piece, SCHEMES[i]);
    for (size_t i = 0; has_scheme && i < length; i++)
        has_scheme = text[i] > ' ';
    return has_scheme;
}

static const char UTF16[] = "UTF-16. Convert it first, as with iconv -f UTF-16 -t UTF-8";

/* Returns what a file is whose first bytes no text in UTF-8 has, and what to do; otherwise NULL. */
static const char *no_utf8(struct list_piece file) {
    if (list_begins(file, "\xff\xfe") || list_begins(file, "\xfe\xff"))
        return UTF16;
    if (list_begins(file, "\x28\xb5\x2f\xfd"))
        return "compressed with zstd. Unpack it first, as with unzstd";
    return list_begins(file, "\x1f\x8b") ? "compressed with gzip. Unpack it first, as with gunzip"
                                         : NULL;
}

/* Returns NULL for a list, or else what the text is, and what to do. UTF-16 without a mark is known
 * by its zero bytes, and nearly all binary files have one early on. */
static const char *no_list(struct list_piece text) {
    enum { EARLY = 512 };
    const uint8_t *bytes = text.at;
    if (list_length(text) >= 4 && (bytes[0] == 0) != (bytes[1] == 0) &&
        (bytes[0] == 0) == (bytes[2] == 0) && (bytes[1] == 0) == (bytes[3] == 0))
        return UTF16;
    if (memchr(bytes, 0, list_length(text) < EARLY ? list_length(text) : EARLY) != NULL)
        return "binary, with a zero byte near its beginning. Unpack it if it is compressed, and "
               "give the text of a list";
    while (list_begins(text, BLOOM_BYTE_ORDER_MARK))
        text.at += strlen(BLOOM_BYTE_ORDER_MARK);
    text = list_without_spaces(text);
    const bool begins_with_remark = list_begins(text, "#") || list_begins(text, "!");
    while (list_begins(text, "#") || list_begins(text, "!"))
        text = list_without_spaces((struct list_piece){list_find(text, '\n'), text.end});
    if (list_begins(text, "msfilterlist"))
        return "a Tracking Protection List of Internet Explorer. Give a list of another form";
    const uint8_t first = text.at < text.end ? *text.at++ : '\0';
    text = list_without_spaces(text);
    const uint8_t second = text.at < text.end ? *text.at : '\0';
    if (first == '{' && second != '"' && (begins_with_remark || second == '+' || second == '-'))
        return "an action file of Privoxy. Give a list of another form";
    if (begins_with_remark && first != '{')
        return NULL;
    if (first == '<' && (url_is_letter(second) || second == '!' || second == '?'))
        return "HTML or XML. Give the text of a list, as its publisher offers it for download";
    if (first == '{' || (first == '[' && strchr("\"{[", second) != NULL && second != '\0'))
        return "JSON. Make each entry a line, as SELECT group_concat(value || char(10), '') FROM "
               "json_each(text, '$') does. Instead of $ give the path of the entries, such as "
               "$.rules[0].domain_suffix. If each entry is an object, select FROM json_tree(text) "
               "WHERE key = 'url'; in STIX the key is 'pattern'. If each line is JSON by itself, "
               "select FROM bloom_lines(text) AS l, json_tree(l.text) WHERE key = 'url'";
    return NULL;
}

bool bloom_given_text(const uint8_t *text, size_t length, bool is_list, bool may_be_address,
                      bloom_problem problem) {
    const struct list_piece piece = {text, text + length};
    char quoted[BLOOM_QUOTE_SIZE];
    if (length == 0) /* text may be NULL then */
        return true;
    if (!may_be_address && is_address(text, length))
        return bloom_fail(problem,
                          "%s is an address and not the text that is there. Download it first, and "
                          "give the text. If it is the only line of a list, add a line feed to it",
                          bloom_quote(quoted, text, length));
    if (is_file_name(text, length))
        return bloom_fail(problem,
                          "%s looks like the name of a file. Read the file, and give its text. In "
                          "the sqlite3 shell readfile(%s) returns it",
                          bloom_quote(quoted, text, length), quoted);
    const char *other = no_utf8(piece);
    if (other == NULL && is_list)
        other = no_list(piece);
    return other == NULL || bloom_fail(problem, "the text is %s", other);
}
