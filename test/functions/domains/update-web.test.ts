import { expect, test } from "vitest";

import { addedRecord, recordsRequest } from "../../support/dns-records.ts";
import { dig, quicklyActive, setStored } from "../../support/domain-work.ts";
import { connected, delegated, domainsRequest, readDomain, verify } from "../../support/domains.ts";
import { storedOf } from "../../support/entry-points.ts";
import { visit } from "../../support/visit.ts";
import { grant, newAccount, newMember, type Account } from "../../support/world.ts";

const update = (account: Account, name: string, body: object) => domainsRequest(account, "PATCH", `/${name}`, body);

const loop = {
  loc: ["body", "redirect_url"],
  type: "redirect_loop",
  msg: expect.stringContaining("redirect to itself"),
};

test("refuses a redirect that leads back to the domain or its www, even over domains of other accounts", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [a, b, c] = [await quicklyActive(account), await quicklyActive(other), await connected(account)];
  expect((await update(other, b.name, { redirect_url: `https://www.${c.name}/x` })).status).toBe(200);
  expect((await update(account, c.name, { redirect_url: `http://${a.name}:8080/` })).status).toBe(200);
  const before = await storedOf(account);
  for (const host of [
    a.name,
    `www.${a.name}`,
    a.name.toUpperCase(),
    `${a.name}.`,
    `${a.name}:444`,
    b.name,
    `www.${b.name}`,
  ]) {
    const { status, body } = await update(account, a.name, { redirect_url: `https://${host}/elsewhere` });
    expect([status, body.detail], host).toEqual([422, [loop]]);
  }
  const { body } = await update(account, a.name, { redirect_url: `https://${b.name}/` });
  expect(body.detail[0].msg).toContain(`${b.name} redirects to www.${c.name} redirects to ${a.name}`);
  expect(await storedOf(account)).toEqual(before);
  expect((await update(account, a.name, { redirect_url: `https://shop.${a.name}/` })).status).toBe(200);
});

test("ignores redirects of unproved domains, and hides other accounts' domains the caller did not name", async () => {
  const [account, other] = [await newAccount(), await newAccount()];
  const [a, b] = [await quicklyActive(account), await quicklyActive(other)];
  const squatted = await connected(other);
  expect((await update(other, squatted.name, { redirect_url: `https://${a.name}/` })).status).toBe(200);
  expect((await update(account, a.name, { redirect_url: `https://${squatted.name}/` })).status).toBe(200);
  await update(account, a.name, { redirect_url: null });
  const secret = await quicklyActive(other);
  await update(other, secret.name, { redirect_url: `https://${a.name}/` });
  await update(other, b.name, { redirect_url: `https://${secret.name}/` });
  const { status, body } = await update(account, a.name, { redirect_url: `https://${b.name}/` });
  expect([status, body.detail]).toEqual([422, [loop]]);
  expect(body.detail[0].msg).toContain(`${b.name} redirects to a domain of another account redirects to ${a.name}`);
  expect(JSON.stringify(body)).not.toContain(secret.name);
});

test("refuses a chain of more than ten redirects", async () => {
  const account = await newAccount();
  const names = [];
  for (let count = 0; count < 11; count++) names.push((await connected(account)).name);
  for (const [index, name] of names.entries()) {
    const redirect_url = `https://${names[index - 1] ?? "end.example.com"}/`;
    const { status, body } = await update(account, name, { redirect_url });
    const tooLong = { ...loop, msg: expect.stringContaining("would redirect over 10 hosts or more") };
    expect([status, body.detail], String(index)).toEqual(index < 10 ? [200, undefined] : [422, [tooLong]]);
  }
});

test.each<[setting: object, name: string, type: string, value: string]>([
  [{ redirect_url: "https://example.com/" }, "@", "A", "192.0.2.1"],
  [{ redirect_url: "https://example.com/" }, "www", "TXT", "x"],
  [{ mta_sts_mode: "testing" }, "mta-sts", "A", "192.0.2.1"],
  [{ mta_sts_mode: "testing" }, "_mta-sts", "TXT", "v=STSv1; id=1"],
  [{ tls_report_email: "tls@example.com" }, "_smtp._tls", "TXT", "v=TLSRPTv1; rua=mailto:a@example.com"],
  [{ tls_report_email: "tls@example.com" }, "_tls", "NS", "ns1.example.net"],
])("%j is refused until the customer's record at %s (%s) is deleted, and then reserves the name", async (...given) => {
  const [setting, name, type, value] = given;
  const account = await newAccount();
  for (const domain of [(await quicklyActive(account)).name, (await connected(account)).name]) {
    const body = { domain, name, type, value };
    const { id } = await addedRecord(account, body);
    const before = await storedOf(account);
    const refused = await update(account, domain, { ...setting, dmarc_policy: "reject" });
    expect(refused.body).toMatchObject({ status: 409, code: "record_conflict", conflicts_with: [id] });
    expect(refused.body.detail).toContain(`${name} ${type}`);
    expect(await storedOf(account)).toEqual(before);
    await recordsRequest(account, "DELETE", `/${id}`);
    expect((await update(account, domain, setting)).status).toBe(200);
    expect((await recordsRequest(account, "POST", "", body)).body.code).toBe("system_managed");
    const zone_file = `${name} 300 IN ${type} ${type === "TXT" ? `"${value}"` : value}`;
    const imported = await recordsRequest(account, "POST", "/import", { domain, zone_file });
    expect(imported.body).toMatchObject({ created_count: 0, skipped_count: 1 });
    // `mta_sts_mode` cannot be null.
    if ("mta_sts_mode" in setting) continue;
    const off = Object.fromEntries(Object.keys(setting).map((key) => [key, null]));
    expect((await update(account, domain, off)).status).toBe(200);
    expect((await recordsRequest(account, "POST", "", body)).status).toBe(201);
  }
});

test("settings from before the delegation are in the new zone", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await update(account, name, {
    redirect_url: "https://example.com/",
    mta_sts_mode: "enforce",
    tls_report_email: "t@example.com",
  });
  expect((await readDomain(account, name)).dns_record_count).toBe(0);
  await delegated(account, name);
  await verify(account, name);
  expect(await dig(`www.${name}`, "CNAME")).toEqual(["web.hosted-mail.example"]);
  expect(await dig(`_smtp._tls.${name}`, "TXT")).toEqual(["v=TLSRPTv1; rua=mailto:t@example.com"]);
  expect((await visit(`mta-sts.${name}`, "/.well-known/mta-sts.txt")).body).toContain("mode: enforce");
  expect((await readDomain(account, name)).dns_record_count).toBe(13);
});

test("a redirect that an earlier version stored does not replace the records of the customer's website", async () => {
  const account = await newAccount();
  const { name } = await connected(account);
  await addedRecord(account, { domain: name, name: "@", type: "A", value: "203.0.113.1" });
  await setStored(account, name, { redirect_url: "https://example.com/" });
  await delegated(account, name);
  await verify(account, name);
  expect([await dig(name, "A"), await dig(`www.${name}`, "CNAME")]).toEqual([["203.0.113.1"], "ENOTFOUND"]);
});

test("`mta_sts_mode: none` adds no record if the domain has no policy", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { body } = await update(account, name, { mta_sts_mode: "none" });
  expect(body).toMatchObject({ mta_sts_mode: "none", dns_record_count: 7 });
  expect((await visit(`mta-sts.${name}`, "/.well-known/mta-sts.txt")).status).toBe(404);
});

test("without web addresses there are no redirects, without a web host no MTA-STS; present settings can end", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const { name: earlier } = await quicklyActive(account);
  const on = { redirect_url: "https://example.com/", mta_sts_mode: "testing" };
  await update(account, earlier, on);
  const { WEB_HOST, WEB_ADDRESSES } = process.env;
  try {
    process.env["WEB_ADDRESSES"] = "";
    expect((await update(account, name, { redirect_url: on.redirect_url })).body.code).toBe("redirects_unavailable");
    expect((await update(account, name, { mta_sts_mode: "testing" })).status).toBe(200);
    delete process.env["WEB_HOST"];
    for (const body of [{ redirect_url: on.redirect_url }, { mta_sts_mode: "enforce" }]) {
      expect((await update(account, name, body)).body).toMatchObject({ status: 409, code: "redirects_unavailable" });
    }
    const rest = { ...on, tls_report_email: "tls@example.com" };
    expect((await update(account, earlier, rest)).body).toMatchObject(rest);
    expect((await update(account, earlier, { redirect_url: null })).body).toMatchObject({ redirect_url: null });
  } finally {
    Object.assign(process.env, { WEB_HOST, WEB_ADDRESSES });
  }
});

test("concurrent changes of several settings all get their records", async () => {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  const changes = [
    { redirect_url: "https://example.com/" },
    { mta_sts_mode: "testing" },
    { tls_report_email: "tls@example.com" },
    { dmarc_policy: "reject" },
  ];
  const answers = await Promise.all(changes.map((body) => update(account, name, body)));
  expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 200]);
  expect((await readDomain(account, name)).dns_record_count).toBe(13);
  const { body } = await recordsRequest(account, "GET", `?domain=${name}&page_size=100`);
  expect(body.total).toBe(13);
});

test("does not name the records in the way to a caller who may not see the records", async () => {
  const account = await newAccount();
  const { id: domainId, name } = await connected(account);
  const { id } = await addedRecord(account, { domain: name, name: "www", type: "TXT", value: "x" });
  const member = await newMember(account, { capability: "domain.update", scope: { type: "domain", id: domainId } });
  const body = { redirect_url: "https://example.com/" };
  const refused = async () =>
    (await domainsRequest(account, "PATCH", `/${name}`, body, { authorization: `Bearer ${member.token}` })).body;
  const hidden = await refused();
  expect([hidden.code, hidden.conflicts_with]).toEqual(["record_conflict", undefined]);
  expect(hidden.detail).not.toContain("www");
  await grant(account, member, { capability: "dns.view" });
  expect(await refused()).toMatchObject({ code: "record_conflict", conflicts_with: [id] });
});
