import { generateKeyPairSync } from "node:crypto";

import { expect, test } from "vitest";

import { isSpf } from "../../../../shared/domains/records/spf.ts";
import { faultsOf, parsed } from "./records.ts";

const txt = (name: string, value: string) => ({ name, type: "TXT" as const, value });
const includes = (count: number) =>
  Array.from({ length: count }, (_, index) => `include:s${index}.example.org`).join(" ");

test.each([
  "v=spf1 -all",
  "v=spf1",
  "V=SPF1 MX -ALL",
  "v=spf1  mx   ~all ",
  "v=spf1 include:_spf.example.org ?all",
  "v=spf1 a mx a:example.org mx:example.org. a/24 mx//64 a:example.org/24//64 +a -all",
  "v=spf1 ip4:192.0.2.1 ip4:192.0.2.0/24 ip4:0.0.0.0/0 ip6:2001:db8::1 ip6:2001:db8::/32 ip6:::/0 -all",
  "v=spf1 ptr ptr:example.org -all",
  "v=spf1 exists:%{ir}.%{v}._spf.%{d2} -all",
  "v=spf1 exists:%{l1r-+}.example.org exists:%{i} exists:%{i}.%%%_%-.org include:%{d} -all",
  "v=spf1 redirect=_spf.example.org",
  "v=spf1 -all exp=explain.%{d}",
  "v=spf1 ra=postmaster -all",
  "v=spf1 ip4:192.0.2.1",
  `v=spf1 ${includes(10)} -all`,
])("accepts the SPF record %s unchanged", (value) => expect(parsed(txt("@", value)).value).toBe(value));

test.each([
  ["v=spf1;-all", 'An SPF record must begin with "v=spf1" and a space'],
  ["v=spf1\u00a0-all", 'An SPF record must begin with "v=spf1" and a space'],
  ["v=spf2 -all", 'An SPF record must begin with "v=spf1" and a space'],
  ["v=spf1 include:bücher.example -all", "An SPF record must be ASCII. Write internationalised names as xn-- labels"],
  ["v=spf1 spf.example.org -all", 'SPF: "spf.example.org" is not a mechanism of SPF'],
  ["v=spf1 192.0.2.1 -all", 'SPF: "192.0.2.1" needs ip4: before it'],
  ["v=spf1 +192.0.2.0/24 -all", 'SPF: "+192.0.2.0/24" needs ip4: before it'],
  ["v=spf1 2001:db8::1 -all", 'SPF: "2001:db8::1" needs ip6: before it'],
  ["v=spf1 ip:192.0.2.1 -all", 'SPF: "ip:192.0.2.1" is not a mechanism of SPF. Write ip4:'],
  ["v=spf1 ipv6:2001:db8::1 -all", 'SPF: "ipv6:2001:db8::1" is not a mechanism of SPF. Write ip6:'],
  ["v=spf1 ip4 -all", 'SPF: "ip4" has no valid address. Write a term such as ip4:192.0.2.0/24'],
  ["v=spf1 ip4:192.0.2 -all", 'SPF: "ip4:192.0.2" has no valid address. Write a term such as ip4:192.0.2.0/24'],
  [
    "v=spf1 ip4:host.example.org -all",
    'SPF: "ip4:host.example.org" has no valid address. Write a term such as ip4:192.0.2.0/24',
  ],
  ["v=spf1 ip4:192.0.2.0/33 -all", 'SPF: "ip4:192.0.2.0/33" has no valid length after /'],
  ["v=spf1 ip4:192.0.2.0/024 -all", 'SPF: "ip4:192.0.2.0/024" has no valid length after /'],
  ["v=spf1 ip4:2001:db8::1 -all", 'SPF: "ip4:2001:db8::1" is an IPv6 network. Write ip6:'],
  ["v=spf1 ip6:192.0.2.1 -all", 'SPF: "ip6:192.0.2.1" is an IPv4 network. Write ip4:'],
  [
    "v=spf1 ip6:fe80::1%eth0 -all",
    'SPF: "ip6:fe80::1%eth0" has no valid address. Write a term such as ip6:2001:db8::/32',
  ],
  ["v=spf1 ip6:2001:db8::/129 -all", 'SPF: "ip6:2001:db8::/129" has no valid length after /'],
  ["v=spf1 include=example.org -all", 'SPF: "include=example.org" must have a colon: include:'],
  ["v=spf1 redirect:example.org", 'SPF: "redirect:example.org" must have an equals sign: redirect='],
  ["v=spf1 include -all", 'SPF: "include" has no domain. Write one, such as include:example.com'],
  ["v=spf1 redirect=", 'SPF: "redirect=" has no domain. Write one, such as redirect=example.com'],
  [
    "v=spf1 include:example -all",
    'SPF: "include:example" needs a full name. Write "example.example.com" for "example"',
  ],
  ["v=spf1 include:example.org/24 -all", 'SPF: "include:example.org/24" has no valid name: "example.org/24"'],
  ["v=spf1 include:ex@mple.org -all", 'SPF: "include:ex@mple.org" has no valid name: "ex@mple.org"'],
  ["v=spf1 include/24 -all", 'SPF: "include/24" cannot have a length after /'],
  [
    "v=spf1 include:example.org, -all",
    'SPF: Separate the terms with spaces, without the "," in "include:example.org,"',
  ],
  ["v=spf1 a/33 -all", 'SPF: "a/33" has no valid length after /'],
  ["v=spf1 a/24/64 -all", 'SPF: "a/24/64" has no valid length after /'],
  ["v=spf1 mx//129 -all", 'SPF: "mx//129" has no valid length after /'],
  ["v=spf1 all:example.org", 'SPF: "all:example.org" must be all, with nothing after it'],
  ["v=spf1 - -all", 'SPF: "-" is not a term of SPF, such as include:example.com or -all'],
  [
    "v=spf1 exists:%{x}.example.org -all",
    'SPF: "exists:%{x}.example.org" has a % that is not the beginning of a macro, such as %{i}',
  ],
  [
    "v=spf1 exists:%{i.example.org -all",
    'SPF: "exists:%{i.example.org" has a % that is not the beginning of a macro, such as %{i}',
  ],
  [
    "v=spf1 exists:%{d0}.example.org -all",
    'SPF: "exists:%{d0}.example.org" has a % that is not the beginning of a macro, such as %{i}',
  ],
  ["v=spf1 exists:%{i}.1 -all", 'SPF: "exists:%{i}.1" must end with a macro or a top-level domain'],
  [
    "v=spf1 -all include:example.org",
    'SPF: Receivers ignore everything after "-all". Put it at the end, after "include:example.org"',
  ],
  ["v=spf1 -all ~all", 'SPF: Receivers ignore everything after "-all". Put it at the end, after "~all"'],
  ["v=spf1 redirect=example.org -all", "SPF: redirect= has no effect together with all. Remove one of them"],
  ["v=spf1 redirect=a.example redirect=b.example", "SPF: redirect= can be written only once"],
  ["v=spf1 exp=a.example exp=b.example -all", "SPF: exp= can be written only once"],
  ["v=spf1 mx v=spf1 -all", "SPF: v=spf1 is written twice. Make one record of the two"],
  ["v=spf1 constructor:x -all", 'SPF: "constructor:x" is not a mechanism of SPF'],
  [
    `v=spf1 ${includes(9)} mx a -all`,
    "SPF: 11 terms make receivers query the DNS, and receivers stop at 10. Remove some terms, or write addresses as ip4: and ip6:",
  ],
])("refuses the SPF record %j: %s", (value, message) =>
  expect(faultsOf(txt("@", value))).toEqual([`value: ${message}`]),
);

test("refuses an SPF record that is too long for an answer by UDP", () => {
  const value = `v=spf1 ${"ip4:192.0.2.1 ".repeat(73)}-all`;
  expect(faultsOf(txt("@", value))).toEqual([
    "value: The SPF record is 1033 bytes long. A record of more than 1024 bytes does not reach all receivers. Move some terms behind an include:",
  ]);
  expect(faultsOf(txt("@", value.replace("ip4:192.0.2.1 ", "")))).toEqual([]);
});

test("`isSpf` is true only for texts that receivers read as SPF records", () => {
  expect(["v=spf1", "v=spf1 -all", "V=SPF1 a"].filter((text) => !isSpf(text))).toEqual([]);
  expect(["v=spf10", " v=spf1", "v=spf1\t-all", "spf2.0/pra", "a v=spf1"].filter(isSpf)).toEqual([]);
});

test.each([
  ["_dmarc", "v=DMARC1; p=none"],
  ["_dmarc.sub", "v=DMARC1;p=Reject;"],
  ["_dmarc", "v=DMARC1; p=quarantine; sp=none; adkim=s; aspf=r; pct=50; fo=1:d:s; ri=86400; x=y"],
  ["_dmarc", "v=DMARC1; p=none; rua=mailto:a@example.org!10m , mailto:b@example.org; ruf=https://example.org/r"],
  ["example.org._report._dmarc", "v=DMARC1"],
  ["www", "v=DMARC1"],
])("accepts, for the name %s, the DMARC record %s", (name, value) =>
  expect(parsed(txt(name, value)).value).toBe(value),
);

const begins = 'A DMARC record must begin with "v=DMARC1;", such as "v=DMARC1; p=none"';
test.each([
  ["hello", begins],
  ["p=none", begins],
  ["v=dmarc1; p=none", begins],
  ["v=DMARC1 p=none", begins],
  ["v=spf1 -all; p=none", 'SPF: Separate the terms with spaces, without the ";" in "-all;"'],
  ["v=DMARC1", 'DMARC: p= is missing. Write p=none, p=quarantine or p=reject after "v=DMARC1;"'],
  ["v=DMARC1; p=block", 'DMARC: p= must be one of none, quarantine, reject, not "block"'],
  ["v=DMARC1; p=none; adkim=strict", 'DMARC: adkim= must be one of r, s, not "strict"'],
  ["v=DMARC1; p=none; pct=101", "DMARC: pct= must be a number from 0 to 100"],
  ["v=DMARC1; p=none; fo=2", "DMARC: fo= must be 0, 1, d or s, or several of them with colons between"],
  ["v=DMARC1; p=none; ri=day", "DMARC: ri= must be a number of seconds"],
  ["v=DMARC1; p=none; rua=a@example.org", 'DMARC: rua= needs mailto: before "a@example.org"'],
  [
    "v=DMARC1; p=none; ruf=mailto:a",
    'DMARC: "mailto:a" is not an address for reports. Write ruf=mailto:dmarc@example.com',
  ],
  ["v=DMARC1; p=none; p=reject", "DMARC: p= is written twice"],
  ["v=DMARC1;; p=none", "DMARC: There are two semicolons in a row"],
  ["v=DMARC1; none", 'DMARC: "none" is not name=value. Separate such pairs with semicolons'],
])("refuses the DMARC record %j: %s", (value, message) =>
  expect(faultsOf(txt("_dmarc", value))).toEqual([`value: ${message}`]),
);

const keyOf = (modulusLength: number, type: "spki" | "pkcs1" = "spki") =>
  generateKeyPairSync("rsa", { modulusLength }).publicKey.export({ type, format: "der" }).toString("base64");
const key = keyOf(1_024);
const ed25519 = Buffer.alloc(32, 7).toString("base64");

test.each([
  ["a key", `v=DKIM1; k=rsa; p=${key}`],
  ["a key with spaces in it and no version", `p=${key.slice(0, 100)} ${key.slice(100)}; t=y`],
  ["a key in the format of RFC 6376", `v=DKIM1; p=${keyOf(1_024, "pkcs1")}`],
  ["an Ed25519 key", `v=DKIM1; k=ed25519; p=${ed25519}`],
  ["a revoked key", "v=DKIM1; p="],
])("accepts %s as a DKIM record", (_, value) => expect(parsed(txt("s1._domainkey", value)).value).toBe(value));

test.each([
  ["no key", "hello=1", 'the key is missing. Write it as p=, such as "v=DKIM1; k=rsa; p=MIIB…"'],
  ["a bare key", "MIIBIjAN", '"MIIBIjAN" is not name=value. Separate such pairs with semicolons'],
  ["a version at the end", `p=${key}; v=DKIM1`, 'the record must begin with "v=DKIM1;"'],
  ["another version", `v=DKIM2; p=${key}`, 'the record must begin with "v=DKIM1;"'],
  ["another type of key", `v=DKIM1; k=dsa; p=${key}`, "k= must be rsa or ed25519"],
  [
    "a PEM key",
    `v=DKIM1; p=-----BEGIN PUBLIC KEY-----`,
    "p= is not base64. Copy the key again, without BEGIN and END lines",
  ],
  [
    "half a key",
    `v=DKIM1; p=${key.slice(0, 100)}`,
    "p= is not a whole RSA key. A part of the key is missing. Copy the key again",
  ],
  ["an RSA key as Ed25519", `v=DKIM1; k=ed25519; p=${key}`, "p= must be the 32 bytes of an Ed25519 key in base64"],
  [
    "an Ed25519 key as RSA",
    `v=DKIM1; p=${ed25519}`,
    "p= is not a whole RSA key. A part of the key is missing. Copy the key again",
  ],
  ["a short key", `v=DKIM1; p=${keyOf(512)}`, "The key has 512 bits. Verifiers require 1024 at least (RFC 8301)"],
])("refuses %s as a DKIM record", (_, value, message) =>
  expect(faultsOf(txt("s1.mail._domainkey", value))).toEqual([`value: DKIM: ${message}`]),
);
