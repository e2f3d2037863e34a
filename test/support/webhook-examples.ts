import { request } from "./request.ts";
import { acceptingUrl } from "./webhook-receiver.ts";
import type { Account } from "./world.ts";

type Example = Record<string, unknown>;

const subscription = async () => ({ url: await acceptingUrl(), event_types: ["mailbox.*", "domain.*"] });

/** Sends a request about the account's webhooks for the owner. Returns the body of the answer. */
async function made({ id, owner }: Account, path: string, body?: unknown): Promise<Example> {
  return (await request("POST", `/v1/public/accounts/${id}/webhooks${path}`, { token: owner.token, body })).body;
}

async function aWebhook(account: Account): Promise<Example> {
  const { id } = await made(account, "", await subscription());
  return { account_id: account.id, webhook_id: id };
}

/** The arguments with which each route of webhooks succeeds for the account's owner. */
export const webhookExamples: Record<string, (account: Account) => Promise<Example>> = {
  "webhooks.list": async (account) => ({ account_id: (await aWebhook(account))["account_id"] }),
  "webhooks.add": async ({ id }) => ({ account_id: id, ...(await subscription()), description: "Tells our help desk" }),
  "webhooks.get": aWebhook,
  "webhooks.update": async (account) => ({ ...(await aWebhook(account)), active: false }),
  "webhooks.delete": aWebhook,
  "webhooks.rotate_secret": async (account) => ({ ...(await aWebhook(account)), overlap_seconds: 3600 }),
  "webhooks.test": aWebhook,
  "webhooks.deliveries.list": async (account) => {
    const webhook = await aWebhook(account);
    await made(account, `/${String(webhook["webhook_id"])}/test`);
    return { ...webhook, status: "succeeded" };
  },
  "webhooks.deliveries.redeliver": async (account) => {
    const webhook = await aWebhook(account);
    const { id } = await made(account, `/${String(webhook["webhook_id"])}/test`);
    return { ...webhook, delivery_id: id };
  },
};
