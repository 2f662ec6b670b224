/* What a field of a table is, by its text and by the word for a type that is beside it.
 *
 * The key of a field that was not meant as an address can match an innocent page, so in doubt a
 * field is not an entry. A name counts as one unless it ends like a file or begins like the name of
 * a package. If a heading or a word for a type says that the field is a host, it does in any case.
 */
#include "list/forms.h"
#include "url/url.h"

size_t list_piece(struct list_span span, bool in_path, const char **meant) {
    static const struct {
        const char *written, *meant;
    } PIECES[] = {{"[.]", "."}, {"[dot]", "."}, {"[:]", ":"}, {"[://]", "://"}, {"[/]", "/"},
                  {"(.)", "."}, {"(dot)", "."}, {"{.}", "."}, {"{dot}", "."}};
    if (span.at < span.end && (*span.at == '[' || (!in_path && strchr("({", *span.at) != NULL)))
        for (size_t i = 0; i < sizeof PIECES / sizeof *PIECES; i++)
            if (list_begins(span, PIECES[i].written)) {
                *meant = PIECES[i].meant;
                return strlen(PIECES[i].written);
            }
    return 0;
}

size_t list_mangled_scheme(struct list_span span) {
    static const char *const SCHEMES[] = {"hxxp", "h**p", "fxp"};
    for (size_t i = 0; i < sizeof SCHEMES / sizeof *SCHEMES; i++) {
        struct list_span rest = {span.at + strlen(SCHEMES[i]), span.end};
        if (!list_begins(span, SCHEMES[i]))
            continue;
        rest.at += list_begins(rest, "s");
        if (list_begins(rest, ":") || list_begins(rest, "[:"))
            return (size_t)(rest.at - span.at);
    }
    return 0;
}

bool list_is_defanged(struct list_span span) {
    const char *meant;
    unsigned slashes = 0;
    if (list_mangled_scheme(span) > 0)
        return true;
    if (!list_has(span, '[') && !list_has(span, '(') && !list_has(span, '{'))
        return false;
    for (; span.at < span.end && !list_is_blank(*span.at) && *span.at != ','; span.at++) {
        if (list_piece(span, slashes > 2, &meant) > 0)
            return true;
        slashes += *span.at == '/';
    }
    return false;
}

enum list_type list_type_of(struct list_span field) {
    static const char ENTRIES[] =
        ",c2,domain,domainip,domainname,domainport,domains,fqdn,host,hostip,hostname,hostnameport,"
        "hostport,inteladdr,inteldomain,intelurl,ip,ipaddr,ipaddress,ipdomain,ipdst,ipdstport,"
        "ipport,ips,ipsrc,ipsrcport,ipv4,ipv4addr,ipv6,ipv6addr,uri,url,urls,";
    static const char OTHERS[] =
        ",asn,bitcoinaddress,btc,comment,cve,description,email,emailaddr,emailaddress,emaildst,"
        "emailsrc,emailsubject,file,filehash,filehashmd5,filehashsha1,filehashsha256,filename,"
        "filenamemd5,filenamesha1,filenamesha256,filepath,filepathname,hash,imphash,info,"
        "intelcerthash,"
        "intelemail,intelfilehash,intelfilename,intelpubkeyhash,intelsoftware,intelusername,ja3,"
        "link,mail,md5,md5hash,mutex,package,packagename,pdb,reference,regkey,regkeyvalue,"
        "registrykey,sha1,sha1hash,sha224,sha256,sha256hash,sha384,sha512,sha512hash,ssdeep,text,"
        "tlsh,useragent,vulnerability,yara,";
    char folded[LIST_FOLDED];
    if (list_length(field) < 2 || !url_is_letter(*field.at) || !list_fold(field, true, folded))
        return LIST_NO_TYPE;
    return strstr(ENTRIES, folded) != NULL  ? LIST_ENTRY_TYPE
           : strstr(OTHERS, folded) != NULL ? LIST_OTHER_TYPE
                                            : LIST_NO_TYPE;
}

/* Returns true if a name is that of a file or of a package. None of these endings is a top-level
 * domain. */
static bool list_is_file_or_package(struct list_span name) {
    static const char FILES[] =
        ",7z,apk,asp,aspx,avi,bak,bat,bin,bmp,cfg,cgi,chm,class,cmd,conf,cpl,css,csv,dat,db,dex,"
        "dll,"
        "dmg,doc,docm,docx,drv,elf,eml,exe,gif,gz,hta,htm,html,hwp,ico,img,inf,ini,ipa,iso,jar,"
        "jpeg,"
        "jpg,js,jse,json,jsp,lnk,log,mp3,mp4,msc,msg,msi,ocx,odt,pcap,pdb,pdf,php,pif,png,ppt,pptm,"
        "pptx,ps1,psd1,psm1,rar,reg,rtf,scr,sct,svg,swf,sys,tar,tgz,tmp,txt,url,vbe,vbs,vhd,wav,"
        "wsf,"
        "xla,xlam,xll,xls,xlsb,xlsm,xlsx,xml,xps,yaml,yml,";
    const struct list_span first = {name.at, list_find(name, '.')};
    const struct list_span ending = list_last(name, '.');
    if (list_is_one_of(ending, FILES))
        return true;
    if (first.end + 1 == ending.at) /* a package has three parts */
        return false;
    while (name.at < name.end && !list_begins(name, ".android."))
        name.at = list_find((struct list_span){name.at + 1, name.end}, '.');
    return name.at < name.end || list_is(first, "com") || list_is(first, "io") ||
           list_is(first, "net") || list_is(first, "org");
}

/* Says what a host without a scheme is, perhaps defanged and with a port. It is an entry if it is
 * an IPv4 address, or a name with a dot whose last label begins with a letter. */
static enum list_value list_host_value(struct list_span host, bool has_path) {
    uint8_t plain[512]; /* not defanged */
    size_t used = 0, piece;
    for (const char *meant; host.at < host.end && used < sizeof plain; host.at += piece) {
        piece = list_piece(host, false, &meant);
        plain[used++] = piece > 0 ? (uint8_t)*meant : *host.at;
        piece += piece == 0;
    }
    struct list_span name = {plain, plain + used}, port = {list_find(name, ':'), name.end}, last;
    name.end = port.at;
    name.at += list_begins(name, "*.") ? 2 : list_begins(name, ".");
    name.end -= list_ends(name, ".");
    for (const uint8_t *at = port.at + 1; at < port.end; at++)
        if (!url_is_digit(*at))
            return LIST_IS_WORD;
    last = name;
    for (const uint8_t *at = name.at; at < name.end; at++)
        if (*at == '.' && at > last.at)
            last.at = at + 1;
        else if (!url_is_letter(*at) && !url_is_digit(*at) && *at < 0x80 && *at != '-' &&
                 *at != '_')
            return LIST_IS_WORD;
    if (host.at < host.end ||
        (!list_is_ipv4(name) && (last.at == name.at || list_length(last) < 2 ||
                                 (!url_is_letter(*last.at) && *last.at < 0x80))))
        return LIST_IS_WORD;
    return has_path || port.at < port.end || !list_is_file_or_package(name) ? LIST_IS_ENTRY
                                                                            : LIST_IS_DOUBTFUL;
}

enum list_value list_value_of(struct list_span *field) {
    struct bloom_url_plain plain;
    if (list_length(*field) == 0 || list_is_number(*field))
        return LIST_IS_WORD;
    const bool with_scheme = list_has_scheme(*field);
    if (with_scheme && !list_is_defanged(*field))
        return LIST_IS_ENTRY;
    if (bloom_url_read_plain(&plain, field->at, list_length(*field)) &&
        plain.end == list_length(*field) && field->at[plain.host_end - 2] != '.') {
        const struct list_span name = {field->at, field->end};
        return plain.host == 0 && !plain.address && plain.host_end == plain.end &&
                       list_is_file_or_package(name)
                   ? LIST_IS_DOUBTFUL
                   : LIST_IS_ENTRY;
    }
    const bool has_scheme = with_scheme || list_mangled_scheme(*field) > 0;
    const bool is_defanged = list_is_defanged(*field);
    struct list_span host = *field, network;
    for (host.end = host.at; host.end < field->end; host.end++)
        if ((*host.end == '|' && (is_defanged || !has_scheme)) ||
            (is_defanged && (list_is_blank(*host.end) || *host.end == ',')))
            break;
    field->end = host.end;
    if (has_scheme)
        return LIST_IS_ENTRY;
    network = *field;
    if (list_network(&network) == LIST_RANGE)
        return LIST_IS_RANGE;
    host.end = list_find(*field, '/');
    const bool has_path = host.end < field->end;
    host.end = list_find(host, '?');
    network = host;
    if (list_begins(host, "[") && list_has(host, ']')) /* before a port */
        network.end = list_find(host, ']') + 1;
    if (list_is_ipv6(list_without_brackets(network)))
        return LIST_IS_ENTRY;
    return list_host_value(host, has_path);
}
