import type { Example } from "./examples.ts";
import { request } from "./request.ts";
import type { Account } from "./world.ts";

const feedback = {
  category: "feature_request",
  title: "Sort mailboxes by name",
  description: "With 300 mailboxes\nI look for one too long.",
  attributes: { browser: "Firefox 150" },
  paid_product_feature: true,
};

export const feedbackExamples: Record<string, (account: Account) => Promise<Example>> = {
  "feedback.list": async ({ id, owner }) => {
    await request("POST", `/v1/public/accounts/${id}/feedback`, { token: owner.token, body: feedback });
    return { account_id: id, status: "new" };
  },
  "feedback.submit": async ({ id }) => ({ account_id: id, ...feedback }),
};
