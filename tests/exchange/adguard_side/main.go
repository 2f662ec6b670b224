// Asks AdGuard's DNS engine. It reads a question as JSON: pairs of a rule and a host, each rule in
// an engine of its own; a list; and hosts that the list is asked for. It answers which are blocked.
package main

import (
	"encoding/json"
	"net/netip"
	"os"

	"github.com/AdguardTeam/urlfilter"
	"github.com/AdguardTeam/urlfilter/filterlist"
	"github.com/miekg/dns"
)

func engine(text string) *urlfilter.DNSEngine {
	list := &filterlist.StringRuleList{RulesText: text, ID: 1}
	storage, err := filterlist.NewRuleStorage([]filterlist.RuleList{list})
	if err != nil {
		panic(err)
	}
	return urlfilter.NewDNSEngine(storage)
}

// blocks returns true if a host has no address by the engine, or one that leads nowhere.
func blocks(engine *urlfilter.DNSEngine, host string) bool {
	request := &urlfilter.DNSRequest{Hostname: host, DNSType: dns.TypeA}
	result, matched := engine.MatchRequest(request)
	if result.NetworkRule != nil {
		return !result.NetworkRule.Whitelist
	}
	for _, rule := range result.DNSRewrites() {
		address, isAddress := rule.DNSRewrite.Value.(netip.Addr)
		return rule.DNSRewrite.RCode != dns.RcodeSuccess ||
			(rule.DNSRewrite.Value == nil && rule.DNSRewrite.NewCNAME == "") ||
			(isAddress && (address.IsUnspecified() || address.IsLoopback()))
	}
	return matched
}

func main() {
	var question struct {
		Rules [][2]string
		List  string
		Hosts []string
	}
	var answer struct{ Rules, Hosts []bool }
	if err := json.NewDecoder(os.Stdin).Decode(&question); err != nil {
		panic(err)
	}
	for _, pair := range question.Rules {
		answer.Rules = append(answer.Rules, blocks(engine(pair[0]), pair[1]))
	}
	whole := engine(question.List)
	for _, host := range question.Hosts {
		answer.Hosts = append(answer.Hosts, blocks(whole, host))
	}
	if err := json.NewEncoder(os.Stdout).Encode(answer); err != nil {
		panic(err)
	}
}
