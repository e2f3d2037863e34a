import { expect, test } from "vitest";

import { delegate } from "../../../shared/providers/registrar/embedded-names.ts";
import { ownRecords } from "../../support/dns-records.ts";
import { connected } from "../../support/domains.ts";
import { publish } from "../../support/external.ts";
import { request, type Answer } from "../../support/request.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const send = ({ id, owner }: Account, body: unknown): Promise<Answer> =>
  request("POST", `/v1/public/accounts/${id}/dns-records/import`, { token: owner.token, body });

const shown = ({ name, type, value }: { name: string; type: string; value: string }) => `${name} ${type} ${value}`;

test("imports the records at the usual names and at the names to which they lead, after a dry run", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  await publish(domain, [
    { name: "@", type: "A", value: "192.0.2.1", ttl: 600 },
    { name: "@", type: "MX", value: "mx.former.example", priority: 10 },
    { name: "@", type: "TXT", value: "google-site-verification=abc" },
    { name: "@", type: "TXT", value: "v=spf1 include:_spf.former.example -all" },
    { name: "_dmarc", type: "TXT", value: "v=DMARC1; p=reject" },
    { name: "@", type: "CAA", value: "letsencrypt.org", tag: "issue" },
    { name: "www", type: "CNAME", value: `shop-front.${domain}` },
    { name: "shop-front", type: "AAAA", value: "2001:db8::1" },
    { name: "key1._domainkey", type: "CNAME", value: "key1.former.example" },
    { name: "_sip._tls", type: "SRV", value: "sip.former.example", priority: 1, weight: 2, port: 443 },
    { name: "_smtp._tls", type: "TXT", value: "v=TLSRPTv1; rua=mailto:tls@former.example" },
    { name: "nobody-knows-this", type: "A", value: "192.0.2.9" },
  ]);
  const body = { domain, source: "public_dns" };
  const dry = await send(account, { ...body, dry_run: true });
  const taken = [
    "@ A 192.0.2.1",
    "@ CAA letsencrypt.org",
    "@ TXT google-site-verification=abc",
    "_sip._tls SRV sip.former.example",
    "_smtp._tls TXT v=TLSRPTv1; rua=mailto:tls@former.example",
    "key1._domainkey CNAME key1.former.example",
    "shop-front AAAA 2001:db8::1",
    `www CNAME shop-front.${domain}`,
  ];
  expect(dry.body).toMatchObject({ method: "lookups", unanswered_count: 0, created: [], created_count: 8 });
  expect(dry.body.planned.map(shown).toSorted()).toEqual(taken);
  expect(dry.body.planned.find(({ type }: { type: string }) => type === "A")).toMatchObject({ ttl: 600 });
  const skipped = dry.body.skipped.map(({ text }: { text: string }) => text.split(" ").slice(0, 2).join(" "));
  expect(skipped).toEqual(["@ MX", "@ TXT", "_dmarc TXT"]);
  expect(dry.body.skipped[1].reason).toContain("follows spf_includes");
  expect(dry.body.skipped[2].reason).toContain("follows dmarc_policy");
  expect(await ownRecords(account, domain)).toEqual([]);

  const real = await send(account, body);
  expect(real.body).toMatchObject({ planned: [], created_count: 8, method: "lookups" });
  expect((await ownRecords(account, domain)).map(shown).toSorted()).toEqual(taken);
});

test("imports a wildcard record once, and not for each usual name", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  await publish(domain, [
    { name: "*", type: "A", value: "192.0.2.1" },
    { name: "www", type: "A", value: "192.0.2.2" },
    // The wildcard does not cover a name that has another record, so this name needs its own address record.
    { name: "mail", type: "A", value: "192.0.2.1" },
    { name: "mail", type: "AAAA", value: "2001:db8::1" },
  ]);
  const { body } = await send(account, { domain, source: "public_dns", dry_run: true });
  expect(body.planned.map(shown).toSorted()).toEqual([
    "* A 192.0.2.1",
    "mail A 192.0.2.1",
    "mail AAAA 2001:db8::1",
    "www A 192.0.2.2",
  ]);
});

test("skips the records of the former mail host by which mail would fail, with the reasons", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const srv = { type: "SRV", priority: 0, weight: 1, port: 993 } as const;
  await publish(domain, [
    { name: "_mta-sts", type: "TXT", value: "v=STSv1; id=1" },
    { name: "mta-sts", type: "CNAME", value: "mta-sts.former.example" },
    { ...srv, name: "_imaps._tcp", value: "imap.former.example" },
    { ...srv, name: "_pop3._tcp", value: "." },
    { ...srv, name: "_submissions._tcp", value: "mail.hosted-mail.example" },
    { ...srv, name: "_autodiscover._tcp", value: "autodiscover.former.example" },
    { ...srv, name: "_caldavs._tcp", value: "calendar.former.example" },
  ]);
  const { body } = await send(account, { domain, source: "public_dns", dry_run: true });
  expect(body.planned.map(shown).toSorted()).toEqual([
    "_caldavs._tcp SRV calendar.former.example",
    "_submissions._tcp SRV mail.hosted-mail.example",
  ]);
  const [policy, programs] = ["set mta_sts_mode to testing before you switch", "find the servers here"];
  const skipped = body.skipped.map(({ text, reason }: { text: string; reason: string }) => [
    text.split(" ")[0],
    reason,
  ]);
  expect(skipped.toSorted()).toEqual([
    ["_autodiscover._tcp", expect.stringContaining(programs)],
    ["_imaps._tcp", expect.stringContaining(programs)],
    ["_mta-sts", expect.stringContaining(policy)],
    ["_pop3._tcp", expect.stringContaining(programs)],
    ["mta-sts", expect.stringContaining(policy)],
  ]);
});

test("counts the look-ups without an answer", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  await delegate(testTable(), domain, ["ns1.nowhere.example"]);
  const { body } = await send(account, { domain, source: "public_dns" });
  expect(body).toMatchObject({ method: "lookups", created_count: 0 });
  expect(body.unanswered_count).toBeGreaterThan(100);
});

test.each([
  [{}, "Give the text of the zone file"],
  [{ source: "zone_file" }, "Give the text of the zone file"],
  [{ source: "public_dns", zone_file: "www A 192.0.2.1" }, "Leave the zone file out"],
])("refuses %j, which does not give exactly one source", async (given, message) => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const { status, body } = await send(account, { domain, ...given });
  expect([status, body.detail[0].loc]).toEqual([422, ["body", "zone_file"]]);
  expect(body.detail[0].msg).toContain(message);
});
