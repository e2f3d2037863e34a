import { randomBytes } from "node:crypto";

import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { DynamoDBDocumentClient } from "@aws-sdk/lib-dynamodb";
import { afterAll, beforeAll, describe, expect, test } from "vitest";

import { sweepDomains } from "../../functions/workers/advance-domains.ts";
import { sweepBilling } from "../../shared/billing/sweep.ts";
import { createLog } from "../../shared/core/log.ts";
import { clock, dayMs, setClockAhead } from "../../shared/core/time.ts";
import { ipContext } from "../../shared/dedicated-ips/services.ts";
import { sweepIps } from "../../shared/dedicated-ips/sweep.ts";
import { domainWork } from "../../shared/domains/setup/services.ts";
import { getFeedback } from "../../shared/feedback/operate.ts";
import { getStoredCheckout } from "../../shared/providers/payments/embedded.ts";
import { embeddedRegistrar } from "../../shared/providers/registrar/embedded.ts";
import { setOwnLimit } from "../../shared/rate-limits/own-limits.ts";
import { type Item, keyText } from "../../shared/table/writes.ts";
import { openWork } from "../../shared/webhooks/deliver.ts";
import { sweep as sweepDeliveries } from "../../shared/webhooks/sweep.ts";
import { dig } from "../support/domain-work.ts";
import { logsIn, whereTo } from "../support/mail-routes.ts";
import { useOwnTable } from "../support/own-table.ts";
import { request } from "../support/request.ts";
import { newUser, testTable } from "../support/world.ts";
import { type FrozenCall, putItems, readEdition } from "./edition.ts";
import { migrate } from "./migrate.ts";
import { answerTo, routeOf } from "./scene.ts";

/** The ids, names and totals in an answer. Readers rely on them, and later editions may add other members. */
function identitiesIn(answer: unknown): Set<string> {
  const found = new Set<string>();
  JSON.stringify(answer, (name, value: unknown) => {
    if (name === "id" || name === "name" || name === "total") found.add(`${name}=${String(value)}`);
    return value;
  });
  return found;
}

/** An answer as text, without the signatures of addresses, which depend on the time. */
const lasting = (answer: unknown): string => JSON.stringify(answer).replaceAll(/expires=\d+&signature=[\w-]+/g, "");

const replaceItems = (items: readonly Item[]): Promise<void> =>
  putItems(DynamoDBDocumentClient.from(new DynamoDBClient()), process.env["TABLE_NAME"] ?? "", items);

/** The records that earlier versions of `domains.health` recommended to every domain. No row has them. */
const formerAdvice = new Set(["name=_mta-sts", "name=_smtp._tls"]);

/**
 * Registers the tests that read and change the rows of an edition. Each edition has its own test file, and so its own
 * process, because a process has one table and one key for secrets.
 */
export function readAndChange(name: string): void {
  const { frozenAt, secretsKey, superAdminId, calls, facts, items } = readEdition(name);
  const [reads, writes] = [calls.filter(({ answer }) => answer), calls.filter(({ answer }) => !answer)];

  const answers = new Map<FrozenCall, unknown>();
  const { LOG_LEVEL } = process.env;

  beforeAll(async () => {
    process.env["SECRETS_KEY"] = secretsKey;
    // If a row cannot be read, the answer is 500, and only the log has the reason.
    process.env["LOG_LEVEL"] = "error";
    await useOwnTable();
    await replaceItems(items);
    setClockAhead(Date.parse(frozenAt) - Date.now());
  });
  afterAll(() => {
    setClockAhead(0);
    process.env["SECRETS_KEY"] = randomBytes(32).toString("base64");
    process.env["LOG_LEVEL"] = LOG_LEVEL;
  });

  test.each(reads.map((call) => [call.route, call] as const))("the stored rows are read by %s", async (_, call) => {
    const answer = await answerTo(call);
    answers.set(call, answer);
    const [before, now] = [identitiesIn(call.answer), identitiesIn(answer)];
    expect([...before].filter((identity) => !now.has(identity) && !formerAdvice.has(identity))).toEqual([]);
  });

  describe("after their migration, the stored rows", () => {
    // After 60 days, all days of the edition are over, so the index of each day is complete.
    const migrated = migrate(items, new Date(Date.parse(frozenAt) + 60 * dayMs));

    beforeAll(async () => replaceItems((await migrated).changed));
    // The other tests read and change the rows as the edition stored them.
    afterAll(async () => {
      const { changed } = await migrated;
      const before = new Map(items.map((item) => [keyText(item), item]));
      for (const { PK, SK } of changed)
        if (!before.has(keyText({ PK, SK }))) await testTable().attempt({ delete: { PK, SK } });
      await replaceItems(changed.flatMap((item) => before.get(keyText(item)) ?? []));
    });

    test("give the answers that they gave before", { timeout: 60_000 }, async () => {
      const accounts = new Set((await migrated).changed.map(({ PK }) => PK));
      const affected = reads.filter(({ args }) => accounts.has(`ACCOUNT#${String(args["account_id"])}`));
      const wrong: string[] = [];
      for (const call of affected) {
        if (lasting(await answerTo(call)) !== lasting(answers.get(call))) wrong.push(call.route);
      }
      expect(affected.length).toBeGreaterThan(0);
      expect(wrong).toEqual([]);
    });

    test("have their present form, whenever a run died, and further runs write nothing", async () => {
      const { rows, deaths, repeated } = await migrated;
      expect(deaths).toBeGreaterThan(50);
      expect(repeated.map(({ failed, rows: written, unfinished }) => ({ failed, written, unfinished }))).toEqual([
        { failed: 0, written: 0, unfinished: 0 },
        { failed: 0, written: 0, unfinished: 0 },
      ]);
      const lacking = (prefix: string, member: string) =>
        rows.filter((row) => row.SK.startsWith(prefix) && row[member] === undefined);
      expect(lacking("LIST#forwarding#ROW#", "others")).toEqual([]);
      expect(
        rows.filter(({ PK, SK }) => PK !== "FEEDBACK" && SK.startsWith("LIST#feedback#ROW#")).length,
      ).toBeGreaterThan(0);
      expect(lacking("LIST#feedback#ROW#", "place_of_submitter").filter(({ PK }) => PK !== "FEEDBACK")).toEqual([]);
    });
  });

  test("mail servers, name servers, the registrar and the payment provider can use the stored rows", async () => {
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
    expect(await getStoredCheckout(table, facts.unpaidCheckoutId)).toMatchObject({ id: facts.unpaidCheckoutId });
  });

  test("the operator can read and change the stored rows, and a super admin can list accounts", async () => {
    const table = testTable();
    const { token } = newUser({ sub: superAdminId });
    const { body } = await request("GET", "/v1/public/accounts?page_size=100", { token });
    expect(body).toMatchObject({ items: expect.any(Array), total: expect.any(Number) });
    expect(await getFeedback(table, facts.feedbackId)).toMatchObject({ status: "planned" });
    const own = await setOwnLimit(table, facts.limitedAccountId, "sensitive", { perMinute: 60, burst: 10 });
    expect(Object.keys(own.classes).toSorted()).toEqual(["search", "sensitive"]);
  });

  test.each(writes.map((call) => [call.route, call] as const))(
    "the stored rows can be changed by %s",
    async (_, call) => {
      await expect(answerTo(call)).resolves.toBeDefined();
      expect(routeOf(call).http.method).not.toBe("GET");
    },
  );

  test("the workers process the stored rows without a failure", { timeout: 180_000 }, async () => {
    for (const days of [1, 2]) {
      setClockAhead(Date.parse(frozenAt) - Date.now() + days * 86_400_000);
      const swept = [await sweepDomains(domainWork("test")), await sweepIps(ipContext("test"))];
      expect(swept.map(({ failed }) => failed)).toEqual([0, 0]);
      // Rejects if a delivery fails.
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
