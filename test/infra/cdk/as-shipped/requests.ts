import { createHmac } from "node:crypto";

import { dayOf, nextMonth, plusDays } from "../../../../shared/core/time.ts";
import { resourcePaths } from "../../../../shared/http/protected-resource.ts";
import { billing, closeDays, use } from "../../../support/billing.ts";
import { active } from "../../../support/domains.ts";
import { of, sceneWithMailbox } from "../../../support/mail-reports.ts";
import { newAccount } from "../../../support/world.ts";

/** A request, relative to the API or, for `web`, to the gateway of customers' domains. */
export type Sent = { path: string; method?: string; headers?: Record<string, string>; body?: string; at?: "web" };

const mailKey = (): Record<string, string> => ({ "x-mail-key": process.env["MAIL_SECRET"] ?? "" });

const ofMailServers = async (path: string, more: Omit<Sent, "path"> = {}): Promise<Sent> => ({
  path: `/internal/mail/${path}`,
  ...more,
  headers: { ...mailKey(), ...more.headers },
});

const someAddress = async (): Promise<string> => `ada@${(await sceneWithMailbox()).domain.name}`;

async function report(path: string, entries: (scene: Awaited<ReturnType<typeof sceneWithMailbox>>) => object) {
  const body = JSON.stringify({ batch_id: crypto.randomUUID(), ...entries(await sceneWithMailbox()) });
  return ofMailServers(path, { method: "POST", headers: { "content-type": "application/json" }, body });
}

/** An event that the product ignores, signed as Stripe signs it. */
export function stripeEvent(secret: string): Sent {
  const body = JSON.stringify({ id: "evt_1", object: "event", type: "customer.created", data: { object: {} } });
  const time = Math.floor(Date.now() / 1_000);
  const signature = createHmac("sha256", secret).update(`${time}.${body}`).digest("hex");
  const headers = { "content-type": "application/json", "stripe-signature": `t=${time},v1=${signature}` };
  return { path: "/v1/public/webhooks/payments", method: "POST", headers, body };
}

async function invoiceFile(): Promise<Sent> {
  const account = await newAccount();
  await use(account, 10);
  await closeDays(account, plusDays(nextMonth(dayOf(new Date())), -1));
  const [invoice] = (await billing(account, "GET", "invoices")).body.items;
  const { pathname, search } = new URL(invoice.download_url);
  return { path: pathname + search };
}

/** A request for each function that answers requests and is no route. The answers are 200, except the 404 of `web`. */
export const requests: Record<string, () => Promise<Sent>> = {
  "mail.recipient": async () => ofMailServers(`recipient?address=${await someAddress()}`),
  "mail.sender": async () => {
    const email = await someAddress();
    return ofMailServers(`sender?${new URLSearchParams({ login: email, from: email }).toString()}`);
  },
  "mail.dkim": async () => ofMailServers(`dkim?domain=${(await active(await newAccount())).name}`),
  "mail.revocations": async () => ofMailServers("revocations"),
  "mail.auth": async () =>
    ofMailServers("auth", {
      headers: {
        "auth-method": "plain",
        "auth-protocol": "imap",
        "auth-login-attempt": "1",
        "client-ip": "192.0.2.1",
        "auth-user": await someAddress(),
        "auth-pass": "not the password",
      },
    }),
  "mail.usage": () =>
    report("usage", ({ account, mailbox }) => ({
      mailboxes: [{ ...of(account, mailbox), bytes: 1, messages: 1, at: new Date().toISOString() }],
    })),
  "mail.events": () =>
    report("events", ({ domain }) => ({
      events: [
        { type: "delivered", at: new Date().toISOString(), sender: `ada@${domain.name}`, recipient: "bob@far.example" },
      ],
    })),
  "billing.invoices.download": invoiceFile,
  protected_resource: async () => ({ path: `/.well-known/oauth-protected-resource${resourcePaths[0]}` }),
  docs: async () => ({ path: "/docs" }),
  code: async () => ({ path: "/v1/public/functions" }),
  // No customer has this domain.
  web: async () => ({ path: "/", headers: { "x-web-host": "www.example.com" }, at: "web" }),
};
