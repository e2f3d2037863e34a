import { describe, expect, test } from "vitest";

import { advanceDomain } from "../../../functions/workers/advance-domains.ts";
import { publishRecords } from "../../../infra/local/dns/external.ts";
import { domainKey } from "../../../shared/domains/domain.ts";
import { readHolder } from "../../../shared/domains/holder.ts";
import { unregistered } from "../../../shared/domains/registration-state.ts";
import { nextRecheck } from "../../../shared/domains/setup/activate.ts";
import { getZone, zoneKey } from "../../../shared/domains/zone.ts";
import { newWorkspace } from "../../support/auth.ts";
import { afterReading } from "../../support/between.ts";
import { advance, dig, quicklyActive, setStored, storedAs, workAt, write } from "../../support/domain-work.ts";
import {
  connect,
  connected,
  delegated,
  domainsRequest,
  readDomain,
  uniqueName,
  verify,
} from "../../support/domains.ts";
import { externalDomain, proofOf, publish } from "../../support/external.ts";
import { whereTo } from "../../support/mail-routes.ts";
import { send } from "../../support/mailboxes.ts";
import { happened } from "../../support/purchases.ts";
import { advanceAt } from "../../support/renewals.ts";
import { newAccount, testTable, type Account } from "../../support/world.ts";

const dayMs = 86_400_000;

const setMode = (account: Account, name: string, dns_mode: "hosted" | "external") =>
  domainsRequest(account, "PATCH", `/${name}`, { dns_mode });

/** A proved external domain with its proof, MX, SPF and DKIM records. */
async function ready(account: Account) {
  const domain = await externalDomain(account);
  const { proof, mx, spf, dkim } = domain.records;
  await publish(domain.name, [...proof, ...mx, ...spf, ...dkim]);
  await verify(account, domain.name);
  return domain;
}

const isFirm = async (name: string) => (await readHolder(testTable(), name))?.firm;

describe("an external domain", () => {
  test("is active once its TXT record is there, has no zone here, and sends once SPF and DKIM are right", async () => {
    const account = await newAccount();
    const { id, name, records } = await externalDomain(account);
    const host = `_hosted-mail.${name}`;
    expect((await verify(account, name)).body).toMatchObject({
      verified: false,
      status: "pending_delegation",
      fault: "proof_missing",
      expected_nameservers: [],
      expected_txt: { name: host, value: records.proof[0]?.value },
      observed_txt: [],
    });
    await publish(name, records.proof);
    expect((await verify(account, name)).body).toMatchObject({
      verified: true,
      status: "active",
      fault: null,
      outbound_routing_ready: false,
      observed_txt: [records.proof[0]?.value],
    });
    expect(await readDomain(account, name)).toMatchObject({ status: "active", outbound_routing_ready: false });
    expect(await isFirm(name)).toBe(true);
    await publish(name, [...records.proof, ...records.spf]);
    expect((await verify(account, name)).body).toMatchObject({ outbound_routing_ready: false });
    await publish(name, [...records.proof, ...records.spf, ...records.dkim]);
    expect((await verify(account, name)).body).toMatchObject({ outbound_routing_ready: true });
    expect(await readDomain(account, name)).toMatchObject({
      outbound_routing_ready: true,
      dns_record_count: 0,
    });
    expect(await getZone(testTable(), account.id, id)).toMatchObject({ wanted: false });
    expect(await dig(name, "MX")).toBe("EREFUSED");
    expect(await happened(account)).toEqual(expect.arrayContaining(["domain.verified", "domain.updated"]));
  });

  test("has its mail elsewhere until `domains.verify` finds our MX, and again once a check finds another MX", async () => {
    const account = await newAccount();
    const { name, records } = await externalDomain(account);
    const { proof, mx, spf, dkim } = records;
    const published = [...proof, ...spf, ...dkim];
    const unused = () => whereTo(`nobody@${name}`);
    await publish(name, published);
    expect((await verify(account, name)).body).toMatchObject({ status: "active", outbound_routing_ready: true });
    expect(await unused()).toEqual({ status: 200, kind: "none", is_mx_here: false });
    await publish(name, [...published, ...mx]);
    await verify(account, name);
    expect(await unused()).toEqual({ status: 200, kind: "none" });
    await publish(name, published);
    await advance(account, name);
    expect(await advance(account, name)).toMatchObject({ status: "degraded", broken_records: ["mx"] });
    expect(await unused()).toEqual({ status: 200, kind: "none", is_mx_here: false });
  });

  test("is proved and made ready by the worker, too", async () => {
    const account = await newAccount();
    const { name, records } = await externalDomain(account);
    expect(await advance(account, name)).toMatchObject({ status: "pending_delegation", failures: 1 });
    await publish(name, records.proof);
    const proved = await advance(account, name);
    expect(proved).toMatchObject({ status: "active", sending_ready: false });
    expect(Date.parse(proved?.due_at ?? "") - Date.parse(proved?.verified_at ?? "")).toBe(60_000);
    await publish(name, [...records.proof, ...records.spf, ...records.dkim]);
    expect(await advance(account, name)).toMatchObject({ status: "active", sending_ready: true });
    expect(await readDomain(account, name)).toMatchObject({ outbound_routing_ready: true });
  });

  test("is checked less and less often while it cannot send, and once a day in the end", async () => {
    const account = await newAccount();
    const { name } = await externalDomain(account);
    const domain = { ...(await storedAs(account, name)), verified_at: "2026-01-01T00:00:00.000Z" };
    const at = (ms: number) => new Date(Date.parse(domain.verified_at) + ms);
    const waitMs = (ms: number) => Date.parse(nextRecheck(domain, at(ms))) - at(ms).getTime();
    expect([0, 60_000, 600_000].map(waitMs)).toEqual([60_000, 60_000, 600_000]);
    expect(waitMs(9 * dayMs)).toBeLessThanOrEqual(1.1 * dayMs);
  });

  test.each(["_hosted-mail", "*"])(
    "is not proved by an alias at %s, because others may control the target of the alias",
    async (alias) => {
      const [account, other] = [await newAccount(), await newAccount()];
      const { name, records } = await externalDomain(account);
      const proof = records.proof.map((record) => ({ ...record, name: "texts" }));
      await publish(name, [{ name: alias, type: "CNAME", value: `texts.${name}` }, ...proof]);
      const { body } = await verify(account, name);
      expect(body).toMatchObject({ verified: false, fault: "proof_is_alias", observed_txt: [] });
      expect(body.message).toContain(`_hosted-mail.${name} is an alias (CNAME) of texts.${name}`);
      const { body: setup } = await domainsRequest(account, "GET", `/${name}/dns-setup`);
      const shown = setup.records.find(({ purpose }: { purpose: string }) => purpose === "proof");
      expect(shown).toMatchObject({ message: expect.stringContaining("is an alias (CNAME)") });
      expect(shown.status).not.toBe("ok");
      const theirs = proofOf(other, name);
      await publish(name, [
        { name: alias, type: "CNAME", value: `texts.${name}` },
        { ...theirs, name: "texts" },
      ]);
      expect((await connect(other, name, await newWorkspace(other, "Theirs"))).body).toMatchObject({
        code: "domain_taken",
      });
      await publish(name, records.proof);
      expect((await verify(account, name)).body).toMatchObject({ verified: true, fault: null });
    },
  );

  test("is not proved by the TXT value of another account or of another name", async () => {
    const [account, other] = [await newAccount(), await newAccount()];
    const { name } = await externalDomain(account);
    for (const value of [proofOf(other, name), proofOf(account, `other-${name}`)]) {
      await publish(name, [value]);
      const { body } = await verify(account, name);
      expect(body).toMatchObject({ verified: false, fault: "proof_of_another_account", observed_txt: [value.value] });
      expect(body.message).toContain("belongs to another account or another name");
    }
    await publish(name, [proofOf(other, name), proofOf(account, name)]);
    expect((await verify(account, name)).body).toMatchObject({ verified: true, fault: null });
  });

  test("has a DKIM key at once, and keeps this key when it is proved", async () => {
    const account = await newAccount();
    const { name, records } = await externalDomain(account);
    await publish(name, [...records.proof, ...records.spf, ...records.dkim]);
    await advance(account, name);
    expect((await verify(account, name)).body).toMatchObject({ status: "active", outbound_routing_ready: true });
  });

  test("that is proved but cannot send shows which of SPF and DKIM is wrong", async () => {
    const account = await newAccount();
    const { name, records } = await externalDomain(account);
    await publish(name, [...records.proof, ...records.spf]);
    const { body } = await verify(account, name);
    expect(body).toMatchObject({ verified: true, fault: null, outbound_routing_ready: false });
    expect(body.message).toBe(
      "The name is proved. Mail cannot be sent yet. There is no record of this kind at hm1._domainkey.",
    );
  });

  test("is degraded after it lost a record, and a verification ends this only if the record is back", async () => {
    const account = await newAccount();
    const { name, records } = await ready(account);
    const { proof, mx, spf, dkim } = records;
    await publish(name, [...proof, ...mx, ...spf]);
    await advance(account, name);
    expect(await advance(account, name)).toMatchObject({ status: "degraded", broken_records: ["dkim"] });
    const { body } = await verify(account, name);
    expect(body).toMatchObject({ verified: true, status: "degraded" });
    expect(body.message).toBe("The name is proved. There is no record of this kind at hm1._domainkey.");
    expect(await readDomain(account, name)).toMatchObject({ status: "degraded", broken_records: ["dkim"] });
    await publish(name, [...proof, ...mx, ...spf, ...dkim]);
    expect((await verify(account, name)).body).toMatchObject({ status: "active", message: "The name is proved." });
    expect(await happened(account)).toContain("domain.recovered");
  });

  test("gets a warning and the record to publish if its SPF record lacks only a name of `spf_includes`", async () => {
    const account = await newAccount();
    const { name, records } = await ready(account);
    const { proof, mx, spf, dkim } = records;
    const other = uniqueName();
    const everybody = { name: "@", type: "TXT", value: "v=spf1 ip4:192.0.2.1 -all" } as const;
    await publish(other, [everybody]);
    expect((await domainsRequest(account, "PATCH", `/${name}`, { spf_includes: [other] })).status).toBe(200);
    await publish(name, [...proof, ...mx, ...spf, ...dkim]);
    const health = await domainsRequest(account, "GET", `/${name}/health`);
    const checks = health.body["checks"] as { name: string; status: string; message: string }[];
    const message = `The SPF record allows mail from us. It lacks include:${other} of the domain's spf_includes.`;
    expect(checks.find((check) => check.name === "spf")).toMatchObject({ status: "warn", message });
    const setup = await domainsRequest(account, "GET", `/${name}/dns-setup`);
    const wanted = (setup.body["records"] as { purpose: string }[]).find(({ purpose }) => purpose === "spf");
    expect(wanted).toMatchObject({ status: "different", message });
    expect(wanted).toMatchObject({ value: expect.stringContaining(`include:${other}`) });
  });

  test("accepts no DNS records, because its DNS is not served here", async () => {
    const account = await newAccount();
    const { name } = await externalDomain(account);
    const record = { domain: name, name: "www", type: "A", value: "192.0.2.1" };
    for (const [path, body] of [
      ["dns-records", record],
      ["dns-records/import", { domain: name, zone_file: "www A 192.0.2.1" }],
    ] as const) {
      expect(await send(account, "POST", path, body)).toMatchObject({ status: 409, body: { code: "dns_external" } });
    }
  });

  test("leaves nothing at the DNS provider when it is deleted", async () => {
    const account = await newAccount();
    const { name } = await ready(account);
    expect((await domainsRequest(account, "DELETE", `/${name}`)).status).toBe(200);
    expect(await readHolder(testTable(), name)).toBeUndefined();
    expect(await dig(name, "NS")).toBe("EREFUSED");
  });
});

describe("a name that another account has", () => {
  test("goes to the account whose TXT record the name has, if the other account never proved the name", async () => {
    const [old, account] = [await newAccount(), await newAccount()];
    const { name } = await connected(old);
    const workspaceId = await newWorkspace(account, "Sales");
    const refused = await connect(account, name, workspaceId, { dns_mode: "external" });
    expect(refused).toMatchObject({ status: 409, body: { code: "domain_taken", txt_name: `_hosted-mail.${name}` } });
    await publish(name, [{ name: "_hosted-mail", type: "TXT", value: refused.body.txt_value }]);
    expect((await connect(account, name, workspaceId, { dns_mode: "external" })).status).toBe(201);
    expect((await verify(account, name)).body).toMatchObject({ status: "active" });
    expect(await storedAs(old, name)).toMatchObject({
      status: "releasing",
      status_reason: "Another account proved that the name is theirs: it has their TXT record.",
    });
    expect(await happened(old)).toContain("domain.taken_over");
  });

  test("stays with the account that proved it, until thirteen checks have missed its TXT record", async () => {
    const [old, account] = [await newAccount(), await newAccount()];
    const { name } = await ready(old);
    await publish(name, [proofOf(old, name), proofOf(account, name)]);
    const workspaceId = await newWorkspace(account, "Sales");
    expect((await connect(account, name, workspaceId)).body.code).toBe("domain_taken");
    await publish(name, [proofOf(account, name)]);
    await setStored(old, name, { failures: 11, unproved: 11, status: "degraded" });
    await advance(old, name);
    expect(await isFirm(name)).toBe(true);
    await advance(old, name);
    expect(await isFirm(name)).toBe(false);
    expect((await connect(account, name, workspaceId)).status).toBe(201);
  });
});

test("a check that began before a verification does not overwrite the findings of the verification", async () => {
  const account = await newAccount();
  const { id, name, records } = await externalDomain(account);
  await publish(name, records.proof);
  await verify(account, name);
  await publishRecords(testTable(), name, []);
  const { PK, SK } = domainKey(account.id, id);
  // To the check, every record is still missing.
  const resolver = { ...workAt(new Date()).resolver, resolve: async () => ({ status: "absent" as const }) };
  const check = async (...published: Parameters<typeof publish>[1][number][]) => {
    const { due_at } = await storedAs(account, name);
    const due = due_at ?? "";
    await afterReading(
      (key) => key.PK === PK && key.SK === SK,
      async () => {
        await publish(name, published);
        await verify(account, name);
      },
      () => advanceDomain(account.id, id, due, workAt(new Date(due), { resolver })),
    );
  };
  await check(...records.proof, ...records.spf, ...records.dkim);
  expect(await storedAs(account, name)).toMatchObject({ sending_ready: true, failures: 0 });
  await setStored(account, name, { unproved: 12 });
  await check(...records.proof);
  expect(await storedAs(account, name)).toMatchObject({ unproved: 0 });
  expect(await isFirm(name)).toBe(true);
});

test.each(["hosted", "external"] as const)(
  "a verification that finds the proof of the former mode does not activate a domain that became %s meanwhile",
  async (mode) => {
    const account = await newAccount();
    const { id, name, records } = await externalDomain(account);
    if (mode === "external") {
      await setMode(account, name, "hosted");
      await delegated(account, name);
    } else await publish(name, records.proof);
    const { PK, SK } = domainKey(account.id, id);
    const verified = await afterReading(
      (key) => key.PK === PK && key.SK === SK,
      () => setMode(account, name, mode),
      () => verify(account, name),
    );
    expect(verified.body).toMatchObject({ status: 503, code: "busy" });
    expect(await readDomain(account, name)).toMatchObject({ status: "pending_delegation", verified_at: null });
    expect((await verify(account, name)).body).toMatchObject({ verified: false, status: "pending_delegation" });
  },
);

describe("a check of the records", () => {
  test("makes the domain degraded when it finds a record broken twice, and `broken_records` names it", async () => {
    const account = await newAccount();
    const { name, records } = await ready(account);
    await advance(account, name);
    const { proof, mx, spf, dkim } = records;
    await publish(name, [...proof, ...mx, ...spf]);
    expect(await advance(account, name)).toMatchObject({ status: "active", failures: 1 });
    expect(await advance(account, name)).toMatchObject({ status: "degraded", broken_records: ["dkim"] });
    expect(await readDomain(account, name)).toMatchObject({ broken_records: ["dkim"], outbound_routing_ready: true });
    await publish(name, [...proof, ...spf]);
    expect(await advance(account, name)).toMatchObject({ broken_records: ["mx", "dkim"] });
    await advance(account, name);
    await publish(name, [...proof, ...spf, ...dkim]);
    expect(await advance(account, name)).toMatchObject({ status: "degraded", broken_records: ["mx"] });
    await publish(name, [...proof, ...mx, ...spf, ...dkim]);
    expect(await advance(account, name)).toMatchObject({ status: "active", broken_records: [], failures: 0 });
    const events = (await happened(account)).filter((type) => /^domain\.(?:degraded|recovered)$/.test(type));
    expect(events.toSorted()).toEqual(["domain.degraded", "domain.degraded", "domain.recovered"]);
  });

  test("does not degrade a domain whose MX record was never ours, or that has its own DMARC policy", async () => {
    const account = await newAccount();
    const { name, records } = await externalDomain(account);
    const old = { name: "@", type: "MX", value: "mx.former.example", priority: 5 } as const;
    const dmarc = { name: "_dmarc", type: "TXT", value: "v=DMARC1; p=reject" } as const;
    await publish(name, [...records.proof, ...records.spf, ...records.dkim, old, dmarc]);
    await verify(account, name);
    for (let checks = 0; checks < 3; checks++) {
      expect(await advance(account, name)).toMatchObject({ status: "active", failures: 0 });
    }
    const { body } = await domainsRequest(account, "GET", `/${name}/health`);
    expect(
      Object.fromEntries(body.checks.map((check: { name: string; status: string }) => [check.name, check.status])),
    ).toMatchObject({ proof: "pass", mx: "fail", spf: "pass", dkim: "pass", dmarc: "pass" });
  });
});

describe("a domain that leaves our nameservers", () => {
  test("is served until three days after its delegation is gone, can always send, and keeps its records", async () => {
    const account = await newAccount();
    const { id, name } = await quicklyActive(account);
    const record = { domain: name, name: "www", type: "A", value: "192.0.2.1" };
    expect((await send(account, "POST", "dns-records", record)).status).toBe(201);
    expect((await setMode(account, name, "external")).body).toMatchObject({
      dns_mode: "external",
      status: "active",
      outbound_routing_ready: true,
    });
    expect(await advance(account, name)).toMatchObject({ status: "active", handover: { gone_at: null } });
    const more = { ...record, name: "blog" };
    expect((await send(account, "POST", "dns-records", more)).body).toMatchObject({ zone_status: "in_sync" });

    const { body } = await send(account, "GET", `dns-records/export?domain=${name}`);
    expect(JSON.stringify(body)).toContain("www");
    const served = (await readDomain(account, name)).dns_records;
    const moved = served.map(({ name: owner, type, value, priority }: Record<string, unknown>) => ({
      name: owner,
      type,
      value,
      ...(priority === null ? {} : { priority }),
    }));
    await publish(name, [...moved, proofOf(account, name)]);
    const left = await advance(account, name);
    expect(left).toMatchObject({ status: "active", handover: { gone_at: expect.any(String) } });
    expect(await dig(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    const goneAt = Date.parse(left?.handover?.gone_at ?? "");
    await advanceAt(account, name, new Date(goneAt + 3 * dayMs - 1));
    expect(await dig(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    expect(await advanceAt(account, name, new Date(goneAt + 3 * dayMs))).toMatchObject({
      status: "active",
      handover: null,
    });
    expect(await dig(`www.${name}`, "A")).toBe("EREFUSED");
    expect(await readDomain(account, name)).toMatchObject({ dns_record_count: 9, outbound_routing_ready: true });
    expect((await send(account, "POST", "dns-records", { ...record, name: "shop" })).body.code).toBe("dns_external");

    expect((await setMode(account, name, "hosted")).body).toMatchObject({
      status: "pending_delegation",
      outbound_routing_ready: true,
    });
    expect((await send(account, "POST", "dns-records", { ...record, name: "shop" })).status).toBe(201);
    await delegated(account, name);
    expect((await verify(account, name)).body).toMatchObject({ verified: true, status: "active" });
    expect(await dig(`www.${name}`, "A")).toEqual(["192.0.2.1"]);
    expect(await dig(`shop.${name}`, "A")).toEqual(["192.0.2.1"]);
    expect(await storedAs(account, name)).toMatchObject({ id, record_count: 10 });
  });

  test("allows the deletion of a stored record that conflicts with a setting, but no change of the record", async () => {
    const account = await newAccount();
    const { id, name } = await quicklyActive(account);
    const record = { domain: name, name: "www", type: "A", value: "192.0.2.1" };
    const { body: stored } = await send(account, "POST", "dns-records", record);
    await setMode(account, name, "external");
    await write({ update: zoneKey(account.id, id), set: { wanted: false } });
    const redirect = () => domainsRequest(account, "PATCH", `/${name}`, { redirect_url: "https://www.example.com/" });
    expect((await redirect()).body).toMatchObject({ code: "record_conflict", conflicts_with: [stored.id] });
    const own = `dns-records/${stored.id}`;
    expect((await send(account, "PATCH", own, { ttl: 600 })).body.code).toBe("dns_external");
    expect((await send(account, "DELETE", own)).status).toBe(200);
    expect(await redirect()).toMatchObject({ status: 200, body: { redirect_url: "https://www.example.com/" } });
  });

  test("is proved by its delegation at first, and is degraded if the delegation goes and there is no TXT record", async () => {
    const account = await newAccount();
    const { name } = await quicklyActive(account);
    await setMode(account, name, "external");
    expect((await verify(account, name)).body).toMatchObject({ verified: true, observed_txt: [] });
    await publish(name, []);
    await advance(account, name);
    expect(await advance(account, name)).toMatchObject({
      status: "degraded",
      broken_records: ["proof", "mx", "spf", "dkim"],
    });
  });

  test.each(["restored with its registration", "claimed again"])(
    "is hosted again if it is deleted and %s before its delegation changes, and otherwise stays external",
    async (way) => {
      const account = await newAccount();
      const restored = async (name: string) => {
        await domainsRequest(account, "DELETE", `/${name}?release=true`);
        const { status, body } = await domainsRequest(account, "POST", `/${name}/restore`);
        expect(status).toBe(200);
        return body;
      };
      const domain = async () => {
        const { name } = await quicklyActive(account);
        if (way === "restored with its registration") {
          const registration = { ...unregistered("pending"), status: "active", expires_at: "2100-01-01T00:00:00.000Z" };
          await setStored(account, name, { source: "purchased", registration });
        }
        await setMode(account, name, "external");
        return name;
      };
      const [kept, left] = [await domain(), await domain()];
      expect(await restored(kept)).toMatchObject({ status: "pending_delegation", dns_mode: "hosted" });
      expect((await verify(account, kept)).body).toMatchObject({ status: "active" });
      expect(await dig(kept, "MX")).not.toBe("EREFUSED");
      await setStored(account, left, { handover: { gone_at: new Date().toISOString() } });
      expect(await restored(left)).toMatchObject({ status: "pending_delegation", dns_mode: "external" });
    },
  );

  test("is unchanged if it becomes hosted again before its delegation changes", async () => {
    const account = await newAccount();
    const { name } = await quicklyActive(account);
    const before = await readDomain(account, name);
    await setMode(account, name, "external");
    const { body } = await setMode(account, name, "hosted");
    expect(body).toEqual({ ...before, updated_at: body.updated_at });
  });
});

describe("a domain that comes to our nameservers", () => {
  test("sends while it waits for its delegation, and then has all system records with its former key", async () => {
    const account = await newAccount();
    const { name, records } = await ready(account);
    expect((await setMode(account, name, "hosted")).body).toMatchObject({
      status: "pending_delegation",
      outbound_routing_ready: true,
    });
    expect(await advance(account, name)).toMatchObject({ status: "pending_delegation", failures: 1 });
    await delegated(account, name);
    expect(await advance(account, name)).toMatchObject({ status: "active", record_count: 7 });
    expect(await dig(`hm1._domainkey.${name}`, "TXT")).toEqual([records.dkim[0]?.value]);
  });

  test("can be taken over if its TXT record stays missing, and is safe again once the record is back", async () => {
    const account = await newAccount();
    const { name, records } = await ready(account);
    await setMode(account, name, "hosted");
    await setStored(account, name, { unproved: 12 });
    expect(await advance(account, name)).toMatchObject({ unproved: 0 });
    expect(await isFirm(name)).toBe(true);
    await publishRecords(testTable(), name, []);
    await setStored(account, name, { unproved: 12 });
    await advance(account, name);
    expect(await isFirm(name)).toBe(false);
    await publish(name, records.proof);
    await advance(account, name);
    expect(await isFirm(name)).toBe(true);
  });

  test("can be taken over by another owner after thirteen checks, even if its mode changes between them", async () => {
    const [account, owner] = [await newAccount(), await newAccount()];
    const workspaceId = await newWorkspace(owner, "Sales");
    const { name, records } = await externalDomain(account);
    await publish(name, records.proof);
    await verify(account, name);
    expect((await setMode(account, name, "hosted")).body).toMatchObject({ outbound_routing_ready: false });
    await publish(name, [proofOf(owner, name)]);
    for (let count = 1; count <= 13; count++) {
      expect((await connect(owner, name, workspaceId)).body).toMatchObject({ code: "domain_taken" });
      expect(await advance(account, name)).toMatchObject({ status: "pending_delegation", unproved: count });
      if (count % 4 === 0) await setMode(account, name, count % 8 === 0 ? "hosted" : "external");
    }
    expect((await connect(owner, name, workspaceId)).status).toBe(201);
    expect(await readDomain(account, name)).toMatchObject({ status: "releasing" });
  });

  test("that was never proved is treated like a new hosted domain", async () => {
    const account = await newAccount();
    const { name } = await externalDomain(account, { name: uniqueName() });
    expect((await setMode(account, name, "hosted")).body).toMatchObject({
      status: "pending_delegation",
      outbound_routing_ready: false,
    });
    await delegated(account, name);
    expect((await verify(account, name)).body).toMatchObject({ status: "active" });
    expect(await readDomain(account, name)).toMatchObject({ dns_record_count: 7, outbound_routing_ready: true });
  });
});

/** An external domain whose zone is due for removal, and its removal. In `beginRemoval` the DNS provider is silent. */
async function leftLongAgo() {
  const account = await newAccount();
  const { name } = await quicklyActive(account);
  await setMode(account, name, "external");
  await publish(name, [proofOf(account, name)]);
  const left = await advance(account, name);
  const at = new Date(Date.parse(left?.handover?.gone_at ?? "") + 3 * dayMs);
  const { id, due_at } = await storedAs(account, name);
  const remove = (work = workAt(at)) => advanceDomain(account.id, id, due_at ?? "", work);
  const silent = { ...workAt(at).dns, deleteZone: () => Promise.reject(new Error("It is silent.")) };
  const beginRemoval = () => expect(remove(workAt(at, { dns: silent }))).rejects.toThrow("silent");
  return { account, id, name, beginRemoval, remove };
}

test("a domain whose zone is being removed cannot become hosted until the zone is gone", async () => {
  const { account, name, beginRemoval, remove } = await leftLongAgo();
  await beginRemoval();
  expect((await setMode(account, name, "hosted")).body).toMatchObject({ status: 503, code: "busy" });
  await remove();
  expect((await setMode(account, name, "hosted")).body).toMatchObject({ status: "pending_delegation" });
});

test("a domain whose zone begins to be removed during its change to hosted stays external", async () => {
  const { account, id, name, beginRemoval } = await leftLongAgo();
  const isZone = ({ SK }: { SK: string }) => SK === zoneKey(account.id, id).SK;
  const { body } = await afterReading(isZone, beginRemoval, () => setMode(account, name, "hosted"));
  expect(body).toMatchObject({ status: 503, code: "busy" });
  expect(await storedAs(account, name)).toMatchObject({ dns_mode: "external" });
});
