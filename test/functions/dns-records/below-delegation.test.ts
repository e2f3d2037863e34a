import { expect, test } from "vitest";

import { addedRecord, ownRecords, recordsRequest } from "../../support/dns-records.ts";
import { active, connected } from "../../support/domains.ts";
import { newRoomyAccount } from "../../support/roomy.ts";
import { newAccount } from "../../support/world.ts";

async function scene() {
  const account = await newRoomyAccount();
  const { name: domain } = await connected(account);
  const add = (body: object) => addedRecord(account, { domain, ...body });
  const refused = async (body: object) => (await recordsRequest(account, "POST", "", { domain, ...body })).body;
  const patch = (id: number, body: object) => recordsRequest(account, "PATCH", `/${id}`, body);
  return { account, domain, add, refused, patch };
}

test("a record below a delegation is refused with the delegation and its NS records", async () => {
  const { account, domain, add, refused } = await scene();
  const ids = [
    (await add({ name: "sub", type: "NS", value: "ns1.example.net" })).id,
    (await add({ name: "sub", type: "NS", value: "ns2.example.net" })).id,
  ];
  for (const body of [
    { name: "www.sub", type: "A", value: "192.0.2.1" },
    { name: "*.sub", type: "CNAME", value: "example.net" },
    { name: "_443._tcp.www.sub", type: "TLSA", value: "3 1 0 00" },
    { name: "deep.sub", type: "NS", value: "ns1.example.net" },
  ]) {
    expect([body, await refused(body)]).toMatchObject([
      body,
      { status: 409, code: "below_delegation", delegation: `sub.${domain}`, conflicts_with: ids },
    ]);
  }
  await add({ name: "wwwsub", type: "A", value: "192.0.2.1" });
  expect(await ownRecords(account, domain)).toHaveLength(3);
});

test("below a delegation only addresses of its own nameservers (glue) are allowed", async () => {
  const { domain, add, refused } = await scene();
  await add({ name: "ns1.sub", type: "A", value: "192.0.2.1" });
  await add({ name: "sub", type: "NS", value: `ns1.sub.${domain}` });
  await add({ name: "sub", type: "NS", value: `ns2.sub.${domain}` });
  await add({ name: "ns1.sub", type: "AAAA", value: "2001:db8::1" });
  await add({ name: "ns2.sub", type: "A", value: "192.0.2.2" });
  for (const body of [
    { name: "ns1.sub", type: "TXT", value: "x" },
    { name: "ns3.sub", type: "A", value: "192.0.2.3" },
  ]) {
    expect(await refused(body)).toMatchObject({ code: "below_delegation" });
  }
});

test("a delegation above records is refused with these records, and is possible once they are deleted", async () => {
  const { account, domain, add, refused } = await scene();
  const ids: number[] = [];
  for (let index = 0; index < 22; index++) {
    ids.push((await add({ name: `h${index}.sub`, type: "A", value: "192.0.2.1" })).id);
  }
  const delegation = { name: "sub", type: "NS", value: `h3.sub.${domain}` };
  const body = await refused(delegation);
  const inTheWay = ids.filter((_, index) => index !== 3);
  expect(body).toMatchObject({ status: 409, code: "below_delegation", delegation: `sub.${domain}` });
  expect(body.conflicts_with).toEqual(inTheWay.slice(0, 20));
  expect(body.detail).toMatch(/and 18 more/);
  for (const id of inTheWay) await recordsRequest(account, "DELETE", `/${id}`);
  await add(delegation);
});

test("an update is checked under its new name, and a delegation can change its value before its former glue is deleted", async () => {
  const { domain, add, patch } = await scene();
  const { id: ns } = await add({ name: "sub", type: "NS", value: `ns1.sub.${domain}` });
  const { id: glue } = await add({ name: "ns1.sub", type: "A", value: "192.0.2.1" });
  const { id: www } = await add({ name: "www", type: "A", value: "192.0.2.1" });
  expect((await patch(www, { name: "www.sub" })).body).toMatchObject({
    code: "below_delegation",
    conflicts_with: [ns],
  });
  expect((await patch(ns, { value: "ns1.example.net" })).status).toBe(200);
  expect((await patch(glue, { ttl: 600 })).status).toBe(200);
  expect((await patch(ns, { name: "ns1.sub" })).body).toMatchObject({ code: "record_conflict" });
  expect((await patch(ns, { name: "deep.sub" })).status).toBe(200);
  const { body } = await patch(ns, { name: "sub" });
  expect(body).toMatchObject({ code: "below_delegation", conflicts_with: [glue] });
});

test("an import takes delegations and glue in any order, and names the lines of other records below them", async () => {
  const account = await newAccount();
  const { name: domain } = await active(account);
  const send = (zone_file: string) => recordsRequest(account, "POST", "/import", { domain, zone_file });
  const lines = [
    "ns1.sub A 192.0.2.1",
    "www.sub A 192.0.2.2",
    "sub NS ns1.sub",
    "sub NS ns2.sub",
    "ns2.sub AAAA 2001:db8::2",
    "a.b TXT x",
  ];
  const { body } = await send(lines.join("\n"));
  expect(body).toMatchObject({ created_count: 5, skipped_count: 1 });
  expect(body.skipped).toMatchObject([
    { line: 2, reason: expect.stringContaining(`sub.${domain}, which is delegated`) },
  ]);
  const again = await send("b NS ns.example.net\nc.sub TXT x");
  expect(again.body.skipped.map(({ reason }: { reason: string }) => reason)).toEqual([
    expect.stringContaining(`the records below it would be lost: TXT a.b.${domain}. Delete`),
    expect.stringContaining(`sub.${domain}, which is delegated`),
  ]);
});

test("if a delegation and a record below it are added at once, one of them is refused", async () => {
  const { account, domain } = await scene();
  const bodies = [
    { domain, name: "sub", type: "NS", value: "ns1.example.net" },
    { domain, name: "www.sub", type: "A", value: "192.0.2.1" },
  ];
  const answers = await Promise.all(bodies.map((body) => recordsRequest(account, "POST", "", body)));
  const codes: string[] = answers.map(({ status, body }) => (status === 201 ? "added" : body.code));
  expect(codes.toSorted()).toEqual(["added", "below_delegation"]);
});
