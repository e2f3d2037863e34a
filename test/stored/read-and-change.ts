import { randomBytes } from "node:crypto";

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, expect, test } from "vitest";

import { sweepDomains } from "../../functions/workers/advance-domains.ts";
import { sweepBilling } from "../../shared/billing/sweep.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock, setClockAhead } from "../../shared/core/time.ts";
import { ipContext } from "../../shared/dedicated-ips/services.ts";
import { sweepIps } from "../../shared/dedicated-ips/sweep.ts";
import { domainWork } from "../../shared/domains/setup/services.ts";
import { getFeedback } from "../../shared/feedback/operate.ts";
import { getStored } from "../../shared/providers/payments/embedded.ts";
import { embeddedRegistrar } from "../../shared/providers/registrar/embedded.ts";
import { setOwnLimit } from "../../shared/rate-limits/own-limits.ts";
import { openWork } from "../../shared/webhooks/deliver.ts";
import { sweep as sweepDeliveries } from "../../shared/webhooks/sweep.ts";
import { dig } from "../support/domain-work.ts";
import { logsIn, whereTo } from "../support/mail-door.ts";
import { useOwnTable } from "../support/own-table.ts";
import { request } from "../support/request.ts";
import { newUser, testTable } from "../support/world.ts";
import { putItems, readEdition } from "./edition.ts";
import { answerTo, routeOf } from "./scene.ts";

/** The ids and totals in an answer: what its reader relies on, whatever members later editions add. */
function identitiesIn(answer: unknown): Set<string> {
  const found = new Set<string>();
  JSON.stringify(answer, (name, value: unknown) => {
    if (name === "id" || name === "name" || name === "total") found.add(`${name}=${String(value)}`);
    return value;
  });
  return found;
}

/** The records that earlier versions of `domains.health` recommended to every domain. No row has them. */
const formerAdvice = new Set(["name=_mta-sts", "name=_smtp._tls"]);

/**
 * Reads and changes the rows of an edition. Each edition has a file of tests, and so a process, because a process has one
 * table and one key for secrets.
 */
export function readAndChange(name: string): void {
  const { frozenAt, secretsKey, superAdminId, calls, facts, items } = readEdition(name);
  const [reads, writes] = [calls.filter(({ answer }) => answer), calls.filter(({ answer }) => !answer)];

  const { LOG_LEVEL } = process.env;

  beforeAll(async () => {
    process.env["SECRETS_KEY"] = secretsKey;
    // A row that cannot be read is a 500. Its reason is only in the log.
    process.env["LOG_LEVEL"] = "error";
    await useOwnTable();
    await putItems(DynamoDBDocumentClient.from(new DynamoDBClient()), process.env["TABLE_NAME"] ?? "", items);
    setClockAhead(Date.parse(frozenAt) - Date.now());
  });
  afterAll(() => {
    setClockAhead(0);
    process.env["SECRETS_KEY"] = randomBytes(32).toString("base64");
    process.env["LOG_LEVEL"] = LOG_LEVEL;
  });

  test.each(reads.map((call) => [call.route, call] as const))("are read by %s", async (_, call) => {
    const [before, now] = [identitiesIn(call.answer), identitiesIn(await answerTo(call))];
    expect([...before].filter((identity) => !now.has(identity) && !formerAdvice.has(identity))).toEqual([]);
  });

  test("are read by mail servers, name servers, the registry and payers", async () => {
    const table = testTable();
    expect(await logsIn(facts.email, facts.password, "imap")).toBe(true);
    expect(await logsIn(facts.email, facts.masterPassword)).toBe(true);
    const { appPassword } = facts;
    if (appPassword !== undefined) expect(await logsIn(facts.email, appPassword, "imap")).toBe(true);
    expect(await whereTo(`countess@${facts.domain}`)).toMatchObject({ status: 200 });
    expect(await dig(facts.domain, "MX")).not.toEqual([]);
    const registrar = embeddedRegistrar(table, clock);
    expect(await registrar.registration(facts.boughtName)).toBeDefined();
    expect(await registrar.findOperation(facts.boughtName, new Date(0), "register")).toMatchObject({
      state: "succeeded",
    });
    expect(await getStored(table, facts.unpaidCheckoutId)).toMatchObject({ id: facts.unpaidCheckoutId });
  });

  test("are read and changed by the operator, and seen by a super admin", async () => {
    const table = testTable();
    const { token } = newUser({ sub: superAdminId });
    const { body } = await request("GET", "/v1/public/accounts?page_size=100", { token });
    expect(body).toMatchObject({ items: expect.any(Array), total: expect.any(Number) });
    expect(await getFeedback(table, facts.feedbackId)).toMatchObject({ status: "planned" });
    const own = await setOwnLimit(table, facts.limitedAccountId, "sensitive", { perMinute: 60, burst: 10 });
    expect(Object.keys(own.classes).toSorted()).toEqual(["search", "sensitive"]);
  });

  test.each(writes.map((call) => [call.route, call] as const))("can be changed by %s", async (_, call) => {
    await expect(answerTo(call)).resolves.toBeDefined();
    expect(routeOf(call).http.method).not.toBe("GET");
  });

  test("are taken up by the workers", { timeout: 180_000 }, async () => {
    for (const days of [1, 2]) {
      setClockAhead(Date.parse(frozenAt) - Date.now() + days * 86_400_000);
      const swept = [await sweepDomains(domainWork("test")), await sweepIps(ipContext("test"))];
      expect(swept.map(({ failed }) => failed)).toEqual([0, 0]);
      // Rejects when one fails.
      await sweepDeliveries(openWork("test"));
      const closed = await sweepBilling({
        table: testTable(),
        now: clock,
        log: createLog("error", {}, "text"),
        requestId: "test",
      });
      expect(closed.reduce((sum, { failed }) => sum + failed, 0)).toBe(0);
      expect(closed.length).toBeGreaterThan(0);
    }
  });
}
