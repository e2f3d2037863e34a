import { afterEach, expect, test, vi } from "vitest";

import { handler as askRecipient } from "../../../functions/mail/recipient.ts";
import { absenceOf, featureNames, type Feature } from "../../../shared/core/features.ts";
import { newWorkspace } from "../../support/auth.ts";
import { contact } from "../../support/contact.ts";
import { uniqueName } from "../../support/domains.ts";
import { home, send } from "../../support/mailboxes.ts";
import { answerOf, eventOf } from "../../support/request.ts";
import { newAccount, type Account } from "../../support/world.ts";

afterEach(() => vi.unstubAllEnvs());

/** The lists that show whether a request of these tests stored something. */
const lists = ["domains", "forwarding", "auth/invitations", "billing/transactions", "audit-log"];
const totals = async (account: Account): Promise<number[]> =>
  Promise.all(lists.map(async (list) => (await send(account, "GET", list)).body.total));

type Call = (account: Account) => Promise<[method: string, path: string, body?: unknown]>;

const someone = { email: "new@elsewhere.example", roles: [{ role_key: "viewer" }] };

/** The requests that need a feature. */
const calls: [Feature, string, Call][] = [
  ["payments", "topping up", async () => ["POST", "billing/topup-session", { amount: "10.00" }]],
  ["mail", "an invitation", async () => ["POST", "auth/invitations", someone]],
  ["mail", "forwarding to a stranger", async () => ["POST", "forwarding", { target_email: "ada@elsewhere.example" }]],
  [
    "registrar",
    "a search",
    async (account) => {
      const workspace = await newWorkspace(account, "Search");
      return ["GET", `domains/search?query=${uniqueName()}&workspace_id=${workspace}`];
    },
  ],
  [
    "registrar",
    "a purchase",
    async (account) => {
      const workspace_id = await newWorkspace(account, "Purchase");
      return ["POST", "domains/purchase", { domains: [uniqueName()], contact_info: contact, workspace_id }];
    },
  ],
  [
    "dns",
    "a domain whose zone is ours",
    async (account) => {
      const workspace_id = await newWorkspace(account, "Zones");
      return ["POST", "domains", { name: uniqueName(), workspace_id }];
    },
  ],
];

test("the requests of this test need every feature at least once", () => {
  expect(new Set(calls.map(([feature]) => feature))).toEqual(new Set(featureNames));
});

test.each(calls)("without %s, %s is a 409 that names the feature, and nothing is stored", async (feature, _, call) => {
  const account = await newAccount();
  const [method, path, body] = await call(account);
  const before = await totals(account);
  vi.stubEnv("FEATURES_OFF", feature);
  const answer = await send(account, method, path, body);
  expect([answer.status, answer.body.code]).toEqual([409, absenceOf(feature).code]);
  expect(await totals(account)).toEqual(before);
  vi.stubEnv("FEATURES_OFF", featureNames.filter((one) => one !== feature).join(","));
  expect((await send(account, method, path, body)).body.code).not.toBe(absenceOf(feature).code);
});

test("without mail, a forwarding rule to a mailbox of the account can still be created", async () => {
  const account = await newAccount();
  const { name } = await home(account);
  for (const local_part of ["ada", "bob"]) {
    await send(account, "POST", "mailboxes", { domain: name, local_part, first_name: "A", last_name: "B" });
  }
  vi.stubEnv("FEATURES_OFF", "mail");
  const body = { target_email: `bob@${name}`, mailbox: `ada@${name}` };
  expect((await send(account, "POST", "forwarding", body)).status).toBe(201);
});

test("limits.get lists the features of the deployment", async () => {
  const account = await newAccount();
  const all = { payments: true, mail: true, registrar: true, dns: true };
  expect((await send(account, "GET", "limits")).body.features).toEqual(all);
  vi.stubEnv("FEATURES_OFF", "payments,dns");
  expect((await send(account, "GET", "limits")).body.features).toEqual({ ...all, payments: false, dns: false });
});

test("without the secret of the mail servers, their requests get 503 `mail_servers_unavailable`", async () => {
  vi.stubEnv("MAIL_SECRET", undefined);
  const answer = answerOf(await askRecipient(eventOf("GET", "/internal/mail/recipient?address=a@b.example")));
  expect([answer.status, answer.body.code]).toEqual([503, "mail_servers_unavailable"]);
});
