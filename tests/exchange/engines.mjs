// Asks the engines of uBlock and Ghostery whether they stop a person who opens a page. It reads a
// question as JSON: lists, URLs that all lists together are asked for, and pairs of a rule and a
// URL, each rule by itself. It answers with a list of true and false for each engine.
import { readFileSync } from 'node:fs';
import { FiltersEngine, NetworkFilter, Request } from '@ghostery/adblocker';
import { StaticNetFilteringEngine } from '@gorhill/ubo-core';

const { lists, urls, rules } = JSON.parse(readFileSync(0, 'utf8'));
const page = url => Request.fromRawDetails({ url, sourceUrl: url, type: 'main_frame' });
const whole = FiltersEngine.parse(lists.join('\n'), { loadCosmeticFilters: false });
const ublock = await StaticNetFilteringEngine.create();

// uBlock stops a page by a rule with $document, or by any rule that matches up to the end of the
// host, as it does in a browser (strict blocking).
function stops(url) {
    const request = { originURL: url, type: 'main_frame', url };
    const explicit = ublock.matchRequest(request);
    if (explicit !== 0 || ublock.matchRequest({ ...request, type: 'no_type' }) !== 1) {
        return explicit === 1;
    }
    const found = new RegExp(ublock.toLogData().regex, 'i').exec(url.toLowerCase());
    const { hostname } = new URL(url);
    const end = url.indexOf(hostname) + hostname.length;
    const last = found === null ? -1 : found.index + found[0].length;
    return last === end || last === end + 1;
}

await ublock.useLists(lists.map((raw, i) => ({ name: `${i}`, raw })));
const answer = { ublock: { urls: urls.map(stops), rules: [] }, ghostery: {} };
for (const [raw, url] of rules) {
    await ublock.useLists([{ name: 'rule', raw }]);
    answer.ublock.rules.push(stops(url));
}
answer.ghostery.urls = urls.map(url => whole.match(page(url)).match);
answer.ghostery.rules = rules.map(([rule, url]) => {
    const filter = NetworkFilter.parse(rule);
    return filter !== null && !filter.isException() && filter.match(page(url));
});
console.log(JSON.stringify(answer));
