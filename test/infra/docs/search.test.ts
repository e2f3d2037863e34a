import { readFileSync } from "node:fs";

import MiniSearch from "minisearch";
import { expect, test } from "vitest";

import { docsAssets } from "../../../infra/docs-pages/site.ts";
import { bestResults, type SearchResult, indexOptions, termOf } from "../../../infra/docs/site/terms.ts";

const asset = (await docsAssets()).find(({ to }) => to === "docs/search.json");
if (!asset) throw new Error("The site has no docs/search.json");
const text = "content" in asset ? asset.content : readFileSync(asset.from, "utf8");
const index = MiniSearch.loadJSON<SearchResult>(text, indexOptions);

/** Questions as people type them, with the page that answers each. */
const questions = [
  ["how do I create a mailbox", "/docs/reference/mailboxes.add"],
  ["reset a password", "/docs/reference/mailboxes.rotate_password"],
  ["move domain to another workspace", "/docs/reference/domains.move"],
  ["buy a domain", "/docs/reference/domains.purchase"],
  ["transfer a domain", "/docs/reference/domains.transfer"],
  ["import zone file", "/docs/reference/dns_records.import"],
  ["forward mail to gmail", "/docs/reference/forwarding.add"],
  ["verify webhook signature", "/docs/webhooks"],
  ["webhook retries", "/docs/webhooks"],
  ["rate limit 429", "/docs/"],
  ["idempotency key", "/docs/idempotency"],
  ["invite a colleague", "/docs/reference/auth.invitations"],
  ["service account token", "/docs/reference/auth.service_accounts"],
  ["dkim rotation", "/docs/"],
  ["spf record", "/docs/dns"],
  ["unpaid invoices", "/docs/reference/billing.invoices.list"],
  ["top up wallet", "/docs/reference/billing.topup_session.create"],
  ["mcp claude", "/docs/agents"],
  ["pagination", "/docs/pagination"],
  ["domain_taken", "/docs/errors#domain_taken"],
  ["bounces", "/docs/"],
  ["alias", "/docs/reference/mailboxes.aliases"],
  ["who changed what", "/docs/reference/audit.list"],
  ["dedicated ip warm up", "/docs/dedicated-ips"],
  ["mailbx", "/docs/"],
  ["If-Match", "/docs/promises"],
  ["sdk", "/docs/client"],
  ["api key", "/docs/reference/auth.service_accounts"],
] as const;

test.each(questions)("%s finds %s among the first five", (question, path) => {
  const found = bestResults(index, question).slice(0, 5);
  expect(found.map((one) => one.path).some((one) => one.startsWith(path))).toBe(true);
});

test.each(["mailboxes.add", "domain_taken", "If-Match"])(
  "the name %s is a search word, and so are its parts",
  (name) => {
    expect(indexOptions.tokenize(name)).toEqual([...name.split(/[._-]/), name]);
  },
);

test("words are compared without case and plural, and words such as `the` are left out", () => {
  expect(["Mailboxes", "DOMAINS", "policies", "address", "the", "is"].map(termOf)).toEqual([
    "mailbox",
    "domain",
    "policy",
    "address",
    null,
    null,
  ]);
});
