import { randomUUID } from "node:crypto";

import { expect, test } from "vitest";

import { domainKey } from "../../../shared/domains/domain.ts";
import { recordLimit } from "../../../shared/domains/records/stored-record.ts";
import type { Key } from "../../../shared/table/writes.ts";
import { afterReading } from "../../support/between.ts";
import { addedRecord, ownRecords } from "../../support/dns-records.ts";
import { write } from "../../support/domain-work.ts";
import { active, connected, domainsRequest } from "../../support/domains.ts";
import { request, type Answer } from "../../support/request.ts";
import { newAccount, newMember, type Account } from "../../support/world.ts";

const send = ({ id, owner }: Account, body: unknown, headers: Record<string, string> = {}): Promise<Answer> =>
  request("POST", `/v1/public/accounts/${id}/dns-records/import`, { token: owner.token, body, headers });

const list = async ({ id, owner }: Account, domain: string): Promise<Answer["body"]> =>
  (await request("GET", `/v1/public/accounts/${id}/dns-records?domain=${domain}&page_size=100`, { token: owner.token }))
    .body;

/** Whether a call reads the records of a domain. */
const readsRecordsOf =
  (domainId: string) =>
  ({ SK }: Key): boolean =>
    SK.endsWith(`${domainId}#`);

const file = `$TTL 7200
@   IN SOA ns1.old.example. hostmaster.old.example. 1 7200 3600 1209600 3600
    IN NS  ns1.old.example.
@   IN MX  10 mail.old.example.
www IN A   192.0.2.1
    IN AAAA 2001:db8::1
ftp 30 IN CNAME www
bad IN A   300.1.1.1
`;

test("adds the missing records, and gives the reason for each skipped line", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const { total: before } = await list(account, domain);
  const { status, body } = await send(account, { domain, zone_file: file });
  expect(status).toBe(200);
  expect(body.created).toMatchObject([
    { name: "www", type: "A", value: "192.0.2.1", ttl: 7_200, zone_status: "in_sync", is_system_managed: false },
    { name: "www", type: "AAAA", value: "2001:db8::1" },
    { name: "ftp", type: "CNAME", value: `www.${domain}`, ttl: 60 },
  ]);
  expect(body.skipped.map(({ line }: { line: number }) => line)).toEqual([2, 3, 4, 8]);
  expect(body.skipped[2].reason).toContain("MX records are fixed");
  expect(body).toMatchObject({ created_count: 3, skipped_count: 4, dry_run: false });
  expect((await list(account, domain)).total).toBe(before + 3);
});

test("shows all members of the planned records, and of the skipped records of a zone file", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const zone_file = `@ IN MX 10 mail.old.example.
_imaps._tcp IN SRV 5 7 993 imap.old.example.
www IN CAA 0 nope "ca.example"
_xmpp._tcp IN SRV 1 2 5222 chat.old.example.
sub IN CAA 128 issue "ca.example"
sub IN HTTPS 3 . alpn=h2
sub IN A 192.0.2.1
`;
  const { body } = await send(account, { domain, zone_file, dry_run: true });
  expect(body.skipped.map(({ text }: { text: string }) => text)).toEqual([
    "@ MX 10 mail.old.example.",
    "_imaps._tcp SRV 5 7 993 imap.old.example.",
    "www CAA 0 nope ca.example",
  ]);
  const none = { ttl: 3_600, priority: null, weight: null, port: null, flags: null, tag: null };
  expect(body.planned).toEqual([
    { ...none, name: "_xmpp._tcp", type: "SRV", value: "chat.old.example", priority: 1, weight: 2, port: 5_222 },
    { ...none, name: "sub", type: "CAA", value: "ca.example", flags: 128, tag: "issue" },
    { ...none, name: "sub", type: "HTTPS", value: ". alpn=h2", priority: 3 },
    { ...none, name: "sub", type: "A", value: "192.0.2.1" },
  ]);
  const { body: done } = await send(account, { domain, zone_file });
  expect(done.created).toMatchObject(body.planned);
});

test("skips an entry that conflicts with an earlier entry, and names the earlier entry", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const zone_file = "shop IN CNAME a.example.net.\nwww IN A 192.0.2.1\nshop IN CNAME b.example.net.\n";
  const { body } = await send(account, { domain, zone_file });
  expect(body.created_count).toBe(2);
  expect(body.skipped).toMatchObject([
    { line: 3, reason: expect.stringMatching(/^A name can have only one CNAME record\..* \(entry 1\)/) },
  ]);
});

test("changes nothing in a dry run, or when the same file is imported again", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const dry = await send(account, { domain, zone_file: file, dry_run: true });
  expect(dry.body).toMatchObject({ created: [], created_count: 3, dry_run: true });
  expect((await list(account, domain)).total).toBe(0);
  await send(account, { domain, zone_file: file });
  const again = await send(account, { domain, zone_file: file });
  expect(again.body).toMatchObject({ created: [], created_count: 0, skipped_count: 7 });
  expect((await list(account, domain)).total).toBe(3);
});

test("imports more than one transaction holds, and answers the same to the same key", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const zone_file = Array.from({ length: 60 }, (_, index) => `host${index} IN A 192.0.2.${index}`).join("\n");
  const key = { "idempotency-key": "import-1" };
  const first = await send(account, { domain, zone_file }, key);
  expect(first.body.created_count).toBe(60);
  const second = await send(account, { domain, zone_file }, key);
  expect(second.text).toBe(first.text);
  expect(second.headers["idempotency-replayed"]).toBe("true");
});

test("shows fewer records if they are large, so that the answer can be stored for its key", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const value = "x".repeat(3_900);
  const zone_file = Array.from({ length: 110 }, (_, index) => `h${index} HTTPS 1 . key65280="${value}"`).join("\n");
  const { body: dry } = await send(account, { domain, zone_file, dry_run: true }, { "idempotency-key": "dry" });
  const first = await send(account, { domain, zone_file }, { "idempotency-key": "large" });
  expect([dry.created_count, first.body.created_count]).toEqual([110, 110]);
  for (const shown of [dry.planned, first.body.created]) {
    expect(shown.length).toBeGreaterThan(40);
    expect(shown.length).toBeLessThan(60);
  }
  expect((await send(account, { domain, zone_file }, { "idempotency-key": "large" })).text).toBe(first.text);
  // The answer of a rotation also shows records, and is stored for its key.
  const rotated = await domainsRequest(account, "POST", `/${domain}/dkim/rotate`, {}, { "idempotency-key": "rotated" });
  expect([rotated.status, rotated.body.dns_record_count]).toEqual([200, expect.any(Number)]);
});

test("stops at as many records as a domain can have", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const lines = Array.from({ length: 1_002 }, (_, index) => `host${index} IN A 192.0.2.1`);
  const { body } = await send(account, { domain, zone_file: lines.join("\n"), dry_run: true });
  expect(body).toMatchObject({ created_count: 1_000, skipped_count: 2 });
  expect(body.skipped[0].reason).toBe("A domain can have 1000 records at most");
});

test("the last of many skipped entries says where reading ended", async () => {
  const account = await newAccount();
  const { name: domain } = await connected(account);
  const zone_file = Array.from({ length: 5_001 }, (_, index) => `no host${index}`).join("\n");
  const { body } = await send(account, { domain, zone_file, dry_run: true });
  expect(body).toMatchObject({ created_count: 0, skipped_count: 5_001 });
  expect(body.skipped).toHaveLength(100);
  expect(body.skipped[98].line).toBe(99);
  expect(body.skipped[99]).toMatchObject({ line: 5_001, reason: expect.stringContaining("Nothing from this line on") });
});

test("needs dns.manage on this domain", async () => {
  const account = await newAccount();
  const [mine, other] = [await connected(account), await connected(account)];
  const member = await newMember(account, { capability: "dns.manage", scope: { type: "domain", id: mine.id } });
  const as = { ...account, owner: member };
  expect((await send(as, { domain: mine.name, zone_file: file })).status).toBe(200);
  const refused = await send(as, { domain: other.name, zone_file: file });
  expect(refused.body.detail).toMatchObject([{ loc: ["body", "domain"], type: "not_found" }]);
});

test("a record that is added during an import stays, and the import adds no duplicate and no conflict", async () => {
  const account = await newAccount();
  const { name: domain, id } = await connected(account);
  const zone_file = "www IN A 192.0.2.1\nftp IN A 192.0.2.2\napi IN A 192.0.2.3";
  const others = [
    { domain, name: "www", type: "A", value: "192.0.2.1" },
    { domain, name: "ftp", type: "CNAME", value: "elsewhere.example" },
  ];
  const { status, body } = await afterReading(
    readsRecordsOf(id),
    async () => {
      for (const other of others) await addedRecord(account, other);
    },
    () => send(account, { domain, zone_file }),
  );
  expect([status, body.created_count]).toEqual([200, 1]);
  expect(body.created).toMatchObject([{ name: "api", type: "A" }]);
  const kept = (await ownRecords(account, domain)).map(({ name, type }) => `${name} ${type}`);
  expect(kept.toSorted()).toEqual(["api A", "ftp CNAME", "www A"]);
});

test("an import with a key reports records as skipped if another import has added them meanwhile", async () => {
  const account = await newAccount();
  const { name: domain, id } = await connected(account);
  const body = { domain, zone_file: "www IN A 192.0.2.1\nftp IN A 192.0.2.2" };
  const [key, otherKey] = [{ "idempotency-key": randomUUID() }, { "idempotency-key": randomUUID() }];
  const answer = await afterReading(
    readsRecordsOf(id),
    () => send(account, body, otherKey),
    () => send(account, body, key),
  );
  expect([answer.status, answer.body.created_count, answer.body.skipped_count]).toEqual([200, 0, 2]);
  expect((await send(account, body, key)).text).toBe(answer.text);
});

test("an import ends with 409 limit_reached if the domain got too many records meanwhile", async () => {
  const account = await newAccount();
  const { name: domain, id } = await connected(account);
  const answer = await afterReading(
    readsRecordsOf(id),
    () => write({ update: domainKey(account.id, id), set: { record_count: recordLimit } }),
    () => send(account, { domain, zone_file: "www IN A 192.0.2.1" }),
  );
  expect(answer.body).toMatchObject({ status: 409, code: "limit_reached" });
});
